package simulate

import (
	"context"
	"math"
	"slices"

	"github.com/dynosim/dynosim/schemas"
	"github.com/dynosim/dynosim/simulate/engine"
	"github.com/dynosim/dynosim/simulate/engine/sglang"
	"github.com/dynosim/dynosim/simulate/engine/vllm"
)

// workerState is where a worker stands between its creation and its removal (spec 05 section 1).
type workerState uint8

const (
	// active workers get new requests.
	active workerState = iota
	// starting workers are created but not ready.
	starting
	// draining workers finish what they have.
	draining
	// removed workers are gone; their ids are not used again.
	removed
)

// worker is one engine replica: its attention data-parallel ranks pass together (spec 03
// section 9).
type worker struct {
	state workerState
	ranks []engine.Rank
	// hosts are the ranks again where they have host caches; endMS is then the end of the pass in flight,
	// tickMS the next queued look at the transfers.
	hosts         []hosted
	endMS, tickMS float64
	// took tells which ranks take part in the pass in flight.
	took []bool
	busy bool
	pass int64
	// count numbers the passes since the worker was last drained.
	count int64
	// nextRank is the round-robin position among the ranks of an aggregated worker.
	nextRank int
	// owned counts the requests that the ranks have in any form.
	owned int32
	ahead ahead
	// parked has, for each rank, the actions that wait for the end of the pass in flight; nil
	// while there never were any.
	parked [][]task
	// sight is what telemetry and a scaling policy see of the worker, nil without them. startedBy and
	// drainedBy are the lifecycle operations that did so.
	sight                *sight
	startedBy, drainedBy int32
	// oneRank, oneTook and durations are the memory of ranks, took and ahead: near, because memory far
	// away is what a pass costs where many workers take turns.
	oneRank   [1]engine.Rank
	oneTook   [1]bool
	durations [aheadPasses]float64
}

// idle reports whether no rank has runnable work.
func (w *worker) idle() bool {
	for _, k := range w.ranks {
		if !k.Idle() {
			return false
		}
	}
	return true
}

// park keeps an action until the pass in flight ends.
func (w *worker) park(rank int, t task) {
	if w.parked == nil {
		w.parked = make([][]task, len(w.ranks))
	}
	w.parked[rank] = append(w.parked[rank], t)
}

// quiet reports whether nothing waits for the end of the pass in flight.
func (w *worker) quiet() bool {
	for _, tasks := range w.parked {
		if len(tasks) > 0 {
			return false
		}
	}
	return true
}

// empty reports whether a draining worker can be removed (spec 05 section 9.2).
func (w *worker) empty() bool { return !w.busy && w.owned == 0 && !w.transferring() }

// pool is the workers of one role. Worker ids are indexes of workers; scheduler id
// id*ranks+rank is a rank, which makes them dense in order of creation (spec 05 section 1).
type pool struct {
	role  schemas.Pool
	spec  *schemas.PoolSpec
	build func(scheduler int) engine.Rank
	ranks int

	workers []*worker
	// active lists the workers that get requests, starting and draining those of these states, and
	// live all three, each ascending.
	active, starting, draining, live []int32
	// existing counts active, starting and draining workers; seconds is their integral over
	// time (spec 05 section 9.5).
	existing int
	seconds  float64
	// next is the round-robin position.
	next int
	// ready has a bit for each worker that may have a pass to start; aside lists those
	// that had one without effect at this sweep.
	ready []uint64
	aside []int32
	// lowest is the first element of ready that may be set.
	lowest int
	// parked lists the actions that wait for an active worker.
	parked []task
	// logs says that the ranks log KV events, behind that workers run behind the clock, patient that a
	// command may reach a rank whose passes are still to be run: it only queues a request then, which
	// these passes do not look at.
	logs, behind, patient bool
	// sweptTo is the last worker that could start a pass at the instant sweptMS.
	sweptMS float64
	sweptTo int32
	// watch is the cluster's.
	watch *watch
}

