package pipeline

import (
	"fmt"
	"math"
	"strconv"

	"github.com/dynosim/dynosim/lower"
	"github.com/dynosim/dynosim/metrics"
	"github.com/dynosim/dynosim/schemas"
	"github.com/dynosim/dynosim/simulate"
)

// AbortedError is a preparation of caches that failed: nothing was measured (spec 02 section 9).
type AbortedError struct{ Request, Status string }

func (e *AbortedError) Error() string {
	return fmt.Sprintf("the warm-up was aborted: request %q ended as %s before the measurement began", e.Request, e.Status)
}

// column is the values of a column, one for each of n rows.
func column[T any](n int, at func(i int) T) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = at(i)
	}
	return out
}

// bit is the number that stands for a truth.
func bit(v bool) int32 {
	if v {
		return 1
	}
	return 0
}

// writeAgentic writes what became of plays; nothing without any.
func writeAgentic(r *metrics.Recorders, spec *schemas.RunSpec, w *lower.Workload, o *simulate.AgenticOutcome) error {
	if o == nil {
		return nil
	}
	runs, nodes, cut := o.Runs, o.Nodes, o.Snapshot
	tables := []metrics.Rows{
		{Table: &schemas.PlayRuns, N: len(runs), Columns: []any{
			column(len(runs), func(i int) int32 { return int32(i) }),
			column(len(runs), func(i int) int32 { return runs[i].Play }),
			column(len(runs), func(i int) int32 { return runs[i].Lane }),
			column(len(runs), func(i int) int64 { return runs[i].Ordinal }),
			column(len(runs), func(i int) string { return runs[i].PlayID }),
			column(len(runs), func(i int) float64 { return runs[i].TStarMS }),
			column(len(runs), func(i int) float64 { return runs[i].OriginMS }),
			column(len(runs), func(i int) float64 { return runs[i].TerminalMS }),
			column(len(runs), func(i int) float64 { return runs[i].SettledMS }),
			column(len(runs), func(i int) string { return runs[i].Status }),
			column(len(runs), func(i int) int32 { return runs[i].FailedNode }),
			column(len(runs), func(i int) string { return runs[i].FailedStatus }),
			column(len(runs), func(i int) int32 { return runs[i].Nodes }),
			column(len(runs), func(i int) int32 { return runs[i].Completed }),
			column(len(runs), func(i int) int32 { return bit(runs[i].Started) }),
			column(len(runs), func(i int) int32 { return bit(runs[i].Over) }),
			column(len(runs), func(i int) int32 { return bit(runs[i].Censored) }),
		}},
		{Table: &schemas.NodeRuns, N: len(nodes), Columns: []any{
			column(len(nodes), func(i int) int32 { return int32(i) }),
			column(len(nodes), func(i int) int32 { return nodes[i].SourceNode }),
			column(len(nodes), func(i int) int32 { return nodes[i].PlayRun }),
			column(len(nodes), func(i int) string { return nodes[i].State }),
			column(len(nodes), func(i int) float64 { return nodes[i].DispatchedMS }),
		}},
		{Table: &schemas.SnapshotNodes, N: len(cut), Columns: []any{
			column(len(cut), func(i int) int32 { return cut[i].PlayRun }),
			column(len(cut), func(i int) int32 { return cut[i].SourceNode }),
			column(len(cut), func(i int) int32 { return bit(cut[i].Historical) }),
			column(len(cut), func(i int) float64 { return cut[i].RemainingDelayMS }),
			column(len(cut), func(i int) int32 { return cut[i].Primer }),
		}},
		preparations(o.Preparation),
		{Table: &schemas.IdleShifts, N: len(o.Shifts), Columns: []any{
			column(len(o.Shifts), func(i int) int32 { return int32(i) }),
			column(len(o.Shifts), func(i int) float64 { return o.Shifts[i].AtMS }),
			column(len(o.Shifts), func(i int) int32 { return o.Shifts[i].PlayRun }),
			column(len(o.Shifts), func(i int) float64 { return o.Shifts[i].ShiftedMS }),
			column(len(o.Shifts), func(i int) int32 { return o.Shifts[i].Timers }),
		}},
		agenticRun(spec, w, o),
	}
	for _, t := range tables {
		if err := r.WriteRows(t); err != nil {
			return err
		}
	}
	return nil
}

