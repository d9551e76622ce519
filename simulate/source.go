package simulate

import (
	"cmp"
	"math"
	"slices"

	"github.com/dynosim/dynosim/lower"
	"github.com/dynosim/dynosim/simulate/heap"
)

// turn is a request that becomes ready at a time. Turns of one instant are taken in order
// of session and turn (spec 01 section 5.4).
type turn struct {
	at      float64
	session int32
	node    int32
}

// Before is the order in which turns are taken.
func (a *turn) Before(b *turn) bool {
	return a.at < b.at || a.at == b.at && (a.session < b.session || a.session == b.session && a.node < b.node)
}

// source hands out the requests of a workload as they become ready (spec 01 section 5).
type source struct {
	nodes    *lower.Nodes
	sessions *lower.Sessions
	// limit is the closed-loop limit, 0 for an open loop.
	limit int64
	// next is the next node of a list, or the next position in order, or under concurrency
	// the next session to become active.
	next int
	// order has the sessions of an open loop by first arrival.
	order []int32
	heap  heap.Heap[turn, *turn]
	// unfinished counts the sessions whose last turn has not ended.
	unfinished int
	// plays takes the place of all others when the workload is a graph of plays.
	plays *plays
}

func newSource(w *lower.Workload) *source {
	s := &source{nodes: &w.Nodes, sessions: w.Sessions, limit: w.Concurrency}
	if s.sessions == nil {
		return s
	}
	s.unfinished = len(s.sessions.First) - 1
	if s.limit > 0 {
		for s.next < s.unfinished && int64(s.next) < s.limit {
			s.activate(0)
		}
		return s
	}
	s.order = make([]int32, s.unfinished)
	for i := range s.order {
		s.order[i] = int32(i)
	}
	slices.SortStableFunc(s.order, func(a, b int32) int { return cmp.Compare(s.firstRelease(a), s.firstRelease(b)) })
	return s
}

func (s *source) firstRelease(session int32) float64 {
	return s.nodes.ReleaseMS[s.sessions.First[session]]
}

// activate makes the first turn of the next session ready.
func (s *source) activate(at float64) {
	s.heap.Push(turn{at, int32(s.next), s.sessions.First[s.next]})
	s.next++
}

// nextReady is the earliest time at which a request becomes ready by itself, +Inf for none.
func (s *source) nextReady() float64 {
	if s.plays != nil {
		return s.plays.nextReady()
	}
	if s.sessions == nil {
		if s.limit > 0 || s.next >= s.nodes.Len() {
			return math.Inf(1)
		}
		return s.nodes.ReleaseMS[s.next]
	}
	at := math.Inf(1)
	if len(s.heap) > 0 {
		at = s.heap[0].at
	}
	if s.next < len(s.order) {
		at = min(at, s.firstRelease(s.order[s.next]))
	}
	return at
}

// readyAfter is the time of the arrival that comes after the next n ones in the open loop of a list, +Inf
// for none.
func (s *source) readyAfter(n int) float64 {
	if n < 0 || s.next+n >= s.nodes.Len() {
		return math.Inf(1)
	}
	return s.nodes.ReleaseMS[s.next+n]
}

// pop returns the next request that is ready at now, and its session (-1 for none). room is
// how many more requests the closed loop of a list may release in this round.
func (s *source) pop(now float64, room int64) (node, session int32, ready bool) {
	if s.sessions == nil {
		if s.next >= s.nodes.Len() || s.limit > 0 && room <= 0 || s.limit == 0 && s.nodes.ReleaseMS[s.next] > now {
			return 0, -1, false
		}
		s.next++
		return int32(s.next - 1), -1, true
	}
	if s.next < len(s.order) {
		first := s.order[s.next]
		t := turn{s.firstRelease(first), first, s.sessions.First[first]}
		if t.at <= now && (len(s.heap) == 0 || t.Before(&s.heap[0])) {
			s.next++
			return t.node, t.session, true
		}
	}
	if len(s.heap) == 0 || s.heap[0].at > now {
		return 0, -1, false
	}
	t := s.heap.Pop()
	return t.node, t.session, true
}

// last reports whether the node is the last turn of its session.
func (s *source) last(node, session int32) bool { return node+1 >= s.sessions.First[session+1] }

// ended tells the source that a request reached its end at now.
func (s *source) ended(node, session int32, now float64) {
	if s.sessions == nil {
		return
	}
	if !s.last(node, session) {
		s.heap.Push(turn{now + s.nodes.DelayMS[node+1], session, node + 1})
		return
	}
	s.over(now)
}

// over tells the source that a session ended at now, with its last turn or because a request
// failed; in a closed loop the next one begins.
func (s *source) over(now float64) {
	if s.sessions == nil {
		return
	}
	s.unfinished--
	if s.limit > 0 && s.next < len(s.sessions.First)-1 {
		s.activate(now)
	}
}

// exhausted reports whether every request has been handed out and every session is over.
func (s *source) exhausted() bool {
	if s.plays != nil {
		return s.plays.exhausted()
	}
	if s.sessions == nil {
		return s.next >= s.nodes.Len()
	}
	return s.unfinished == 0
}
