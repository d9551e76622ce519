package pipeline

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/dynosim/dynosim/internal/rundir"
	"github.com/dynosim/dynosim/schemas"
	"github.com/dynosim/dynosim/simulate"
)

// conversation is the example of the repository, cut after two minutes of virtual time, with
// pools that are small enough to evict and preempt.
func conversation(t *testing.T, overrides ...string) *schemas.RunSpec {
	t.Helper()
	t.Chdir("../..")
	text, err := os.ReadFile("examples/conversation.yaml")
	if err != nil {
		t.Fatal(err)
	}
	overrides = append([]string{
		"traffic.stop={max_virtual_time_seconds: 120}", "engine.workers.aggregated.kv_cache.capacity.blocks=2000",
	}, overrides...)
	document, err := schemas.ParsePrediction("examples/conversation.yaml", text, schemas.StackDynamo, overrides...)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := document.RunSpec()
	if err != nil {
		t.Fatal(err)
	}
	spec.CapturePerRequest = true
	return spec
}

func runInto(t *testing.T, dir string, spec *schemas.RunSpec) *Result {
	t.Helper()
	result, err := Run(context.Background(), Options{Spec: spec, Dir: dir, Optional: OptionalTables})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// TestSameBytes runs the same specification with one and two processors, twice each: tables
// and records must agree to the byte.
func TestSameBytes(t *testing.T) {
	spec := conversation(t)
	first := filepath.Join(t.TempDir(), "run")
	runInto(t, first, spec)
	entries, err := os.ReadDir(first)
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, procs := range []int{1, 2, 1, 2} {
		before := runtime.GOMAXPROCS(procs)
		dir := filepath.Join(t.TempDir(), "run")
		runInto(t, dir, spec)
		runtime.GOMAXPROCS(before)
		for _, e := range entries {
			if name := e.Name(); strings.HasSuffix(name, ".parquet") || strings.HasSuffix(name, ".jsonl") {
				want, err := os.ReadFile(filepath.Join(first, name))
				if err != nil {
					t.Fatal(err)
				}
				got, err := os.ReadFile(filepath.Join(dir, name))
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(want, got) {
					t.Errorf("%s differs between two runs, the second with %d processors", name, procs)
				}
				compared++
			}
		}
	}
	tables := 0
	for _, t := range schemas.AllTables {
		if !t.Agentic && !t.Offload && !slices.Contains(tickTables, t.Name) && t != &schemas.RoutingCandidates {
			tables++
		}
	}
	if want := 4 * (tables + 1); compared != want {
		t.Errorf("%d files compared, want %d", compared, want)
	}
}

// stopper cancels the run when the stage named at is reached.
type stopper struct {
	at     string
	cancel context.CancelFunc
}

func (s *stopper) reach(stage string) {
	if stage == s.at {
		s.cancel()
	}
}

func (s *stopper) Reading(int64, int64) { s.reach("reading") }
func (s *stopper) Reporting()           { s.reach("reporting") }
func (s *stopper) Note(string)          {}
func (s *stopper) Simulating(*simulate.Progress, int64) (stop func()) {
	s.reach("simulating")
	return func() {}
}

// TestInterrupted stops runs in every stage, over an earlier run and in a new directory: the
// error is the context's, and no file and no manifest of the stopped run appears.
func TestInterrupted(t *testing.T) {
	spec := conversation(t)
	for _, stage := range []string{"reading", "simulating", "reporting"} {
		t.Run(stage, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			_, err := Run(ctx, Options{Spec: spec, Dir: dir, Optional: OptionalTables, Observer: &stopper{stage, cancel}})
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("error %v, want the context's", err)
			}
			if _, err := rundir.ReadManifest(dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("reading the manifest: %v, want that there is none", err)
			}
			entries, _ := os.ReadDir(dir)
			for _, e := range entries {
				if stage != "reporting" || strings.HasPrefix(e.Name(), ".") {
					t.Errorf("%s was left behind", e.Name())
				}
			}
		})
	}
}

// TestRefusedDirectory checks that a directory that holds something is left alone without
// Overwrite, and that Overwrite keeps files of others.
func TestRefusedDirectory(t *testing.T) {
	spec := conversation(t)
	dir := t.TempDir()
	note := filepath.Join(dir, "note.txt")
	if err := os.WriteFile(note, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := Run(context.Background(), Options{Spec: spec, Dir: dir, Optional: OptionalTables})
	var refused *DirectoryError
	if !errors.As(err, &refused) {
		t.Fatalf("error %v, want a refused directory", err)
	}
	if _, err := Run(context.Background(), Options{Spec: spec, Dir: dir, Optional: OptionalTables, Overwrite: true}); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(note); err != nil || string(text) != "mine" {
		t.Errorf("the file of somebody else is %q, %v", text, err)
	}
}

// TestOptionalTables checks that a run without the optional tables has the same summary.
func TestOptionalTables(t *testing.T) {
	spec := conversation(t)
	spec.CapturePerRequest = false
	all := runInto(t, filepath.Join(t.TempDir(), "run"), spec)
	dir := filepath.Join(t.TempDir(), "run")
	few, err := Run(context.Background(), Options{Spec: spec, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range all.Summary.Keys() {
		want, _ := all.Summary.Value(key)
		if got, _ := few.Summary.Value(key); got != want && !strings.Contains(key, "wall_time") && !strings.HasPrefix(key, "processed_") {
			t.Errorf("%s = %v without the optional tables, %v with them", key, got, want)
		}
	}
	for _, name := range OptionalTables {
		if _, err := os.Stat(filepath.Join(dir, name+".parquet")); err == nil {
			t.Errorf("table %s was written", name)
		}
	}
}
