package pipeline

import (
	"context"
	"encoding/json"
	"runtime"
	"slices"
	"time"

	"github.com/dynosim/dynosim/internal/limits"
	"github.com/dynosim/dynosim/internal/rundir"
	"github.com/dynosim/dynosim/metrics"
	"github.com/dynosim/dynosim/schemas"
)

// limitSettings are the limits that a specification asks for.
func limitSettings(r schemas.Resources) limits.Settings {
	const gigabyte = 1e9
	return limits.Settings{
		MemoryBytes: int64(r.MemoryLimitGB * gigabyte), CPUs: int(r.CPULimit),
		ReserveBytes: int64(r.ReserveMemoryGB * gigabyte), ReserveFraction: r.ReserveMemoryFraction,
	}
}

// limited is run within the limits of the specification (spec 07 section 8). A *limits.Reached is a run
// that a limit ended.
func (r *runner) limited(ctx context.Context) (*Result, error) {
	resources := r.Spec.Resources
	budget := limits.New(limitSettings(resources), r.host)
	if resources.CPULimit > 0 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(budget.CPUs))
	}
	ctx, watch := limits.Start(ctx, budget, r.host)
	r.begun = watch.Patience(resources.InitializationTimeoutSeconds)
	defer r.begun()
	ended := make(chan struct{})
	if r.Exit != nil {
		go r.exitLate(ctx, time.Duration(resources.ShutdownTimeoutSeconds*float64(time.Second)), ended)
	}
	result, err := r.run(ctx)
	close(ended)
	reached := limits.Cause(ctx)
	peak := watch.Stop()
	if err == nil || reached == nil {
		return result, err
	}
	return nil, r.reached(reached, budget, peak)
}

// exitLate ends the process when a run that a limit stopped does not end in time.
func (r *runner) exitLate(ctx context.Context, patience time.Duration, ended <-chan struct{}) {
	select {
	case <-ended:
		return
	case <-ctx.Done():
	}
	if reached := limits.Cause(ctx); reached != nil {
		select {
		case <-ended:
		case <-time.After(patience):
			r.Exit(reached)
		}
	}
}

// runtimeReport is the content of resource-runtime.json.
type runtimeReport struct {
	Outcome      string        `json:"outcome"`
	Reason       string        `json:"reason"`
	Budget       limits.Budget `json:"effective_budget"`
	PeakRSSBytes int64         `json:"peak_observed_rss_bytes"`
}

// reached leaves what is complete of a run that a limit ended: the tables of the stages before the
// simulation when they are done, and resource-runtime.json. It returns the limit, or why even that could
// not be written.
func (r *runner) reached(limit *limits.Reached, budget limits.Budget, peakBytes int64) error {
	text, err := json.MarshalIndent(runtimeReport{limit.Outcome(), limit.Reason, budget, peakBytes}, "", "  ")
	if err != nil {
		return err
	}
	f, err := r.dir.NewFile(metrics.RuntimeName)
	if err != nil {
		return err
	}
	if _, err := f.Write(append(text, '\n')); err != nil {
		f.Abort()
		return err
	}
	if err := r.dir.Publish(f); err != nil {
		return err
	}
	if r.keptFront {
		m := r.front.manifest("ingest", "lower")
		m.Stages = append(m.Stages, rundir.StageEntry{Name: "simulate", State: rundir.StateFailed, Error: limit.Error()})
		if err := r.dir.WriteManifest(m); err != nil {
			return err
		}
	}
	return limit
}

// keepFront publishes the tables of the stages before the simulation, where they are in this folder and
// complete, and drops the others. The folder can then be simulated without reading the source again.
func (r *runner) keepFront() {
	if r.front == nil || r.front.from != nil {
		r.recorder.Abort()
		return
	}
	format := r.Spec.Source.Format
	r.keptFront = r.recorder.CloseOnly(slices.Concat(ingestTables(format), lowerTables(format))) == nil
}
