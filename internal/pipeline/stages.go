package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/dynosim/dynosim/internal/rundir"
	"github.com/dynosim/dynosim/metrics"
	"github.com/dynosim/dynosim/queries"
	"github.com/dynosim/dynosim/schemas"
)

// StageOptions says what Ingest or Lower does.
type StageOptions struct {
	// Spec has the source of Ingest, with the engine's block size, or the source and the load
	// of Lower.
	Spec *schemas.RunSpec
	// From is the ingested folder that Lower reads.
	From string
	// Dir is the folder to make; Overwrite replaces the files of an earlier one in it.
	Dir       string
	Overwrite bool
	// Joined makes one source of several files of a format that has one.
	Joined bool
	// Observer may be nil.
	Observer Observer
}

// StageResult is a stage that ended well.
type StageResult struct {
	Dir string
	// Rows are the rows of each table in the folder.
	Rows map[string]int64
	Wall time.Duration
}

// Ingest reads a source and leaves an ingested folder, or an error and no manifest.
func Ingest(ctx context.Context, o StageOptions) (*StageResult, error) {
	o.Observer = orSilent(o.Observer)
	result, err := ingestOnce(ctx, o)
	if again := resolved(o.Spec, err); again != nil {
		o.Spec, o.Overwrite = again, true
		return ingestOnce(ctx, o)
	}
	return result, err
}

func ingestOnce(ctx context.Context, o StageOptions) (*StageResult, error) {
	return runStage(ctx, o, ingestTables(o.Spec.Source.Format), func(ctx context.Context, _ *rundir.Dir, r *metrics.Recorders) (*front, error) {
		return readSource(ctx, o.Spec, readInputs(&o.Spec.Source), o.Joined, o.Observer, r.WriteRequests)
	}, "ingest")
}

// Lower lowers an ingested folder and leaves a lowered one, or an error and no manifest. An
// *InputError is a folder that cannot be used with the specification.
func Lower(ctx context.Context, o StageOptions) (*StageResult, error) {
	o.Observer = orSilent(o.Observer)
	in, err := openFolder(o.From, "ingest")
	if err != nil {
		return nil, err
	}
	if err := otherPlace(o.From, o.Dir); err != nil {
		return nil, err
	}
	if err := sameSource(in.path, in.manifest, o.Spec); err != nil {
		return nil, err
	}
	noteOtherFiles(in.path, in.manifest, o.Spec, o.Observer)
	return runStage(ctx, o, lowerTables(o.Spec.Source.Format), func(ctx context.Context, dir *rundir.Dir, r *metrics.Recorders) (*front, error) {
		f, err := lowerFolder(ctx, in, o.Spec, o.Observer, r, false)
		if err != nil {
			return nil, err
		}
		f.workload = nil
		return f, in.link(dir, ingestTables(o.Spec.Source.Format))
	}, "ingest", "lower")
}

// runStage makes a folder of the given tables, which the function fills.
func runStage(ctx context.Context, o StageOptions, tables []string, fill func(context.Context, *rundir.Dir, *metrics.Recorders) (*front, error), stages ...string) (*StageResult, error) {
	begin := time.Now()
	dir, err := create(o.Dir, o.Overwrite)
	if err != nil {
		return nil, err
	}
	if err := makeFolder(ctx, dir, tables, fill, stages...); err != nil {
		dir.Abort()
		return nil, err
	}
	m, err := rundir.ReadManifest(o.Dir)
	if err != nil {
		return nil, err
	}
	result := &StageResult{Dir: o.Dir, Rows: map[string]int64{}, Wall: time.Since(begin)}
	for _, t := range m.Tables {
		result.Rows[t.Name] = t.Rows
	}
	return result, nil
}

// makeFolder fills dir and writes its manifest.
func makeFolder(ctx context.Context, dir *rundir.Dir, tables []string, fill func(context.Context, *rundir.Dir, *metrics.Recorders) (*front, error), stages ...string) error {
	begin := time.Now()
	recorder, err := metrics.Open(dir, tables)
	if err != nil {
		return err
	}
	defer recorder.Abort()
	f, err := fill(ctx, dir, recorder)
	if err != nil {
		return err
	}
	if err := recorder.Close(); err != nil {
		return err
	}
	m := f.manifest(stages...)
	m.WallClock.StartedAt = begin.UTC().Format(time.RFC3339)
	return dir.WriteManifest(m)
}

// ReportOptions says what Report does.
type ReportOptions struct {
	// Dir is a complete run directory.
	Dir string
	// CapturePerRequest asks for requests.jsonl; a run that has it keeps it.
	CapturePerRequest bool
	// Observer may be nil.
	Observer Observer
}

// Report computes prediction.json of a run again from its tables, and requests.jsonl when asked for or there
// before. An *InputError is a directory that is not a run with the tables needed.
func Report(ctx context.Context, o ReportOptions) (*Result, error) {
	begin := time.Now()
	o.Observer = orSilent(o.Observer)
	dir, m, err := rundir.Reopen(o.Dir, metrics.FileNames())
	if err != nil {
		return nil, &InputError{err}
	}
	defer dir.Abort()
	capture := o.CapturePerRequest || slices.Contains(m.Files, queries.RequestsName)
	if err := reportTables(o.Dir, m, capture); err != nil {
		return nil, &InputError{err}
	}
	run, err := metrics.OpenFolder(o.Dir, m).Run()
	if err != nil {
		return nil, err
	}
	o.Observer.Reporting()
	summary, err := queries.WriteReport(ctx, dir, queries.ReportOptions{
		WallTimeMS: m.WallClock.SimulationMS, CapturePerRequest: capture, Metadata: metadata(m.Program, run.Stack),
	})
	if err != nil {
		return nil, fmt.Errorf("computing the report: %w", err)
	}
	if err := dir.WriteManifest(*m); err != nil {
		return nil, err
	}
	return &Result{Summary: summary, Dir: o.Dir, SimulateMS: m.WallClock.SimulationMS, Wall: time.Since(begin)}, nil
}

// reportTables checks that the tables of a report are there, in versions this program knows.
func reportTables(path string, m *rundir.Manifest, capture bool) error {
	for _, t := range schemas.AllTables {
		i := slices.IndexFunc(m.Tables, func(e rundir.TableEntry) bool { return e.Name == t.Name })
		switch {
		case i >= 0 && m.Tables[i].Version != t.Version:
			return fmt.Errorf("%s: table %s has version %d, this program reads version %d", path, t.Name, m.Tables[i].Version, t.Version)
		case i >= 0:
		case slices.Contains(reported, t):
			return fmt.Errorf("%s is not a run: it has no table %s", path, t.Name)
		case capture && t == &schemas.Requests && m.Ingest != nil && m.Ingest.Settings.Kind == string(schemas.SourceRequests):
			return fmt.Errorf("%s has no table %s, which has the names of its requests", path, t.Name)
		case t == &schemas.Nodes || capture && (t == &schemas.Admissions || t == &schemas.Routing):
			return fmt.Errorf("%s has no table %s, which the per-request records need", path, t.Name)
		}
	}
	return nil
}

// reported are the tables that every report is made of; others are there where the run had something to
// put in them.
var reported = []*schemas.Table{&schemas.RequestResults, &schemas.Passes, &schemas.TokenGaps, &schemas.Run}

// plain drops the operation and the path from the error of a file operation: the message names
// what was meant.
func plain(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	var l *os.LinkError
	if errors.As(err, &l) {
		return l.Err
	}
	return err
}

// tableFile is the file of a table in a folder.
func tableFile(dir, table string) string { return filepath.Join(dir, table+".parquet") }
