// Package simulate runs a lowered workload on a simulated cluster: one virtual clock, one
// goroutine, and the same rows for the same input on every machine (spec 05).
package simulate

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/dynosim/dynosim/lower"
	"github.com/dynosim/dynosim/schemas"
)

// Progress is what another goroutine may read while a simulation runs.
type Progress struct {
	virtualMS atomic.Uint64
	ended     atomic.Int64
}

// VirtualMS is the virtual time reached.
func (p *Progress) VirtualMS() float64 { return math.Float64frombits(p.virtualMS.Load()) }

// Ended is the number of requests that left the system.
func (p *Progress) Ended() int64 { return p.ended.Load() }

// Outcome has the figures of a run that are not rows of a table.
type Outcome struct {
	// LastInstantMS is the last instant the clock visited.
	LastInstantMS float64
	// PrefillWorkerSeconds and DecodeWorkerSeconds are the time-integrals of provisioned
	// workers; aggregated ones count with decode (spec 05 section 9.5).
	PrefillWorkerSeconds, DecodeWorkerSeconds float64
	// Agentic is what became of the plays, nil without any.
	Agentic *AgenticOutcome
	// Arrived and Ended count requests, Passes completed passes of all ranks.
	Arrived, Ended, Passes int64
}

// InvariantError is a run that could not go on (spec 05 section 8.3). Details say who waits
// for what, a line each.
type InvariantError struct {
	Message string
	Details []string
}

func invariantf(format string, a ...any) error {
	return &InvariantError{Message: fmt.Sprintf(format, a...)}
}

func (e *InvariantError) Error() string { return "replay invariant violated: " + e.Message }

// Run simulates the workload on the workers of spec.Pools and leaves the rows in the sink, which it does not close. progress may be nil. It returns
// the context's error when that ends first, an *InvariantError when the run cannot go on,
// or the first error of the sink.
func Run(ctx context.Context, spec *schemas.RunSpec, w *lower.Workload, sink schemas.Sink, progress *Progress) (Outcome, error) {
	return run(ctx, spec, w, sink, progress, false)
}

// run is Run; with exact no pass takes a short cut, which must not change any row.
func run(ctx context.Context, spec *schemas.RunSpec, w *lower.Workload, sink schemas.Sink, progress *Progress, exact bool) (Outcome, error) {
	c, err := newCluster(ctx, spec, w, sink, progress, exact)
	if err != nil {
		return Outcome{}, err
	}
	err = c.guarded(ctx)
	out := Outcome{LastInstantMS: c.now - c.record.originMS, Arrived: int64(c.requests.Created()), Ended: c.ended, Passes: c.passes}
	for i := range c.pools {
		if p := &c.pools[i]; p.role == schemas.PoolPrefill {
			out.PrefillWorkerSeconds = p.seconds
		} else {
			out.DecodeWorkerSeconds = p.seconds
		}
	}
	if p := c.source.plays; p != nil {
		if p.aborted() {
			// Nothing was measured.
			out.PrefillWorkerSeconds, out.DecodeWorkerSeconds = 0, 0
		}
		out.Agentic = p.outcome()
	}
	return out, err
}
