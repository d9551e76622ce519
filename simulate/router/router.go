// Package router places requests on the workers of one pool by what the workers have cached and
// how loaded they are: the KV router (spec 06).
//
// The router learns what workers hold from their KV events (Observe), and what runs on them
// from its own decisions (Arrive, Release) and from the signals Prefilled and Ended. A
// decision walks the chains of the prompt once for all targets, then computes one cost a
// target; nothing is hashed and, with memory grown, nothing is allocated.
package router

import (
	"errors"

	"github.com/dynosim/dynosim/internal/chacha"
	"github.com/dynosim/dynosim/schemas"
	"github.com/dynosim/dynosim/simulate/kv"
)

// Config is what a router is made from.
type Config struct {
	// Spec has the settings of this pool's router: RouterSpec, its Prefill or its Decode.
	Spec schemas.RouterSpec
	// BlockTokens is the KV block size of the pool's engine, PathTokens the number of tokens
	// one element of a path stands for (engine.Content.PathTokens).
	BlockTokens, PathTokens int64
	// Ranks is the number of attention data-parallel ranks of a worker.
	Ranks int
	// MaxBatchedTokens is the base M of busy thresholds, schemas.Unlimited when there is none.
	MaxBatchedTokens int64
	// PolicyClasses are the names that Request.PolicyClass numbers.
	PolicyClasses []string
	// Estimate is the time that one prompt of newTokens to compute and cachedTokens cached
	// takes by itself, in milliseconds; it is used with Spec.EstimatePrefill only.
	Estimate func(newTokens, cachedTokens int64) (ms float64, ok bool)
}

// Request is what the router sees of a request. Slot identifies it until it ends.
type Request struct {
	Slot int32
	// Tokens is the prompt length. Path identifies the leading Shared whole blocks of the
	// prompt; nobody else has the others. The router keeps Path until the request ends.
	Tokens, Shared int64
	Path           []int32
	// Priority and StrictPriority order waiting requests.
	Priority       int32
	StrictPriority uint32
	// PolicyClass is a number of Config.PolicyClasses, -1 for none.
	PolicyClass int32
}

// Decision is where a request goes.
type Decision struct {
	Worker, Rank int32
	// Selected is the number of cached blocks on the chosen target, Best the most on any
	// target of an active worker (spec 06 section 14).
	Selected, Best int32
}

// target is a rank of a worker: the unit that is chosen.
type target struct {
	worker, rank int32
	// joined numbers the targets; what a waiting request stored before concerns only older ones.
	joined   uint64
	loads    loads
	blocks   int64
	requests int64
	lag      lagged
}

// request is the router's state of a request, by slot.
type request struct {
	// target is where it was placed, -1 while it waits.
	target         int32
	tokens, shared int64
	path           []int32
	// load is the prefill load that it holds, 0 for none.
	load int64
	// While it waits: its class, its price and cached tokens for the queue's accounts, the
	// overlaps at its arrival, and the targets known then.
	class         int32
	price, cached int64
	overlaps      []int32
	hosts         []int32
	joined        uint64
}

// Router places the requests of one pool.
type Router struct {
	cfg   Config
	shape shape
	// base is the most tokens of a pass that fractions of busy thresholds refer to.
	base    float64
	targets []target
	// order has the targets of active workers, by worker and rank; first is the first target
	// of a worker, -1 when it is gone. Targets of a worker follow each other.
	order    []int32
	first    []int32
	freed    []int32
	joined   uint64
	index    index
	hosts    *hosts
	active   active
	queues   queues
	requests []request
	// family and explicit resolve the names of policy classes.
	family, explicit []int32
	random           *chacha.Source
	// Working memory of a decision, by target; costs in the order of order.
	overlaps, shared []int32
	costs            []Candidate
	spare            [][]int32
}

// ErrNoWorker is a request that arrives while no worker is active.
var ErrNoWorker = errors.New("placement policy error: no active workers for the KV router")

// unlimitedBase stands for an unlimited token budget in thresholds (spec 06 section 8).
const unlimitedBase = 10_000_000

// New makes a router without workers.
func New(cfg Config) *Router {
	s := shape{cfg.BlockTokens, cfg.PathTokens}
	r := &Router{cfg: cfg, shape: s, index: newIndex(s.positions()), active: newActive(), queues: newQueues(&cfg.Spec.Classes)}
	r.base = float64(cfg.MaxBatchedTokens)
	if cfg.MaxBatchedTokens == schemas.Unlimited {
		r.base = unlimitedBase
	}
	for _, name := range cfg.PolicyClasses {
		family, explicit := resolve(&cfg.Spec.Classes, name)
		r.family, r.explicit = append(r.family, family), append(r.explicit, explicit)
	}
	if cfg.Spec.Temperature > 0 {
		r.random = chacha.New(cfg.Spec.Seed)
	}
	return r
}