// newPool makes a pool with its initial workers, all of them active.
// With events its ranks log KV events, unless nobody looks at those of the pool; with each also
// generated blocks as soon as they are full.
func (c *cluster) newPool(ctx context.Context, spec *schemas.PoolSpec, exact, events, each bool) (pool, error) {
	events = events && spec.Pool != schemas.PoolDecode && spec.Engine.PrefixCaching
	p := pool{role: spec.Pool, watch: c.watch, spec: spec, logs: events, sweptMS: math.NaN(), ranks: int(spec.Engine.DataParallelRanks), build: c.rankBuilder(&spec.Engine, spec.Pool, exact, events, events && each)}
	for range spec.Workers {
		// Very many workers take a while.
		if err := ctx.Err(); err != nil {
			return p, err
		}
		p.add(active)
	}
	return p, nil
}

// rankBuilder returns what makes a rank of the engine, given its scheduler id. Ranks of a
// worker are made one after the other.
func (c *cluster) rankBuilder(e *schemas.EngineSpec, role schemas.Pool, exact, events, each bool) func(scheduler int) engine.Rank {
	if e.Backend == schemas.BackendSGLang {
		cfg := sglang.NewConfig(e, role, c.content.PathTokens(), c.bounded())
		cfg.Exact, cfg.Events, cfg.Metrics = cfg.Exact || exact, events, c.watch.measures()
		var group *sglang.Group
		return func(scheduler int) engine.Rank {
			if scheduler%int(e.DataParallelRanks) == 0 {
				group = sglang.NewGroup(int(e.DataParallelRanks))
			}
			return sglang.NewRank(cfg, e, scheduler, group, &c.requests, c.content, c.record.gap)
		}
	}
	cfg := vllm.NewConfig(e, role, c.content.PathTokens(), c.bounded())
	cfg.Exact, cfg.Events, cfg.GeneratedEvents = cfg.Exact || exact, events, each
	cfg.Metrics = c.watch.measures()
	return func(scheduler int) engine.Rank {
		k := vllm.NewRank(cfg, e, scheduler, &c.requests, c.content, c.record.gap)
		if e.Host.Enabled {
			c.offload(k, e, role, scheduler, events)
		}
		return k
	}
}

// add creates the worker with the next id, active or starting, and returns the id.
func (p *pool) add(state workerState) int32 {
	id := int32(len(p.workers))
	w := &worker{state: state, ahead: ahead{dueMS: math.NaN()}, tickMS: math.Inf(1)}
	if w.ranks, w.took = w.oneRank[:], w.oneTook[:]; p.ranks > 1 {
		w.ranks, w.took = make([]engine.Rank, p.ranks), make([]bool, p.ranks)
	}
	w.ahead.durations = w.durations[:0]
	for rank := range w.ranks {
		w.ranks[rank] = p.build(int(id)*p.ranks + rank)
	}
	w.hosts = hostsOf(w.ranks, &p.spec.Engine.Host)
	p.workers = append(p.workers, w)
	p.live = append(p.live, id)
	for len(p.ready)*64 < len(p.workers) {
		p.ready = append(p.ready, 0)
	}
	p.existing++
	if state == active {
		p.active = append(p.active, id)
	} else {
		p.starting = append(p.starting, id)
	}
	return id
}

// activate makes a starting worker active.
func (p *pool) activate(id int32) {
	p.workers[id].state = active
	p.starting = without(p.starting, id)
	p.active = with(p.active, id)
}

// drain lets an active worker only finish what it has.
func (p *pool) drain(id int32) {
	p.workers[id].state = draining
	p.active = without(p.active, id)
	p.draining = with(p.draining, id)
}

// with and without add an id to an ascending list, and take one out that is in it.
func with(ids []int32, id int32) []int32 {
	i, _ := slices.BinarySearch(ids, id)
	return slices.Insert(ids, i, id)
}

func without(ids []int32, id int32) []int32 {
	i, _ := slices.BinarySearch(ids, id)
	return slices.Delete(ids, i, i+1)
}

