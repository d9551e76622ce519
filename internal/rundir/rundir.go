// Package rundir writes the files of one run into its directory so that a file has its
// final name only when it is complete: each is written beside as .name.tmp-N, synced,
// renamed, and the directory synced. The manifest is removed before the first file of
// an older run is replaced and written last, so a directory with a manifest holds the
// tables of one run and nothing of another (spec 07 section 7).
package rundir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// ManifestName is the file that names and counts everything else in the directory.
const ManifestName = "manifest.json"

// tempMark is in the name of every file that is not complete.
const tempMark = ".tmp-"

// Options says how Create treats the directory.
type Options struct {
	// Overwrite allows a directory that is not empty. Only the files of Known are
	// replaced or removed; others stay.
	Overwrite bool
	// Known holds the names of all files the program may write, the manifest included
	// or not.
	Known []string
	// FS is the file system; nil is the real one.
	FS FS
}

// Dir is a run directory being written. Its methods may be called from several
// goroutines.
type Dir struct {
	path  string
	known []string
	fs    FS

	mu      sync.Mutex
	made    bool // the directory did not exist before
	aborted bool
	retired bool // the files of an older run are gone
	temps   map[string]*File
	// token keeps the temporary names of two processes apart.
	token  uint32
	serial int
	tables []TableEntry
	names  []string // other published files
}

// Create prepares path for a run: makes it when it is missing, and refuses it when it
// holds anything and Overwrite is off. An existing run stays untouched until the first
// new file is complete.
func Create(path string, o Options) (*Dir, error) {
	d := &Dir{path: path, fs: o.FS, temps: map[string]*File{}, token: rand.Uint32()}
	if d.fs == nil {
		d.fs = osFS{}
	}
	d.known = append(slices.Clone(o.Known), ManifestName)
	entries, err := d.fs.ReadDir(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := d.fs.MkdirAll(path); err != nil {
			return nil, fmt.Errorf("cannot create output directory %s: %w", path, cause(err))
		}
		d.made = true
		return d, nil
	case err != nil:
		return nil, fmt.Errorf("cannot use output directory %s: %w", path, cause(err))
	}
	// Left over from a run that was killed: never part of anything.
	leftover := func(e os.DirEntry) bool { return d.isLeftover(e.Name()) }
	if !o.Overwrite && !all(entries, leftover) {
		return nil, fmt.Errorf("output directory %s is not empty (it holds %s); pass --overwrite to replace the files of an earlier run, or name another directory with --output-dir",
			path, sample(entries))
	}
	for _, e := range entries {
		if leftover(e) {
			if err := d.fs.Remove(filepath.Join(path, e.Name())); err != nil {
				return nil, fmt.Errorf("cannot remove leftover file %s: %w", filepath.Join(path, e.Name()), cause(err))
			}
		}
	}
	return d, nil
}

func all(entries []os.DirEntry, is func(os.DirEntry) bool) bool {
	return !slices.ContainsFunc(entries, func(e os.DirEntry) bool { return !is(e) })
}

// Reopen opens the complete directory path to replace some of its files; its tables stay. The
// caller writes the manifest anew at the end.
func Reopen(path string, known []string) (*Dir, *Manifest, error) {
	m, err := ReadManifest(path)
	if err != nil {
		return nil, nil, err
	}
	d := &Dir{path: path, fs: osFS{}, known: append(slices.Clone(known), ManifestName), temps: map[string]*File{}, token: rand.Uint32(), retired: true, tables: m.Tables, names: m.Files}
	return d, m, nil
}

// sample names up to three entries.
func sample(entries []os.DirEntry) string {
	var names []string
	for i, e := range entries {
		if i == 3 {
			return fmt.Sprintf("%s and %d more", strings.Join(names, ", "), len(entries)-i)
		}
		names = append(names, e.Name())
	}
	return strings.Join(names, ", ")
}

// IsUnfinished reports whether name is that of a file that was never completed.
func IsUnfinished(name string) bool {
	return strings.HasPrefix(name, ".") && strings.Contains(name, tempMark)
}

func (d *Dir) isLeftover(name string) bool {
	rest, ok := strings.CutPrefix(name, ".")
	if !ok {
		return false
	}
	base, _, ok := strings.Cut(rest, tempMark)
	return ok && slices.Contains(d.known, base)
}

// Path is the directory.
func (d *Dir) Path() string { return d.path }

// File is one file being written. It is an io.Writer; end it with Dir.Publish or Abort.
type File struct {
	dir  *Dir
	name string
	temp string
	f    WriteFile
	size int64
	err  error
	done bool
}

// NewFile starts the file name. Nothing of it is visible under that name before Publish.
func (d *Dir) NewFile(name string) (*File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.aborted {
		return nil, fmt.Errorf("cannot write %s: the run was stopped", filepath.Join(d.path, name))
	}
	for {
		d.serial++
		temp := filepath.Join(d.path, fmt.Sprintf(".%s%s%08x-%d", name, tempMark, d.token, d.serial))
		f, err := d.fs.Create(temp)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("cannot write %s: %w", filepath.Join(d.path, name), cause(err))
		}
		file := &File{dir: d, name: name, temp: temp, f: f}
		d.temps[temp] = file
		return file, nil
	}
}

