// Package pipeline runs the stages of a prediction: ingest, lower, simulate, report. Run
// does all of them in one process, Ingest, Lower and Report one; between them lie folders
// (docs/stages.md). It holds no rules of its own; every stage hands tables to the next one
// and to its folder.
package pipeline

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/dynosim/dynosim/ingest"
	"github.com/dynosim/dynosim/internal/limits"
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
	schemas.Requests.Name, schemas.Blocks.Name, schemas.AuthoredOutputs.Name,
	schemas.SourcePlays.Name, schemas.SourceNodes.Name, schemas.SourceEdges.Name, schemas.Edges.Name, schemas.Chains.Name, schemas.NodeOutputs.Name,
	schemas.Admissions.Name, schemas.Routing.Name, schemas.Transfers.Name, schemas.Lifecycle.Name,
}

// tickTables name the tables of runs with a scaling policy or telemetry; others do not have them.
var tickTables = []string{schemas.Ticks.Name, schemas.TickWorkers.Name, schemas.TickPasses.Name}

// Options says what to run and where to leave it.
type Options struct {
	Spec *schemas.RunSpec
	// Dir is the run directory; Overwrite replaces the files of an earlier run in it.
	Dir       string
	Overwrite bool
	// Optional lists the optional tables to keep. Per-request records keep those they need.
	Optional []string
	// From is a lowered folder to simulate; empty reads the source.
	From string
	// Cache is a folder of ingested and lowered folders to use and to fill; empty is none.
	Cache string
	// Observer may be nil.
	Observer Observer
	// Exit ends the process when a run that a limit stopped does not end in time; nil waits.
	Exit func(reached error)
}

// DirectoryError is an output directory that cannot be used. Nothing was run or changed.
type DirectoryError struct{ Err error }

func (e *DirectoryError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *DirectoryError) Unwrap() error { return e.Err }

// create prepares an output directory.
func create(path string, overwrite bool) (*rundir.Dir, error) {
	dir, err := rundir.Create(path, rundir.Options{Overwrite: overwrite, Known: metrics.FileNames()})
	if err != nil {
		return nil, &DirectoryError{err}
	}
	return dir, nil
}

// Run executes the specification and leaves a complete run directory, or an error and no
// manifest. A canceled context stops it and removes what is not complete.
//
// An *InputError is a folder From that cannot be used with the specification, a *limits.Reached a run
// that a limit of memory ended.
func Run(ctx context.Context, o Options) (*Result, error) {
	return runOn(ctx, o, limits.System{})
}

// runOn is Run on a machine with the memory of host.
func runOn(ctx context.Context, o Options, host limits.Host) (*Result, error) {
	o.Observer = orSilent(o.Observer)
	result, err := runOnce(ctx, o, host)
	if again := resolved(o.Spec, err); again != nil {
		o.Spec, o.Overwrite = again, true
		return runOnce(ctx, o, host)
	}
	return result, err
}

// resolved is the specification to start again with, when an error says what nested timestamps of a corpus count
// from; else nil.
func resolved(spec *schemas.RunSpec, err error) *schemas.RunSpec {
	var basis *ingest.BasisError
	if !errors.As(err, &basis) || spec.Source.ResolvedBasis != "" {
		return nil
	}
	again := *spec
	again.Source.ResolvedBasis = basis.Basis
	return &again
}

func runOnce(ctx context.Context, o Options, host limits.Host) (*Result, error) {
	r := &runner{Options: o, host: host}
	if o.From != "" {
		// Before the output directory is touched: it might be this one.
		if err := r.openFrom(); err != nil {
			return nil, err
		}
	}
	var err error
	if r.dir, err = create(o.Dir, o.Overwrite); err != nil {
		return nil, err
	}
	result, err := r.limited(ctx)
	if err != nil {
		r.dir.Abort()
		return nil, err
	}
	return result, nil
}

