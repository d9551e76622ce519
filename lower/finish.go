package lower

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/dynosim/dynosim/schemas"
)

// Finish applies the load and hands the workload over. The builder is of no use afterwards.
func (b *Builder) Finish() (*Workload, error) {
	if b.err != nil {
		return nil, b.err
	}
	if b.graph != nil {
		return b.finishGraph()
	}
	if b.load.Agentic.Lanes > 0 {
		return nil, errors.New("agentic_lanes needs an agentic trace: no request of this one has an agent context")
	}
	w := &Workload{BlockTokens: b.blockTokens, Chains: b.chains.finish()}
	b.sessions.table, b.last = table{}, column[float64]{}
	if len(w.Chains.Parent) == 0 {
		w.Chains, w.BlockTokens = Chains{}, 0
	}
	if b.load.Kind == schemas.LoadConcurrency {
		w.Concurrency = b.load.Concurrency
	}
	var order []int32
	var err error
	if b.list() {
		order, err = b.finishList(w)
	} else {
		order, err = b.finishSessions(w)
		w.Delta = b.source.Format == schemas.FormatMooncakeDelta && b.source.Kind == schemas.SourceTrace && b.joined
	}
	if err != nil {
		return nil, err
	}
	n := &w.Nodes
	if n.RequestIndex = order; order == nil {
		n.RequestIndex = identity(b.input.n)
	}
	n.InputTokens, n.OutputTokens = b.input.flat(order), b.output.flat(order)
	n.Chain, n.ChainTokens = b.chain.flat(order), b.chainTokens.flat(order)
	if b.priority.n > 0 {
		n.Priority, n.StrictPriority = b.priority.flat(order), b.strict.flat(order)
		n.PolicyClass, n.PolicyClasses = b.class.flat(order), b.classes
	}
	b.finishAuthored(w, order)
	b.session = column[int32]{}
	return w, nil
}

// list decides between a plain list of requests and sessions (the table of spec 01 section 1).
func (b *Builder) list() bool {
	switch b.source.Kind {
	case schemas.SourceSynthetic:
		return !b.source.SessionMode()
	case schemas.SourceRequests:
		return true
	}
	// Rows of standard dynamo traces have no sessions; as a list they arrive in the same
	// order and are reported without one (spec 01 section 8).
	flat := b.source.Format != schemas.FormatAppliedCompute
	return flat && b.load.Kind == schemas.LoadTraceTimestamps && !b.joined
}

// finishList sets the release times of a list, and returns the rows in order of arrival, nil
// when that is their own.
func (b *Builder) finishList(w *Workload) (order []int32, err error) {
	if w.Concurrency > 0 && b.source.Kind != schemas.SourceRequests {
		w.Nodes.ReleaseMS = nans(b.timing.n)
		return nil, nil
	}
	release := b.timing.flat(nil)
	if err := b.release(release); err != nil {
		return nil, err
	}
	if w.Concurrency > 0 {
		// Requests of a call come in order of their times, which mean nothing else here.
		order = identity(len(release))
		slices.SortStableFunc(order, func(i, j int32) int { return cmp.Compare(release[i], release[j]) })
		w.Nodes.ReleaseMS = nans(len(release))
		return order, nil
	}
	if !slices.IsSorted(release) {
		order = identity(len(release))
		slices.SortStableFunc(order, func(i, j int32) int { return cmp.Compare(release[i], release[j]) })
		slices.Sort(release)
	}
	w.Nodes.ReleaseMS = release
	return order, nil
}

// finishSessions sets the sessions, release times and delays, and returns the rows session by
// session, nil when they stand like that.
func (b *Builder) finishSessions(w *Workload) (order []int32, err error) {
	s := &Sessions{names: b.sessions.names}
	w.Sessions = s
	rows, sessions := b.timing.n, s.names.refs.n
	if b.session.n == 0 {
		s.First = identity(rows + 1)
	} else {
		s.First, order = groupRows(&b.session, sessions)
	}
	delay := b.timing.flat(order)
	w.Nodes.ReleaseMS = nans(rows)
	first := make([]float64, sessions)
	for i := range first {
		first[i], delay[s.First[i]] = delay[s.First[i]], 0
	}
	w.Nodes.DelayMS = delay
	if w.Concurrency > 0 {
		return order, b.checkFirst(first)
	}
	if err := b.release(first); err != nil {
		return nil, err
	}
	for i, at := range first {
		w.Nodes.ReleaseMS[s.First[i]] = at
	}
	for i := range delay {
		delay[i] /= b.load.Speedup
		if math.IsInf(delay[i], 0) {
			return nil, fmt.Errorf("the speed-up %v makes a delay between turns infinite", b.load.Speedup)
		}
	}
	return order, nil
}

