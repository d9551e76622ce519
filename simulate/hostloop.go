package simulate

import (
	"math"
	"slices"

	"github.com/dynosim/dynosim/schemas"
	"github.com/dynosim/dynosim/simulate/engine"
	"github.com/dynosim/dynosim/simulate/engine/vllm"
	"github.com/dynosim/dynosim/simulate/heap"
	"github.com/dynosim/dynosim/simulate/host"
	"github.com/dynosim/dynosim/simulate/kv"
)

// hosted is a rank with a host cache (spec 10 section 8).
type hosted interface {
	// Due is the time at which the rank, while its worker is idle, has a transfer to look at, +Inf
	// for never; LanesDue is the next completion in a cache of its own. Tick does that, Boundary ends a pass; both report whether anything completed.
	Due(nowMS float64) float64
	LanesDue() float64
	Tick(nowMS float64) bool
	Boundary(nowMS float64) bool
	// FenceMS is the time before which the last pass could not compute, 0 for none.
	FenceMS() float64
	// Transferring reports whether transfers of the rank are under way.
	Transferring() bool
	// CancelLoad ends the load of a request that is canceled, if it has one.
	CancelLoad(slot int32, nowMS float64)
	// HostEvents are the blocks that the cache got and gave up since they were last taken.
	HostEvents() []kv.Event
}

// hostTick is the time at which a transfer of a private cache completes.
type hostTick struct {
	at     float64
	pool   uint8
	worker int32
}

// Before is the order of ticks.
func (a *hostTick) Before(b *hostTick) bool {
	return a.at < b.at || a.at == b.at && (a.pool < b.pool || a.pool == b.pool && a.worker < b.worker)
}

// hosting is what the cluster keeps for host caches; nil without any.
type hosting struct {
	// shared is the cache that ranks share, nil without.
	shared *host.Domain
	// storage is what is behind the caches, nil for nothing.
	storage *storage
	// domains lists all caches in order of creation.
	domains []*host.Domain
	// ticks has the earliest completion of each worker with private caches, sometimes a past one.
	ticks heap.Heap[hostTick, *hostTick]
	// swept is the state of the shared cache that all idle ranks have seen, stale that a worker joined since.
	swept uint64
	stale bool
	// again asks for another round of the instant: an empty pass completed a transfer.
	again bool
}

// maxTickRounds is how often ticks may follow each other at one instant (spec 10 section 8).
const maxTickRounds = 1024

// hostCaches prepares the cluster for host caches.
func (c *cluster) hostCaches(spec *schemas.RunSpec) {
	for i := range spec.Pools {
		if spec.Pools[i].Engine.Host.Enabled && c.host == nil {
			c.host = &hosting{}
			c.record.hosts = newHostRows()
			c.requests.UseHosts()
		}
	}
}

// offload gives a rank its host cache.
func (c *cluster) offload(k *vllm.Rank, e *schemas.EngineSpec, role schemas.Pool, scheduler int, events bool) {
	h := c.host
	d := h.shared
	if !e.Host.Shared || d == nil {
		number := int32(-1)
		if e.Host.Shared {
			number = 0
		}
		d = host.NewDomain(e.Host, number, events, c.record)
		h.domains = append(h.domains, d)
		if e.Host.Shared {
			h.shared = d
		}
	}
	if events {
		d.Publish()
	}
	k.Offload(d.Join(&e.Host, role, int32(scheduler)))
	if e.G3.Enabled {
		c.useStorage(k, e, scheduler)
	}
	h.stale = true
}

// idleHosted reports whether ticks of a worker may happen.
func (w *worker) idleHosted() bool {
	return w.hosts != nil && !w.busy && (w.state == active || w.state == draining)
}

// transferring reports whether transfers of the worker are under way.
func (w *worker) transferring() bool {
	for _, k := range w.hosts {
		if k.Transferring() {
			return true
		}
	}
	return false
}

// arm queues the earliest completion of a worker's private caches.
func (c *cluster) arm(p *pool, id int32) {
	w := p.workers[id]
	if p.spec.Engine.Host.Shared {
		return
	}
	at := math.Inf(1)
	for _, k := range w.hosts {
		at = min(at, k.LanesDue())
	}
	if at < w.tickMS {
		w.tickMS = at
		c.host.ticks.Push(hostTick{at, p.index(), id})
	}
}

// nextMS is the next time at which an idle worker has a transfer to look at, +Inf for never.
func (h *hosting) nextMS(c *cluster) float64 {
	next := math.Inf(1)
	for len(h.ticks) > 0 {
		t := h.ticks[0]
		w := c.pools[t.pool].workers[t.worker]
		if t.at == w.tickMS && w.idleHosted() {
			next = t.at
			break
		}
		if t.at == w.tickMS && w.busy {
			if w.endMS < t.at {
				break
			}
			// The end of the pass looks at it.
			w.tickMS = math.Inf(1)
		}
		h.ticks.Pop()
	}
	if h.shared != nil {
		if at := h.shared.NextMS(); at < next && c.anyIdle(true) {
			next = at
		}
	}
	if at := h.storage.nextMS(); at < next && c.anyIdle(false) {
		next = at
	}
	return next
}

