package ingest

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dynosim/dynosim/schemas"
)

// TestAheadDeliversTheSame compares batches and errors with those of the reader itself, for whole traces and
// ones with an invalid row.
func TestAheadDeliversTheSame(t *testing.T) {
	var b strings.Builder
	for range 3000 {
		b.WriteString(`{"timestamp": 1, "input_length": 600, "output_length": 2, "hash_ids": [1, 2], "session_id": "s"}` + "\n")
	}
	for name, text := range map[string]string{"whole": b.String(), "cut": b.String() + `{"timestamp"`} {
		path := filepath.Join(t.TempDir(), name+".jsonl")
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		open := func() Reader {
			r, err := Open(&schemas.SourceSpec{Kind: schemas.SourceTrace, Format: schemas.FormatMooncake, Paths: []string{path}, BlockTokens: 512}, 0)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		plain, beside := open(), Ahead(open())
		var want, got schemas.RequestBatch
		for {
			werr, gerr := plain.Next(&want), beside.Next(&got)
			if (werr == nil) != (gerr == nil) || werr != nil && werr.Error() != gerr.Error() {
				t.Fatalf("%s: error %v, want %v", name, gerr, werr)
			}
			if diff := cmp.Diff(live(want), live(got)); diff != "" {
				t.Fatalf("%s: %s", name, diff)
			}
			if werr != nil {
				if errors.Is(werr, io.EOF) != (name == "whole") {
					t.Errorf("%s ended with %v", name, werr)
				}
				break
			}
		}
		if err := errors.Join(plain.Close(), beside.Close(), beside.Close()); err != nil {
			t.Error(err)
		}
	}
}

// live has the rows of a batch in a few columns, without what is left of earlier ones.
func live(b schemas.RequestBatch) []any {
	return []any{b.N, b.BlockTokens, b.Line[:b.N], b.SessionID[:b.N], b.HasSession[:b.N], b.InputTokens[:b.N], b.TimestampMS[:b.N], b.BlockEnd[:b.N], append([]uint64{}, b.Blocks...)}
}

// TestAheadCanBeClosedEarly closes with batches still waiting; the goroutine must end.
func TestAheadCanBeClosedEarly(t *testing.T) {
	source := &schemas.SourceSpec{Kind: schemas.SourceSynthetic, InputTokens: 1, OutputTokens: 1, Count: 1 << 20, Turns: 1}
	for taken := range 3 {
		r, err := Open(source, 1)
		if err != nil {
			t.Fatal(err)
		}
		a := Ahead(r)
		var batch schemas.RequestBatch
		for range taken {
			if err := a.Next(&batch); err != nil {
				t.Fatal(err)
			}
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}
