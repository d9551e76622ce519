package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/dynosim/dynosim/internal/limits"
	"github.com/dynosim/dynosim/internal/perfmodel"
	"github.com/dynosim/dynosim/internal/pipeline"
	"github.com/dynosim/dynosim/schemas"
)

// outputFlags are the options of the commands that simulate.
type outputFlags struct {
	dir, format, detail       string
	hive, run, cache          string
	scaling                   string
	telemetryMS               float64
	overwrite, capture, quiet bool
	captured                  []string
}

func (o *outputFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&o.dir, "output-dir", "o", "./aisimulate-output", "directory of the run")
	flags.BoolVar(&o.overwrite, "overwrite", false, "replace the files of an earlier run in the output directory")
	flags.StringVar(&o.format, "format", "table", "standard output: table, or json for the summary in one line")
	flags.BoolVar(&o.capture, "capture-per-request", false, "write requests.jsonl and fill per_request of prediction.json")
	flags.StringSliceVar(&o.captured, "capture", nil, "details to record: routing=full keeps every target of every decision of the KV router with its costs")
	flags.StringVar(&o.detail, "detail", "all", "optional tables to keep: all, none, or a list of "+strings.Join(pipeline.OptionalTables, ",")+"; and what to explain after the run: "+strings.Join(perfmodel.Details, ","))
	flags.StringVar(&o.hive, "hive", "", "put the run into a collection: the directory is DIR/run=NAME, in place of --output-dir")
	flags.StringVar(&o.run, "run-name", "", "name of the run in the collection of --hive (from the configuration)")
	flags.BoolVarP(&o.quiet, "quiet", "q", false, "show no progress")
	o.registerWatch(cmd)
}

// registerWatch adds the options of what changes and watches the pools during a run.
func (o *outputFlags) registerWatch(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.scaling, "scaling-script", "", "YAML or JSON file that changes the number of workers during the run")
	flags.Float64Var(&o.telemetryMS, "telemetry-interval", 0, "sample all workers every so many ms of virtual time")
}

// watch adds what these options ask for to the specification.
func (o *outputFlags) watch(cmd *cobra.Command, spec *schemas.RunSpec) error {
	if cmd.Flags().Changed("telemetry-interval") {
		if !(o.telemetryMS > 0) || math.IsInf(o.telemetryMS, 0) {
			return usageError{fmt.Errorf("--telemetry-interval %g: must be a finite number above 0", o.telemetryMS)}
		}
		spec.TelemetryIntervalMS = o.telemetryMS
	}
	if !cmd.Flags().Changed("scaling-script") {
		return nil
	}
	if spec.Scaling.Enabled {
		return usageError{errors.New("--scaling-script: the call has a scaling_plan already")}
	}
	if o.scaling == "" {
		return usageError{errors.New("--scaling-script is empty: name a file")}
	}
	name, text, err := readDocument(o.scaling, cmd.InOrStdin())
	if err != nil {
		return usageError{fmt.Errorf("--scaling-script: %w", err)}
	}
	spec.Scaling, err = schemas.ParseScalingScript(name, text, spec.Disaggregated())
	return err
}

// registerCache adds the option of the commands that read sources.
func (o *outputFlags) registerCache(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.cache, "cache", "", "folder of ingested and lowered sources to use again and to fill")
}

// runName is what may stand in a path as run=NAME, for every engine.
var runName = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)

// checkFormat checks --format of a command that prints a summary.
func checkFormat(format string) error {
	if format != "table" && format != "json" {
		return usageError{fmt.Errorf("--format %q: allowed are table and json", format)}
	}
	return nil
}

