package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/dynosim/dynosim/internal/perfdata"
	"github.com/dynosim/dynosim/internal/perfdata/convert"
	"github.com/dynosim/dynosim/internal/perfmodel"
)

func newPerfImport() *cobra.Command {
	var out string
	var systems, slots []string
	var quiet bool
	cmd := &cobra.Command{
		Use:   "import WHEEL-OR-FOLDER",
		Short: "Convert the operator tables of an aisimulate package to a data set",
		Long: `Converts the measured operator tables of an aisimulate package, a wheel or its unpacked folder, to a data
set in a folder, in place of one that is there. Runs look there first, then in the set that is part of
the program. The same package gives the same bytes.`,
		Example: `  dynosim perfdata import aisimulate-0.13.0.whl
  dynosim perfdata import site-packages --systems b300_sxm,gb200 --slots current,next --out sets/blackwell`,
		Args: usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, s := range slots {
				if !slices.Contains(convert.Slots, s) {
					return usageError{fmt.Errorf("--slots %q: allowed are %s", s, strings.Join(convert.Slots, ", "))}
				}
			}
			if out == "" {
				out = os.Getenv(perfmodel.FolderVariable)
			}
			if out == "" {
				if out = perfdata.DefaultFolder(); out == "" {
					return usageError{errors.New("there is no home folder to import into: name a folder with --out")}
				}
			}
			o := convert.Options{Systems: systems, Slots: slots}
			if !quiet {
				o.Report = func(line string) { fmt.Fprintln(cmd.ErrOrStderr(), line) }
			}
			c, err := convert.Import(args[0], out, o)
			var input *convert.InputError
			var unknown *perfdata.UnknownError
			switch {
			case errors.As(err, &input), errors.As(err, &unknown):
				return usageError{err}
			case err != nil:
				return err
			case quiet:
				return nil
			}
			rows := int64(0)
			for i := range c.Places {
				rows += c.Places[i].Rows()
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %d systems, %d rows from %s\n", out, len(c.Systems), rows, c.Origin)
			return err
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "the data set's folder (default: "+perfmodel.FolderVariable+", else dynosim/perfdata in the user's data folder)")
	cmd.Flags().StringSliceVar(&systems, "systems", nil, "the systems to import (default: all)")
	cmd.Flags().StringSliceVar(&slots, "slots", []string{"current"}, "the versions of each backend to import: "+strings.Join(convert.Slots, ", "))
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "print nothing")
	return cmd
}

func newPerfList() *cobra.Command {
	var folder, format string
	cmd := &cobra.Command{
		Use:   "list [SYSTEM [BACKEND]]",
		Short: "Show what there is performance data for, and where it comes from",
		Example: `  dynosim perfdata list
  dynosim perfdata list h200_sxm vllm
  dynosim perfdata list --format json`,
		Args: usage(cobra.MaximumNArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if format != "text" && format != "json" {
				return usageError{fmt.Errorf("--format %q: allowed are text, json", format)}
			}
			sets, err := perfdata.Sets(folder)
			if err != nil {
				return usageError{err}
			}
			listed, err := perfdata.List(sets, args...)
			if err != nil {
				return usageError{err}
			}
			if format == "json" {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(listed)
			}
			return writeListed(cmd.OutOrStdout(), listed, len(args) > 0)
		},
	}
	cmd.Flags().StringVar(&folder, "perfdata", os.Getenv(perfmodel.FolderVariable),
		"a folder with an imported data set (default: "+perfmodel.FolderVariable+", else dynosim/perfdata in the user's data folder)")
	cmd.Flags().StringVar(&format, "format", "text", "text, or json: one object with everything")
	return cmd
}

// writeListed prints a line for each version of a backend, or for each of its tables.
func writeListed(w io.Writer, listed []perfdata.Listed, tables bool) error {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Options = table.OptionsNoBordersAndSeparators
	t.Style().Format.Header = text.FormatDefault
	t.Style().Box.PaddingLeft = ""
	if tables {
		t.AppendHeader(table.Row{"system", "backend", "version", "table", "rows", "measured on", "data"})
		t.SetColumnConfigs([]table.ColumnConfig{{Number: 5, Align: text.AlignRight, AlignHeader: text.AlignRight}})
	} else {
		t.AppendHeader(table.Row{"system", "backend", "version", "slot", "tables", "rows", "data", "origin"})
		t.SetColumnConfigs([]table.ColumnConfig{{Number: 5, Align: text.AlignRight, AlignHeader: text.AlignRight}, {Number: 6, Align: text.AlignRight, AlignHeader: text.AlignRight}})
	}
	for i := range listed {
		l := &listed[i]
		if !tables {
			t.AppendRow(table.Row{l.System, l.Backend, l.Version, l.Slot, len(l.Tables), l.Rows, l.Where, l.Origin})
			continue
		}
		for j := range l.Tables {
			e := &l.Tables[j]
			var from []string
			for _, s := range e.Sources {
				from = append(from, fmt.Sprintf("%s %s (%d)", s.Backend, s.Version, s.Rows))
			}
			t.AppendRow(table.Row{l.System, l.Backend, l.Version, e.Table, e.Rows(), strings.Join(from, ", "), l.Where})
		}
	}
	_, err := fmt.Fprintln(w, t.Render())
	return err
}
