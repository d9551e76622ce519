package simulate

import (
	"math"
	"math/bits"

	"github.com/dynosim/dynosim/simulate/engine"
)

// launched is a pass that has started and is not queued yet; others is the earliest end of
// those behind it in the list.
type launched struct {
	pool        *pool
	worker      int32
	end, others float64
}

// complete lets idle workers look at their transfers and delivers the passes that end now.
func (c *cluster) complete() (changed bool, err error) {
	if c.host == nil {
		return c.endPasses(), nil
	}
	changed, err = c.hostTicks()
	if err == nil && c.endPasses() {
		changed = true
		_, err = c.hostTicks()
	}
	return changed, err
}

// endPasses delivers the passes that end now.
func (c *cluster) endPasses() (changed bool) {
	for c.nextEvent() && c.events[0].at == c.now && c.events[0].class == passEnd {
		c.ending = c.events.Pop()
		p, id := &c.pools[c.ending.pool], c.ending.worker
		c.runAhead(p, id)
		p.workers[id].ahead.dueMS = math.NaN()
		c.endPass(p, id)
		changed = true
	}
	c.ending.at = math.NaN()
	return changed
}

// endPass ends a worker's pass.
func (c *cluster) endPass(p *pool, id int32) {
	if p.workers[id].hosts != nil {
		c.boundary(p, id)
	}
	c.deliverPass(p, id)
}

// deliverPass delivers the outputs of a worker's pass, rank by rank.
func (c *cluster) deliverPass(p *pool, id int32) {
	w := p.workers[id]
	w.busy = false
	for rank, k := range w.ranks {
		var ended []engine.Terminal
		if w.took[rank] {
			c.recordPass(p, id, rank)
			if c.router != nil {
				c.router.observe(p, id, rank, k, c.now)
			}
			ended = k.Pass().Ended
		} else {
			c.sawIdle(w, rank)
		}
		if c.handoffs != nil {
			c.endPassOfRank(p, w, id, rank, ended)
			continue
		}
		if !w.took[rank] {
			continue
		}
		pass := k.Pass()
		w.owned -= int32(len(pass.Ended))
		first := 0
		for i, e := range pass.Ended {
			if c.router != nil {
				first = c.firstTokens(p, pass, first, i)
			}
			c.end(e.Slot)
		}
		if c.router != nil {
			c.firstTokens(p, pass, first, len(pass.Ended))
		}
	}
	w.pass++
	if w.count++; w.owned == 0 {
		w.count = 0
	}
	if !w.idle() {
		p.wake(id)
	}
}

// recordPass records the pass of a rank, which is complete.
func (c *cluster) recordPass(p *pool, id int32, rank int) {
	w := p.workers[id]
	pass := w.ranks[rank].Pass()
	active, idle := w.ranks[rank].Gauges()
	c.record.pass(p.role, id, int32(rank), w.pass, pass, active, idle)
	if w.hosts != nil {
		if fence := w.hosts[rank].FenceMS(); fence > pass.StartMS {
			c.record.hostFence(p.role, id, int32(rank), w.pass, pass.StartMS, fence)
		}
	}
	c.record.gap(pass.GapMS, pass.GapCount)
	c.passes++
	c.sawPass(p, w, rank, pass)
}

// startPasses starts passes, smallest worker first, until no worker of the pool can (spec 05
// section 5.2).
func (c *cluster) startPasses(p *pool) (changed bool, err error) {
	p.rewake()
	if p.sweptMS != c.now {
		p.sweptMS, p.sweptTo = c.now, -1
	}
	for p.lowest < len(p.ready) {
		i := p.lowest
		if p.ready[i] == 0 {
			p.lowest++
			continue
		}
		bit := bits.TrailingZeros64(p.ready[i])
		p.ready[i] &^= 1 << bit
		id := int32(i<<6 | bit)
		p.sweptTo = max(p.sweptTo, id)
		started, err := c.startPass(p, id)
		if err != nil {
			return changed, err
		}
		changed = changed || started
		if started && c.host != nil {
			// What it did may concern those that found nothing to do.
			p.rewake()
		}
	}
	p.sweptTo = math.MaxInt32
	return changed, nil
}