// groupRows orders rows by session, keeping their order in each.
func groupRows(session *column[int32], sessions int) (first, order []int32) {
	first = make([]int32, sessions+1)
	order = make([]int32, session.n)
	for _, chunk := range session.chunks {
		for _, s := range chunk {
			first[s+1]++
		}
	}
	for s := range sessions {
		first[s+1] += first[s]
	}
	// first[s] moves to the end of session s, which is where session s+1 starts.
	row := int32(0)
	for _, chunk := range session.chunks {
		for _, s := range chunk {
			order[first[s]] = row
			first[s]++
			row++
		}
	}
	copy(first[1:], first[:sessions])
	first[0] = 0
	return first, order
}

// release turns timestamps, NaN for none, into arrival times in place: by the schedule of a synthetic
// source, or from the smallest timestamp on (spec 01 sections 5.1 and 5.2).
func (b *Builder) release(at []float64) error {
	if b.source.Kind == schemas.SourceSynthetic {
		times := newSchedule(&b.load)
		for i := range at {
			at[i] = times.next() / b.load.Speedup
			if !finite(at[i]) {
				return fmt.Errorf("the arrival time of request %d is out of range", i+1)
			}
		}
		return nil
	}
	if b.source.Kind == schemas.SourceRequests {
		return nil
	}
	origin := math.Inf(1)
	for i, t := range at {
		if math.IsNaN(t) {
			return fmt.Errorf("%s has no timestamp: replay by timestamps needs one in the first row of every session", b.describe(int32(i)))
		}
		origin = min(origin, t)
	}
	for i, t := range at {
		at[i] = (t - origin) / b.load.Speedup
		if !finite(at[i]) {
			return fmt.Errorf("%s: the arrival time is out of range: (%v - %v) / %v", b.describe(int32(i)), t, origin, b.load.Speedup)
		}
	}
	return nil
}

// checkFirst checks timestamps that are not used (spec 01 section 5.3).
func (b *Builder) checkFirst(first []float64) error {
	for i, t := range first {
		if t < 0 || math.IsInf(t, 0) {
			return fmt.Errorf("%s: under concurrency the timestamp of a session's first row must be a finite number of at least 0, got %v", b.describe(int32(i)), t)
		}
	}
	return nil
}

// finishAuthored sets the authored outputs in the order of the nodes.
func (b *Builder) finishAuthored(w *Workload, order []int32) {
	if b.authored.n == 0 {
		return
	}
	end := b.authoredEnd.flat(nil)
	w.AuthoredStart = make([]int64, len(end)+1)
	if order == nil {
		copy(w.AuthoredStart[1:], end)
		w.Authored = b.authored.flat(nil)
		return
	}
	w.Authored = make([]uint32, 0, b.authored.n)
	for node, row := range order {
		from := int64(0)
		if row > 0 {
			from = end[row-1]
		}
		for i := from; i < end[row]; i++ {
			w.Authored = append(w.Authored, b.authored.at(int(i)))
		}
		w.AuthoredStart[node+1] = int64(len(w.Authored))
	}
	b.authored = column[uint32]{}
}

// describe names a session for a message: by the line of a row without a name.
func (b *Builder) describe(session int32) string {
	if ref := b.sessions.names.refs.at(int(session)); ref >= 0 {
		return b.place(ref)
	}
	if len(b.source.Paths) == 0 {
		return "session " + b.name(session)
	}
	return b.source.Paths[0] + ": session " + b.name(session)
}

func finite(v float64) bool { return !math.IsInf(v, 0) && !math.IsNaN(v) }

func nans(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = math.NaN()
	}
	return v
}

func identity(n int) []int32 {
	v := make([]int32, n)
	for i := range v {
		v[i] = int32(i)
	}
	return v
}
