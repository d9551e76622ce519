package metrics

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/dynosim/dynosim/internal/fakerun"
	"github.com/dynosim/dynosim/internal/rundir"
	"github.com/dynosim/dynosim/schemas"
)

// small is a run whose tables have several row groups and a short last batch.
var small = fakerun.Shape{Requests: 1_001, Passes: 150_003, Gaps: 70_000, Workers: 3}

func create(tb testing.TB, o rundir.Options) *rundir.Dir {
	tb.Helper()
	o.Known = FileNames()
	dir, err := rundir.Create(tb.TempDir(), o)
	if err != nil {
		tb.Fatal(err)
	}
	return dir
}

// writeSmall writes a whole run and returns its directory.
func writeSmall(t *testing.T) string {
	t.Helper()
	dir := create(t, rundir.Options{})
	r, err := Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Abort()
	if err := fakerun.Fill(r.Sink(), small, 1000); err != nil {
		t.Fatal(err)
	}
	if err := r.WriteNodes(NodeColumns{
		ReleaseMS: []float64{1, math.NaN()}, InputTokens: []int32{3, 4}, OutputTokens: []int32{1, 2}, Chain: []int32{-1, 0}, ChainTokens: []int32{0, 512},
	}); err != nil {
		t.Fatal(err)
	}
	if err := r.WriteRun(RunRow{Stack: "dynamo", SLA: schemas.NoSLA()}); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return dir.Path()
}

func TestTablesAreTheSameWhateverRunsBeside(t *testing.T) {
	want := map[string]string{}
	for i, procs := range []int{1, 2, 1, 2} {
		old := runtime.GOMAXPROCS(procs)
		dir := writeSmall(t)
		runtime.GOMAXPROCS(old)
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		if len(entries) != len(schemas.AllTables) {
			t.Fatalf("%d files for %d tables", len(entries), len(schemas.AllTables))
		}
		for _, e := range entries {
			b, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				want[e.Name()] = string(b)
			} else if want[e.Name()] != string(b) {
				t.Errorf("run %d: %s differs", i, e.Name())
			}
		}
	}
}

func TestOnlySelectedTablesAreWritten(t *testing.T) {
	dir := create(t, rundir.Options{})
	r, err := Open(dir, []string{"passes", "run"})
	if err != nil {
		t.Fatal(err)
	}
	if err := fakerun.Fill(r.Sink(), fakerun.Shape{Requests: 10, Passes: 10, Gaps: 10, Workers: 1}, 4); err != nil {
		t.Fatal(err)
	}
	if err := r.WriteChains(ChainColumns{Parent: []int32{-1}, Block: []uint32{0}}); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(dir.Path(), "*"))
	if err != nil || len(names) != 2 || filepath.Base(names[0]) != "passes.parquet" || filepath.Base(names[1]) != "run.parquet" {
		t.Errorf("files %v, error %v", names, err)
	}
	if _, err := Open(dir, []string{"pases"}); err == nil || !strings.Contains(err.Error(), `"pases"`) {
		t.Errorf("error of an unknown table is %v", err)
	}
}

func TestAbortRemovesTheFiles(t *testing.T) {
	dir := create(t, rundir.Options{})
	r, err := Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := fakerun.Fill(r.Sink(), fakerun.Shape{Requests: 10, Passes: 70_000, Gaps: 10, Workers: 1}, 1000); err != nil {
		t.Fatal(err)
	}
	r.Abort()
	r.Abort()
	if entries, err := os.ReadDir(dir.Path()); err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v, error %v", entries, err)
	}
	if err := r.Close(); err == nil {
		t.Error("Close after Abort gave no error")
	}
}

// fullDisk is a file system on which left more bytes fit, shared by files that are written at once.
type fullDisk struct {
	left *atomic.Int64
}

type fullFile struct {
	*os.File
	left *atomic.Int64
}