// runner is one run.
type runner struct {
	Options
	dir      *rundir.Dir
	recorder *metrics.Recorders
	// front is nil until the stages before the simulation are done; the workload in it goes
	// when the simulation has ended.
	front *front
	// host is the machine as far as limits look at it.
	host limits.Host
	// begun ends the patience for what comes before the simulation.
	begun func()
	// keptFront says that a run that a limit ended kept the tables of these stages.
	keptFront bool
	// aborted is set when a warm-up failed and so nothing was measured.
	aborted error
}

// openFrom opens the lowered folder.
func (r *runner) openFrom() error {
	f, err := openFolder(r.From, "ingest", "lower")
	if err != nil {
		return err
	}
	if err := otherPlace(r.From, r.Dir); err != nil {
		return err
	}
	if err := sameSource(f.path, f.manifest, r.Spec); err != nil {
		return err
	}
	if err := sameLoad(f.path, f.manifest, r.Spec); err != nil {
		return err
	}
	noteOtherFiles(f.path, f.manifest, r.Spec, r.Observer)
	r.front = &front{from: f, inputs: f.manifest.Inputs, ingest: f.manifest.Ingest, lower: f.manifest.Lower}
	return nil
}

func (r *runner) run(ctx context.Context) (*Result, error) {
	begin := time.Now()
	simulationMS, err := r.tables(ctx)
	if err != nil {
		return nil, err
	}
	// The workload and the encoders are garbage now; the report's database needs the room.
	debug.FreeOSMemory()
	r.Observer.Reporting()
	summary, err := queries.WriteReport(ctx, r.dir, queries.ReportOptions{
		WallTimeMS: simulationMS, CapturePerRequest: r.Spec.CapturePerRequest, Metadata: metadata(programName, string(r.Spec.Stack)),
	})
	if err != nil {
		return nil, fmt.Errorf("computing the report: %w", err)
	}
	manifest := r.front.manifest("ingest", "lower", "simulate", "report")
	manifest.ConfigDigest = digestSpec(r.Spec)
	manifest.WallClock = rundir.WallClock{StartedAt: begin.UTC().Format(time.RFC3339), SimulationMS: simulationMS}
	if err := r.dir.WriteManifest(manifest); err != nil {
		return nil, err
	}
	return &Result{Summary: summary, Dir: r.dir.Path(), SimulateMS: simulationMS, Wall: time.Since(begin), Aborted: r.aborted}, nil
}

const programName = "dynosim " + Version

// metadata is the object metadata of prediction.json.
func metadata(program, stack string) map[string]any {
	return map[string]any{"program": program, "stack": stack}
}

// tables runs the stages up to the simulation, completes the tables and returns the real milliseconds of
// the simulation.
func (r *runner) tables(ctx context.Context) (simulationMS float64, err error) {
	if r.Cache != "" && r.front == nil {
		if err := r.fromCache(ctx); err != nil {
			return 0, err
		}
	}
	names := r.selected()
	var linked []string
	if r.front != nil {
		format := r.Spec.Source.Format
		before := slices.Concat(ingestTables(format), lowerTables(format))
		for _, name := range names {
			if slices.Contains(before, name) {
				linked = append(linked, name)
			}
		}
		names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(before, name) })
	}
	if r.recorder, err = metrics.Open(r.dir, names); err != nil {
		return 0, err
	}
	defer func() {
		switch {
		case err == nil:
		case limits.Cause(ctx) != nil:
			r.keepFront()
		default:
			r.recorder.Abort()
		}
	}()
	if err = r.prepare(ctx); err != nil {
		return 0, err
	}
	if simulationMS, err = r.simulate(ctx, r.front.workload); err != nil {
		return 0, err
	}
	r.front.workload = nil
	if err = r.recorder.Close(); err != nil || len(linked) == 0 {
		return simulationMS, err
	}
	return simulationMS, r.front.from.link(r.dir, linked)
}

