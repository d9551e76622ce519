package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dynosim/dynosim/internal/pipeline"
	"github.com/dynosim/dynosim/schemas"
)

// stageFlags are the options that ingest and lower share.
type stageFlags struct {
	dir              string
	overwrite, quiet bool
}

func (s *stageFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&s.dir, "output-dir", "o", "", "folder to make (required)")
	flags.BoolVar(&s.overwrite, "overwrite", false, "replace the files of an earlier run in the output directory")
	flags.BoolVarP(&s.quiet, "quiet", "q", false, "show no progress")
}

func (s *stageFlags) check() error {
	if s.dir == "" {
		return usageError{errors.New("--output-dir is required: name the folder to make")}
	}
	return nil
}

func (s *stageFlags) options(cmd *cobra.Command, spec *schemas.RunSpec) pipeline.StageOptions {
	return pipeline.StageOptions{Spec: spec, Dir: s.dir, Overwrite: s.overwrite, Observer: observer(cmd, s.quiet)}
}

// observer shows progress on standard error, nothing when quiet.
func observer(cmd *cobra.Command, quiet bool) pipeline.Observer {
	if quiet {
		return nil
	}
	stderr := cmd.ErrOrStderr()
	return pipeline.NewObserver(stderr, isTerminal(stderr))
}

// printStage says in one line what a stage left.
func printStage(cmd *cobra.Command, r *pipeline.StageResult, tables ...*schemas.Table) error {
	var parts []string
	for _, t := range tables {
		parts = append(parts, fmt.Sprintf("%d %s", r.Rows[t.Name], t.Name))
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: %s in %s\n", r.Dir, strings.Join(parts, ", "), r.Wall.Round(time.Millisecond))
	return err
}

func newIngest() *cobra.Command {
	var config configFlags
	var out stageFlags
	var format string
	var blockTokens int64
	cmd := &cobra.Command{
		Use:   "ingest SOURCE... --format FORMAT -o DIR",
		Short: "Turn traces into the tables requests and blocks",
		Long: `A source is a file, a folder (all its files), a pattern, or - for standard input; files that end in
.gz or .zst are decompressed. Several files of a format that has one become one source, in the
order given. With --config the section traffic.source of a document is the source instead.`,
		Example: `  dynosim ingest trace.jsonl.zst --format mooncake -o ingested
  dynosim ingest 'shards/*.jsonl.gz' --format dynamo -o ingested
  dynosim ingest -c prediction.yaml -o ingested`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cmp.Or(out.check(), config.check()); err != nil {
				return err
			}
			spec, err := ingestSpec(cmd, &config, args, format, blockTokens)
			if err != nil {
				return err
			}
			o := out.options(cmd, spec)
			o.Joined = len(args) > 0
			result, err := pipeline.Ingest(cmd.Context(), o)
			if err != nil {
				return err
			}
			return printStage(cmd, result, &schemas.Requests, &schemas.Blocks, &schemas.AuthoredOutputs)
		},
	}
	config.register(cmd, "a document of predict or replay whose source to read, in place of SOURCE")
	flags := cmd.Flags()
	flags.StringVar(&format, "format", "", "trace format: mooncake, mooncake-delta, applied_compute_agentic, dynamo, agentic_mooncake or weka")
	flags.Int64Var(&blockTokens, "block-size", 0, "tokens that one block id stands for (512; for dynamo and weka what the file says)")
	out.register(cmd)
	return cmd
}

// ingestSpec is the specification whose source is read: the document's, or what the arguments name.
func ingestSpec(cmd *cobra.Command, config *configFlags, args []string, format string, blockTokens int64) (*schemas.RunSpec, error) {
	flags := cmd.Flags()
	switch {
	case config.config != "" && (len(args) > 0 || flags.Changed("format") || flags.Changed("block-size")):
		return nil, usageError{errors.New("the source is either that of --config or named by arguments with --format and --block-size, not both")}
	case config.config != "":
		return config.stageSpec(cmd)
	case flags.Changed("set"):
		return nil, usageError{errors.New("--set changes the document of --config: name one")}
	case len(args) == 0:
		return nil, usageError{fmt.Errorf("name a source, or a document with --config; see %s --help", cmd.CommandPath())}
	case format == "":
		return nil, usageError{errors.New("--format is required: mooncake, mooncake-delta, applied_compute_agentic, dynamo, agentic_mooncake or weka")}
	case flags.Changed("block-size") && blockTokens < 1:
		return nil, usageError{fmt.Errorf("--block-size %d: must be at least 1", blockTokens)}
	}
	paths, err := args, error(nil)
	if format != string(schemas.FormatWeka) {
		// A weka corpus is one file or folder: names below it are part of its identities.
		paths, err = expandSources(args)
	}
	if err != nil {
		return nil, usageError{err}
	}
	source, err := schemas.TraceSource(format, paths, blockTokens)
	if err != nil {
		return nil, usageError{fmt.Errorf("--format %w", err)}
	}
	return &schemas.RunSpec{Source: source}, nil
}