// check finds errors of the options before anything is read.
func (o *outputFlags) check(cmd *cobra.Command) error {
	if err := checkFormat(o.format); err != nil {
		return err
	}
	flags := cmd.Flags()
	switch {
	case flags.Changed("cache") && o.cache == "":
		return usageError{errors.New("--cache is empty: name a folder")}
	case flags.Changed("hive") && o.hive == "":
		return usageError{errors.New("--hive is empty: name a folder")}
	case o.hive != "" && flags.Changed("output-dir"):
		return usageError{errors.New("--hive and --output-dir exclude each other: the run goes to DIR/run=NAME")}
	case o.hive == "" && flags.Changed("run-name"):
		return usageError{errors.New("--run-name needs --hive")}
	case flags.Changed("run-name") && !runName.MatchString(o.run):
		return usageError{fmt.Errorf("--run-name %q: allowed are letters, digits, and _ . -", o.run)}
	}
	if o.dir == "" {
		return usageError{fmt.Errorf("--output-dir is empty: name a directory")}
	}
	for _, detail := range o.captured {
		if detail != captureRouting {
			return usageError{fmt.Errorf("--capture %q: allowed is %s", detail, captureRouting)}
		}
	}
	for _, name := range o.tables() {
		if !slices.Contains(pipeline.OptionalTables, name) {
			return usageError{fmt.Errorf("--detail %q: allowed are all, none, or a comma-separated list of %s, %s", o.detail, strings.Join(pipeline.OptionalTables, ", "), strings.Join(perfmodel.Details, ", "))}
		}
	}
	return nil
}

// captureRouting is the value of --capture that records the candidates of decisions.
const captureRouting = "routing=full"

// tables is the optional tables to keep. A --detail that only asks for explanations keeps all.
func (o *outputFlags) tables() []string {
	words := slices.DeleteFunc(strings.Split(o.detail, ","), func(word string) bool { return slices.Contains(perfmodel.Details, word) })
	switch {
	case o.detail == "none" || o.detail == "":
		return nil
	case len(words) == 0 || slices.Equal(words, []string{"all"}):
		return pipeline.OptionalTables
	case slices.Equal(words, []string{"none"}):
		return nil
	}
	return words
}

// explanations is what --detail wants explained after the run.
func (o *outputFlags) explanations() []string {
	return slices.DeleteFunc(strings.Split(o.detail, ","), func(word string) bool { return !slices.Contains(perfmodel.Details, word) })
}

// simulate runs the specification, on the lowered folder from unless that is empty, and prints the result.
//
// A warm-up that failed is an error behind the report, but for calls: their callers read the report.
func (o *outputFlags) simulate(cmd *cobra.Command, spec *schemas.RunSpec, from string, call bool) error {
	spec.CaptureRouting = slices.Contains(o.captured, captureRouting)
	if err := o.watch(cmd, spec); err != nil {
		return err
	}
	dir := o.dir
	if o.hive != "" {
		name := o.run
		if name == "" {
			name = pipeline.ShortName(spec)
		}
		dir = filepath.Join(o.hive, "run="+name)
	}
	explainer := perfmodel.Explain(spec, o.explanations())
	result, err := pipeline.Run(cmd.Context(), pipeline.Options{
		Spec: spec, Dir: dir, Overwrite: o.overwrite, Optional: o.tables(), From: from, Cache: o.cache, Observer: observer(cmd, o.quiet),
		Exit: func(reached error) {
			fmt.Fprintln(cmd.ErrOrStderr(), "dynosim:", reached)
			code := exitLimited
			if limit, ok := errors.AsType[*limits.Reached](reached); ok {
				code = limitCode(limit)
			}
			os.Exit(code)
		},
	})
	if err != nil {
		return err
	}
	if err := printResult(cmd, o.format, result); err != nil {
		return err
	}
	// Explanations are for a person; standard output in JSON stays one line.
	explained := cmd.OutOrStdout()
	if o.format == "json" {
		explained = cmd.ErrOrStderr()
	}
	if err := explainer.Write(explained, width(explained)); err != nil || call {
		return err
	}
	return result.Aborted
}

// printResult prints the summary of a run.
func printResult(cmd *cobra.Command, format string, result *pipeline.Result) error {
	out := cmd.OutOrStdout()
	if format == "json" {
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
