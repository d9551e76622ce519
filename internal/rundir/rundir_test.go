package rundir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// list gives the names in dir with what they hold.
func list(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		got[e.Name()] = string(b)
	}
	return got
}

func put(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, n := range names {
		if err := os.WriteFile(filepath.Join(dir, n), []byte("old"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// write starts a file of the given text.
func write(t *testing.T, d *Dir, name, text string) *File {
	t.Helper()
	f, err := d.NewFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return f
}

var known = []string{"a.parquet", "b.parquet", "prediction.json"}

func TestPublishMakesFilesVisibleWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "run")
	d, err := Create(path, Options{Known: known})
	if err != nil {
		t.Fatal(err)
	}
	f, g := write(t, d, "a.parquet", "A"), write(t, d, "prediction.json", "P")
	for name := range list(t, path) {
		if !strings.HasPrefix(name, ".") || !strings.Contains(name, ".tmp-") {
			t.Errorf("%s is visible before it is published", name)
		}
	}
	if err := d.Publish(f, g); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(list(t, path), map[string]string{"a.parquet": "A", "prediction.json": "P"}); diff != "" {
		t.Error(diff)
	}
}

func TestCreateRefusesAFullDirectory(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "notes.txt", "prediction.json")
	_, err := Create(dir, Options{Known: known})
	if err == nil || !strings.Contains(err.Error(), "notes.txt, prediction.json") || !strings.Contains(err.Error(), "--overwrite") {
		t.Errorf("error is %v", err)
	}
	if diff := cmp.Diff(list(t, dir), map[string]string{"notes.txt": "old", "prediction.json": "old"}); diff != "" {
		t.Errorf("files changed: %s", diff)
	}
}

func TestCreateRefusesAFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, overwrite := range []bool{false, true} {
		if _, err := Create(name, Options{Overwrite: overwrite}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("overwrite %v: error is %v", overwrite, err)
		}
	}
}

func TestOverwriteReplacesOnlyKnownFiles(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "notes.txt", "a.parquet", "b.parquet", "prediction.json", ManifestName, ".b.parquet.tmp-7", ".other.tmp-1")
	d, err := Create(dir, Options{Overwrite: true, Known: known})
	if err != nil {
		t.Fatal(err)
	}
	// Until something is complete the old run stays whole, without leftovers of crashed runs.
	f := write(t, d, "a.parquet", "new")
	got := list(t, dir)
	delete(got, filepath.Base(f.temp))
	want := map[string]string{"notes.txt": "old", "a.parquet": "old", "b.parquet": "old", "prediction.json": "old", ManifestName: "old", ".other.tmp-1": "old"}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Fatal(diff)
	}
	if err := d.Publish(f); err != nil {
		t.Fatal(err)
	}
	want = map[string]string{"notes.txt": "old", "a.parquet": "new", ".other.tmp-1": "old"}
	if diff := cmp.Diff(list(t, dir), want); diff != "" {
		t.Error(diff)
	}
}

func TestAbortLeavesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	d, err := Create(path, Options{Known: known})
	if err != nil {
		t.Fatal(err)
	}
	f := write(t, d, "a.parquet", "A")
	d.Abort()
	d.Abort()
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory is still there: %v", err)
	}
	if err := d.Publish(f); err == nil {
		t.Error("an aborted directory took a file")
	}
	if _, err := d.NewFile("b.parquet"); err == nil {
		t.Error("an aborted directory started a file")
	}
}

func TestAbortKeepsAnOldRun(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "a.parquet", ManifestName)
	d, err := Create(dir, Options{Overwrite: true, Known: known})
	if err != nil {
		t.Fatal(err)
	}
	write(t, d, "a.parquet", "half")
	d.Abort()
	if diff := cmp.Diff(list(t, dir), map[string]string{"a.parquet": "old", ManifestName: "old"}); diff != "" {
		t.Error(diff)
	}
}