// expandSources replaces folders by their files, and patterns by what they match, sorted by name. A
// name that exists is never a pattern.
func expandSources(args []string) (paths []string, err error) {
	stdin := false
	for _, arg := range args {
		if arg == "-" {
			if stdin {
				return nil, errors.New("standard input can be read only once")
			}
			stdin = true
		}
		names := []string{arg}
		if _, err := os.Stat(arg); err != nil && arg != "-" && strings.ContainsAny(arg, "*?[") {
			if names, err = filepath.Glob(arg); err != nil {
				return nil, fmt.Errorf("%s: not a pattern: %w", arg, err)
			}
			if len(names) == 0 {
				return nil, fmt.Errorf("%s: no file matches", arg)
			}
		}
		for _, name := range names {
			files, err := filesOf(name)
			if err != nil {
				return nil, err
			}
			paths = append(paths, files...)
		}
	}
	return paths, nil
}

// filesOf is the files of a folder, hidden ones and folders in it left out, or the name itself.
func filesOf(name string) ([]string, error) {
	if info, err := os.Stat(name); name == "-" || err != nil || !info.IsDir() {
		return []string{name}, nil
	}
	entries, err := os.ReadDir(name)
	if err != nil {
		return nil, plain(err)
	}
	var paths []string
	for _, e := range entries {
		path := filepath.Join(name, e.Name())
		if info, err := os.Stat(path); strings.HasPrefix(e.Name(), ".") || err != nil || info.IsDir() {
			continue
		}
		paths = append(paths, path)
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("%s: the folder holds no files", name)
	}
	return paths, nil
}

func newLower() *cobra.Command {
	var config configFlags
	var out stageFlags
	cmd := &cobra.Command{
		Use:     "lower INGESTED -c FILE -o DIR",
		Short:   "Turn ingested requests into the tables nodes, edges and chains",
		Example: "  dynosim lower ingested -c prediction.yaml -o lowered",
		Args:    usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cmp.Or(out.check(), config.check()); err != nil {
				return err
			}
			spec, err := config.stageSpec(cmd)
			if err != nil {
				return err
			}
			o := out.options(cmd, spec)
			o.From = args[0]
			result, err := pipeline.Lower(cmd.Context(), o)
			if err != nil {
				return err
			}
			return printStage(cmd, result, &schemas.Nodes, &schemas.Edges, &schemas.Chains, &schemas.NodeOutputs)
		},
	}
	config.register(cmd, "the document of predict or replay with load and stop; - reads standard input (required)")
	out.register(cmd)
	return cmd
}

func newSimulate() *cobra.Command {
	var config configFlags
	var out outputFlags
	cmd := &cobra.Command{
		Use:     "simulate LOWERED -c FILE",
		Short:   "Simulate a lowered workload on the deployment of a document",
		Example: "  dynosim simulate lowered -c prediction.yaml -o out",
		Args:    usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cmp.Or(config.check(), out.check(cmd)); err != nil {
				return err
			}
			spec, err := config.stageSpec(cmd)
			if err != nil {
				return err
			}
			if err := config.resolve(spec); err != nil {
				return err
			}
			spec.CapturePerRequest = spec.CapturePerRequest || out.capture
			return out.simulate(cmd, spec, args[0], false)
		},
	}
	config.register(cmd, "the document of predict or replay; - reads standard input (required)")
	out.register(cmd)
	return cmd
}

func newReport() *cobra.Command {
	var format string
	var capture, quiet bool
	cmd := &cobra.Command{
		Use:   "report RUN",
		Short: "Compute the report of a run again from its tables",
		Args:  usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkFormat(format); err != nil {
				return err
			}
			result, err := pipeline.Report(cmd.Context(), pipeline.ReportOptions{Dir: args[0], CapturePerRequest: capture, Observer: observer(cmd, quiet)})
			if err != nil {
				return err
			}
			return printResult(cmd, format, result)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&format, "format", "table", "standard output: table, or json for the summary in one line")
	flags.BoolVar(&capture, "capture-per-request", false, "write requests.jsonl and fill per_request of prediction.json; a run that has them keeps them")
	flags.BoolVarP(&quiet, "quiet", "q", false, "show no progress")
	return cmd
}