// aborted is the preparation that failed, nil for none.
func aborted(w *lower.Workload, o *simulate.AgenticOutcome) error {
	if o == nil || o.Failed < 0 {
		return nil
	}
	for _, p := range o.Preparation {
		if p.Node == o.Failed {
			return &AbortedError{w.Graph.RequestID(int(p.SourceNode)), p.Status}
		}
	}
	return nil
}

func preparations(p []simulate.PreparationRow) metrics.Rows {
	return metrics.Rows{Table: &schemas.Preparations, N: len(p), Columns: []any{
		column(len(p), func(i int) int32 { return p[i].PlayRun }),
		column(len(p), func(i int) int32 { return p[i].Ordinal }),
		column(len(p), func(i int) int32 { return p[i].Node }),
		column(len(p), func(i int) int32 { return p[i].SourceNode }),
		column(len(p), func(i int) string {
			if p[i].Primer {
				return "primer"
			}
			return "warmup"
		}),
		column(len(p), func(i int) float64 { return p[i].DispatchedMS }),
		column(len(p), func(i int) float64 { return p[i].AdmitMS }),
		column(len(p), func(i int) float64 { return p[i].TerminalMS }),
		column(len(p), func(i int) float64 { return p[i].SettledMS }),
		column(len(p), func(i int) string { return p[i].Status }),
		column(len(p), func(i int) int32 { return p[i].Reused }),
		column(len(p), func(i int) int32 { return p[i].Observed }),
	}}
}

// agenticRun is the row of the run itself.
func agenticRun(spec *schemas.RunSpec, w *lower.Workload, o *simulate.AgenticOutcome) metrics.Rows {
	g, load := w.Graph, &spec.Load.Agentic
	lanes, seed, preparation, decode, speedup := int64(-1), "", "", "", 1.0
	if spec.Disaggregated() {
		decode = string(spec.Pools[1].Engine.Timing.Kind)
	}
	if load.Lanes > 0 {
		lanes = load.Lanes
	}
	if load.Snapshot {
		speedup = spec.Load.Speedup
		seed = strconv.FormatUint(load.Seed, 10)
	}
	switch {
	case o.Warm && o.Failed >= 0:
		preparation = "aborted"
	case o.Warm:
		preparation = "profile"
	}
	nan := math.NaN()
	p, closed := simulate.ProfileRow{StartMS: nan, CutoffMS: nan, GraceMS: nan, DrainMS: nan, FinishedMS: nan, Cursor: -1, Unsettled: -1, LastResponseMS: nan}, int32(-1)
	options := [5]float64{nan, nan, nan, nan, nan}
	if o.Profile != nil {
		p, closed = *o.Profile, bit(o.Profile.Closed)
		options = [5]float64{load.DurationSeconds, load.ResponseGraceSeconds, load.CancelDrainSeconds, load.TreeIdleCapSeconds, load.GlobalIdleCapSeconds}
	}
	columns := []any{
		[]string{g.Source.Format}, []string{g.Source.Digest}, []string{g.Source.NestedTimestampBasis}, []string{g.Digest}, []int64{g.BlockTokens},
		[]string{string(spec.Source.Format)}, []string{spec.TargetModel}, []int64{spec.BlockTokens()}, []string{string(spec.Pools[0].Engine.Timing.Kind)},
		[]string{decode}, []float64{speedup},
		[]int64{lanes}, []string{seed}, []string{o.LifecycleDigest}, []int64{o.LifecycleEvents},
		[]string{preparation}, []float64{o.PreparationEndMS}, []float64{o.ProfileStartMS},
	}
	for _, v := range options {
		columns = append(columns, []float64{v})
	}
	for _, v := range []float64{p.StartMS, p.CutoffMS, p.GraceMS, p.DrainMS, p.FinishedMS} {
		columns = append(columns, []float64{v})
	}
	columns = append(columns, []int32{closed}, []int64{p.Cursor}, []int64{p.Unsettled}, []float64{p.LastResponseMS})
	return metrics.Rows{Table: &schemas.AgenticRun, N: 1, Columns: columns}
}
