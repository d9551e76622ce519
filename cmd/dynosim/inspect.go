package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dynosim/dynosim/internal/inspect"
	"github.com/dynosim/dynosim/schemas"
)

func newInspect() *cobra.Command {
	var format string
	var blockTokens int64
	var quiet bool
	formats := []string{string(schemas.FormatMooncake), string(schemas.FormatMooncakeDelta), string(schemas.FormatAppliedCompute), string(schemas.FormatDynamo), string(schemas.FormatWeka), string(schemas.FormatAgenticMooncake)}
	cmd := &cobra.Command{
		Use:   "inspect PATH",
		Short: "Tell what a trace, a corpus of plays, a run, a collection of runs, the folder of a stage or a Parquet file holds",
		Example: `  dynosim inspect trace.jsonl.gz
  dynosim inspect trace.jsonl --format mooncake-delta
  dynosim inspect out --format json`,
		Args: usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			o := inspect.Options{BlockTokens: blockTokens, Slices: 60}
			if blockTokens < 0 {
				return usageError{fmt.Errorf("--block-size %d: it must be at least 1", blockTokens)}
			}
			asJSON := false
			for _, word := range strings.Split(format, ",") {
				switch {
				case word == "text":
				case word == "json":
					asJSON = true
				case slices.Contains(formats, word):
					o.Format = schemas.TraceFormat(word)
				default:
					return usageError{fmt.Errorf("--format %q: allowed are text, json, a trace format (%s), or both with a comma between them", format, strings.Join(formats, ", "))}
				}
			}
			out := cmd.OutOrStdout()
			if isTerminal(out) {
				o.Slices = width(out)
			}
			if show := observer(cmd, quiet); show != nil {
				o.Progress = show.Reading
			}
			found, err := inspect.Inspect(cmd.Context(), args[0], o)
			var input *inspect.InputError
			if errors.As(err, &input) {
				return usageError{err}
			}
			if err != nil {
				return err
			}
			if asJSON {
				return found.WriteJSON(out)
			}
			return found.WriteText(out, width(out))
		},
	}
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "show no progress")
	cmd.Flags().StringVar(&format, "format", "text", "output: text or json; and the format of a trace, which is guessed otherwise")
	cmd.Flags().Int64Var(&blockTokens, "block-size", 0, "tokens that one hash id of a trace stands for: 512, or what the file says for dynamo")
	return cmd
}
