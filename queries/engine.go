package queries

import (
	"context"
	"database/sql/driver"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dynosim/dynosim/internal/rundir"
	"github.com/dynosim/dynosim/schemas"
)

// Engine answers queries over the tables of one or several runs: every table is a view.
// With several runs each view has a leading column run, the name of the run's directory.
type Engine struct {
	db     *database
	tables []string
	// parts holds, for several runs, the label of each and the views of its own.
	parts []part
}

// part is one of several open runs. Its tables are views in a schema of its own.
type part struct {
	label, schema string
	tables        []string
}

// engineThreads are enough for the machines this runs on; results have an order only
// where the query gives them one.
const engineThreads = 2

// Open opens the run directories runs. Each must hold a manifest, which says that its
// tables belong together, and tables of versions that this program knows.
func Open(ctx context.Context, runs []string, o Options) (*Engine, error) {
	if len(runs) == 0 {
		return nil, fmt.Errorf("no run directory given")
	}
	files := map[string][]string{}
	for _, run := range runs {
		m, err := rundir.ReadManifest(run)
		if err != nil {
			return nil, err
		}
		for _, entry := range m.Tables {
			t := findTable(entry.Name)
			if t == nil {
				continue // a table of a newer program
			}
			if entry.Version != t.Version {
				return nil, fmt.Errorf("%s: table %s has version %d, this program reads version %d", run, t.Name, entry.Version, t.Version)
			}
			files[t.Name] = append(files[t.Name], run)
		}
	}
	if o.Threads == 0 {
		o.Threads = engineThreads
	}
	db, err := open(ctx, o)
	if err != nil {
		return nil, err
	}
	e := &Engine{db: db}
	if err := e.addViews(ctx, runs, files); err != nil {
		db.close()
		return nil, err
	}
	return e, nil
}

// addViews makes the views; files says which runs hold a table.
func (e *Engine) addViews(ctx context.Context, runs []string, files map[string][]string) error {
	labels := runLabels(runs)
	for i, run := range runs {
		p := part{label: labels[run], schema: "main"}
		if len(runs) > 1 {
			p.schema = fmt.Sprintf("run_%d", i)
			if err := e.db.exec(ctx, "CREATE SCHEMA "+p.schema); err != nil {
				return oneLine(err)
			}
		}
		for _, t := range schemas.AllTables {
			if !slices.Contains(files[t.Name], run) {
				continue
			}
			file := filepath.Join(run, t.Name+".parquet")
			if err := e.db.exec(ctx, fmt.Sprintf("CREATE VIEW %s.%s AS FROM read_parquet(%s, hive_partitioning = false)", p.schema, t.Name, quote(globEscape(file)))); err != nil {
				return fmt.Errorf("cannot read %s: %w", file, oneLine(err))
			}
			p.tables = append(p.tables, t.Name)
		}
		e.parts = append(e.parts, p)
	}
	for _, t := range schemas.AllTables {
		var selects []string
		for _, p := range e.parts {
			if slices.Contains(p.tables, t.Name) {
				selects = append(selects, fmt.Sprintf("SELECT %s AS run, * FROM %s.%s", quote(p.label), p.schema, t.Name))
			}
		}
		if len(selects) == 0 {
			continue
		}
		e.tables = append(e.tables, t.Name)
		if len(runs) > 1 {
			if err := e.db.exec(ctx, fmt.Sprintf("CREATE VIEW main.%s AS %s", t.Name, strings.Join(selects, " UNION ALL "))); err != nil {
				return oneLine(err)
			}
		}
	}
	return nil
}

