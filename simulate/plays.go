package simulate

import (
	"cmp"
	"math"
	"slices"

	"github.com/dynosim/dynosim/lower"
	"github.com/dynosim/dynosim/schemas"
	"github.com/dynosim/dynosim/simulate/heap"
)

// nodeState is where a node of a play stands (spec 02 section 7.1).
type nodeState uint8

const (
	nodeBlocked nodeState = iota
	nodeReady
	nodeEmitted
	nodeCompleted
	nodeFailed
	nodeSkipped
	nodeCensored
)

// readyNode is an executed node that may start at a time. Nodes of one instant are taken in order of their
// numbers.
type readyNode struct {
	at   float64
	node int32
}

// Before is the order in which nodes are taken.
func (a *readyNode) Before(b *readyNode) bool {
	return a.at < b.at || a.at == b.at && a.node < b.node
}

// playRun is one execution of a play.
type playRun struct {
	play, lane int32
	// ordinal numbers the runs of a lane, slot all of them (spec 02 section 8.1).
	ordinal, slot int64
	// nodes are the executed nodes, ascending; at has the executed node of each node of the play, by its
	// position there, -1 for one that is history. at is nil when nodes have the numbers of the graph.
	nodes, at []int32
	// id is the name of the run's play.
	id string
	// tStarMS is where a snapshot cuts the play.
	tStarMS float64

	started, failed, finished, settled, censored bool
	// completed, outstanding, unsettled and waiting count nodes: completed ones, those emitted and not at
	// their end, those whose end the servers have not settled, and those that are ready.
	completed, outstanding, unsettled, waiting int32
	// originMS is where the trajectory starts, NaN before; lastMS the latest end of a node.
	originMS, lastMS, failedMS, settledMS float64
	failedNode                            int32
	failedStatus                          schemas.Status
	// idleMS is since when nothing of the run was in the system, NaN while something is.
	idleMS float64
	// primers are the nodes of the graph that warm the caches of the run up.
	primers []int32
	// base is the first chain of the run.
	base int32
}

// terminal is the end of an executed node that was not applied yet.
type terminal struct {
	node   int32
	status schemas.Status
}

// plays hands out the nodes of an agentic workload as they become ready (spec 02 sections 7 to 10).
type plays struct {
	graph *lower.Graph
	load  schemas.AgenticLoad
	// work is what the engines see: the workload, or with snapshots one that grows with the runs.
	work *lower.Workload
	// delays are those of the graph's edges as they apply.
	delays []float64
	cut    *cutter

	// One element an executed node: the node of the graph, and the run.
	source, run  []int32
	state        []nodeState
	remaining    []int32
	readyAfter   []float64
	dispatchedMS []float64

	runs []playRun
	heap heap.Heap[readyNode, *readyNode]
	// queue is the next play that has not started, for lanes without snapshots.
	queue int
	// lanes has the run of each lane.
	lanes []int32
	// pending are the ends of this instant, settle the nodes that the servers are done with.
	pending []terminal
	settle  []int32
	// outstanding counts nodes in the system, waiting those that are ready.
	outstanding, waiting int
	idleMS               float64
	// open counts runs that are not finished for the client.
	open int
	log  lifecycle

	warm    *warmup
	profile *profile
}

// newPlays prepares a workload that has a graph. The caller puts work in place of the workload.
func newPlays(spec *schemas.RunSpec, w *lower.Workload) (*plays, error) {
	p := &plays{graph: w.Graph, load: spec.Load.Agentic, work: w, delays: w.Graph.DelayMS, log: newLifecycle()}
	if p.load.Snapshot {
		if err := p.snapshot(spec); err != nil {
			return nil, err
		}
		return p, nil
	}
	n := w.Nodes.Len()
	p.grow(n)
	for i := range n {
		p.source[i], p.run[i] = int32(i), p.graph.Play[i]
		p.remaining[i] = p.graph.InDegree(int32(i))
	}
	for i := range p.graph.Plays {
		p.runs = append(p.runs, newPlayRun(int32(i), -1, p.graph.Plays[i].ID, p.graph.Nodes(int32(i))))
	}
	p.open = len(p.runs)
	if lanes := min(int64(len(p.runs)), p.load.Lanes); lanes > 0 {
		for lane := range int32(lanes) {
			p.lanes = append(p.lanes, -1)
			p.next(lane, 0)
		}
		return p, nil
	}
	for i := range p.runs {
		p.start(&p.runs[i], 0, 0)
	}
	return p, nil
}

