package simulate

import (
	"fmt"
	"math"
	"slices"

	"github.com/dynosim/dynosim/schemas"
	"github.com/dynosim/dynosim/simulate/scaling"
)

// startPolicy asks the policy for its first tick and takes it when that is now; the instant has
// settled (spec 05 section 9.1).
func (c *cluster) startPolicy() (changed bool, err error) {
	c.watch.traffic.StartMS = c.now
	at := c.watch.policy.InitialTickMS()
	if math.IsNaN(at) || math.IsInf(at, 0) {
		return false, nil
	}
	if at = max(at, c.now); at > c.now {
		c.armScaling(at)
		return false, nil
	}
	return c.scalingTick()
}

// armScaling queues the next scaling tick.
func (c *cluster) armScaling(at float64) {
	c.scalingMS = at
	c.events.Push(event{at: at, class: scalingTick})
	c.passive++
}

// scalingTick hands the policy a snapshot and does what it says (spec 05 section 9.1).
func (c *cluster) scalingTick() (changed bool, err error) {
	c.scalingMS = math.Inf(1)
	if c.done() {
		return false, nil
	}
	c.catchUpAll(c.now)
	w := c.watch
	s := &w.snapshot
	s.Ordinal, s.NowMS, s.Traffic = int64(w.ordinal), c.now, w.traffic
	tick := w.tick
	w.tick++
	for i := range c.pools {
		p, to := &c.pools[i], &s.Decode
		if p.role == schemas.PoolPrefill {
			to = &s.Prefill
		}
		c.look(p, tick, to)
		c.passesSince(p, tick, to)
	}
	w.traffic = scaling.Traffic{StartMS: c.now}
	d, err := w.policy.OnTick(s)
	if err != nil {
		return false, fmt.Errorf("the scaling policy failed at %g ms: %w", c.now, err)
	}
	b := c.record.ticks
	i := b.N
	b.Kind[i], b.Ordinal[i] = schemas.TickScaling, w.ordinal
	b.Prefill.Preemptions[i], b.Prefill.CacheHitTokens[i], b.Prefill.CacheTotalTokens[i] = 0, 0, 0
	b.Decode.Preemptions[i], b.Decode.CacheHitTokens[i], b.Decode.CacheTotalTokens[i] = 0, 0, 0
	b.TargetPrefill[i], b.TargetDecode[i], b.NextTickMS[i] = max(d.Prefill, -1), max(d.Decode, -1), math.NaN()
	if !math.IsInf(d.NextTickMS, 0) {
		b.NextTickMS[i] = d.NextTickMS
	}
	c.tickRow(tick, &s.Traffic)
	for i := range c.pools {
		p := &c.pools[i]
		target := d.Decode
		if p.role == schemas.PoolPrefill {
			target = d.Prefill
		}
		if target < 0 {
			continue
		}
		changed = c.scale(p, int(target)) || changed
	}
	w.ordinal++
	if next := d.NextTickMS; next > c.now && !math.IsInf(next, 1) && !c.done() {
		c.armScaling(next)
	}
	return changed, nil
}

// scale brings the active and starting workers of a pool to n (spec 05 section 9.2).
func (c *cluster) scale(p *pool, n int) (changed bool) {
	op := c.operation(p, schemas.CauseScale)
	have := len(p.active) + len(p.starting)
	var added, drained []int32
	for ; have < n; have++ {
		if startup := p.spec.Engine.StartupMS; startup > 0 {
			id := p.add(starting)
			c.start(p, id, c.now+startup)
			op.change(id, schemas.WorkerAbsent, schemas.WorkerStarting, op.number)
			continue
		}
		id := p.add(active)
		c.sights(p, id)
		added = append(added, id)
		op.change(id, schemas.WorkerAbsent, schemas.WorkerActive, op.number)
	}
	var cancelled []int32
	for i := len(p.starting) - 1; have > n && i >= 0; i-- {
		cancelled = append(cancelled, p.starting[i])
		have--
	}
	for ; have > n; have-- {
		id := p.active[len(p.active)-1]
		p.drain(id)
		p.workers[id].drainedBy = op.number
		drained = append(drained, id)
		op.change(id, schemas.WorkerActive, schemas.WorkerDraining, op.number)
	}
	for k, id := range cancelled {
		by := p.workers[id].startedBy
		if k == 0 {
			op.origin = by
		} else if op.origin != by {
			op.origin = -1
		}
		op.change(id, schemas.WorkerStarting, schemas.WorkerRemoved, by)
		p.remove(id)
	}
	gone := c.removeEmpty(p, op)
	c.closeOperation(op, c.topology(p, added, drained, gone))
	return len(op.changes) > 0
}

// lookMS is the next time at which something looks at the workers or changes the pools, +Inf for
// never.
func (c *cluster) lookMS() float64 {
	if !c.watch.started {
		return c.now
	}
	at := min(c.scalingMS, c.watch.samples.nextMS)
	for _, ready := range c.readyMS {
		at = min(at, ready)
	}
	return at
}

// done reports whether nothing is left but ticks and workers that become ready (spec 05 section 8.1).
func (c *cluster) done() bool {
	return c.inSystem == 0 && (c.handoffs == nil || c.handoffs.open == 0) && len(c.events) == c.passive+c.stale && len(c.launched) == 0 && c.source.exhausted() && c.still()
}

// ticksOnly reports whether only ticks are left of a policy that will not change anything any more,
// although the work is not done: the run is stuck.
func (c *cluster) ticksOnly() bool {
	return len(c.events) == c.passive+c.stale && len(c.readyMS) == 0 && math.IsInf(c.limit, 1) && math.IsInf(c.source.nextReady(), 1) &&
		c.watch.policy != nil && c.watch.policy.Settled() && c.still()
}

