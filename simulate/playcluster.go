package simulate

import (
	"cmp"
	"math"
	"slices"

	"github.com/dynosim/dynosim/schemas"
	"github.com/dynosim/dynosim/simulate/engine"
)

// playArrivals applies what ended at this instant, takes the control step and emits what is ready (spec 02 section
// 7.1).
func (c *cluster) playArrivals() (changed bool, err error) {
	p := c.source.plays
	changed = p.apply(c.now)
	if w := p.warm; w != nil && c.host != nil && w.aborted() && w.out == 0 {
		// The transfers of host caches end later.
		w.finishedMS = c.now
	}
	if w := p.warm; w != nil && w.complete() && c.still() {
		c.beginMeasurement()
		changed = true
	}
	if p.profile != nil && (p.warm == nil || !p.warm.active()) {
		acted, err := p.profile.control(p, c.now)
		if err != nil {
			return changed, err
		}
		changed = changed || acted
		if over, cancel := p.profile.over(p, c.now); over {
			if cancel {
				c.cancel()
			}
			p.profile.ended, p.profile.finishedMS = true, c.now
			return changed, nil
		}
	}
	for {
		node, at, ok := p.pop(c.now)
		if !ok {
			return changed, nil
		}
		changed = true
		if err := c.arrive(node, -1, at); err != nil {
			return changed, err
		}
	}
}

// beginMeasurement ends the preparation at this instant: the caches stay, what is measured begins.
func (c *cluster) beginMeasurement() {
	p := c.source.plays
	c.catchUpAll(c.now)
	p.warm.beginMS, p.warm.finishedMS = c.now, c.now
	c.record.begin(c.now)
	for i := range c.pools {
		c.pools[i].seconds = 0
	}
	c.visited = 0
	if c.watch != nil {
		c.forgetPreparation()
	}
	p.activate(c.now)
}

// preparing reports whether the requests that prepare caches are still at work: nothing is measured, and
// nobody looks.
func (c *cluster) preparing() bool {
	p := c.source.plays
	return p != nil && p.warm != nil && p.warm.active()
}

// endPlay tells the plays of the end of a request; settlePlay that the servers are done with it too.
func (c *cluster) endPlay(slot int32) {
	p, r := c.source.plays, &c.requests.Slots[slot]
	if p.warm != nil && p.warm.active() {
		admitMS, reused := r.AdmitMS, r.FirstReused
		if c.handoffs != nil {
			h := &c.handoffs.of[slot]
			admitMS, reused = h.prefillAdmitMS, h.firstReused
		}
		p.warm.ended(p, r.Node, r.Status, r.Output, admitMS, reused, c.now)
		return
	}
	p.ended(r.Node, r.Status)
}

func (c *cluster) settlePlay(r *engine.Request) {
	p := c.source.plays
	if p.warm != nil && p.warm.active() {
		p.warm.settled(r.Node, c.now)
		return
	}
	p.released(r.Node)
}

// cancel ends every request in the system, in the order of the nodes. One inside a pass that runs stays unsettled.
func (c *cluster) cancel() {
	p := c.source.plays
	c.catchUpAll(c.now)
	var live []int32
	for slot := range c.requests.Slots {
		r := &c.requests.Slots[slot]
		if r.Node >= 0 && !r.Source && (c.handoffs == nil || !c.handoffs.of[slot].ended) {
			live = append(live, int32(slot))
		}
	}
	slices.SortFunc(live, func(a, b int32) int { return cmp.Compare(c.requests.Slots[a].Node, c.requests.Slots[b].Node) })
	for _, slot := range live {
		r := &c.requests.Slots[slot]
		if c.host != nil {
			c.cancelLoads(slot)
		}
		running := c.freeze(slot, r)
		r.Status = schemas.StatusCanceled
		if c.handoffs == nil {
			c.record.result(r, c.now)
		} else {
			c.handoffs.of[slot].terminalMS = c.now
			c.stopped(slot)
			c.record.handedOff(r, &c.handoffs.of[slot])
		}
		p.ended(r.Node, r.Status)
		p.profile.canceled++
		if running {
			p.profile.unsettled++
		} else {
			p.released(r.Node)
		}
		c.requests.Drop(slot)
		c.ended++
	}
	p.apply(c.now)
}

// freeze gives a request in flight the output that it has now, and reports whether a worker has to end a pass before it lets it go.
func (c *cluster) freeze(slot int32, r *engine.Request) (running bool) {
	inPass := func(p *pool, slot int32) bool {
		scheduler := c.requests.Slots[slot].Worker
		w, k := p.rank(scheduler)
		return w.busy && w.took[p.rankOf(scheduler)] && k.InPass(slot, c.now)
	}
	last := math.NaN()
	if p := &c.pools[len(c.pools)-1]; r.Worker >= 0 {
		w, k := p.rank(r.Worker)
		running = inPass(p, slot)
		last = k.LastToken(slot, c.now)
		k.Abandon(slot)
		r.Output = k.Produced(slot)
		if w.busy && w.took[p.rankOf(r.Worker)] {
			r.Output -= k.InFlight(slot, c.now)
		}
	}
	if c.handoffs != nil {
		// A worker with two pools is told of a cancellation when its pass is over, whatever the pass computes.
		busy := func(p *pool, slot int32) bool {
			if slot < 0 || c.requests.Slots[slot].Worker < 0 {
				return false
			}
			w, _ := p.rank(c.requests.Slots[slot].Worker)
			return w.busy
		}
		running = busy(&c.pools[1], slot) || busy(&c.pools[0], r.Twin)
	}
	for _, t := range []*float64{&r.FirstTokenMS, &r.SecondTokenMS} {
		if *t > c.now {
			*t = math.NaN()
		}
	}
	r.LastTokenMS = last
	return running
}

// begin forgets what was recorded: from now on rows count, and go to the measured sink.
func (r *recorder) begin(now float64) {
	r.originMS, r.sink = now, r.measured
	r.results.Clear()
	r.passes.Clear()
	r.gaps.Clear()
	r.admissions.Clear()
	r.routing.Clear()
	r.chosenFrom.Clear()
	r.transfers.Clear()
	r.hosts.clear()
	for i := range r.slots {
		r.slots[i].count = 0
	}
}
