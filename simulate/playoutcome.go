package simulate

import (
	"math"

	"github.com/dynosim/dynosim/schemas"
)

// nodeStates are the values of the column state of node_runs, indexed by nodeState.
var nodeStates = []string{"blocked", "ready", "emitted", "completed", "failed", "skipped", "censored"}

// AgenticOutcome is what became of plays: rows of tables that are written when the run is over.
type AgenticOutcome struct {
	Runs        []PlayRunRow
	Nodes       []NodeRunRow
	Snapshot    []SnapshotNodeRow
	Preparation []PreparationRow
	Shifts      []IdleShiftRow
	// LifecycleDigest and LifecycleEvents are of the events in the order in which they happened.
	LifecycleDigest string
	LifecycleEvents int64
	// Warm says that a preparation ran; ProfileStartMS is when it was complete, NaN when it failed, and
	// PreparationEndMS when it ended.
	Warm                             bool
	ProfileStartMS, PreparationEndMS float64
	// Failed is the executed node of the preparation that did not complete, -1 for none.
	Failed int32
	// Profile is nil without one.
	Profile *ProfileRow
}

// PlayRunRow is one executed play. Times that did not happen are NaN, absent numbers -1.
type PlayRunRow struct {
	Play, Lane              int32
	Ordinal                 int64
	PlayID                  string
	TStarMS, OriginMS       float64
	TerminalMS, SettledMS   float64
	Status                  string
	FailedNode              int32
	FailedStatus            string
	Nodes, Completed        int32
	Started, Over, Censored bool
}

// NodeRunRow is one executed node.
type NodeRunRow struct {
	SourceNode, PlayRun int32
	State               string
	DispatchedMS        float64
}

// SnapshotNodeRow is one node of a play that was cut. Primer is its place among the primers, -1 for none.
type SnapshotNodeRow struct {
	PlayRun, SourceNode int32
	Historical          bool
	RemainingDelayMS    float64
	Primer              int32
}

// PreparationRow is one request that prepared a cache. Times that did not happen are NaN.
type PreparationRow struct {
	PlayRun, SourceNode, Node, Ordinal int32
	Primer                             bool
	DispatchedMS, TerminalMS, AdmitMS  float64
	SettledMS                          float64
	Status                             string
	Reused, Observed                   int32
}

// IdleShiftRow is one skip over idle time; PlayRun is -1 for all lanes.
type IdleShiftRow struct {
	AtMS, ShiftedMS float64
	PlayRun, Timers int32
}

// ProfileRow is the scalars of a profile.
type ProfileRow struct {
	StartMS, CutoffMS, GraceMS, DrainMS, FinishedMS float64
	Closed                                          bool
	Cursor, Unsettled                               int64
	LastResponseMS                                  float64
}

// outcome gathers what became of the plays.
func (p *plays) outcome() *AgenticOutcome {
	out := &AgenticOutcome{LifecycleDigest: p.log.digest(), LifecycleEvents: p.log.count, Failed: -1, ProfileStartMS: math.NaN(), PreparationEndMS: math.NaN()}
	if w := p.warm; w != nil {
		out.Warm, out.ProfileStartMS, out.PreparationEndMS = true, w.beginMS, w.finishedMS
		if w.aborted() {
			out.Failed = w.requests[w.failed].node
		}
		out.Preparation = w.rows()
	}
	prepared := map[int32]bool{}
	for i := range out.Preparation {
		prepared[out.Preparation[i].Node] = true
	}
	for i := range p.source {
		row := NodeRunRow{SourceNode: p.source[i], PlayRun: p.run[i], State: nodeStates[p.state[i]], DispatchedMS: p.dispatchedMS[i]}
		if prepared[int32(i)] {
			row.State = "preparation"
		}
		out.Nodes = append(out.Nodes, row)
	}
	for i := range p.runs {
		out.Runs = append(out.Runs, p.runs[i].row())
	}
	if p.cut != nil {
		for _, s := range p.cut.nodes {
			row := SnapshotNodeRow{PlayRun: s.run, SourceNode: s.source, Historical: s.historical, RemainingDelayMS: s.remainingMS, Primer: -1}
			for k, n := range p.runs[s.run].primers {
				if n == s.source {
					row.Primer = int32(k)
				}
			}
			out.Snapshot = append(out.Snapshot, row)
		}
	}
	if f := p.profile; f != nil {
		out.Profile = &ProfileRow{
			StartMS: f.startMS, CutoffMS: f.cutoffMS, GraceMS: f.graceMS, DrainMS: f.drainMS, FinishedMS: f.finishedMS, Closed: f.closed,
			Cursor: f.cursor, Unsettled: f.unsettled, LastResponseMS: f.lastMS,
		}
		if p.aborted() {
			nan := math.NaN()
			q := out.Profile
			q.StartMS, q.CutoffMS, q.GraceMS, q.DrainMS, q.FinishedMS = nan, nan, nan, nan, p.warm.finishedMS
		}
		for _, s := range f.shifts {
			out.Shifts = append(out.Shifts, IdleShiftRow{s.atMS, s.shiftedMS, s.run, s.timers})
		}
	}
	return out
}

// row describes a run.
func (r *playRun) row() PlayRunRow {
	row := PlayRunRow{
		Play: r.play, Lane: r.lane, Ordinal: r.ordinal, PlayID: r.id, TStarMS: r.tStarMS, OriginMS: r.originMS,
		TerminalMS: r.lastMS, SettledMS: r.settledMS, Status: "incomplete", FailedNode: -1,
		Nodes: int32(len(r.nodes)), Completed: r.completed, Started: r.started, Over: r.finished, Censored: r.censored,
	}
	if r.failed {
		row.TerminalMS, row.FailedNode, row.FailedStatus = r.failedMS, r.failedNode, schemas.StatusNames[r.failedStatus]
	}
	switch {
	case !r.settled || r.censored:
	case r.failed:
		row.Status = "failed"
	default:
		row.Status = "completed"
	}
	return row
}

// rows lists the requests of the preparation.
func (w *warmup) rows() []PreparationRow {
	var out []PreparationRow
	for lane := range w.free {
		for at := w.first[lane]; at < w.first[lane+1]; at++ {
			q := &w.requests[at]
			row := PreparationRow{
				PlayRun: q.run, SourceNode: q.source, Node: q.node, Ordinal: int32(at - w.first[lane]), Primer: q.primer,
				DispatchedMS: q.dispatchedMS, TerminalMS: q.terminalMS, AdmitMS: q.admitMS, SettledMS: q.settledMS, Reused: q.reused, Observed: int32(q.observed),
			}
			if math.IsNaN(q.admitMS) {
				row.Reused = -1
			}
			if !math.IsNaN(q.terminalMS) {
				row.Status = schemas.StatusNames[q.status]
			}
			out = append(out, row)
		}
	}
	return out
}
