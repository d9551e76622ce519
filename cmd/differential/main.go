// Command differential compares the program with the installed reference simulator on
// random cases; see internal/differential. Cases that differ are left as folders that both
// programs can run.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"time"

	"github.com/dynosim/dynosim/internal/differential"
	"github.com/dynosim/dynosim/internal/parity"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ok, err := run(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "differential:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

func run(ctx context.Context) (ok bool, err error) {
	program := flag.String("program", "bin/dynosim", "the program to run")
	count := flag.Int("n", 500, "number of cases")
	first := flag.Int("first", 0, "index of the first case")
	seed := flag.Uint64("seed", 0, "seed of the cases; left out: a new one")
	save := flag.String("save", "out/differential", "folder for cases that differ")
	shown := flag.Int("max", 6, "differences to print of a case")
	stopAfter := flag.Int("stop-after", 10, "stop after that many cases that differ; 0: never")
	shrink := flag.Duration("shrink", 30*time.Second, "time to spend on making a case smaller")
	parallel := flag.Int("parallel", runtime.GOMAXPROCS(0), "cases to run at a time")
	backend := flag.String("backend", "", "compare the cases of this backend only")
	agentic := flag.Bool("agentic", false, "draw graphs of plays instead of flat sources")
	storage := flag.Bool("storage", false, "draw ranks with host caches, and compare the cases with storage behind them only")
	hosted := flag.Bool("hosted", false, "draw ranks with host caches")
	measured := flag.Bool("measured", false, "time the passes of all cases from measured data of drawn models and GPU systems")
	routed := flag.Bool("routed", false, "compare the cases of the KV router only")
	queries := flag.Int("queries", 0, "compare the performance model on so many deployments instead, each with some ninety passes and KV sizes")
	split := flag.Bool("disaggregated", false, "compare the disaggregated cases only")
	scaled := flag.Bool("scaled", false, "compare the cases with scripted scaling or telemetry only")
	listed := flag.Bool("listed", false, "draw calls that list their requests instead of sources")
	flag.Parse()
	if !given("seed") {
		*seed = rand.Uint64N(1e9)
	}
	python, err := differential.FindPython()
	if err != nil {
		return false, err
	}
	binary, err := filepath.Abs(*program)
	if err != nil {
		return false, err
	}
	if *queries > 0 {
		fmt.Printf("%d deployments of seed %d\n", *queries, *seed)
		summary, err := differential.RunQueries(ctx, os.Stdout, differential.QueryOptions{
			Program: parity.Binary(binary), Python: python, Seed: *seed, First: *first, Count: *queries, SaveTo: *save, Shown: *shown,
		})
		if err != nil {
			return false, err
		}
		summary.Print(os.Stdout)
		return summary.Different == 0, nil
	}
	fmt.Printf("%d cases of seed %d\n", *count, *seed)
	summary, err := differential.Run(ctx, os.Stdout, differential.Options{
		Program: parity.Binary(binary), Python: python, Seed: *seed, First: *first, Count: *count, Backend: *backend, Agentic: *agentic, Listed: *listed, Hosted: *hosted || *storage, Storage: *storage, Measured: *measured, Routed: *routed, Split: *split, Scaled: *scaled, Parallel: *parallel,
		SaveTo: *save, Shown: *shown, MaxDifferent: *stopAfter, ShrinkTime: *shrink,
	})
	if err != nil {
		return false, err
	}
	summary.Print(os.Stdout)
	return summary.Outcomes[differential.Different] == 0, nil
}

func given(name string) (found bool) {
	flag.Visit(func(f *flag.Flag) { found = found || f.Name == name })
	return found
}
