package queries_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dynosim/dynosim/internal/rundir"
	"github.com/dynosim/dynosim/queries"
)

// twoRuns writes two small runs in directories named a and b.
func twoRuns(t *testing.T) []string {
	t.Helper()
	parent := t.TempDir()
	var runs []string
	for name, text := range map[string]string{
		"a": "request_results: node creation_ordinal arrival_ms status input_tokens terminal_ms\n0 0 0.5 completed 10 3\n1 1 1.25 rejected 20 4\nrun: last_instant_ms\n10\n",
		"b": "request_results: node creation_ordinal arrival_ms status input_tokens terminal_ms\n0 0 2 completed 30 5\nrun: last_instant_ms\n20\n",
	} {
		p, err := parsePopulation(text)
		if err != nil {
			t.Fatal(err)
		}
		dir := p.write(t)
		path := filepath.Join(parent, name)
		if err := os.CopyFS(path, os.DirFS(dir.Path())); err != nil {
			t.Fatal(err)
		}
		runs = append(runs, path)
	}
	if filepath.Base(runs[0]) == "b" {
		runs[0], runs[1] = runs[1], runs[0]
	}
	return runs
}

func openRuns(t *testing.T, runs ...string) *queries.Engine {
	t.Helper()
	e, err := queries.Open(t.Context(), runs, queries.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// TestEngine runs the script testdata/engine.txt: blocks of a line "> FORMAT QUERY" or
// "> :NAME" for a named query, over runs a, or a and b after a line "= a b", with the
// output below.
func TestEngine(t *testing.T) {
	const name = "testdata/engine.txt"
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	runs := twoRuns(t)
	e := openRuns(t, runs[0])
	var got strings.Builder
	for line := range strings.Lines(string(b)) {
		switch {
		case strings.HasPrefix(line, "#"):
			got.WriteString(line)
		case strings.HasPrefix(line, "= a b"):
			got.WriteString("\n" + line)
			e = openRuns(t, runs...)
		case strings.HasPrefix(line, "> "):
			got.WriteString("\n" + line)
			format, query, _ := strings.Cut(strings.TrimSpace(line[2:]), " ")
			var out bytes.Buffer
			o := queries.QueryOptions{Format: queries.Format(format), Width: 100}
			if named, ok := strings.CutPrefix(query, ":"); ok {
				err = e.Named(t.Context(), named, &out, o)
			} else {
				err = e.Query(t.Context(), query, &out, o)
			}
			got.Write(out.Bytes())
			if err != nil {
				// The list of tables is not what this test is about.
				got.WriteString("error: " + strings.ReplaceAll(err.Error(), strings.Join(e.Tables(), ", "), "TABLES") + "\n")
			}
		}
	}
	if *rewrite {
		if err := os.WriteFile(name, []byte(got.String()), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(b), got.String()); diff != "" {
		t.Errorf("-file +output:\n%s", diff)
	}
}

// TestNamedQueriesRun runs every named query over one run and over two, each with a line
// that says what it is.
func TestNamedQueriesRun(t *testing.T) {
	runs := twoRuns(t)
	one, two := openRuns(t, runs[0]), openRuns(t, runs...)
	for _, n := range queries.NamedQueries() {
		if len(n.Doc) < 10 || !strings.HasSuffix(n.Doc, ".") {
			t.Errorf("%s: described as %q", n.Name, n.Doc)
		}
		var a, b bytes.Buffer
		o := queries.QueryOptions{Format: queries.FormatCSV}
		if err := one.Named(t.Context(), n.Name, &a, o); err != nil {
			t.Errorf("%s: %v", n.Name, err)
			continue
		}
		if err := two.Named(t.Context(), n.Name, &b, o); err != nil {
			t.Errorf("%s over two runs: %v", n.Name, err)
			continue
		}
		// The rows of the first run come first, behind the name of the run.
		single, both := strings.Split(strings.TrimSpace(a.String()), "\n"), strings.Split(strings.TrimSpace(b.String()), "\n")
		for i, line := range single {
			lead := "a,"
			if i == 0 {
				lead = "run,"
			}
			if i >= len(both) || both[i] != lead+line {
				t.Errorf("%s over two runs:\n%s\nover one:\n%s", n.Name, b.String(), a.String())
				break
			}
		}
	}
}

// TestParquetOutput writes a query as Parquet and reads it with another.
func TestParquetOutput(t *testing.T) {
	e := openRuns(t, twoRuns(t)[0])
	var out bytes.Buffer
	if err := e.Query(t.Context(), "-- two columns\nselect node, status from request_results order by node;", &out, queries.QueryOptions{Format: queries.FormatParquet}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "out.parquet")
	if err := os.WriteFile(file, out.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	if err := e.Query(t.Context(), "from '"+file+"'", &out, queries.QueryOptions{Format: queries.FormatCSV}); err != nil || out.String() != "node,status\n0,completed\n1,rejected\n" {
		t.Errorf("%q, error %v", out.String(), err)
	}
}

// TestPrompt talks to the prompt as a script does.
func TestPrompt(t *testing.T) {
	e := openRuns(t, twoRuns(t)[0])
	var out bytes.Buffer
	in := ".format csv\nselect 1 as a,\n  2 as b;\n.format tab\nselect * from nothing;\n.schema run\n.nothing\n.run statuses\nselect 3 as last"
	if err := e.Prompt(t.Context(), queries.PromptOptions{In: strings.NewReader(in), Out: &out}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a,b\n1,2\n", `error: there is no format "tab"`, "error: Table with name nothing does not exist!", "last_instant_ms", "error: there is no command .nothing", "completed,1,10,0\n", "last\n3\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	out.Reset()
	if err := e.Prompt(t.Context(), queries.PromptOptions{In: strings.NewReader(".quit\nselect 1;\n"), Out: &out}); err != nil || out.Len() > 0 {
		t.Errorf("after .quit: %q, error %v", out.String(), err)
	}
}

func TestOpenRefuses(t *testing.T) {
	run := twoRuns(t)[0]
	old := t.TempDir()
	if err := os.CopyFS(old, os.DirFS(run)); err != nil {
		t.Fatal(err)
	}
	manifest := `{"format":1,"tables":[{"name":"passes","version":99},{"name":"from_the_future","version":1}]}`
	if err := os.WriteFile(filepath.Join(old, rundir.ManifestName), []byte(manifest), 0o666); err != nil {
		t.Fatal(err)
	}
	for want, runs := range map[string][]string{
		"no run directory given":       nil,
		"not a complete run directory": {run, t.TempDir()},
		"passes has version 99":        {old},
		"no such file or directory":    {filepath.Join(run, "missing")},
	} {
		if _, err := queries.Open(t.Context(), runs, queries.Options{}); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error is %v, want %q", err, want)
		}
	}
}

// TestCanceledQuery ends a query that would take very long.
func TestCanceledQuery(t *testing.T) {
	e := openRuns(t, twoRuns(t)[0])
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := e.Query(ctx, "select count(*) from range(1000000000000)", &bytes.Buffer{}, queries.QueryOptions{}); err == nil {
		t.Error("no error")
	}
}