func findTable(name string) *schemas.Table {
	i := slices.IndexFunc(schemas.AllTables, func(t *schemas.Table) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return schemas.AllTables[i]
}

// runLabels names every run by the last part of its path, without the run= of a collection, or by
// the path as given where two runs share that.
func runLabels(runs []string) map[string]string {
	last := func(r string) string { return strings.TrimPrefix(filepath.Base(filepath.Clean(r)), "run=") }
	count := map[string]int{}
	for _, r := range runs {
		count[last(r)]++
	}
	labels := map[string]string{}
	for _, r := range runs {
		label := last(r)
		if count[label] > 1 {
			label = r
		}
		labels[r] = label
	}
	return labels
}

// Tables lists the views.
func (e *Engine) Tables() []string { return e.tables }

// Close frees the database.
func (e *Engine) Close() error { return e.db.close() }

// Format is how the rows of a query are written.
type Format string

// Formats of Query.
const (
	FormatTable   Format = "table"
	FormatCSV     Format = "csv"
	FormatJSON    Format = "json"
	FormatParquet Format = "parquet"
)

// ParseFormat checks the name of a format.
func ParseFormat(s string) (Format, error) {
	f := Format(s)
	switch f {
	case FormatTable, FormatCSV, FormatJSON, FormatParquet:
		return f, nil
	}
	return "", fmt.Errorf("there is no format %q: use table, csv, json or parquet", s)
}

// QueryOptions says how Query writes.
type QueryOptions struct {
	Format Format
	// Width is the width of the terminal for FormatTable; 0 does not cut lines.
	Width int
}

// Query runs sql, which may be several statements, and writes the rows of the last one.
// Errors are one line; an unknown table comes with the ones there are.
func (e *Engine) Query(ctx context.Context, sql string, w io.Writer, o QueryOptions) error {
	sql = strings.TrimRight(strings.TrimSpace(sql), "; \n\t")
	if stripComments(sql) == "" {
		return fmt.Errorf("the query is empty")
	}
	var err error
	switch o.Format {
	case FormatCSV:
		err = e.writeCSV(ctx, sql, w)
	case FormatJSON:
		err = e.writeJSON(ctx, sql, w)
	case FormatParquet:
		err = e.writeParquet(ctx, sql, w)
	default:
		err = e.writeTable(ctx, sql, w, o.Width)
	}
	return e.explain(err)
}

// UnknownQueryError is the name of a query that does not come with dynosim.
type UnknownQueryError struct {
	Name string
	// Allowed are the names there are.
	Allowed []string
}

func (e *UnknownQueryError) Error() string {
	return fmt.Sprintf("there is no query named %q: there are %s", e.Name, strings.Join(e.Allowed, ", "))
}

// Named runs a named query; an *UnknownQueryError is a name that is none. With several runs its rows are those of every run by itself,
// with a leading column run.
func (e *Engine) Named(ctx context.Context, name string, w io.Writer, o QueryOptions) error {
	all := NamedQueries()
	i := slices.IndexFunc(all, func(n Named) bool { return n.Name == name })
	if i < 0 {
		names := make([]string, len(all))
		for k, n := range all {
			names[k] = n.Name
		}
		return &UnknownQueryError{name, names}
	}
	return e.Query(ctx, e.perRun(all[i].SQL), w, o)
}

// perRun makes a query over the tables of one run one over several: its rows for every
// run, with a leading column run.
func (e *Engine) perRun(sql string) string {
	if len(e.parts) == 1 {
		return sql
	}
	sql = strings.TrimRight(strings.TrimSpace(sql), ";")
	var selects []string
	for _, p := range e.parts {
		var own []string
		for _, t := range p.tables {
			own = append(own, fmt.Sprintf("%s AS (FROM %s.%s)", t, p.schema, t))
		}
		selects = append(selects, fmt.Sprintf("(WITH %s SELECT %s AS run, * FROM (\n%s\n))", strings.Join(own, ", "), quote(p.label), sql))
	}
	return strings.Join(selects, "\nUNION ALL\n")
}

// stripComments removes the lines that are comments.
func stripComments(sql string) string {
	var keep []string
	for line := range strings.Lines(sql) {
		if t := strings.TrimSpace(line); t != "" && !strings.HasPrefix(t, "--") {
			keep = append(keep, t)
		}
	}
	return strings.Join(keep, " ")
}

// explain cuts an error of the database to one line and adds what helps.
func (e *Engine) explain(err error) error {
	if err == nil {
		return nil
	}
	short := oneLine(err)
	if text := short.Error(); strings.Contains(text, "Table with name") && strings.Contains(text, "does not exist") {
		return fmt.Errorf("%s The tables are %s", text, strings.Join(e.tables, ", "))
	}
	if text := err.Error(); strings.Contains(text, "Candidate bindings: ") {
		_, rest, _ := strings.Cut(text, "Candidate bindings: ")
		rest, _, _ = strings.Cut(rest, "\n")
		if !strings.Contains(short.Error(), "Candidate bindings") {
			return fmt.Errorf("%s Did you mean %s?", short, rest)
		}
	}
	return short
}

// writeParquet has the database write a file beside and copies it.
func (e *Engine) writeParquet(ctx context.Context, sql string, w io.Writer) error {
	folder, err := os.MkdirTemp("", "dynosim-query-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	name := filepath.Join(folder, "rows.parquet")
	if err := e.db.exec(ctx, fmt.Sprintf("COPY (\n%s\n) TO %s (FORMAT parquet, COMPRESSION zstd)", sql, quote(name))); err != nil {
		return err
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}

// each runs sql row by row.
func (e *Engine) each(ctx context.Context, sql string, columns func(names, types []string) error, row func([]driver.Value) error) error {
	return e.db.rows(ctx, sql, columns, row)
}