// startWatch begins telemetry and scaling once instant 0 has settled.
func (c *cluster) startWatch() error {
	c.watch.started = true
	c.startTelemetry()
	if c.watch.policy == nil {
		return nil
	}
	changed, err := c.startPolicy()
	if err != nil || !changed {
		return err
	}
	return c.instant()
}

// looks is the part of an instant after the passes have started: drained workers go, then the ticks
// that are due are taken (spec 05 sections 3 and 4).
func (c *cluster) looks() (changed bool, err error) {
	changed = c.settleDrained()
	if len(c.events) > 0 && c.events[0].at == c.now && c.events[0].class < telemetryTick {
		return changed, nil
	}
	c.telemetryTick()
	if len(c.events) > 0 && c.events[0].at == c.now && c.events[0].class == scalingTick {
		c.events.Pop()
		c.passive--
		scaled, err := c.scalingTick()
		return changed || scaled, err
	}
	return changed, nil
}

// start queues the time at which a new worker becomes ready.
func (c *cluster) start(p *pool, id int32, at float64) {
	c.sights(p, id)
	p.workers[id].startedBy = c.watch.operations
	c.events.Push(event{at: at, class: workerReady, pool: p.index(), worker: id})
	c.passive++
	c.readyMS = append(c.readyMS, at)
}

// sights lets the watch see a worker.
func (c *cluster) sights(p *pool, id int32) { p.workers[id].sight = newSight(p.ranks, c.now) }

// readyWorkers takes the ready events of this instant.
func (c *cluster) readyWorkers() (changed bool) {
	for len(c.events) > 0 && c.events[0].at == c.now && c.events[0].class == workerReady {
		e := c.events.Pop()
		c.passive--
		i := slices.Index(c.readyMS, e.at)
		c.readyMS = slices.Delete(c.readyMS, i, i+1)
		p := &c.pools[e.pool]
		w := p.workers[e.worker]
		if w.state != starting {
			continue // cancelled
		}
		p.activate(e.worker)
		if c.host != nil {
			c.host.stale = true
		}
		w.sight.publish(c.now)
		op := c.operation(p, schemas.CauseReady)
		op.origin = w.startedBy
		op.change(e.worker, schemas.WorkerStarting, schemas.WorkerActive, w.startedBy)
		c.closeOperation(op, c.topology(p, []int32{e.worker}, nil, nil))
		changed = true
	}
	return changed
}

// settleDrained removes the draining workers that have become empty.
func (c *cluster) settleDrained() (changed bool) {
	for i := range c.pools {
		p := &c.pools[i]
		if len(p.draining) == 0 {
			continue
		}
		op := c.operation(p, schemas.CauseDrained)
		gone := c.removeEmpty(p, op)
		if len(gone) == 0 {
			continue
		}
		op.origin = op.changes[0].origin
		for _, change := range op.changes {
			if change.origin != op.origin {
				op.origin = -1
			}
		}
		c.closeOperation(op, c.topology(p, nil, nil, gone))
		changed = true
	}
	return changed
}

// removeEmpty removes the empty draining workers of a pool, ascending.
func (c *cluster) removeEmpty(p *pool, op *operation) (gone []int32) {
	for _, id := range p.draining {
		if w := p.workers[id]; w.empty() {
			op.change(id, schemas.WorkerDraining, schemas.WorkerRemoved, w.drainedBy)
			gone = append(gone, id)
		}
	}
	for _, id := range gone {
		p.remove(id)
	}
	return gone
}

// topology tells the router of workers that became active, of others that drain and of drained ones
// that are gone, hands out the requests that it then lets go, and returns their number.
func (c *cluster) topology(p *pool, active, draining, removed []int32) (released int32) {
	if len(active) > 0 && len(p.parked) > 0 {
		c.handoffs.queue = append(c.handoffs.queue, p.parked...)
		p.parked = p.parked[:0]
	}
	if c.router == nil || len(active)+len(draining)+len(removed) == 0 {
		return 0
	}
	r := c.router.routers[p.index()]
	for _, id := range active {
		r.AddWorker(id)
	}
	for _, id := range draining {
		r.DrainWorker(id)
	}
	for _, id := range removed {
		r.RemoveWorker(id)
	}
	return c.releases(p)
}

// operation is a lifecycle operation in the making (spec 05 section 9.4).
type operation struct {
	pool    schemas.Pool
	cause   schemas.LifecycleCause
	number  int32
	origin  int32
	changes []change
}

// change is one transition of one worker.
type change struct {
	worker       int32
	prior, state schemas.WorkerState
	origin       int32
}

// operation begins an operation; it counts once it has changes.
func (c *cluster) operation(p *pool, cause schemas.LifecycleCause) *operation {
	return &operation{pool: p.role, cause: cause, number: c.watch.operations, origin: -1}
}

func (o *operation) change(worker int32, prior, state schemas.WorkerState, origin int32) {
	o.changes = append(o.changes, change{worker, prior, state, origin})
}

// closeOperation records an operation that changed anything.
func (c *cluster) closeOperation(o *operation, released int32) {
	if len(o.changes) == 0 {
		return
	}
	c.watch.operations++
	tick := int32(-1)
	if o.cause == schemas.CauseScale {
		tick = c.watch.ordinal
	}
	for i, change := range o.changes {
		c.record.change(o, c.now, int32(i), tick, released, change)
	}
}