func TestManifestRoundTrip(t *testing.T) {
	dir := t.TempDir()
	if _, err := ReadManifest(dir); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "not a complete run directory") {
		t.Errorf("error without a manifest is %v", err)
	}
	d, err := Create(dir, Options{Known: known})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Publish(write(t, d, "b.parquet", "B"), write(t, d, "a.parquet", "AA"), write(t, d, "prediction.json", "P")); err != nil {
		t.Fatal(err)
	}
	d.AddTable(TableEntry{Name: "b", Version: 2, Stage: "lower", Rows: 5, Bytes: 1})
	d.AddTable(TableEntry{Name: "a", Version: 1, Stage: "simulate", Rows: 9, Bytes: 2})
	m := Manifest{
		Program: "1.0", ConfigDigest: "c", Inputs: []InputEntry{{Path: "t.jsonl", Bytes: 3, Digest: "d", Lines: 7}},
		Stages:    []StageEntry{{Name: "ingest", State: StateComplete}, {Name: "simulate", State: StateFailed, Error: "why"}},
		WallClock: WallClock{SimulationMS: 1.5},
	}
	if err := d.WriteManifest(m); err != nil {
		t.Fatal(err)
	}
	got, err := ReadManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	m.Format = ManifestFormat
	m.Tables = []TableEntry{{"a", 1, "simulate", 9, 2}, {"b", 2, "lower", 5, 1}}
	m.Files = []string{"prediction.json"}
	if diff := cmp.Diff(got, &m); diff != "" {
		t.Error(diff)
	}
	if err := os.WriteFile(filepath.Join(dir, ManifestName), []byte(`{"format":99}`), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadManifest(dir); err == nil || !strings.Contains(err.Error(), "format 99") {
		t.Errorf("error of an unknown format is %v", err)
	}
}

// failing is the real file system with one operation that fails.
type failing struct {
	osFS
	op string
}

type failingFile struct {
	WriteFile
	op string
}

func (f failing) Create(path string) (WriteFile, error) {
	if f.op == "create" {
		return nil, &fs.PathError{Op: "open", Path: path, Err: syscall.EACCES}
	}
	w, err := f.osFS.Create(path)
	return failingFile{w, f.op}, err
}

func (f failing) Rename(from, to string) error {
	if f.op == "rename" {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: syscall.EIO}
	}
	return f.osFS.Rename(from, to)
}

func (f failing) SyncDir(path string) error {
	if f.op == "syncdir" {
		return syscall.EIO
	}
	return f.osFS.SyncDir(path)
}

func (f failingFile) Write(p []byte) (int, error) {
	if f.op == "write" {
		return 0, &fs.PathError{Op: "write", Path: "temp", Err: syscall.ENOSPC}
	}
	return f.WriteFile.Write(p)
}

func (f failingFile) Sync() error {
	if f.op == "sync" {
		return &fs.PathError{Op: "sync", Path: "temp", Err: syscall.ENOSPC}
	}
	return f.WriteFile.Sync()
}

func (f failingFile) Close() error {
	err := f.WriteFile.Close()
	if f.op == "close" {
		return syscall.EDQUOT
	}
	return err
}

// TestFailures lets every operation fail: one line that names the final path and the
// cause, no temporary name in it, nothing left behind.
func TestFailures(t *testing.T) {
	for op, cause := range map[string]error{
		"create": syscall.EACCES, "write": syscall.ENOSPC, "sync": syscall.ENOSPC, "close": syscall.EDQUOT, "rename": syscall.EIO,
	} {
		t.Run(op, func(t *testing.T) {
			dir := t.TempDir()
			d, err := Create(dir, Options{Known: known, FS: failing{op: op}})
			if err != nil {
				t.Fatal(err)
			}
			f, err := d.NewFile("a.parquet")
			if err == nil {
				_, _ = f.Write([]byte("text"))
				err = d.Publish(f)
			}
			if !errors.Is(err, cause) {
				t.Fatalf("error is %v, want %v", err, cause)
			}
			if text := err.Error(); !strings.Contains(text, filepath.Join(dir, "a.parquet")) || strings.Contains(text, ".tmp-") || strings.Contains(text, "\n") {
				t.Errorf("error reads %q", text)
			}
			if got := list(t, dir); len(got) != 0 {
				t.Errorf("left behind: %v", got)
			}
		})
	}
}