func newPlayRun(play, lane int32, id string, nodes []int32) playRun {
	nan := math.NaN()
	return playRun{
		play: play, lane: lane, id: id, nodes: nodes, originMS: nan, lastMS: nan, failedMS: nan, settledMS: nan, failedNode: -1,
		idleMS: nan, tStarMS: nan,
	}
}

// grow adds n executed nodes.
func (p *plays) grow(n int) {
	for range n {
		p.source, p.run, p.state = append(p.source, 0), append(p.run, 0), append(p.state, nodeBlocked)
		p.remaining, p.readyAfter, p.dispatchedMS = append(p.remaining, 0), append(p.readyAfter, 0), append(p.dispatchedMS, math.NaN())
	}
}

// next starts the next play of the queue on a lane.
func (p *plays) next(lane int32, now float64) {
	if p.queue == len(p.runs) {
		return
	}
	r := &p.runs[p.queue]
	p.lanes[lane] = int32(p.queue)
	p.queue++
	r.lane = lane
	base := math.Inf(1)
	for _, n := range r.nodes {
		if p.remaining[n] == 0 {
			base = min(base, p.graph.NotBeforeMS[n])
		}
	}
	p.start(r, now, base)
}

// start makes the roots of a run ready: its times count from now, less base.
func (p *plays) start(r *playRun, now, base float64) {
	r.started = true
	for _, n := range r.nodes {
		at := p.work.Nodes.ReleaseMS[n]
		if now != 0 || base != 0 {
			at = now + max(0, at-base)
		}
		p.readyAfter[n] = at
	}
	for _, n := range r.nodes {
		if p.remaining[n] == 0 {
			p.ready(n)
		}
	}
}

// ready queues a node.
func (p *plays) ready(node int32) {
	p.state[node] = nodeReady
	p.runs[p.run[node]].waiting++
	p.waiting++
	p.heap.Push(readyNode{p.readyAfter[node], node})
}

// executed is the executed node of a node of the graph.
func (p *plays) executed(r *playRun, node int32) int32 {
	if r.at == nil {
		return node
	}
	return r.at[p.cut.position[node]]
}

// fire counts the edges of a trigger of an executed node as done.
func (p *plays) fire(node int32, trigger schemas.Trigger, now float64) {
	r := &p.runs[p.run[node]]
	key := 2*int(p.source[node]) + int(trigger)
	for _, e := range p.graph.Out[p.graph.OutFirst[key]:p.graph.OutFirst[key+1]] {
		t := p.executed(r, p.graph.Target[e])
		if t < 0 || p.state[t] != nodeBlocked {
			continue
		}
		p.readyAfter[t] = max(p.readyAfter[t], now+p.delays[e])
		if p.remaining[t]--; p.remaining[t] == 0 {
			p.ready(t)
		}
	}
}

// nextReady is the next time at which something happens by itself, +Inf for none.
func (p *plays) nextReady() float64 {
	at := math.Inf(1)
	p.dropDead()
	if len(p.heap) > 0 {
		at = p.heap[0].at
	}
	if p.profile != nil {
		at = min(at, p.profile.nextControl(p))
	}
	return at
}

// dropDead takes entries off the heap that are not ready any more.
func (p *plays) dropDead() {
	for len(p.heap) > 0 && p.state[p.heap[0].node] != nodeReady {
		p.heap.Pop()
	}
}

// pop returns the next executed node that may start now, its time, and marks it emitted.
func (p *plays) pop(now float64) (node int32, at float64, ok bool) {
	if p.warm != nil && p.warm.active() {
		return p.warm.pop(now)
	}
	p.dropDead()
	if len(p.heap) == 0 || p.heap[0].at > now || p.profile != nil && p.profile.closed {
		return 0, 0, false
	}
	first := p.heap.Pop()
	p.emit(first.node, now)
	return first.node, first.at, true
}

