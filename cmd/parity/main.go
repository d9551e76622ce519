// Command parity runs the program on cases of the reference simulator and compares what
// both report.
//
//	parity [options] GOLDEN...
//
// GOLDEN is a folder of areas, an area a folder of cases. The last line of the output is
// "N passed, N failed, N skipped"; the exit status is 1 when a case failed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/dynosim/dynosim/internal/parity"
)

// quickCases is the size of an area's sample with -quick.
const quickCases = 12

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	failed, err := run(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "parity:", err)
		os.Exit(2)
	}
	if failed {
		os.Exit(1)
	}
}

func run(ctx context.Context) (failed bool, err error) {
	program := flag.String("program", "bin/dynosim", "the program to run")
	scopeFile := flag.String("scope", "", "list of cases that must pass")
	leaveOut := flag.String("documents", "", "list of cases whose config.yaml says something else than their call")
	rewrite := flag.Bool("rewrite-scope", false, "write the cases that pass to the file of -scope")
	areas := flag.String("area", "", "run these areas only, a list with commas")
	match := flag.String("match", "", "run cases only whose area/name matches this regular expression")
	quick := flag.Bool("quick", false, "run a fixed sample, and print one line an area")
	verbose := flag.Bool("v", false, "print the message of every refusal beside the reference's")
	shown := flag.Int("max", 5, "differences to print of a case")
	parallel := flag.Int("parallel", runtime.GOMAXPROCS(0), "cases to run at a time")
	flag.Parse()
	if flag.NArg() == 0 {
		return false, errors.New("usage: parity [options] GOLDEN...; see -help")
	}
	filter, err := regexp.Compile(*match)
	if err != nil {
		return false, fmt.Errorf("-match: %w", err)
	}
	binary, err := filepath.Abs(*program)
	if err != nil {
		return false, err
	}
	if _, err := os.Stat(binary); err != nil {
		return false, err
	}
	cases, err := find(flag.Args())
	if err != nil {
		return false, err
	}
	if *leaveOut != "" {
		reasons, err := parity.ReadReasons(*leaveOut)
		if err != nil {
			return false, err
		}
		parity.LeaveOut(cases, reasons)
	}
	scope := parity.Scope{}
	if *scopeFile != "" && !*rewrite {
		if scope, err = parity.ReadScope(*scopeFile); err != nil {
			return false, err
		}
	}
	missing := scope.Missing(cases)
	wanted := strings.Split(*areas, ",")
	cases = slices.DeleteFunc(cases, func(c *parity.Case) bool {
		return *areas != "" && !slices.Contains(wanted, c.Area) || !filter.MatchString(c.ID())
	})
	if len(cases) == 0 {
		return false, fmt.Errorf("no case in %s fits", strings.Join(flag.Args(), ", "))
	}
	partial := *quick || *areas != "" || *match != ""
	totals := map[string]int{}
	for _, c := range cases {
		totals[c.Area]++
	}
	if *quick {
		cases = parity.Sample(cases, scope, quickCases)
	}
	suite := parity.Suite{Program: parity.Binary(binary), Scope: scope, Parallel: *parallel, Shown: *shown, Brief: *quick, Verbose: *verbose, Totals: totals}
	if flag.NArg() == 1 {
		missing = nil // the shipped cases alone: the list covers more
	}
	if len(missing) > 0 {
		fmt.Printf("required cases that are in none of the folders: %s\n", strings.Join(missing, " "))
	}
	results, err := suite.Run(ctx, os.Stdout, cases)
	if err != nil {
		return false, err
	}
	if *rewrite {
		if partial || *scopeFile == "" {
			return false, errors.New("-rewrite-scope needs -scope, and a run of all cases")
		}
		return parity.Failures(results) > 0, parity.WriteScope(*scopeFile, results)
	}
	return parity.Failures(results) > 0 || len(missing) > 0, nil
}

// find lists the cases of all folders, each case once.
func find(roots []string) ([]*parity.Case, error) {
	var found [][]*parity.Case
	for _, root := range roots {
		if _, err := os.Stat(root); err != nil {
			return nil, err
		}
		cases, err := parity.Find(root)
		if err != nil {
			return nil, err
		}
		found = append(found, cases)
	}
	return parity.Merge(found...)
}
