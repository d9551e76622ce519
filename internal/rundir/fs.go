package rundir

import (
	"io"
	"os"
)

// FS is what a run directory needs of a file system. The zero Options use the real
// one; tests put one in its place that fails on demand.
type FS interface {
	// MkdirAll creates path and its missing parents.
	MkdirAll(path string) error
	// ReadDir lists the entries of path, sorted by name.
	ReadDir(path string) ([]os.DirEntry, error)
	// Create makes a new file for writing and fails when it exists.
	Create(path string) (WriteFile, error)
	// Rename moves a file within one directory, replacing what was there.
	Rename(from, to string) error
	// Link gives the file from a second name to, which must not exist.
	Link(from, to string) error
	// Remove deletes a file or an empty directory.
	Remove(path string) error
	// SyncDir makes the entries of path durable.
	SyncDir(path string) error
}

// WriteFile is an open file of an FS.
type WriteFile interface {
	io.Writer
	Sync() error
	Close() error
}

// osFS is the real file system.
type osFS struct{}

func (osFS) MkdirAll(path string) error                 { return os.MkdirAll(path, 0o777) }
func (osFS) ReadDir(path string) ([]os.DirEntry, error) { return os.ReadDir(path) }
func (osFS) Rename(from, to string) error               { return os.Rename(from, to) }
func (osFS) Link(from, to string) error                 { return os.Link(from, to) }
func (osFS) Remove(path string) error                   { return os.Remove(path) }

func (osFS) Create(path string) (WriteFile, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err
	}
	return &osFile{File: f}, nil
}

// osFile is a file whose pages go to the disk while more are written, so that Sync has
// little left to wait for.
type osFile struct {
	*os.File
	written, started int64
}

// startBytes is how much is started at a time.
const startBytes = 4 << 20

func (f *osFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	f.written += int64(n)
	if f.written-f.started >= startBytes {
		startWriting(f.File, f.started, f.written-f.started)
		f.started = f.written
	}
	return n, err
}

func (osFS) SyncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	err = d.Sync()
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	return err
}
