package simulate

import (
	"math"

	"github.com/dynosim/dynosim/schemas"
)

// warmRepeats is the number of requests of a lane behind its primers (spec 02 section 9).
const warmRepeats = 10

// preparation is one request that warms a cache up.
type preparation struct {
	run, source, node int32
	primer            bool
	// The times are those of the whole run, NaN before.
	dispatchedMS, terminalMS, admitMS, settledMS float64
	status                                       schemas.Status
	reused                                       int32
	observed                                     int64
}

// warmup runs the requests that prepare the caches, lane by lane, and then opens the measurement.
type warmup struct {
	// requests holds those of all lanes back to back: lane l has first[l] up to first[l+1].
	requests []preparation
	first    []int
	// next is the number of the next request of each lane, free whether it may start.
	next []int
	free []bool
	// done counts requests that the servers are done with, out those in the system.
	done, out int
	failed    int32 // number of the request that did not complete, -1 for none
	// beginMS is the barrier, NaN before it; finishedMS the end of the preparation.
	beginMS, finishedMS float64
}

// newWarmup adds the requests to the executed nodes.
func newWarmup(p *plays) *warmup {
	w := &warmup{failed: -1, beginMS: math.NaN(), finishedMS: math.NaN(), first: []int{0}}
	for lane := range p.runs {
		r := &p.runs[lane]
		add := func(source int32, primer bool) {
			node := p.addNode(source, int32(lane), r.base, p.cut.chains[r.play].leaf[p.cut.position[source]], 1, 0)
			w.requests = append(w.requests, preparation{
				run: int32(lane), source: source, node: node, primer: primer,
				dispatchedMS: math.NaN(), terminalMS: math.NaN(), admitMS: math.NaN(), settledMS: math.NaN(),
			})
		}
		again := r.primers
		for _, n := range r.primers {
			add(n, true)
		}
		if len(again) == 0 {
			again = []int32{p.earliest(r)}
		}
		for k := range warmRepeats {
			add(again[k%len(again)], false)
		}
		w.first = append(w.first, len(w.requests))
		w.next, w.free = append(w.next, w.first[lane]), append(w.free, true)
	}
	return w
}

// earliest is the retained node of a run that was recorded first.
func (p *plays) earliest(r *playRun) int32 {
	best := p.source[r.nodes[0]]
	for _, n := range r.nodes {
		if s := p.source[n]; p.graph.RecordedStartMS[s] < p.graph.RecordedStartMS[best] {
			best = s
		}
	}
	return best
}

// active reports whether the measurement has not begun.
func (w *warmup) active() bool { return math.IsNaN(w.beginMS) }

// aborted reports whether the preparation failed.
func (w *warmup) aborted() bool { return w.failed >= 0 }

// pop starts the next request, lanes in order.
func (w *warmup) pop(now float64) (node int32, at float64, ok bool) {
	if w.aborted() {
		return 0, 0, false
	}
	for lane := range w.free {
		if !w.free[lane] || w.next[lane] == w.first[lane+1] {
			continue
		}
		q := &w.requests[w.next[lane]]
		w.free[lane] = false
		q.dispatchedMS = now
		w.out++
		return q.node, now, true
	}
	return 0, 0, false
}

// ended takes the end of a request.
func (w *warmup) ended(p *plays, node int32, status schemas.Status, output int64, admitMS float64, reused int32, now float64) {
	lane := p.run[node]
	at := w.next[lane]
	q := &w.requests[at]
	q.terminalMS, q.admitMS, q.status, q.reused, q.observed = now, admitMS, status, reused, output
	w.next[lane]++
	w.free[lane] = true
	if (q.status != schemas.StatusCompleted || q.observed != 1) && w.failed < 0 {
		w.failed = int32(at)
	}
}

// settled counts a request that the servers are done with.
func (w *warmup) settled(node int32, now float64) {
	// The nodes of the requests were added one behind the other.
	w.requests[node-w.requests[0].node].settledMS = now
	w.done++
	w.out--
	if w.aborted() && w.out == 0 {
		w.finishedMS = now
	}
}

// complete reports whether the measurement can begin.
func (w *warmup) complete() bool { return w.active() && !w.aborted() && w.done == len(w.requests) }