func TestFailingDirectorySync(t *testing.T) {
	d, err := Create(t.TempDir(), Options{Known: known, FS: failing{op: "syncdir"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Publish(write(t, d, "a.parquet", "A")); !errors.Is(err, syscall.EIO) {
		t.Errorf("error is %v", err)
	}
}

func TestOneFailureStopsAllOfAPublish(t *testing.T) {
	dir := t.TempDir()
	d, err := Create(dir, Options{Known: known})
	if err != nil {
		t.Fatal(err)
	}
	good, bad := write(t, d, "a.parquet", "A"), write(t, d, "b.parquet", "B")
	bad.err = bad.wrap(syscall.ENOSPC)
	if err := d.Publish(good, bad); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("error is %v", err)
	}
	if got := list(t, dir); len(got) != 0 {
		t.Errorf("left behind: %v", got)
	}
}

// unlinkable is the real file system without links.
type unlinkable struct{ osFS }

func (unlinkable) Link(_, _ string) error { return syscall.EXDEV }

func TestAdopt(t *testing.T) {
	from := filepath.Join(t.TempDir(), "a.parquet")
	if err := os.WriteFile(from, []byte("A"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, system := range []FS{osFS{}, unlinkable{}} {
		path := filepath.Join(t.TempDir(), "run")
		d, err := Create(path, Options{Known: known, FS: system})
		if err != nil {
			t.Fatal(err)
		}
		f, err := d.Adopt("b.parquet", from)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Publish(f); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(list(t, path), map[string]string{"b.parquet": "A"}); diff != "" {
			t.Error(diff)
		}
		if _, err := d.Adopt("a.parquet", from+"-missing"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("error of a missing file is %v", err)
		}
		// An adopted file that is given up leaves the other one alone.
		if _, err = d.Adopt("a.parquet", from); err != nil {
			t.Fatal(err)
		}
		d.Abort()
		if diff := cmp.Diff(list(t, path), map[string]string{"b.parquet": "A"}); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(list(t, filepath.Dir(from)), map[string]string{"a.parquet": "A"}); diff != "" {
			t.Error(diff)
		}
	}
}

// TestReopen replaces a file of a complete directory: the others stay, in the manifest too.
func TestReopen(t *testing.T) {
	path := t.TempDir()
	if _, _, err := Reopen(path, known); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error without a manifest is %v", err)
	}
	d, err := Create(path, Options{Known: known})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Publish(write(t, d, "a.parquet", "A"), write(t, d, "prediction.json", "P")); err != nil {
		t.Fatal(err)
	}
	d.AddTable(TableEntry{Name: "a", Version: 1, Rows: 9})
	if err := d.WriteManifest(Manifest{Program: "p"}); err != nil {
		t.Fatal(err)
	}
	before, err := ReadManifest(path)
	if err != nil {
		t.Fatal(err)
	}
	d, m, err := Reopen(path, known)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Publish(write(t, d, "prediction.json", "Q")); err != nil {
		t.Fatal(err)
	}
	if err := d.WriteManifest(*m); err != nil {
		t.Fatal(err)
	}
	after, err := ReadManifest(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(after, before); diff != "" {
		t.Error(diff)
	}
	if got := list(t, path); got["a.parquet"] != "A" || got["prediction.json"] != "Q" {
		t.Errorf("files are %v", got)
	}
}

// TestLeftoversAreNoContent runs into a directory that holds only what a killed run left.
func TestLeftoversAreNoContent(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, ".a.parquet.tmp-0000002a-1")
	if _, err := Create(dir, Options{Known: known}); err != nil {
		t.Fatal(err)
	}
	if got := list(t, dir); len(got) != 0 {
		t.Errorf("left: %v", got)
	}
}
