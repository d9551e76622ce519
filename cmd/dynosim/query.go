package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dynosim/dynosim/internal/rundir"
	"github.com/dynosim/dynosim/queries"
)

func newQuery() *cobra.Command {
	var named, format, output string
	var list bool
	cmd := &cobra.Command{
		Use:   "query RUN... [SQL]",
		Short: "Ask SQL of the tables of one run or several",
		Long: `Every table of the run is a view (docs/tables.md describes them); with several runs each view has a
leading column run. Without SQL, queries are read from standard input: a prompt on a terminal.`,
		Example: `  dynosim query out "select worker, count(*), sum(end_ms - start_ms)/1000 busy_s from passes group by 1 order by 1"
  dynosim query out --named goodput
  dynosim query run1 run2 "select run, avg(first_token_ms - arrival_ms) ttft_ms from request_results group by 1" --format csv`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if list {
				return listNamed(cmd.OutOrStdout())
			}
			kind, err := queries.ParseFormat(format)
			if err != nil {
				return usageError{fmt.Errorf("--format: %w", err)}
			}
			runs, sql := splitQuery(args, named != "")
			if len(runs) == 0 {
				return usageError{fmt.Errorf("name at least one run directory; see %s --help", cmd.CommandPath())}
			}
			if kind == queries.FormatParquet && output == "" {
				return usageError{fmt.Errorf("--format parquet needs --output FILE")}
			}
			engine, err := queries.Open(cmd.Context(), runs, queries.Options{})
			if err != nil {
				return usageError{err}
			}
			defer engine.Close()
			options := queries.QueryOptions{Format: kind, Width: width(cmd.OutOrStdout())}
			ask := func(w io.Writer) error {
				switch {
				case named != "":
					return engine.Named(cmd.Context(), named, w, options)
				case sql != "":
					return engine.Query(cmd.Context(), sql, w, options)
				}
				return engine.Prompt(cmd.Context(), queries.PromptOptions{
					In: cmd.InOrStdin(), Out: w, Terminal: isTerminal(cmd.InOrStdin()) && isTerminal(w), Query: options,
				})
			}
			if output != "" {
				err = rundir.Replace(output, func(f *os.File) error { return ask(f) })
			} else {
				err = ask(cmd.OutOrStdout())
			}
			if unknown := (*queries.UnknownQueryError)(nil); errors.As(err, &unknown) {
				return usageError{err}
			}
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&named, "named", "", "run a query that comes with dynosim instead of SQL; --list names them")
	flags.BoolVar(&list, "list", false, "list the queries that come with dynosim")
	flags.StringVar(&format, "format", "table", "output: table, csv, json or parquet")
	flags.StringVarP(&output, "output", "o", "", "write to a file instead of standard output")
	return cmd
}

// splitQuery tells run directories from the query: the last argument is SQL unless it is a
// directory that exists, or a query was named.
func splitQuery(args []string, named bool) (runs []string, sql string) {
	n := len(args)
	if named || n == 0 {
		return args, ""
	}
	last := args[n-1]
	if info, err := os.Stat(last); err == nil && info.IsDir() {
		return args, ""
	}
	if n == 1 && !strings.ContainsAny(last, " \t\n") {
		return args, "" // a run directory that is missing, not a query
	}
	return args[:n-1], last
}

func listNamed(w io.Writer) error {
	for _, q := range queries.NamedQueries() {
		if _, err := fmt.Fprintf(w, "%-16s %s\n", q.Name, q.Doc); err != nil {
			return err
		}
	}
	return nil
}