// remove takes away a starting worker, or a draining one that is empty. Its memory goes,
// its id stays taken. The gaps that its ranks kept back are handed over.
func (p *pool) remove(id int32) {
	w := p.workers[id]
	for _, k := range w.ranks {
		k.Close()
	}
	if w.hosts != nil {
		p.leaveHosts(w)
	}
	if w.state == starting {
		p.starting = without(p.starting, id)
	} else {
		p.draining = without(p.draining, id)
	}
	p.live = without(p.live, id)
	w.state, w.ranks, w.hosts, w.took, w.sight = removed, nil, nil, nil, nil
	p.existing--
	p.ready[id>>6] &^= 1 << (id & 63)
}

// submit hands a request to a rank. A busy worker looks at it when its next pass begins.
func (p *pool) submit(slot, id, rank int32) {
	w := p.workers[id]
	w.owned++
	w.ranks[rank].Submit(slot)
	p.refresh(w, int(rank))
	if !w.busy {
		p.wake(id)
	}
}

// swept reports whether a worker that had a pass to start at the instant has started it.
func (p *pool) swept(id int32, nowMS float64) bool { return p.sweptMS == nowMS && id <= p.sweptTo }

// index is the pool's place in cluster.pools, which orders its events.
func (p *pool) index() uint8 {
	if p.role == schemas.PoolDecode {
		return 1
	}
	return 0
}

// prefix names the pool in front of a worker's number, where there are two.
func (p *pool) prefix() string {
	if p.role == schemas.PoolAggregated {
		return ""
	}
	return schemas.PoolNames[p.role] + " "
}

// wake marks a worker that may have a pass to start.
func (p *pool) wake(id int32) {
	word := int(id >> 6)
	p.ready[word] |= 1 << (id & 63)
	p.lowest = min(p.lowest, word)
}

// rank returns a rank and its worker by scheduler id.
func (p *pool) rank(scheduler int32) (*worker, engine.Rank) {
	w := p.workers[int(scheduler)/p.ranks]
	return w, w.ranks[int(scheduler)%p.ranks]
}

// rankOf is the number in its worker of a rank given by scheduler id.
func (p *pool) rankOf(scheduler int32) int { return int(scheduler) % p.ranks }

// turnsUntil is how many workers of an aggregated pool come before a worker in the turn, -1 for one
// whose turn does not come.
func (p *pool) turnsUntil(id int32) int {
	i, found := slices.BinarySearch(p.active, id)
	if !found {
		return -1
	}
	n := len(p.active)
	return (i - p.next%n + n) % n
}

// turn is the next rank in turn (spec 05 section 6); ok is false without active workers.
func (p *pool) turn() (id, rank int32, ok bool) {
	n := len(p.active)
	if n == 0 {
		return 0, 0, false
	}
	if p.role != schemas.PoolAggregated {
		i := p.next % (n * p.ranks)
		p.next = i + 1
		return p.active[i/p.ranks], int32(i % p.ranks), true
	}
	i := p.next % n
	p.next = i + 1
	id = p.active[i]
	w := p.workers[id]
	r := w.nextRank % p.ranks
	w.nextRank = r + 1
	return id, int32(r), true
}

// turnAt is the next worker in turn with a rank that the request names. The position counts workers
// then, and in an aggregated pool the worker's own position stays (spec 05 section 6).
func (p *pool) turnAt(want int32) (id, rank int32, ok bool) {
	n := len(p.active)
	if n == 0 {
		return 0, 0, false
	}
	i := p.next % n
	p.next = i + 1
	return p.active[i], want, true
}

// namedRanks returns the requests if any of them names a rank.
func namedRanks(listed []schemas.ListedRequest) []schemas.ListedRequest {
	for i := range listed {
		if listed[i].Rank >= 0 || listed[i].PrefillRank >= 0 {
			return listed
		}
	}
	return nil
}

// turn is the rank in turn for the request of a node.
func (c *cluster) turn(p *pool, node int32) (id, rank int32, ok bool) {
	if c.listed == nil {
		return p.turn()
	}
	q := &c.listed[c.source.nodes.RequestIndex[node]]
	want := q.Rank
	if p.role == schemas.PoolPrefill {
		want = q.PrefillRank
	}
	if want < 0 {
		return p.turn()
	}
	return p.turnAt(want)
}
