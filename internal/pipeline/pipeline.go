// Package pipeline runs the stages of a prediction in order: ingest, lower, simulate,
// report. It holds no rules of its own; every stage hands tables to the next one and to
// the run directory.
package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"time"

	"github.com/dynosim/dynosim/ingest"
	"github.com/dynosim/dynosim/internal/rundir"
	"github.com/dynosim/dynosim/lower"
	"github.com/dynosim/dynosim/metrics"
	"github.com/dynosim/dynosim/queries"
	"github.com/dynosim/dynosim/schemas"
	"github.com/dynosim/dynosim/simulate"
)

// Version is the program's version, recorded in manifests.
const Version = "0.1.0"

// OptionalTables names the tables that a report can do without.
var OptionalTables = []string{
	schemas.Requests.Name, schemas.Blocks.Name, schemas.AuthoredOutputs.Name, schemas.Edges.Name, schemas.Chains.Name, schemas.NodeOutputs.Name,
	schemas.Admissions.Name, schemas.Routing.Name,
}

// Options says what to run and where to leave it.
type Options struct {
	Spec *schemas.RunSpec
	// Dir is the run directory; Overwrite replaces the files of an earlier run in it.
	Dir       string
	Overwrite bool
	// Optional lists the optional tables to keep. Per-request records keep those they need.
	Optional []string
	// Observer may be nil.
	Observer Observer
}

// DirectoryError is an output directory that cannot be used. Nothing was run or changed.
type DirectoryError struct{ Err error }

func (e *DirectoryError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *DirectoryError) Unwrap() error { return e.Err }

// Run executes the specification and leaves a complete run directory, or an error and no
// manifest. A canceled context stops it and removes what is not complete.
func Run(ctx context.Context, o Options) (*Result, error) {
	if o.Observer == nil {
		o.Observer = silent{}
	}
	dir, err := rundir.Create(o.Dir, rundir.Options{Overwrite: o.Overwrite, Known: metrics.FileNames()})
	if err != nil {
		return nil, &DirectoryError{err}
	}
	r := &runner{Options: o, dir: dir}
	result, err := r.run(ctx)
	if err != nil {
		dir.Abort()
		return nil, err
	}
	return result, nil
}

// runner is one run.
type runner struct {
	Options
	dir      *rundir.Dir
	recorder *metrics.Recorders
}

func (r *runner) run(ctx context.Context) (*Result, error) {
	begin := time.Now()
	inputs := digestInputs(r.Spec.Source.Paths)
	tables, err := r.tables(ctx)
	if err != nil {
		return nil, err
	}
	// The workload and the encoders are garbage now; the report's database needs the room.
	debug.FreeOSMemory()
	r.Observer.Reporting()
	summary, err := queries.WriteReport(ctx, r.dir, queries.ReportOptions{
		WallTimeMS: tables.wallMS, CapturePerRequest: r.Spec.CapturePerRequest,
		Metadata: map[string]any{"program": "dynosim " + Version, "stack": string(r.Spec.Stack)},
	})
	if err != nil {
		return nil, fmt.Errorf("computing the report: %w", err)
	}
	manifest := rundir.Manifest{Program: "dynosim " + Version, ConfigDigest: digestSpec(r.Spec), WallClock: rundir.WallClock{StartedAt: begin.UTC().Format(time.RFC3339), SimulationMS: tables.wallMS}}
	if manifest.Inputs, err = inputs(); err != nil {
		return nil, err
	}
	for _, stage := range []string{"ingest", "lower", "simulate", "report"} {
		manifest.Stages = append(manifest.Stages, rundir.StageEntry{Name: stage, State: rundir.StateComplete})
	}
	if err := r.dir.WriteManifest(manifest); err != nil {
		return nil, err
	}
	return &Result{Summary: summary, Dir: r.dir.Path(), SimulateMS: tables.wallMS, Wall: time.Since(begin)}, nil
}

// simulated is what is known of a run whose tables are complete.
type simulated struct{ wallMS float64 }

// tables runs the stages up to the simulation and completes the tables.
func (r *runner) tables(ctx context.Context) (done simulated, err error) {
	if r.recorder, err = metrics.Open(r.dir, r.selected()); err != nil {
		return done, err
	}
	defer func() {
		if err != nil {
			r.recorder.Abort()
		}
	}()
	workload, err := r.lower(ctx)
	if err != nil {
		return done, err
	}
	if done.wallMS, err = r.simulate(ctx, workload); err != nil {
		return done, err
	}
	return done, r.recorder.Close()
}

// selected lists the tables to write.
func (r *runner) selected() []string {
	var names []string
	for _, t := range schemas.AllTables {
		records := t == &schemas.Admissions || t == &schemas.Routing
		if !slices.Contains(OptionalTables, t.Name) || slices.Contains(r.Optional, t.Name) || records && r.Spec.CapturePerRequest {
			names = append(names, t.Name)
		}
	}
	return names
}

// lower reads the source and lowers it, writing the tables of both stages.
func (r *runner) lower(ctx context.Context) (*lower.Workload, error) {
	builder := lower.NewBuilder(r.Spec)
	reader, err := ingest.Open(&r.Spec.Source, r.Spec.Engine.BlockTokens)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	var batch schemas.RequestBatch
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		err := reader.Next(&batch)
		if batch.N > 0 {
			if err := r.recorder.WriteRequests(&batch); err != nil {
				return nil, err
			}
			if err := builder.Add(&batch); err != nil {
				return nil, err
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		r.Observer.Reading(reader.Progress())
	}
	w, err := builder.Finish()
	if err != nil {
		return nil, err
	}
	return w, r.writeLowered(w)
}

// simulate runs the workload and returns the real milliseconds it took.
func (r *runner) simulate(ctx context.Context, w *lower.Workload) (float64, error) {
	var progress simulate.Progress
	stop := r.Observer.Simulating(&progress, int64(w.Nodes.Len()))
	begin := time.Now()
	outcome, err := simulate.Run(ctx, r.Spec, w, r.recorder.Sink(), &progress)
	wall := time.Since(begin)
	stop()
	if err != nil {
		return 0, err
	}
	return float64(wall) / float64(time.Millisecond), r.recorder.WriteRun(metrics.RunRow{
		Stack: string(r.Spec.Stack), LastInstantMS: outcome.LastInstantMS, DecodeWorkerSeconds: outcome.WorkerSeconds,
		DecodeGPUsPerWorker: r.Spec.Engine.GPUsPerWorker(), SLA: r.Spec.SLA,
	})
}
