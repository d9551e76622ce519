package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dynosim/dynosim/internal/inspect"
	"github.com/dynosim/dynosim/internal/pipeline"
	"github.com/dynosim/dynosim/internal/playgraph"
	"github.com/dynosim/dynosim/schemas"
)

// agenticFormats are the formats whose traces may hold plays.
var agenticFormats = []string{string(schemas.FormatWeka), string(schemas.FormatAgenticMooncake), string(schemas.FormatDynamo)}

// agenticFormat checks a format that was given, or guesses it.
func agenticFormat(given, path string) (schemas.TraceFormat, error) {
	if given == "" {
		return inspect.GuessAgentic(path)
	}
	if !slices.Contains(agenticFormats, given) {
		return "", usageError{fmt.Errorf("--source-format %q: allowed are %s", given, strings.Join(agenticFormats, ", "))}
	}
	return schemas.TraceFormat(given), nil
}

func newGraph() *cobra.Command {
	var format, sourceFormat, out string
	var overwrite bool
	cmd := &cobra.Command{
		Use:   "graph SOURCE [PLAY]",
		Short: "Draw the graph of a play: requests over time, and what waits for what",
		Long: `SOURCE is an agentic trace, a lowered folder or a run with all its tables. PLAY is a number in the order of lanes
(0 by default), a name, or a part of one. Rows are conversations, bars are requests, and lines are
dependencies with their delays. Long idle times are drawn short.`,
		Example: `  dynosim graph corpus/ play-00003 -o play.svg
  dynosim graph lowered 7 --format dot | dot -Tpdf > play.pdf`,
		Args: usage(cobra.RangeArgs(1, 2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			draw := playgraph.SVG
			switch format {
			case "svg":
			case "dot":
				draw = playgraph.DOT
			default:
				return usageError{fmt.Errorf("--format %q: allowed are dot and svg", format)}
			}
			source, err := agenticFormat(sourceFormat, args[0])
			if err != nil {
				return err
			}
			w, err := pipeline.ReadGraph(cmd.Context(), args[0], source)
			if err != nil {
				return err
			}
			name := "0"
			if len(args) > 1 {
				name = args[1]
			}
			play, err := pipeline.DrawPlay(w, name)
			if err != nil {
				return err
			}
			if out == "" {
				return draw(cmd.OutOrStdout(), play)
			}
			return pipeline.WriteFile(out, overwrite, func(file *os.File) error { return draw(file, play) })
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&format, "format", "svg", "dot or svg")
	flags.StringVar(&sourceFormat, "source-format", "", "format of a trace, guessed by default: "+strings.Join(agenticFormats, ", "))
	flags.StringVarP(&out, "output", "o", "", "file to write instead of standard output")
	flags.BoolVar(&overwrite, "overwrite", false, "replace the file when it exists")
	return cmd
}

func newExport() *cobra.Command {
	var sourceFormat, out string
	var overwrite bool
	cmd := &cobra.Command{
		Use:   "export SOURCE -o FILE",
		Short: "Write an agentic trace as Agentic Mooncake v2",
		Long: `SOURCE is a weka corpus, a dynamo trace with agent contexts, or agentic_mooncake rows. The file has one JSON row a request, with
its dependencies; reading it gives the same graph, with the same digest.`,
		Example: "  dynosim export corpus/ -o corpus.agentic.jsonl",
		Args:    usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if out == "" {
				return usageError{errors.New("--output is required: name the file to write")}
			}
			format, err := agenticFormat(sourceFormat, args[0])
			if err != nil {
				return err
			}
			if format == "" {
				return usageError{fmt.Errorf("%s is the folder of a stage: name the trace itself", args[0])}
			}
			source, err := schemas.TraceSource(string(format), args, 0)
			if err != nil {
				return usageError{err}
			}
			result, err := pipeline.ExportAgentic(cmd.Context(), source, out, overwrite)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %d plays, %d requests, %d dependencies, %d bytes\n", out, result.Plays, result.Requests, result.Edges, result.Bytes)
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&sourceFormat, "source-format", "", "format of the trace, guessed by default: "+strings.Join(agenticFormats, ", "))
	flags.StringVarP(&out, "output", "o", "", "file to write (required)")
	flags.BoolVar(&overwrite, "overwrite", false, "replace the file when it exists")
	return cmd
}
