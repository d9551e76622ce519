package simulate

import (
	"math"

	"github.com/dynosim/dynosim/simulate/engine"
)

// Where workers drive each other, nobody knows how far one may run ahead of the clock. Such a
// worker runs behind it instead: when a pass starts, the durations of those that would follow it
// are forecast, up to the first that ends a request, and only the end of the last becomes an
// event. The passes are run then, one after the other, or as far as they have ended when a command
// for the worker, a tick or the end of the run comes first: see touch. The rows are the same;
// passes stand later in their table than others that ended after them.

// aheadPasses is the most passes of a forecast.
const aheadPasses = 32

// ahead is the passes of a worker that the clock has passed or will pass without an event of their
// own.
type ahead struct {
	// dueMS is the time of the worker's event, NaN without: other events of it are stale.
	dueMS float64
	// endMS is the end of the pass in flight; durations are those of the passes that follow it, of
	// which run have been run.
	endMS     float64
	durations []float64
	run       int
}

// rest is the number of passes that are still to be run.
func (a *ahead) rest() int { return len(a.durations) - a.run }

// forecast queues the end of the pass that has started on a worker, or of the last of those that
// will follow it before untilMS without any effect outside of the worker.
func (c *cluster) forecast(p *pool, id int32, end, untilMS float64) {
	w := p.workers[id]
	a := &w.ahead
	a.endMS, a.durations, a.run = end, a.durations[:0], 0
	if rank := w.ranks[0]; len(w.ranks) == 1 && p.behind && end < untilMS && w.quiet() && len(rank.Pass().Ended) == 0 &&
		(c.router == nil || c.handoffs != nil || len(rank.Pass().Prefilled) == 0) {
		a.durations = rank.Forecast(untilMS, a.durations)
		for _, ms := range a.durations {
			end += ms
		}
	}
	c.queueEnd(p, id, end)
}

// queueEnd queues the end of a pass of a worker; it is the only event of the worker that counts.
func (c *cluster) queueEnd(p *pool, id int32, at float64) {
	w := p.workers[id]
	w.ahead.dueMS = at
	c.events.Push(event{at: at, class: passEnd, pool: p.index(), worker: id, ordinal: w.pass})
}

// due reports whether a pass end is still what its worker waits for.
func (c *cluster) due(e *event) bool {
	return e.class != passEnd || c.pools[e.pool].workers[e.worker].ahead.dueMS == e.at
}

// nextEvent drops stale events and reports whether one is left, which is then the first.
func (c *cluster) nextEvent() bool {
	for len(c.events) > 0 {
		if c.stale == 0 || c.due(&c.events[0]) {
			return true
		}
		c.events.Pop()
		c.stale--
	}
	return false
}

// catchUp runs the passes of a worker of which the ones before have ended at now, and leaves the
// one in flight. Behind the sweep of the instant a pass that ends now has a successor in flight;
// before it the worker stands between the two, and the result is true.
func (c *cluster) catchUp(p *pool, id int32, now float64) (between bool) {
	w := p.workers[id]
	a, rank := &w.ahead, w.ranks[0]
	for ; a.rest() > 0 && a.endMS <= now; a.run++ {
		if a.endMS == now && !p.swept(id, now) {
			return true
		}
		c.runNext(p, w, id, rank)
	}
	return false
}

// runNext records the pass in flight of a worker, which has ended, and runs the next one.
func (c *cluster) runNext(p *pool, w *worker, id int32, rank engine.Rank) {
	a := &w.ahead
	c.recordPass(p, id, 0)
	c.visited = max(c.visited, a.endMS)
	w.pass++
	w.count++
	ms := a.durations[a.run]
	rank.CoastFor(ms)
	a.endMS += ms
}

// runAhead runs all passes of a worker whose event has come but the last, which is then the pass
// that ends.
func (c *cluster) runAhead(p *pool, id int32) {
	w := p.workers[id]
	for a := &w.ahead; a.rest() > 0; a.run++ {
		c.runNext(p, w, id, w.ranks[0])
	}
}

// touch prepares a worker for a command: what was forecast behind its pass in flight need not come
// true any more.
func (c *cluster) touch(p *pool, id int32) {
	w := p.workers[id]
	a := &w.ahead
	if a.rest() == 0 || p.patient && c.cut(p, id) {
		return
	}
	between := c.catchUp(p, id, c.now)
	if a.rest() == 0 {
		return
	}
	a.durations, a.run = a.durations[:0], 0
	c.stale++
	if !between {
		c.queueEnd(p, id, a.endMS)
		return
	}
	if e := &c.ending; e.at == c.now && (e.pool < p.index() || e.pool == p.index() && e.worker < id) {
		// Its turn comes behind the pass that ends right now.
		c.queueEnd(p, id, a.endMS)
		return
	}
	a.dueMS = math.NaN()
	c.endPass(p, id)
}

// cut forgets what was forecast behind the pass in flight of a worker, whose passes until then are
// still to be run. It reports false and changes nothing when the worker stands between two passes.
func (c *cluster) cut(p *pool, id int32) bool {
	a := &p.workers[id].ahead
	end, n := a.endMS, a.run
	for ; n < len(a.durations) && end <= c.now; n++ {
		if end == c.now && !p.swept(id, c.now) {
			return false
		}
		end += a.durations[n]
	}
	if n < len(a.durations) {
		a.durations = a.durations[:n]
		c.stale++
		c.queueEnd(p, id, end)
	}
	return true
}

// touchRank touches the worker of a rank given by scheduler id.
func (c *cluster) touchRank(p *pool, scheduler int32) { c.touch(p, scheduler/int32(p.ranks)) }

// catchUpAll brings all workers to the current time, for those that look at them.
func (c *cluster) catchUpAll(now float64) {
	for i := range c.pools {
		p := &c.pools[i]
		if !p.behind {
			continue
		}
		for _, id := range p.live {
			if p.workers[id].ahead.rest() > 0 && c.catchUp(p, id, now) {
				c.touch(p, id)
			}
		}
	}
}
