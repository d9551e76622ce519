package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dynosim/dynosim/internal/rundir"
	"github.com/dynosim/dynosim/queries"
	"github.com/dynosim/dynosim/schemas"
)

// pythonWith is a Python that has the packages named: $DYNOSIM_PYTHON, or python3. Without one
// the test is skipped.
func pythonWith(t *testing.T, packages ...string) string {
	t.Helper()
	python := os.Getenv("DYNOSIM_PYTHON")
	if python == "" {
		python = "python3"
	}
	if out, err := exec.Command(python, "-c", "import "+strings.Join(packages, ", ")).CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		t.Skipf("%s has not all of %s (set DYNOSIM_PYTHON to one that has): %v %s", python, strings.Join(packages, ", "), err, lines[len(lines)-1])
	}
	return python
}

// found is how many values of a column are there, and their sum; [count, sum].
type found [2]any

// TestOtherReaders opens every table of two runs, as they are, with DuckDB, pandas, polars and pyarrow, and compares the
// numbers of rows and values and the sums of all columns with those of the project's own engine. The
// collection must also be one table for those that know partitions.
func TestOtherReaders(t *testing.T) {
	python := pythonWith(t, "duckdb", "pandas", "polars", "pyarrow")
	collection := t.TempDir()
	want := map[string]map[string]map[string]found{}
	passes := map[string]float64{}
	for name, spec := range interopRuns(t) {
		run := "run=" + name
		dir := filepath.Join(collection, run)
		if _, err := Run(context.Background(), Options{Spec: spec, Dir: dir, Optional: OptionalTables}); err != nil {
			t.Fatal(err)
		}
		want[run] = sums(t, dir)
		passes[name] = want[run][""][schemas.Passes.Name][0].(float64)
	}
	cmd := exec.Command(python, filepath.Join("testdata", "read_tables.py"), collection)
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	var got struct {
		Found map[string]map[string]map[string]map[string]found
		Runs  map[string]map[string]float64
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Found) != 4 || len(got.Runs) != 3 {
		t.Fatalf("%d readers and %d of collections", len(got.Found), len(got.Runs))
	}
	near := cmp.Comparer(func(a, b string) bool {
		x, errX := strconv.ParseFloat(a, 64)
		y, errY := strconv.ParseFloat(b, 64)
		// Sums of whole numbers are exact; the engine adds others in its own order.
		whole := !strings.ContainsAny(a+b, ".e")
		return a == b || errX == nil && errY == nil && !whole && (x-y)*(x-y) <= 1e-20*x*y
	})
	for reader, runs := range got.Found {
		if diff := cmp.Diff(want, runs, near); diff != "" {
			t.Errorf("%s: %s", reader, diff)
		}
	}
	for reader, counts := range got.Runs {
		if diff := cmp.Diff(passes, counts); diff != "" {
			t.Errorf("%s: passes of the runs of the collection: %s", reader, diff)
		}
	}
}

// sums asks the project's own engine for the figures of each column of each table.
func sums(t *testing.T, dir string) map[string]map[string]found {
	t.Helper()
	m, err := rundir.ReadManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	engine, err := queries.Open(ctx, []string{dir}, queries.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	tables := map[string]map[string]found{"": {}}
	for _, entry := range m.Tables {
		i := slices.IndexFunc(schemas.AllTables, func(t *schemas.Table) bool { return t.Name == entry.Name })
		tables[entry.Name] = map[string]found{}
		tables[""][entry.Name] = found{float64(entry.Rows), fmt.Sprint(entry.Rows)}
		for _, c := range schemas.AllTables[i].Columns {
			value := map[string]string{"utf8": "strlen(%q)::hugeint", "float64": "%q"}[c.Type.Name()]
			if value == "" {
				value = "%q::hugeint"
			}
			var out bytes.Buffer
			sql := fmt.Sprintf("select count(%q) n, coalesce(sum("+value+"), 0)::varchar s from %s", c.Name, c.Name, entry.Name)
			if err := engine.Query(ctx, sql, &out, queries.QueryOptions{Format: queries.FormatJSON}); err != nil {
				t.Fatal(err)
			}
			var rows []struct {
				N float64
				S string
			}
			if err := json.Unmarshal(out.Bytes(), &rows); err != nil || len(rows) != 1 {
				t.Fatalf("%s: %v", out.Bytes(), err)
			}
			if rows[0].N == 0 {
				rows[0].S = "0"
			}
			tables[entry.Name][c.Name] = found{rows[0].N, rows[0].S}
		}
	}
	return tables
}

// interopRuns are two runs that fill all kinds of columns: a trace with names, outputs and large ids, and synthetic
// sessions.
func interopRuns(t *testing.T) map[string]*schemas.RunSpec {
	t.Helper()
	var trace strings.Builder
	for i := range 300 {
		fmt.Fprintf(&trace, `{"timestamp": %d.5, "input_length": %d, "output_length": 3, "hash_ids": [%d, %d, 18446744073709551615]`, 7*i, 9+i%4, 1+i%5, uint64(1)<<63+uint64(i))
		if i%3 == 0 {
			fmt.Fprintf(&trace, `, "session_id": "ü%d", "request_id": "r%d", "priority": -%d, "policy_class": "batch"`, i, i, i%7+1)
		}
		if i%4 == 0 {
			trace.WriteString(`, "output_token_ids": [1, 4294967295, 3]`)
		}
		trace.WriteString("}\n")
	}
	path := filepath.Join(t.TempDir(), "trace.jsonl")
	if err := os.WriteFile(path, []byte(trace.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	run := func(traffic string) *schemas.RunSpec {
		document, err := schemas.ParsePrediction("run.yaml", []byte("traffic:\n"+traffic+interopEngine), schemas.StackDynamo)
		if err != nil {
			t.Fatal(err)
		}
		spec, err := document.RunSpec()
		if err != nil {
			t.Fatal(err)
		}
		return spec
	}
	return map[string]*schemas.RunSpec{
		"trace": run("  source: {type: trace, format: mooncake, block_size: 4, paths: [" + strconv.Quote(path) + "]}\n  load: {type: trace_timestamps}\n"),
		"sessions": run("  source: {type: synthetic-session, new_input_tokens_per_turn: 20, output_tokens_per_turn: 5, session: {turns: 3, inter_turn_delay_ms: 2.5}}\n" +
			"  load: {type: concurrency, concurrency: 7}\n  stop: {sessions: 50}\n"),
	}
}

const interopEngine = `
engine:
  model: any/model
  hardware: any-hardware
  context_length: 4096
  workers:
    aggregated:
      parallelism: {replicas: 2}
      kv_cache:
        block_size: 4
        capacity: {type: fixed, blocks: 60}
      timing: {type: polynomial}
`