// AddWorker makes a worker eligible, with empty ranks. Workers are added in ascending order.
func (r *Router) AddWorker(worker int32) {
	var at int32
	if n := len(r.freed); n > 0 {
		at = r.freed[n-1]
		r.freed = r.freed[:n-1]
	} else {
		at = int32(len(r.targets))
		for range r.cfg.Ranks {
			r.targets = append(r.targets, target{})
		}
		r.index.grow(len(r.targets))
		r.overlaps, r.shared = make([]int32, len(r.targets)), make([]int32, len(r.targets))
		r.spare = nil
	}
	for int(worker) >= len(r.first) {
		r.first = append(r.first, -1)
	}
	r.first[worker] = at
	for rank := range int32(r.cfg.Ranks) {
		r.joined++
		t := &r.targets[at+rank]
		*t = target{worker: worker, rank: rank, joined: r.joined, loads: loads{anchor: -1}}
		r.order = append(r.order, at+rank)
	}
}

// DrainWorker stops placing requests on a worker; its loads and blocks stay.
func (r *Router) DrainWorker(worker int32) {
	kept := r.order[:0]
	for _, t := range r.order {
		if r.targets[t].worker != worker {
			kept = append(kept, t)
		}
	}
	r.order = kept
}

// RemoveWorker forgets a worker whose requests have all ended, with everything its ranks hold.
func (r *Router) RemoveWorker(worker int32) {
	r.DrainWorker(worker)
	at := r.first[worker]
	for t := at; t < at+int32(r.cfg.Ranks); t++ {
		r.index.forget(t)
		if r.hosts != nil {
			r.hosts.forget(t)
		}
		r.targets[t] = target{worker: -1}
	}
	r.first[worker] = -1
	r.freed = append(r.freed, at)
}

// Observe takes the KV events of a rank that happened at nowMS. They count for decisions from then
// on, or after the lag. Calls for one rank come in order of time.
func (r *Router) Observe(worker, rank int32, events []kv.Event, nowMS float64) {
	if len(events) == 0 {
		return
	}
	at := r.first[worker] + rank
	if r.cfg.Spec.EventLagMS > 0 {
		r.targets[at].lag.push(events, nowMS+r.cfg.Spec.EventLagMS)
		return
	}
	r.index.apply(at, events)
}

// Waiting is the number of requests in the queue.
func (r *Router) Waiting() int { return r.queues.waiting }

// Workers is the number of active workers.
func (r *Router) Workers() int { return len(r.order) / r.cfg.Ranks }

// Arrive takes a request that arrives at nowMS. It is placed at once, or waits until Release
// hands it out; a *LimitError or ErrNoWorker ends the run.
func (r *Router) Arrive(q *Request, nowMS float64) (d Decision, placed bool, err error) {
	if r.cfg.Spec.EventLagMS > 0 {
		for i := range r.targets {
			t := &r.targets[i]
			if len(t.lag.batches) > 0 {
				r.index.apply(int32(i), t.lag.due(nowMS))
			}
		}
		if r.hosts != nil {
			r.hosts.due(nowMS)
		}
	}
	for int(q.Slot) >= len(r.requests) {
		r.requests = append(r.requests, request{target: -1})
	}
	x := &r.requests[q.Slot]
	shared := min(q.Shared, q.Tokens/r.cfg.BlockTokens)
	*x = request{target: -1, tokens: q.Tokens, shared: shared, path: q.Path}
	most := r.index.overlap(r.shape, q.Path, shared, r.overlaps)
	if most > 0 && len(r.order) < len(r.targets) {
		most = 0
		for _, t := range r.order {
			most = max(most, r.overlaps[t])
		}
	}
	x.cached = min(q.Tokens, int64(most)*r.cfg.BlockTokens)
	var hostBlocks []int32
	if r.hosts != nil {
		r.hosts.follow(r.shape, q.Path, shared, r.overlaps)
		hostBlocks = r.hosts.blocks
		worth := 0.0
		for _, t := range r.order {
			worth = max(worth, r.worth(r.overlaps[t], hostBlocks[t]))
		}
		x.cached = min(q.Tokens, r.cached(worth))
	}
	x.class = r.classOf(q, q.Tokens-x.cached)
	c := &r.queues.classes[x.class]
	nowNS := nanoseconds(nowMS)
	if !c.Queues() || len(c.queue) == 0 && !r.busy(c, nowNS) {
		if len(r.order) == 0 {
			return Decision{}, false, ErrNoWorker
		}
		return r.decide(q.Slot, r.overlaps, hostBlocks, r.joined, nowNS), true, nil
	}
	x.price = max(q.Tokens-x.cached, 1)
	ticket := ticket{strict: q.StrictPriority, score: score(c.Policy, q.Priority, max(nowMS, 0)/1000, x.price), slot: q.Slot}
	if err := r.queues.push(x.class, ticket, x.tokens, x.cached, len(r.order)); err != nil {
		return Decision{}, false, err
	}
	x.joined = r.joined
	if n := len(r.spare); n > 0 {
		x.overlaps = r.spare[n-1]
		r.spare = r.spare[:n-1]
	} else {
		x.overlaps = make([]int32, len(r.targets))
	}
	copy(x.overlaps, r.overlaps)
	x.hosts = append([]int32(nil), hostBlocks...)
	return Decision{}, false, nil
}

