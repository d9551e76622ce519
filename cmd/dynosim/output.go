package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/dynosim/dynosim/internal/pipeline"
	"github.com/dynosim/dynosim/schemas"
)

// outputFlags are the options that predict and replay share.
type outputFlags struct {
	dir, format, detail       string
	overwrite, capture, quiet bool
}

func (o *outputFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.dir, "output-dir", "./aisimulate-output", "directory of the run")
	flags.BoolVar(&o.overwrite, "overwrite", false, "replace the files of an earlier run in the output directory")
	flags.StringVar(&o.format, "format", "table", "standard output: table, or json for the summary in one line")
	flags.BoolVar(&o.capture, "capture-per-request", false, "write requests.jsonl and fill per_request of prediction.json")
	flags.StringVar(&o.detail, "detail", "all", "optional tables to keep: all, none, or a list of "+strings.Join(pipeline.OptionalTables, ","))
	flags.BoolVarP(&o.quiet, "quiet", "q", false, "show no progress")
}

// check finds errors of the options before anything is read.
func (o *outputFlags) check() error {
	if o.format != "table" && o.format != "json" {
		return usageError{fmt.Errorf("--format %q: allowed are table and json", o.format)}
	}
	if o.dir == "" {
		return usageError{fmt.Errorf("--output-dir is empty: name a directory")}
	}
	for _, name := range o.tables() {
		if !slices.Contains(pipeline.OptionalTables, name) {
			return usageError{fmt.Errorf("--detail %q: allowed are all, none, or a comma-separated list of %s", o.detail, strings.Join(pipeline.OptionalTables, ", "))}
		}
	}
	return nil
}

// tables is the value of --detail as a list.
func (o *outputFlags) tables() []string {
	switch o.detail {
	case "all":
		return pipeline.OptionalTables
	case "none", "":
		return nil
	}
	return strings.Split(o.detail, ",")
}

// simulate runs the specification and prints the result.
func (o *outputFlags) simulate(cmd *cobra.Command, spec *schemas.RunSpec) error {
	stderr, out := cmd.ErrOrStderr(), cmd.OutOrStdout()
	var progress pipeline.Observer
	if !o.quiet {
		progress = pipeline.NewObserver(stderr, isTerminal(stderr))
	}
	result, err := pipeline.Run(cmd.Context(), pipeline.Options{
		Spec: spec, Dir: o.dir, Overwrite: o.overwrite, Optional: o.tables(), Observer: progress,
	})
	if err != nil {
		return err
	}
	if o.format == "json" {
		return result.WriteJSON(out)
	}
	return result.WriteTable(out, width(out))
}

func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// width is the width of the terminal in columns; output that goes elsewhere gets a width that fits
// the whole table.
func width(w any) int {
	if f, ok := w.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	return 132
}
