package queries_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dynosim/dynosim/queries"
)

var rewrite = flag.Bool("rewrite", false, "write the expected output in testdata anew")

// TestReport computes the report of every testdata/summary/*.txt: tables as text, then a
// line ----, then prediction.json with line breaks.
func TestReport(t *testing.T) {
	names, err := filepath.Glob("testdata/summary/*.txt")
	if err != nil || len(names) == 0 {
		t.Fatalf("no cases, error %v", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			input, want, _ := strings.Cut(string(b), "----\n")
			p, err := parsePopulation(input)
			if err != nil {
				t.Fatal(err)
			}
			dir := p.write(t)
			o := queries.ReportOptions{WallTimeMS: 2000, CapturePerRequest: strings.Contains(input, "# with records")}
			if _, err := queries.WriteReport(t.Context(), dir, o); err != nil {
				t.Fatal(err)
			}
			raw, err := os.ReadFile(filepath.Join(dir.Path(), queries.PredictionName))
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			if err := json.Indent(&got, raw, "", " "); err != nil {
				t.Fatalf("prediction.json is not JSON: %v", err)
			}
			if *rewrite {
				if err := os.WriteFile(name, []byte(input+"----\n"+got.String()), 0o666); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(want, got.String()); diff != "" {
				t.Errorf("-file +report:\n%s", diff)
			}
		})
	}
}

// TestRequestsFileHoldsTheRecords compares requests.jsonl with per_request.
func TestRequestsFileHoldsTheRecords(t *testing.T) {
	p, err := parsePopulation("request_results: node creation_ordinal status terminal_ms\n0 0 rejected 1\n1 1 rejected 2\nrun: stack\ndynamo\n")
	if err != nil {
		t.Fatal(err)
	}
	dir := p.write(t)
	if _, err := queries.WriteReport(t.Context(), dir, queries.ReportOptions{CapturePerRequest: true}); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(dir.Path(), queries.PredictionName))
	if err != nil {
		t.Fatal(err)
	}
	var prediction struct {
		PerRequest []json.RawMessage `json:"per_request"`
	}
	if err := json.Unmarshal(raw, &prediction); err != nil {
		t.Fatal(err)
	}
	lines, err := os.ReadFile(filepath.Join(dir.Path(), queries.RequestsName))
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	for _, r := range prediction.PerRequest {
		want.Write(r)
		want.WriteByte('\n')
	}
	if len(prediction.PerRequest) != 2 || want.String() != string(lines) {
		t.Errorf("requests.jsonl is\n%swant\n%s", lines, want.String())
	}
}

// TestReportNeedsItsTables names the table that is missing.
func TestReportNeedsItsTables(t *testing.T) {
	_, err := queries.OpenReport(t.Context(), t.TempDir(), queries.Options{})
	if err == nil || !strings.Contains(err.Error(), "request_results") {
		t.Errorf("error is %v", err)
	}
}

// TestBrokenTableIsOneLine lets a table be no Parquet file.
func TestBrokenTableIsOneLine(t *testing.T) {
	dir := newPopulation().write(t)
	if err := os.WriteFile(filepath.Join(dir.Path(), "passes.parquet"), []byte("PAR1 not really"), 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := queries.WriteReport(t.Context(), dir, queries.ReportOptions{})
	if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "passes.parquet") {
		t.Errorf("error is %v", err)
	}
}

// TestOddPaths opens runs whose directory has the wildcards and quotes of SQL in its name.
func TestOddPaths(t *testing.T) {
	parent := t.TempDir()
	dir := newPopulation().write(t)
	for _, name := range []string{"it's", "a*b", "a?", "[x]", "ü b", "{a,b}", "-- x"} {
		path := filepath.Join(parent, name)
		if err := os.CopyFS(path, os.DirFS(dir.Path())); err != nil {
			t.Fatal(err)
		}
		e, err := queries.Open(t.Context(), []string{path}, queries.Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var out bytes.Buffer
		if err := e.Query(t.Context(), "select count(*) as n from run", &out, queries.QueryOptions{Format: queries.FormatCSV}); err != nil || out.String() != "n\n1\n" {
			t.Errorf("%s: %q, error %v", name, out.String(), err)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}