// classOf is the class of a request (spec 06 section 9.1).
func (r *Router) classOf(q *Request, uncached int64) int32 {
	family := int32(-1)
	if q.PolicyClass >= 0 {
		if c := r.explicit[q.PolicyClass]; c >= 0 {
			return c
		}
		family = r.family[q.PolicyClass]
	}
	return r.queues.classOf(family, uncached)
}

// busy reports whether every target of every active worker is busy for a class.
func (r *Router) busy(c *class, nowNS int64) bool {
	bound := c.BusyFraction * r.base
	for _, i := range r.order {
		load := r.targets[i].loads.at(nowNS)
		if !(c.BusyTokens >= 0 && load > c.BusyTokens || float64(load) > bound) {
			return false
		}
	}
	return true
}

// Release hands out the next waiting request that may go at nowMS. Call it after every signal and
// every change of the workers until it has none.
func (r *Router) Release(nowMS float64) (slot int32, d Decision, ok bool) {
	if r.queues.waiting == 0 || len(r.order) == 0 {
		return -1, Decision{}, false
	}
	nowNS := nanoseconds(nowMS)
	slot = r.next(nowNS)
	if slot < 0 {
		return -1, Decision{}, false
	}
	x := &r.requests[slot]
	r.queues.classes[x.class].count(-1, x.tokens, x.cached)
	overlaps, hostBlocks := x.overlaps, x.hosts
	x.overlaps, x.hosts = nil, nil
	d = r.decide(slot, overlaps, hostBlocks, x.joined, nowNS)
	if len(overlaps) == len(r.targets) {
		r.spare = append(r.spare, overlaps)
	}
	return slot, d, true
}

// Prefilled notes that a request has its first token and is not over.
func (r *Router) Prefilled(slot int32, nowMS float64) { r.unload(slot, nowMS) }

// Ended notes that a request is over: completed, rejected, handed off from a prefill pool, or
// cancelled while it waits or runs.
func (r *Router) Ended(slot int32, nowMS float64) {
	if int(slot) >= len(r.requests) {
		return
	}
	x := &r.requests[slot]
	if x.target < 0 {
		if x.overlaps != nil {
			r.queues.cancel(x.class, slot)
			r.queues.classes[x.class].count(-1, x.tokens, x.cached)
			x.overlaps = nil
		}
		return
	}
	r.unload(slot, nowMS)
	t := &r.targets[x.target]
	t.requests--
	if r.cfg.Spec.TrackActiveBlocks {
		whole := x.tokens / r.cfg.BlockTokens
		if r.cfg.Spec.AssumeKVReuse {
			t.blocks -= whole - x.shared + r.active.remove(r.shape, x.target, x.path, x.shared)
		} else {
			t.blocks -= whole
		}
	}
	*x = request{target: -1}
}

// unload gives the prefill load of a request back.
func (r *Router) unload(slot int32, nowMS float64) {
	x := &r.requests[slot]
	if x.load == 0 {
		return
	}
	l := &r.targets[x.target].loads
	if r.cfg.Spec.EstimatePrefill {
		l.remove(slot, nanoseconds(nowMS))
	} else {
		l.sum -= x.load
	}
	x.load = 0
}
