// Package inspect tells what a path holds: a trace, a run, the folder of a stage, or a Parquet
// file. It reads and describes, and changes nothing.
package inspect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/dynosim/dynosim/internal/rundir"
	"github.com/dynosim/dynosim/schemas"
)

// Options says how to look at a path.
type Options struct {
	// Format is the trace format; empty guesses it from the first rows.
	Format schemas.TraceFormat
	// BlockTokens is the number of tokens a block id of a trace stands for; 0 is 512, or what the
	// file says for the format dynamo.
	BlockTokens int64
	// Slices is the number of equal time slices of a chart, at least 1.
	Slices int
	// Progress is told how many bytes of a trace were read, of how many (0 when unknown); it may be nil.
	Progress func(done, total int64)
}

// InputError is a path that is missing or holds nothing known.
type InputError struct{ Err error }

func (e *InputError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *InputError) Unwrap() error { return e.Err }

func inputErrorf(format string, args ...any) error {
	return &InputError{fmt.Errorf(format, args...)}
}

// Finding is what was found; exactly one of its parts is not nil, but folders of agentic sources have Graph too.
type Finding struct {
	Path string `json:"path"`
	// Kind is trace, folder of traces, run, ingested folder, lowered folder, collection of runs or
	// parquet file.
	Kind       string      `json:"kind"`
	Trace      *Trace      `json:"trace,omitempty"`
	Graph      *Graph      `json:"graph,omitempty"`
	Folder     *Folder     `json:"folder,omitempty"`
	Collection *Collection `json:"collection,omitempty"`
	Parquet    *Parquet    `json:"parquet,omitempty"`
}

// Chart is a figure over equal slices of time.
type Chart struct {
	// Title says what a value is.
	Title   string    `json:"title"`
	StartMS float64   `json:"start_ms"`
	SliceMS float64   `json:"slice_ms"`
	Values  []float64 `json:"values"`
}

// Inspect looks at path. An *InputError is a path that is missing or of no known kind; other errors
// come from reading what was recognized, and name file and line of a trace.
func Inspect(ctx context.Context, path string, o Options) (*Finding, error) {
	o.Slices = max(o.Slices, 1)
	info, err := os.Stat(path)
	if err != nil {
		return nil, inputErrorf("cannot inspect %s: %w", path, reason(err))
	}
	f := &Finding{Path: path}
	switch {
	case info.IsDir():
		err = f.folder(ctx, o)
	case !info.Mode().IsRegular():
		err = inputErrorf("cannot inspect %s: it is neither a regular file nor a directory", path)
	default:
		err = f.file(ctx, info.Size(), o)
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// file tells a Parquet file from a trace.
func (f *Finding) file(ctx context.Context, size int64, o Options) (err error) {
	in, err := os.Open(f.Path)
	if err != nil {
		return inputErrorf("cannot inspect %s: %w", f.Path, reason(err))
	}
	defer in.Close()
	var magic [4]byte
	n, err := io.ReadFull(in, magic[:])
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("cannot read %s: %w", f.Path, reason(err))
	}
	if bytes.Equal(magic[:n], []byte("PAR1")) {
		f.Kind = "parquet file"
		f.Parquet, err = readParquet(f.Path, size)
		return err
	}
	f.Kind = "trace"
	return f.readTrace(ctx, []string{f.Path}, o)
}

// folder tells a run from the folder of a stage by the tables that are there.
func (f *Finding) folder(ctx context.Context, o Options) error {
	m, err := rundir.ReadManifest(f.Path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return f.plainFolder(ctx, o)
		}
		return &InputError{err}
	}
	f.Folder = &Folder{Manifest: m}
	if err := f.folderGraph(ctx, m, o); err != nil {
		return err
	}
	for _, s := range m.Stages {
		switch s.Name {
		case "ingest":
			f.Kind = "ingested folder"
		case "lower":
			f.Kind = "lowered folder"
		case "simulate":
			f.Kind = "run"
			return f.Folder.readRun(ctx, f.Path, o)
		}
	}
	if f.Kind == "" {
		return inputErrorf("cannot inspect %s: %s names no stage that is known: allowed are ingest, lower and simulate", f.Path, rundir.ManifestName)
	}
	return nil
}

// reason drops the path of an error of the file system, which the message names already.
func reason(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