// Adopt starts the file name with the content of the complete file from: a link to it where the file
// system has links, a copy elsewhere. Publish it like any other.
func (d *Dir) Adopt(name, from string) (*File, error) {
	if f := d.link(name, from); f != nil {
		return f, nil
	}
	in, err := os.Open(from)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", from, cause(err))
	}
	defer in.Close()
	f, err := d.NewFile(name)
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(f, in); err != nil {
		f.Abort()
		if f.Err() == nil {
			err = fmt.Errorf("cannot read %s: %w", from, cause(err))
		}
		return nil, err
	}
	return f, nil
}

// link is the file name as a link to from, nil when that does not work.
func (d *Dir) link(name, from string) *File {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.aborted {
		return nil
	}
	d.serial++
	temp := filepath.Join(d.path, fmt.Sprintf(".%s%s%08x-%d", name, tempMark, d.token, d.serial))
	if d.fs.Link(from, temp) != nil {
		return nil
	}
	f := &File{dir: d, name: name, temp: temp, done: true}
	d.temps[temp] = f
	return f
}

// Name is the final name of the file, without the directory.
func (f *File) Name() string { return f.name }

// Size is the number of bytes written so far.
func (f *File) Size() int64 { return f.size }

// Err is the first error of Write, or nil.
func (f *File) Err() error { return f.err }

// Write appends to the file. The first error stays and every later call returns it.
func (f *File) Write(p []byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	n, err := f.f.Write(p)
	f.size += int64(n)
	if err != nil {
		f.err = f.wrap(err)
	}
	return n, f.err
}

func (f *File) wrap(err error) error {
	return fmt.Errorf("cannot write %s: %w", filepath.Join(f.dir.path, f.name), cause(err))
}

// finish makes the bytes durable and closes the file.
func (f *File) finish() error {
	if f.done {
		return f.err
	}
	f.done = true
	if f.err == nil {
		if err := f.f.Sync(); err != nil {
			f.err = f.wrap(err)
		}
	}
	if err := f.f.Close(); err != nil && f.err == nil {
		f.err = f.wrap(err)
	}
	return f.err
}

// Abort closes and removes the file. It may follow an error of any other method.
func (f *File) Abort() {
	if !f.done {
		f.done = true
		_ = f.f.Close()
	}
	f.dir.mu.Lock()
	defer f.dir.mu.Unlock()
	f.dir.forget(f)
}

// forget removes the temporary file, with mu held.
func (d *Dir) forget(f *File) {
	if _, ok := d.temps[f.temp]; ok {
		delete(d.temps, f.temp)
		_ = d.fs.Remove(f.temp)
	}
}

// Publish makes files complete and gives them their final names: all are synced first
// (at the same time), then renamed in the given order, then the directory is synced.
// The first call removes what an older run left. On an error no further file is
// renamed and the temporary files are removed.
func (d *Dir) Publish(files ...*File) error {
	var wg sync.WaitGroup
	errs := make([]error, len(files))
	for i, f := range files {
		wg.Go(func() { errs[i] = f.finish() })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			for _, f := range files {
				f.Abort()
			}
			return err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.rename(files)
	if err != nil {
		for _, f := range files {
			d.forget(f)
		}
	}
	return err
}

// rename gives synced files their names, with mu held.
func (d *Dir) rename(files []*File) error {
	if d.aborted {
		return fmt.Errorf("cannot write to %s: the run was stopped", d.path)
	}
	if err := d.retire(); err != nil {
		return err
	}
	for _, f := range files {
		if err := d.fs.Rename(f.temp, filepath.Join(d.path, f.name)); err != nil {
			return f.wrap(err)
		}
		delete(d.temps, f.temp)
		if f.name != ManifestName && !strings.HasSuffix(f.name, ".parquet") && !slices.Contains(d.names, f.name) {
			d.names = append(d.names, f.name)
		}
	}
	if err := d.fs.SyncDir(d.path); err != nil {
		return fmt.Errorf("cannot write to %s: %w", d.path, cause(err))
	}
	return nil
}

// retire removes the known files of an older run, its manifest first: from then on
// nothing claims that the rest belongs together.
func (d *Dir) retire() error {
	if d.retired {
		return nil
	}
	order := append([]string{ManifestName}, d.known...)
	for _, name := range order {
		err := d.fs.Remove(filepath.Join(d.path, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot replace %s: %w", filepath.Join(d.path, name), cause(err))
		}
	}
	d.retired = true
	return nil
}

// AddTable notes a published table for the manifest.
func (d *Dir) AddTable(t TableEntry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tables = append(d.tables, t)
}

// Abort removes every file that is not published, and the directory when Create made it
// and it is empty. Later writes fail. It may be called at any time, from any goroutine
// and more than once.
func (d *Dir) Abort() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.aborted = true
	for _, f := range d.temps {
		d.forget(f)
	}
	if d.made {
		_ = d.fs.Remove(d.path) // fails, as it should, when something was published
	}
}

// cause drops the operation and the path of a file system error: the caller names the
// final path, and the temporary one would only confuse.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	var le *os.LinkError
	if errors.As(err, &le) {
		return le.Err
	}
	return err
}
