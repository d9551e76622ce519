package pipeline

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dynosim/dynosim/ingest"
	"github.com/dynosim/dynosim/schemas"
)

// traceSpec is a small run over the trace file path.
func traceSpec(t *testing.T, path, text string) *schemas.RunSpec {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	source, err := schemas.TraceSource("mooncake", []string{path}, 4)
	if err != nil {
		t.Fatal(err)
	}
	return &schemas.RunSpec{
		Source: source, Load: schemas.LoadSpec{Kind: schemas.LoadTraceTimestamps, Speedup: 1}, TimeLimitMS: 1e9, SLA: schemas.NoSLA(), Stack: schemas.StackDynamo,
		Pools: schemas.AggregatedPool(schemas.EngineSpec{
			Backend: schemas.BackendVLLM, BlockTokens: 4, NumBlocks: 64, MaxSequences: 8, MaxBatchedTokens: 64, MaxModelLen: schemas.Unlimited, PrefixCaching: true,
			ChunkedPrefill: true, PrefillScheduleInterval: 1, Preemption: schemas.PreemptLIFO, SpeedupRatio: 1, DecodeSpeedupRatio: 1,
			DataParallelRanks: 1, TensorParallel: 1, PipelineParallel: 1, Timing: schemas.TimingSpec{Kind: schemas.TimingPolynomial},
		}, 1),
	}
}

const (
	rowA = `{"timestamp": 0, "input_length": 6, "output_length": 3, "hash_ids": [1, 2]}` + "\n"
	rowB = `{"timestamp": 5, "input_length": 8, "output_length": 2, "hash_ids": [1, 3]}` + "\n"
)

