package ingest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
)

// lineFiles yields the lines of one file or of several as if they were one. Only one is open
// at a time.
type lineFiles struct {
	options Options
	paths   []string
	// counts has the lines of each file that was read to its end, base their sum.
	counts []int64
	base   int64

	// mu guards what progress reads: the open file, and the bytes before it and in all.
	mu            sync.Mutex
	lines         *lineSource
	before, total int64
}

// openFiles opens the first file and looks whether the others are there.
func openFiles(paths []string, o Options) (*lineFiles, error) {
	f := &lineFiles{options: o, paths: paths}
	known := true
	for _, path := range paths[1:] {
		if path == "-" {
			known = false
			continue
		}
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("cannot open trace file %s: %w", path, cause(err))
		}
		f.total += info.Size()
		known = known && info.Mode().IsRegular()
	}
	lines, err := openLines(paths[0], o.Tap)
	if err != nil {
		return nil, err
	}
	f.lines = lines
	f.total += lines.total
	if !known || lines.total == 0 && len(paths) > 1 {
		f.total = 0
	}
	return f, nil
}

// next returns the next line; the bytes are valid until the next call. At the end of the last
// file the error is io.EOF.
func (f *lineFiles) next() ([]byte, error) {
	for {
		line, err := f.lines.next()
		if !errors.Is(err, io.EOF) || len(f.counts) == len(f.paths) {
			return line, err
		}
		f.counts = append(f.counts, f.lines.number)
		if len(f.counts) == len(f.paths) {
			return nil, io.EOF
		}
		if err := f.advance(f.paths[len(f.counts)]); err != nil {
			return nil, err
		}
	}
}

// advance opens the next file in place of the current one.
func (f *lineFiles) advance(path string) error {
	if err := f.lines.close(); err != nil {
		return f.lines.errorf("cannot read: %w", cause(err))
	}
	lines, err := openLines(path, f.options.Tap)
	if err != nil {
		return err
	}
	f.base += f.lines.number
	f.mu.Lock()
	defer f.mu.Unlock()
	done, _ := f.lines.progress()
	f.before, f.lines = f.before+done, lines
	return nil
}

// number is the number of the line that next returned, over all files.
func (f *lineFiles) number() int64 { return f.base + f.lines.number }

func (f *lineFiles) progress() (done, total int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	done, _ = f.lines.progress()
	return f.before + done, f.total
}

// close releases the open file; it may be called twice.
func (f *lineFiles) close() error {
	err := f.lines.close()
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// end turns the error of next into the one that the reader reports: a trace without rows is an
// error of its own.
func (f *lineFiles) end(err error, any bool) error {
	if !errors.Is(err, io.EOF) || any {
		return err
	}
	names := make([]string, len(f.paths))
	for i, path := range f.paths {
		if names[i] = path; path == "-" {
			names[i] = "standard input"
		}
	}
	return fmt.Errorf("%s: no requests in the trace", strings.Join(names, ", "))
}