// anyIdle reports whether a worker with a host cache, maybe of the shared one only, is idle.
func (c *cluster) anyIdle(shared bool) bool {
	for i := range c.pools {
		p := &c.pools[i]
		if !p.spec.Engine.Host.Enabled || shared && !p.spec.Engine.Host.Shared {
			continue
		}
		for _, id := range p.live {
			if p.workers[id].idleHosted() {
				return true
			}
		}
	}
	return false
}

// hostTicks lets idle workers look at what their transfers did until now (spec 10 section 8, step 1).
func (c *cluster) hostTicks() (changed bool, err error) {
	for round := 0; ; round++ {
		any := c.privateTicks()
		any = c.sharedTicks() || any
		any = c.storageTicks() || any
		if !any {
			return changed, nil
		}
		changed = true
		if round > maxTickRounds {
			return changed, invariantf("offline replay detected non-converging engine internal work at %v ms", c.now)
		}
	}
}

func (c *cluster) privateTicks() (changed bool) {
	h := c.host
	for len(h.ticks) > 0 && h.ticks[0].at <= c.now {
		t := h.ticks.Pop()
		p := &c.pools[t.pool]
		w := p.workers[t.worker]
		if t.at != w.tickMS {
			continue
		}
		w.tickMS = math.Inf(1)
		if !w.idleHosted() {
			continue
		}
		for rank, k := range w.hosts {
			if k.Due(c.now) <= c.now {
				c.hostTick(p, t.worker, rank)
				changed = true
			}
		}
		c.arm(p, t.worker)
	}
	return changed
}

func (c *cluster) sharedTicks() (changed bool) {
	h := c.host
	if h.shared == nil || !h.stale && h.shared.State() == h.swept && h.shared.NextMS() > c.now {
		return false
	}
	h.stale = false
	h.swept = h.shared.State()
	return c.tickAll(func(p *pool) bool { return p.spec.Engine.Host.Shared })
}

// hostTick lets one rank look, shows its events to the router and wakes the worker.
func (c *cluster) hostTick(p *pool, id int32, rank int) {
	w := p.workers[id]
	w.hosts[rank].Tick(c.now)
	c.publish(p, id, rank)
	if !w.ranks[rank].Idle() {
		p.wake(id)
	}
}

// publish shows the events of a rank and of its host cache to the router, and reports whether there were any.
func (c *cluster) publish(p *pool, id int32, rank int) bool {
	w := p.workers[id]
	fromHost := w.hosts[rank].HostEvents()
	if c.router == nil || p.role == schemas.PoolDecode {
		return false
	}
	if len(fromHost) > 0 {
		c.router.routers[p.index()].ObserveHost(id, int32(rank), fromHost, c.now)
	}
	own := w.ranks[rank].Events()
	if len(own) > 0 {
		c.router.routers[p.index()].Observe(id, int32(rank), own, c.now)
	}
	return len(fromHost)+len(own) > 0
}

// boundary ends a pass of a worker for its host caches, before the outputs are delivered. It reports whether
// events were published and whether transfers completed.
func (c *cluster) boundary(p *pool, id int32) (published, completed bool) {
	w := p.workers[id]
	for rank, k := range w.hosts {
		completed = k.Boundary(c.now) || completed
		published = c.publish(p, id, rank) || published
		p.refresh(w, rank)
	}
	c.arm(p, id)
	return published, completed
}

// cancelLoads ends the load of a request that is canceled, on either side of its hand-off.
func (c *cluster) cancelLoads(slot int32) {
	cancel := func(p *pool, slot int32) {
		if scheduler := c.requests.Slots[slot].Worker; scheduler >= 0 && p.spec.Engine.Host.Enabled {
			w, _ := p.rank(scheduler)
			w.hosts[p.rankOf(scheduler)].CancelLoad(slot, c.now)
		}
	}
	cancel(&c.pools[len(c.pools)-1], slot)
	if twin := c.requests.Slots[slot].Twin; twin >= 0 {
		cancel(&c.pools[0], twin)
	}
}

// rewake lets the workers that were set aside try again.
func (p *pool) rewake() {
	for _, id := range p.aside {
		if w := p.workers[id]; !w.busy && !w.idle() {
			p.wake(id)
		}
	}
	p.aside = p.aside[:0]
}

// still reports whether no transfer of an idle worker is left.
func (c *cluster) still() bool { return c.host == nil || math.IsInf(c.host.nextMS(c), 1) }

// oncemore reports whether an empty pass of this round completed a transfer.
func (h *hosting) oncemore() bool {
	again := h.again
	h.again = false
	return again
}

// finishHosts records what the host caches have at the end of the run.
func (c *cluster) finishHosts() {
	for _, d := range c.host.domains {
		d.Unfinished(c.now)
	}
	c.host.storage.finish(c.record)
	if d := c.host.shared; d != nil {
		capacity, resident, used := d.Gauges()
		c.record.hostDomain(0, capacity, resident, used)
	}
}

// leaveHosts ends the part of a removed worker in its caches.
func (p *pool) leaveHosts(w *worker) {
	for _, k := range w.ranks {
		if r, ok := k.(*vllm.Rank); ok {
			r.LeaveHost()
		}
	}
}

// hostsOf are the ranks with a host cache, nil when they have none.
func hostsOf(ranks []engine.Rank, spec *schemas.HostOffloadSpec) (hosts []hosted) {
	if !spec.Enabled {
		return nil
	}
	for _, k := range ranks {
		hosts = append(hosts, k.(hosted))
	}
	return slices.Clip(hosts)
}
