package rundir

import (
	"fmt"
	"os"
	"path/filepath"
)

// Replace writes the single file path: write gets a file beside it, which takes the name
// when everything is on the disk. On an error path is what it was.
func Replace(path string, write func(*os.File) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+tempMark+"*")
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", path, cause(err))
	}
	err = write(f)
	for _, step := range []func() error{f.Sync, f.Close, func() error { return os.Chmod(f.Name(), 0o644) }, func() error { return os.Rename(f.Name(), path) }} {
		if err == nil {
			if err = step(); err != nil {
				err = fmt.Errorf("cannot write %s: %w", path, cause(err))
			}
		}
	}
	if err != nil {
		f.Close()
		os.Remove(f.Name())
	}
	return err
}
