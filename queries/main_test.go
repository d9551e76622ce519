package queries_test

import (
	"flag"
	"os"
	"testing"

	"github.com/dynosim/dynosim/internal/rundir"
)

// TestMain lowers the number of random populations, each of which opens a database:
// -rapid.checks gives another.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "25"); err != nil {
		panic(err)
	}
	flag.Parse()
	os.Exit(m.Run())
}

// unsyncedFS is the real file system without waiting for the disk.
type unsyncedFS struct{}

type unsynced struct{ *os.File }

func (unsynced) Sync() error { return nil }

func (unsyncedFS) MkdirAll(path string) error                 { return os.MkdirAll(path, 0o777) }
func (unsyncedFS) ReadDir(path string) ([]os.DirEntry, error) { return os.ReadDir(path) }
func (unsyncedFS) Rename(from, to string) error               { return os.Rename(from, to) }
func (unsyncedFS) Link(from, to string) error                 { return os.Link(from, to) }
func (unsyncedFS) Remove(path string) error                   { return os.Remove(path) }
func (unsyncedFS) SyncDir(string) error                       { return nil }
func (unsyncedFS) Create(path string) (rundir.WriteFile, error) {
	f, err := os.Create(path)
	return unsynced{f}, err
}
