package ingest

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dynosim/dynosim/schemas"
)

// rowsOf reads a source to its end; a row is its line, session and lengths.
func rowsOf(source *schemas.SourceSpec, o Options) (rows []any, r Reader, err error) {
	r, err = OpenWith(source, 4, o)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	var b schemas.RequestBatch
	for {
		if err := r.Next(&b); err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return rows, r, err
		}
		from := 0
		for i := range b.N {
			rows = append(rows, []any{b.Line[i], strings.Clone(b.SessionID[i]), b.InputTokens[i], b.OutputTokens[i], append([]uint64{}, b.Blocks[from:b.BlockEnd[i]]...)})
			from = b.BlockEnd[i]
		}
	}
}

// TestJoinedFilesAreOneFile cuts a file between lines and compares: sessions that are numbered by line, and
// block ids that are counted over sessions, must not start anew.
func TestJoinedFilesAreOneFile(t *testing.T) {
	lines := []string{
		`{"num_turns": 1, "input_prompt_length": 9, "assistant_response_length": [2], "tool_call_output_length": [3], "tool_call_latency": [0.5], "final_assistant_response_length": 1}`,
		"",
		`{"num_turns": 0, "input_prompt_length": 5, "assistant_response_length": [], "tool_call_output_length": [], "tool_call_latency": [], "final_assistant_response_length": 2}`,
	}
	rapid.Check(t, func(rt *rapid.T) {
		dir := t.TempDir()
		var whole strings.Builder
		var paths []string
		var counts []int64
		for range rapid.IntRange(1, 4).Draw(rt, "files") {
			part := rapid.SliceOfN(rapid.SampledFrom(lines), 0, 5).Draw(rt, "lines")
			text := strings.Join(part, "\n")
			if len(part) > 0 {
				text += "\n"
			}
			whole.WriteString(text)
			if len(part) > 0 && part[len(part)-1] != "" && rapid.Bool().Draw(rt, "no end") {
				text = strings.TrimSuffix(text, "\n")
			}
			path := filepath.Join(dir, "part"+string(rune('a'+len(paths))))
			if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
				rt.Fatal(err)
			}
			paths, counts = append(paths, path), append(counts, int64(len(part)))
		}
		one := filepath.Join(dir, "whole")
		if err := os.WriteFile(one, []byte(whole.String()), 0o666); err != nil {
			rt.Fatal(err)
		}
		source := schemas.SourceSpec{Kind: schemas.SourceTrace, Format: schemas.FormatAppliedCompute, BlockTokens: 4, SharedPrefixRatio: 0.5, PrefixGroups: 2}
		source.Paths = []string{one}
		want, _, wantErr := rowsOf(&source, Options{})
		source.Paths = paths
		got, r, err := rowsOf(&source, Options{Joined: true})
		if (err == nil) != (wantErr == nil) {
			rt.Fatalf("error %v, of one file %v", err, wantErr)
		}
		if diff := cmp.Diff(got, want); diff != "" {
			rt.Fatal(diff)
		}
		if err == nil {
			if diff := cmp.Diff(r.(LineCounter).Lines(), counts); diff != "" {
				rt.Fatal(diff)
			}
		}
	})
}

// TestJoinedErrors checks that messages name the file and its own line.
func TestJoinedErrors(t *testing.T) {
	dir := t.TempDir()
	good, bad, empty := filepath.Join(dir, "good"), filepath.Join(dir, "bad"), filepath.Join(dir, "empty")
	row := `{"hash_ids": [1], "output_length": 1, "timestamp": 0}` + "\n"
	for path, text := range map[string]string{good: row + row, bad: row + "{", empty: "\n"} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		paths []string
		want  string
	}{
		{[]string{good, bad}, bad + ":2: "},
		{[]string{good, empty, filepath.Join(dir, "missing")}, "cannot open trace file " + filepath.Join(dir, "missing")},
		{[]string{empty, empty}, empty + ", " + empty + ": no requests in the trace"},
		{[]string{good, dir}, "is a directory"},
	} {
		source := schemas.SourceSpec{Kind: schemas.SourceTrace, Format: schemas.FormatMooncake, BlockTokens: 4, Paths: c.paths}
		if _, _, err := rowsOf(&source, Options{Joined: true}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: error is %v, want %q", c.paths, err, c.want)
		}
	}
	source := schemas.SourceSpec{Kind: schemas.SourceTrace, Format: schemas.FormatMooncake, BlockTokens: 4, Paths: []string{good, good}}
	if _, err := Open(&source, 4); err == nil || !strings.Contains(err.Error(), "exactly one") {
		t.Errorf("two files without joining: %v", err)
	}
}
