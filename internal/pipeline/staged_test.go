package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dynosim/dynosim/schemas"
)

// wallClock are the members of prediction.json that differ between two equal runs.
var wallClock = regexp.MustCompile(`"(wall_time_ms|processed_tokens_per_s|processed_output_tokens_per_s)":[^,}]*`)

// contents reads every file of a folder; real times are taken out.
func contents(t testing.TB, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		switch e.Name() {
		case "prediction.json":
			text = wallClock.ReplaceAll(text, nil)
		case "manifest.json":
			var m map[string]any
			if err := json.Unmarshal(text, &m); err != nil {
				t.Fatal(err)
			}
			delete(m, "wall_clock")
			for _, table := range m["tables"].([]any) {
				delete(table.(map[string]any), "bytes") // those of the files are compared
			}
			if text, err = json.Marshal(m); err != nil {
				t.Fatal(err)
			}
		}
		out[e.Name()] = string(text)
	}
	return out
}

// differ lists the files in which two folders differ.
func differ(got, want map[string]string) (names []string) {
	for name := range want {
		if got[name] != want[name] {
			names = append(names, fmt.Sprintf("%s (%d bytes, want %d)", name, len(got[name]), len(want[name])))
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			names = append(names, name+" (too many)")
		}
	}
	return names
}

// staged runs the stages one by one, with folders between them.
func staged(spec *schemas.RunSpec, dir string, optional []string) error {
	ctx := context.Background()
	in, low := filepath.Join(dir, "in"), filepath.Join(dir, "low")
	if _, err := Ingest(ctx, StageOptions{Spec: spec, Dir: in}); err != nil {
		return err
	}
	if _, err := Lower(ctx, StageOptions{Spec: spec, From: in, Dir: low}); err != nil {
		return err
	}
	_, err := Run(ctx, Options{Spec: spec, From: low, Dir: filepath.Join(dir, "run"), Optional: optional})
	return err
}

// notes keeps what an observer is told.
type notes struct {
	silent
	lines []string
}

func (n *notes) Note(line string) { n.lines = append(n.lines, line) }

// TestStagedRunsAreFusedRuns draws configurations and runs each in one go, stage by stage, from a cache that is empty,
// that has the source, and that has everything: all files must agree to the byte, the manifest included.
func TestStagedRunsAreFusedRuns(t *testing.T) {
	ended, failed := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		dir := t.TempDir()
		defer os.RemoveAll(dir)
		spec := drawSpec(rt, dir)
		optional := OptionalTables
		if rapid.IntRange(0, 3).Draw(rt, "few tables") == 0 {
			optional = []string{"chains", "blocks"}
		}
		ctx, fused := context.Background(), filepath.Join(dir, "fused")
		_, fusedErr := Run(ctx, Options{Spec: spec, Dir: fused, Optional: optional})
		check := func(how, run string, err error) {
			rt.Helper()
			switch {
			case fusedErr == nil && err == nil:
				if names := differ(contents(t, run), contents(t, fused)); len(names) > 0 {
					diff := cmp.Diff(contents(t, run)["manifest.json"], contents(t, fused)["manifest.json"])
					rt.Fatalf("%s: these differ: %s\n%s", how, strings.Join(names, ", "), diff)
				}
			case fusedErr == nil || err == nil || fusedErr.Error() != err.Error():
				rt.Fatalf("%s: error %v, fused %v", how, err, fusedErr)
			}
		}
		check("staged", filepath.Join(dir, "run"), staged(spec, dir, optional))
		if fusedErr != nil {
			failed++
			return
		}
		ended++
		// A report that is computed again has the same bytes, real times too.
		before, err := os.ReadFile(filepath.Join(fused, "prediction.json"))
		if err != nil {
			rt.Fatal(err)
		}
		if _, err := Report(ctx, ReportOptions{Dir: fused}); err != nil {
			rt.Fatal(err)
		}
		if after, err := os.ReadFile(filepath.Join(fused, "prediction.json")); err != nil || !bytes.Equal(after, before) {
			rt.Fatalf("the report computed again differs, %v:\n%s", err, cmp.Diff(string(after), string(before)))
		}
		cached(rt, spec, dir, optional, check)
	})
	if !t.Failed() && ended < failed {
		t.Errorf("%d runs ended well and %d failed: the draws are of little use", ended, failed)
	}
}

// cached runs with a cache that is empty, that has everything, and that has only the source.
func cached(rt *rapid.T, spec *schemas.RunSpec, dir string, optional []string, check func(how, run string, err error)) {
	cache := filepath.Join(dir, "cache")
	for i, step := range []struct{ how, remove, note string }{
		{"empty cache", "", ""},
		{"full cache", "", "ingest, lower: reused"},
		{"cache of the source", "lower-*", "ingest: reused"},
	} {
		if i == 1 && rapid.Bool().Draw(rt, "skip "+step.how) {
			continue // to save time
		}
		if step.remove != "" {
			names, _ := filepath.Glob(filepath.Join(cache, step.remove))
			for _, name := range names {
				_ = os.RemoveAll(name)
			}
		}
		run := filepath.Join(dir, fmt.Sprint("cached", i))
		var told notes
		_, err := Run(context.Background(), Options{Spec: spec, Dir: run, Optional: optional, Cache: cache, Observer: &told})
		check(step.how, run, err)
		if got := strings.Join(told.lines, "\n"); step.note == "" && got != "" || !strings.HasPrefix(got, step.note) {
			rt.Fatalf("%s: notes are %q", step.how, got)
		}
	}
}