// emit marks a node as emitted and fires its dispatch edges.
func (p *plays) emit(node int32, now float64) {
	r := &p.runs[p.run[node]]
	p.state[node] = nodeEmitted
	p.dispatchedMS[node] = now
	r.waiting--
	p.waiting--
	r.outstanding++
	r.unsettled++
	p.outstanding++
	r.idleMS, p.idleMS = math.NaN(), math.NaN()
	if !p.load.Snapshot && !(r.originMS <= now) && p.graph.InDegree(p.source[node]) == 0 {
		r.originMS = now
	}
	p.log.event(p, now, eventDispatch, node, 0)
	p.fire(node, schemas.TriggerDispatch, now)
}

// ended tells that an executed node reached its end.
func (p *plays) ended(node int32, status schemas.Status) {
	p.pending = append(p.pending, terminal{node, status})
}

// released tells that the servers are done with a node that ended, now or before.
func (p *plays) released(node int32) { p.settle = append(p.settle, node) }

// apply applies the ends of this instant in the order of the nodes, then what is settled with them.
func (p *plays) apply(now float64) (changed bool) {
	if len(p.pending) == 0 && len(p.settle) == 0 {
		return false
	}
	slices.SortFunc(p.pending, func(a, b terminal) int { return cmp.Compare(a.node, b.node) })
	for _, t := range p.pending {
		p.terminal(t.node, t.status, now)
	}
	p.pending = p.pending[:0]
	slices.Sort(p.settle)
	for _, node := range p.settle {
		p.quiescent(node, now)
	}
	p.settle = p.settle[:0]
	return true
}

// terminal applies one end.
func (p *plays) terminal(node int32, status schemas.Status, now float64) {
	at := p.run[node]
	r := &p.runs[at]
	p.log.event(p, now, eventTerminal, node, status)
	r.outstanding--
	p.outstanding--
	r.lastMS = now
	if status == schemas.StatusCompleted {
		p.state[node] = nodeCompleted
		r.completed++
		if p.profile != nil {
			p.profile.completed(now)
		}
		if !r.failed {
			p.fire(node, schemas.TriggerCompletion, now)
		}
	} else {
		p.state[node] = nodeFailed
		if !r.failed {
			r.failed, r.failedMS, r.failedNode, r.failedStatus = true, now, node, status
			p.skip(r, now)
		}
	}
	if r.outstanding == 0 {
		r.idleMS = now
	}
	if p.outstanding == 0 {
		p.idleMS = now
	}
	p.finish(at, now)
}

// skip gives up what a failed run has not emitted.
func (p *plays) skip(r *playRun, now float64) {
	for _, n := range r.nodes {
		if p.state[n] <= nodeReady {
			if p.state[n] == nodeReady {
				p.waiting--
			}
			p.state[n] = nodeSkipped
			p.log.event(p, now, eventSkipped, n, 0)
		}
	}
	r.waiting = 0
}

// over reports whether a run is over for the client.
func (p *plays) over(r *playRun) bool {
	if int(r.completed) == len(r.nodes) || r.failed && r.outstanding == 0 {
		return true
	}
	return r.outstanding == 0 && p.profile != nil && p.profile.closed
}

// finish frees the lane of a run that is over.
func (p *plays) finish(at int32, now float64) {
	r := &p.runs[at]
	if r.finished || !p.over(r) {
		return
	}
	r.finished = true
	p.open--
	if lane := r.lane; lane >= 0 && !p.load.Snapshot {
		p.next(lane, now)
	}
}

// quiescent applies one settlement.
func (p *plays) quiescent(node int32, now float64) {
	r := &p.runs[p.run[node]]
	p.log.event(p, now, eventQuiescent, node, 0)
	r.unsettled--
	p.settled(r, now)
}

// settled settles a run that is over and has nothing left on the servers.
func (p *plays) settled(r *playRun, now float64) {
	if r.settled || r.unsettled > 0 || !r.finished {
		return
	}
	r.settled, r.settledMS = true, now
	p.log.play(now, r)
}

// exhausted reports whether every run is over.
func (p *plays) exhausted() bool { return p.open == 0 }

// aborted reports whether the preparation of caches failed, after which nothing is measured.
func (p *plays) aborted() bool { return p != nil && p.warm != nil && p.warm.aborted() }

// done reports whether the run ends at this instant, whatever would come.
func (p *plays) done() bool { return p.profile != nil && p.profile.ended }