// prepare makes or reads the workload.
func (r *runner) prepare(ctx context.Context) (err error) {
	switch {
	case r.front == nil:
		r.front, err = fuse(ctx, r.Spec, r.Observer, r.recorder)
	case r.front.workload == nil:
		r.front.workload, err = r.front.from.workload()
	}
	if err != nil || r.front.workload.Graph == nil {
		return err
	}
	if strings.TrimSpace(r.Spec.TargetModel) == "" {
		return &InputError{errors.New("an agentic trace runs on a configured model: name one in engine.model, or in execution_model of a call")}
	}
	return r.Spec.CheckAgenticOffload()
}

// selected lists the tables to write.
func (r *runner) selected() []string {
	var names []string
	for _, t := range schemas.AllTables {
		if t.Agentic && !r.Spec.Source.Format.MayBeAgentic() || t.Offload && !r.Spec.HostOffload() {
			continue
		}
		records := t == &schemas.Admissions || t == &schemas.Routing
		wanted := !slices.Contains(OptionalTables, t.Name) || slices.Contains(r.Optional, t.Name) || records && r.Spec.CapturePerRequest
		switch {
		case t == &schemas.Requests:
			wanted = wanted || r.Spec.CapturePerRequest && r.Spec.Source.Kind == schemas.SourceRequests
		case t == &schemas.Edges:
			wanted = wanted || r.Spec.Load.Agentic.Snapshot
		case t == &schemas.Routing:
			wanted = wanted || r.Spec.CaptureRouting
		case t == &schemas.RoutingCandidates:
			wanted = r.Spec.CaptureRouting
		case t == &schemas.Lifecycle:
			wanted = wanted || r.Spec.Scaling.Enabled
		case slices.Contains(tickTables, t.Name):
			wanted = r.Spec.Scaling.Enabled || r.Spec.TelemetryIntervalMS > 0
		}
		if wanted {
			names = append(names, t.Name)
		}
	}
	return names
}

// simulate runs the workload and returns the real milliseconds it took.
func (r *runner) simulate(ctx context.Context, w *lower.Workload) (float64, error) {
	r.begun()
	var progress simulate.Progress
	stop := r.Observer.Simulating(&progress, int64(w.Nodes.Len()))
	begin := time.Now()
	outcome, err := simulate.Run(ctx, r.Spec, w, r.recorder.Sink(), &progress)
	wall := time.Since(begin)
	stop()
	if err != nil {
		return 0, err
	}
	last, prefillGPUs, prefillEstimator := &r.Spec.Pools[len(r.Spec.Pools)-1], int64(0), ""
	if r.Spec.Disaggregated() {
		first := &r.Spec.Pools[0].Engine
		prefillGPUs, prefillEstimator = first.GPUsPerWorker(), string(first.Timing.Kind)
	}
	if err := writeAgentic(r.recorder, r.Spec, w, outcome.Agentic); err != nil {
		return 0, err
	}
	policy := ""
	if r.Spec.Scaling.Enabled {
		policy = "script"
	}
	r.aborted = aborted(w, outcome.Agentic)
	return float64(wall) / float64(time.Millisecond), r.recorder.WriteRun(metrics.RunRow{
		ScalingPolicy:       policy,
		PrefillEstimator:    prefillEstimator,
		DecodeEstimator:     string(last.Engine.Timing.Kind),
		Source:              r.Spec.Source.Kind,
		TelemetryIntervalMS: r.Spec.TelemetryIntervalMS,
		Stack:               string(r.Spec.Stack), LastInstantMS: outcome.LastInstantMS,
		PrefillWorkerSeconds: outcome.PrefillWorkerSeconds, DecodeWorkerSeconds: outcome.DecodeWorkerSeconds,
		PrefillGPUsPerWorker: prefillGPUs, DecodeGPUsPerWorker: last.Engine.GPUsPerWorker(), SLA: r.Spec.SLA,
	})
}