// names lists a folder, with hidden entries.
func names(t *testing.T, dir string) (out []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// TestSharedCache runs the same thing many times at once with one cache: all runs are equal, and the cache has one
// folder of each stage and nothing unfinished.
func TestSharedCache(t *testing.T) {
	dir := t.TempDir()
	spec := traceSpec(t, filepath.Join(dir, "trace.jsonl"), strings.Repeat(rowA, 50))
	cache := filepath.Join(dir, "cache")
	runs := make([]string, 6)
	var wait sync.WaitGroup
	for i := range runs {
		runs[i] = filepath.Join(dir, "run", string(rune('a'+i)))
		wait.Go(func() {
			if _, err := Run(context.Background(), Options{Spec: spec, Dir: runs[i], Optional: OptionalTables, Cache: cache}); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if t.Failed() {
		return
	}
	want := contents(t, runs[0])
	for _, run := range runs[1:] {
		if d := differ(contents(t, run), want); len(d) > 0 {
			t.Errorf("%s differs: %s", run, strings.Join(d, ", "))
		}
	}
	if got := names(t, cache); len(got) != 2 || !strings.HasPrefix(got[0], "ingest-") || !strings.HasPrefix(got[1], "lower-") {
		t.Errorf("the cache holds %v", got)
	}
}

// TestCacheKnowsContentsOnly moves, copies and compresses nothing but the path: the folder is reused, and
// the manifest of the run names the new path. Another content at the old path is another source.
func TestCacheKnowsContentsOnly(t *testing.T) {
	dir := t.TempDir()
	cache := filepath.Join(dir, "cache")
	run := 0
	note := func(spec *schemas.RunSpec) string {
		t.Helper()
		run++
		var told notes
		out := filepath.Join(dir, "run", string(rune('a'+run)))
		if _, err := Run(context.Background(), Options{Spec: spec, Dir: out, Cache: cache, Observer: &told}); err != nil {
			t.Fatal(err)
		}
		if manifest := contents(t, out)["manifest.json"]; !strings.Contains(manifest, `"path":"`+spec.Source.Paths[0]) {
			t.Errorf("the manifest does not name %s: %s", spec.Source.Paths[0], manifest)
		}
		line := strings.Join(told.lines, "\n")
		if i := strings.Index(line, " "+cache); i >= 0 {
			line = line[:i]
		}
		return line
	}
	one := traceSpec(t, filepath.Join(dir, "one.jsonl"), rowA+rowB)
	two := traceSpec(t, filepath.Join(dir, "two.jsonl"), rowA+rowB)
	for _, step := range []struct {
		spec *schemas.RunSpec
		want string
	}{{one, ""}, {two, "ingest, lower: reused"}} {
		if got := note(step.spec); got != step.want {
			t.Errorf("note %q, want %q", got, step.want)
		}
	}
	two.Load.Speedup = 2
	if got := note(two); got != "ingest: reused" {
		t.Errorf("another load: note %q", got)
	}
	two.Pools = schemas.AggregatedPool(one.Pools[0].Engine, 1)
	two.Pools[0].Engine.NumBlocks = 100
	if got := note(two); got != "ingest, lower: reused" {
		t.Errorf("another engine: note %q", got)
	}
	two.Source.BlockTokens = 5
	if got := note(two); got != "" {
		t.Errorf("another block size: note %q", got)
	}
	if got := note(traceSpec(t, filepath.Join(dir, "one.jsonl"), rowB+rowA)); got != "" {
		t.Errorf("another content: note %q", got)
	}
}

// TestAbandonedFoldersGo checks that what killed processes left in a cache is removed after a day,
// and what may still be worked on is not.
func TestAbandonedFoldersGo(t *testing.T) {
	dir := t.TempDir()
	for name, age := range map[string]time.Duration{unfinishedPrefix + "old": 25 * time.Hour, unfinishedPrefix + "new": time.Hour, "other": 100 * time.Hour} {
		path := filepath.Join(dir, name)
		if err := os.Mkdir(path, 0o777); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-age)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := openCache(dir); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(names(t, dir), " "); got != unfinishedPrefix+"new other" {
		t.Errorf("left: %s", got)
	}
}

// TestNothingOfAFailureIsKept runs over a trace with an error: no folder stays in the cache.
func TestNothingOfAFailureIsKept(t *testing.T) {
	dir := t.TempDir()
	cache := filepath.Join(dir, "cache")
	for _, text := range []string{
		rowA + "{}\n", // an error of ingest
		rowA + `{"input_length": 8, "output_length": 2, "hash_ids": [1, 3]}` + "\n", // of lower: no timestamp
	} {
		spec := traceSpec(t, filepath.Join(dir, "trace.jsonl"), text)
		_, want := Run(context.Background(), Options{Spec: spec, Dir: filepath.Join(dir, "fused")})
		_, err := Run(context.Background(), Options{Spec: spec, Dir: filepath.Join(dir, "run"), Cache: cache})
		if err == nil || want == nil || err.Error() != want.Error() {
			t.Errorf("error %v, without a cache %v", err, want)
		}
		for _, name := range names(t, cache) {
			if !strings.HasPrefix(name, "ingest-") {
				t.Errorf("left: %s", name)
			}
		}
		if _, err := os.Stat(filepath.Join(dir, "run")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the run directory is there: %v", err)
		}
	}
}

// TestChangedInput changes a file after it was digested.
func TestChangedInput(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.jsonl")
	spec := traceSpec(t, path, rowA)
	in := readInputs(&spec.Source)
	if err := in.unchanged(); err != nil {
		t.Error(err)
	}
	if _, err := in.wait(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(rowA+rowB), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := in.unchanged(); err == nil || !strings.Contains(err.Error(), "changed while it was read") {
		t.Errorf("error is %v", err)
	}
}

// TestPipesAreDigestedWhileRead reads a source that can be read only once: its digest is that of a file with the
// same content.
func TestPipesAreDigestedWhileRead(t *testing.T) {
	dir := t.TempDir()
	spec := traceSpec(t, filepath.Join(dir, "trace.jsonl"), rowA+rowB)
	entries, err := readInputs(&spec.Source).wait()
	if err != nil {
		t.Fatal(err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	before := os.Stdin
	os.Stdin = read
	defer func() { os.Stdin = before }()
	if _, err := write.WriteString(rowA + rowB); err != nil {
		t.Fatal(err)
	}
	write.Close()
	spec.Source.Paths = []string{"-"}
	in := readInputs(&spec.Source)
	if in.regular() {
		t.Error("standard input counts as a file")
	}
	reader, err := ingest.OpenWith(&spec.Source, 4, ingest.Options{Tap: in.tap})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	var batch schemas.RequestBatch
	for err == nil {
		err = reader.Next(&batch)
	}
	piped, err := in.wait()
	if err != nil || piped[0].Digest != entries[0].Digest || piped[0].Bytes != entries[0].Bytes {
		t.Errorf("%+v, %v, want %+v", piped, err, entries)
	}
}