func (d fullDisk) MkdirAll(path string) error                 { return os.MkdirAll(path, 0o777) }
func (d fullDisk) ReadDir(path string) ([]os.DirEntry, error) { return os.ReadDir(path) }
func (d fullDisk) Rename(from, to string) error               { return os.Rename(from, to) }
func (d fullDisk) Link(from, to string) error                 { return os.Link(from, to) }
func (d fullDisk) Remove(path string) error                   { return os.Remove(path) }
func (d fullDisk) SyncDir(string) error                       { return nil }
func (d fullDisk) Create(path string) (rundir.WriteFile, error) {
	f, err := os.Create(path)
	return fullFile{f, d.left}, err
}

func (f fullFile) Write(p []byte) (int, error) {
	if f.left.Add(-int64(len(p))) < 0 {
		return 0, &fs.PathError{Op: "write", Path: f.Name(), Err: syscall.ENOSPC}
	}
	return f.File.Write(p)
}

// TestFullDisk fills the disk after any number of bytes, from the first file's header to
// the last footer: one clear error, from Take or from Close, and nothing left.
func TestFullDisk(t *testing.T) {
	shape := fakerun.Shape{Requests: 300, Passes: 140_000, Gaps: 3_000, Workers: 2}
	run := func(start int64) (used int64, dir string, err error) {
		left := new(atomic.Int64)
		left.Store(start)
		disk := fullDisk{left: left}
		d := create(t, rundir.Options{FS: disk})
		r, err := Open(d, nil)
		if err == nil {
			err = fakerun.Fill(r.Sink(), shape, 1000)
			if cerr := r.Close(); err == nil {
				err = cerr
			} else if cerr == nil {
				t.Error("Take failed, Close did not")
			}
		}
		return start - left.Load(), d.Path(), err
	}
	total, _, err := run(1 << 40)
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(20) {
		left := total * i / 20
		if i == 19 {
			left = total - 1
		}
		_, dir, err := run(left)
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%d of %d bytes: error is %v", left, total, err)
			continue
		}
		if text := err.Error(); strings.Contains(text, "\n") || strings.Contains(text, ".tmp-") || !strings.Contains(text, ".parquet") {
			t.Errorf("%d of %d bytes: error reads %q", left, total, text)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
			t.Errorf("%d of %d bytes: left behind %v, error %v", left, total, entries, err)
		}
	}
}

// stuckDisk lets nothing be written until open is closed.
type stuckDisk struct {
	fullDisk
	open chan struct{}
}

type stuckFile struct {
	*os.File
	open chan struct{}
}

func (d stuckDisk) Create(path string) (rundir.WriteFile, error) {
	f, err := os.Create(path)
	return stuckFile{f, d.open}, err
}

func (f stuckFile) Write(p []byte) (int, error) {
	if len(p) > 4 { // the magic number at the start of every file
		<-f.open
	}
	return f.File.Write(p)
}

// TestASlowDiskHoldsTheSimulationBack shows that batches do not pile up: with the disk
// stuck, the simulation gets only as far as a row group and the queue.
func TestASlowDiskHoldsTheSimulationBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := make(chan struct{})
		dir := create(t, rundir.Options{FS: stuckDisk{open: open}})
		r, err := Open(dir, []string{"token_gaps"})
		if err != nil {
			t.Fatal(err)
		}
		const rows = 8192
		taken := 0
		go func() {
			b := schemas.NewGapBatch(rows)
			for range 100 {
				b.N = rows
				if b, err = r.Sink().Gaps.Take(b); err != nil {
					return
				}
				taken++
			}
		}()
		synctest.Wait()
		if limit := 2*rowGroupRows/rows + queuedBatches + 1; taken == 0 || taken > limit {
			t.Errorf("%d batches taken while nothing could be written, at most %d are allowed", taken, limit)
		}
		close(open)
		synctest.Wait()
		if err != nil || taken != 100 {
			t.Errorf("%d batches taken, error %v", taken, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
}
