package queries_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dynosim/dynosim/queries"
)

// TestOffloadQueries asks the named queries about host caches over the tables of testdata/offload.txt, which has
// their output behind a line ----.
func TestOffloadQueries(t *testing.T) {
	const name = "testdata/offload.txt"
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	input, want, _ := strings.Cut(string(b), "----\n")
	p, err := parsePopulation(input)
	if err != nil {
		t.Fatal(err)
	}
	e := openRuns(t, p.write(t).Path())
	var got bytes.Buffer
	for _, query := range []string{"host_cache", "host_waits"} {
		got.WriteString("> " + query + "\n")
		if err := e.Named(t.Context(), query, &got, queries.QueryOptions{Format: queries.FormatCSV}); err != nil {
			t.Fatal(err)
		}
	}
	if *rewrite {
		if err := os.WriteFile(name, []byte(input+"----\n"+got.String()), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("-file +output:\n%s", diff)
	}
}
