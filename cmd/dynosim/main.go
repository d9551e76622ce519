// Command dynosim simulates LLM-serving clusters: see README.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/dynosim/dynosim/internal/limits"
	"github.com/dynosim/dynosim/internal/pipeline"
	"github.com/dynosim/dynosim/schemas"
	"github.com/dynosim/dynosim/schemas/strict"
	"github.com/dynosim/dynosim/simulate"
)

// Exit codes (spec 07 section 7).
const (
	exitFailed      = 1
	exitUsage       = 2
	exitLimited     = 3
	exitTimedOut    = 124
	exitInterrupted = 130
)

// usageError is a command line that makes no sense.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// Little garbage is made per unit of work, so collecting earlier costs next to nothing
	// and keeps the peak low. GOGC still decides when it is set.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(40)
	}
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run executes one command line and returns its exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := unknownCommand(root, args)
	if err == nil {
		err = root.ExecuteContext(ctx)
	}
	if err == nil {
		return 0
	}
	return report(ctx, stderr, err)
}

// unknownCommand is the error of a first argument that is no command, nil otherwise. It comes before the
// options, which would be said to be unknown.
func unknownCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return nil
	}
	// Cobra adds these two when it runs.
	names := []string{"help", "completion"}
	for _, c := range root.Commands() {
		names = append(names, c.Name())
	}
	if slices.Contains(names, args[0]) || strings.HasPrefix(args[0], "__complete") {
		return nil
	}
	if near := strict.Nearest(args[0], names); near != "" {
		return usageError{fmt.Errorf("unknown command %q (did you mean %s?); see dynosim --help", args[0], near)}
	}
	return usageError{fmt.Errorf("unknown command %q; allowed: %s", args[0], strings.Join(names[2:], ", "))}
}

// report prints an error, a line for each thing that is wrong, and returns the exit code.
func report(ctx context.Context, stderr io.Writer, err error) int {
	var problems schemas.Problems
	var usage usageError
	var directory *pipeline.DirectoryError
	var input *pipeline.InputError
	var limited *limits.Reached
	switch {
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		fmt.Fprintln(stderr, "dynosim: interrupted; nothing unfinished was left behind")
		return exitInterrupted
	case errors.As(err, &limited):
		fmt.Fprintln(stderr, "dynosim:", err)
		return limitCode(limited)
	case errors.As(err, &problems):
		for _, p := range problems {
			fmt.Fprintln(stderr, "dynosim:", p)
		}
		return exitUsage
	case errors.As(err, &usage), errors.As(err, &directory), errors.As(err, &input):
		fmt.Fprintln(stderr, "dynosim:", err)
		return exitUsage
	}
	fmt.Fprintln(stderr, "dynosim:", err)
	if stuck, ok := errors.AsType[*simulate.InvariantError](err); ok {
		for _, line := range stuck.Details {
			fmt.Fprintln(stderr, " ", line)
		}
	}
	return exitFailed
}

// limitCode is the exit code of a run that a limit ended. The one of a limit of time is that of timeout(1),
// as in the reference.
func limitCode(reached *limits.Reached) int {
	if reached.TimedOut {
		return exitTimedOut
	}
	return exitLimited
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "dynosim",
		Short:         "Simulate LLM-serving clusters on a CPU",
		Long:          "dynosim answers what latency, goodput and GPU hours an LLM-serving deployment has\nunder given traffic, without a GPU.",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          usage(cobra.NoArgs),
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(newPredict(), newReplay(), newIngest(), newLower(), newSimulate(), newReport(), newQuery(), newInspect(), newGraph(), newExport(), newPerfData(), newSchema(), newVersion())
	return root
}

// usage makes the errors of an argument check usage errors.
func usage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageError{fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())}
		}
		return nil
	}
}
