package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/dynosim/dynosim/internal/rundir"
	"github.com/dynosim/dynosim/queries"
	"github.com/dynosim/dynosim/schemas"
)

// Collection describes a folder whose folders are runs, such as predict --hive makes.
type Collection struct {
	Runs []CollectedRun `json:"runs"`
	// Incomplete names the folders that are no complete run.
	Incomplete []string `json:"incomplete"`
}

// CollectedRun is one run of a collection.
type CollectedRun struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
	// Summary is the object summary of prediction.json, nil when there is none.
	Summary map[string]any `json:"summary,omitempty"`
}

// plainFolder looks at a folder without a manifest: a collection of runs, traces, or what a stopped run
// left.
func (f *Finding) plainFolder(ctx context.Context, o Options) error {
	entries, err := os.ReadDir(f.Path)
	if err != nil {
		return inputErrorf("cannot inspect %s: %w", f.Path, reason(err))
	}
	c := &Collection{Runs: []CollectedRun{}, Incomplete: []string{}}
	var files []string
	unfinished, tables := 0, 0
	for _, e := range entries {
		name := e.Name()
		switch {
		case e.IsDir():
			run, err := readCollected(f.Path, name)
			if err != nil {
				return err
			}
			if run != nil {
				c.Runs = append(c.Runs, *run)
			} else if strings.HasPrefix(name, "run=") {
				c.Incomplete = append(c.Incomplete, name)
			}
		case rundir.IsUnfinished(name):
			unfinished++
		case strings.HasSuffix(name, ".parquet"):
			tables++
		case !strings.HasPrefix(name, "."):
			files = append(files, filepath.Join(f.Path, name))
		}
	}
	switch {
	case len(c.Runs)+len(c.Incomplete) > 0:
		f.Kind, f.Collection = "collection of runs", c
		return nil
	case unfinished > 0:
		return inputErrorf("cannot inspect %s: a run was stopped before it was complete: %d unfinished files and no %s; run it again, the same directory is fine", f.Path, unfinished, rundir.ManifestName)
	case tables > 0:
		return inputErrorf("cannot inspect %s: it has %d Parquet files but no %s, which a complete run has; inspect a file by itself", f.Path, tables, rundir.ManifestName)
	case o.Format == schemas.FormatWeka || o.Format == "" && isCorpus(f.Path):
		f.Kind = "corpus of plays"
		o.Format = schemas.FormatWeka
		return f.readTrace(ctx, []string{f.Path}, o)
	case len(files) > 0:
		f.Kind = "folder of traces"
		return f.readTrace(ctx, files, o)
	}
	return inputErrorf("cannot inspect %s: a directory without %s is no complete run, and it holds neither runs nor traces", f.Path, rundir.ManifestName)
}

// readCollected looks at one folder of a collection, nil when it is no complete run.
func readCollected(path, name string) (*CollectedRun, error) {
	dir := filepath.Join(path, name)
	m, err := rundir.ReadManifest(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &InputError{err}
	}
	run := &CollectedRun{Name: strings.TrimPrefix(name, "run=")}
	for _, t := range m.Tables {
		run.Bytes += t.Bytes
	}
	run.Summary, err = readSummary(dir)
	return run, err
}

// readSummary is the object summary of the report in dir, nil when there is no report.
func readSummary(dir string) (map[string]any, error) {
	name := filepath.Join(dir, queries.PredictionName)
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", name, reason(err))
	}
	var report struct {
		Summary map[string]any `json:"summary"`
	}
	if err := json.Unmarshal(text, &report); err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", name, err)
	}
	return report.Summary, nil
}