// startPass runs one pass of a worker. One without effect or duration is tried again while
// something moves in the ranks, then it sets the worker aside or ends the run.
func (c *cluster) startPass(p *pool, id int32) (effect bool, err error) {
	for repeats := 0; ; {
		effect, repeat, err := c.tryPass(p, id)
		if effect || err != nil {
			return effect, err
		}
		switch repeat {
		case engine.RepeatLater:
			p.aside = append(p.aside, id)
			return false, nil
		case engine.RepeatNever:
			if c.handoffs == nil {
				return false, c.stuck()
			}
			// What others hold may still come back.
			p.aside = append(p.aside, id)
			return false, nil
		case engine.RepeatRatio:
			if repeats++; repeats >= maxRepeats {
				return false, c.stuck()
			}
		}
	}
}

// launch queues the ends of the passes that started at this instant, once it has settled.
// Before that, it lets each worker run ahead while nothing could reach it.
func (c *cluster) launch() error {
	ceiling := c.limit
	if c.watch != nil {
		ceiling = min(ceiling, c.lookMS())
	}
	horizon := min(c.source.nextReady(), ceiling)
	coupled := c.coupled()
	// First tokens and ends release requests while these wait in a router.
	waiting := c.router != nil && c.router.waiting() > 0
	coupled = coupled || waiting
	for i := len(c.launched) - 2; i >= 0 && coupled; i-- {
		c.launched[i].others = min(c.launched[i+1].others, c.launched[i+1].end)
	}
	// In turn, everyone knows which of the arrivals to come are whose.
	inTurn := !coupled && c.router == nil
	for _, l := range c.launched {
		if l.pool.behind {
			c.forecast(l.pool, l.worker, l.end, ceiling)
			continue
		}
		until := horizon
		if inTurn {
			until = min(c.source.readyAfter(l.pool.turnsUntil(l.worker)), ceiling)
		}
		if coupled {
			until = min(until, l.others)
			if c.nextEvent() {
				until = min(until, c.events[0].at)
			}
		}
		end, err := c.coast(l.pool, l.worker, l.end, until, waiting)
		if err != nil {
			return err
		}
		c.queueEnd(l.pool, l.worker, end)
	}
	c.launched = c.launched[:0]
	return nil
}

// coupled reports whether workers drive each other: requests that end on one of them release others
// in a closed loop, a session or a play, and the two pools of a disaggregated run do.
func (c *cluster) coupled() bool {
	return c.source.sessions != nil || c.source.limit > 0 || c.handoffs != nil || c.source.plays != nil
}

// coast runs the passes of a worker ahead of the clock while they end before horizon and
// end no request, and returns the end of the pass that is then in flight. Such passes have
// no effect outside of the worker, so nobody can tell that they were early; a router hears of
// them at once, with the time at which they end, and is not asked before the horizon. While
// requests wait in it, a first token has an effect.
func (c *cluster) coast(p *pool, id int32, end, horizon float64, waiting bool) (float64, error) {
	w := p.workers[id]
	if len(w.ranks) > 1 || !w.quiet() || c.host != nil {
		return end, nil
	}
	rank := w.ranks[0]
	pass := rank.Pass()
	for end < horizon && len(pass.Ended) == 0 && !(waiting && len(pass.Prefilled) > 0) && rank.Coasting() {
		c.recordPass(p, id, 0)
		if c.router != nil {
			c.router.observe(p, id, 0, rank, end)
			for _, f := range pass.Prefilled {
				if c.handoffs == nil {
					c.router.prefilled(p, f.Slot, end)
				}
			}
		}
		w.pass++
		w.count++
		c.visited = max(c.visited, end)
		start := end
		if end = rank.Coast(); !(end-start < engine.MaxPassMS) {
			return end, c.tooLong(p, id, start, end)
		}
	}
	return end, nil
}

func (c *cluster) tooLong(p *pool, id int32, start, end float64) error {
	return invariantf("%sworker %d: a pass at %g ms would last %g ms; the longest simulated pass is %g ms", p.prefix(), id, start, end-start, float64(engine.MaxPassMS))
}
