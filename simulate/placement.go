package simulate

import (
	"cmp"
	"math"

	"github.com/dynosim/dynosim/schemas"
	"github.com/dynosim/dynosim/simulate/engine"
	"github.com/dynosim/dynosim/simulate/router"
)

// routing places requests by the KV router, one router a pool (spec 06); round robin needs none of
// it. It keeps what the table routing says of waiting requests.
type routing struct {
	c       *cluster
	routers []*router.Router
	// full records the candidates of every decision.
	full bool
	// entered has, by pool and slot, the time at which a request began to wait in the router's
	// queue, NaN for none.
	entered [][]float64
	// placements counts the placements of each live slot.
	placements []int32
}

// newRouting makes the routers of the cluster's pools with their initial workers.
func (c *cluster) newRouting(spec *schemas.RunSpec) *routing {
	t := &routing{c: c, full: spec.CaptureRouting, entered: make([][]float64, len(c.pools))}
	for i := range c.pools {
		p := &c.pools[i]
		settings := spec.Router
		switch p.role {
		case schemas.PoolPrefill:
			settings = settings.Prefill()
		case schemas.PoolDecode:
			settings = settings.Decode()
		}
		e := &p.spec.Engine
		r := router.New(router.Config{
			Spec: settings, BlockTokens: e.BlockTokens, PathTokens: c.content.PathTokens(), Ranks: p.ranks,
			MaxBatchedTokens: e.MaxBatchedTokens, PolicyClasses: c.source.nodes.PolicyClasses, Estimate: estimate(cmp.Or(spec.LoadData.Passes, e.Timing.Passes), settings.EstimatePrefill),
		})
		for _, id := range p.active {
			r.AddWorker(id)
		}
		t.routers = append(t.routers, r)
	}
	return t
}

// estimate is the load model aic: the measured time of one prompt by itself (spec 06 section 6.1).
// It is nil when nobody wants it or there is no data.
func estimate(data schemas.PassTimes, wanted bool) func(newTokens, cachedTokens int64) (float64, bool) {
	if !wanted || data == nil {
		return nil
	}
	passes := data.Private()
	return func(newTokens, cachedTokens int64) (float64, bool) {
		ms, err := passes.PrefillMS(1, newTokens, cachedTokens)
		return ms, err == nil
	}
}

// arrived prepares the slot of a request that arrives.
func (t *routing) arrived(slot int32) {
	for int(slot) >= len(t.placements) {
		t.placements = append(t.placements, 0)
		for i := range t.entered {
			t.entered[i] = append(t.entered[i], math.NaN())
		}
	}
	t.placements[slot] = 0
	for i := range t.entered {
		t.entered[i][slot] = math.NaN()
	}
}

// place asks the router of a pool for a rank. With placed false the request waits until release
// hands it over.
func (t *routing) place(p *pool, slot int32) (d router.Decision, placed bool, err error) {
	r := &t.c.requests.Slots[slot]
	nodes := t.c.source.nodes
	q := router.Request{Slot: slot, Tokens: r.Prompt, PolicyClass: -1}
	if p.role != schemas.PoolDecode {
		if !r.PathKnown {
			t.c.content.Fill(r)
		}
		q.Path, q.Shared = r.Path, r.Identified
	}
	if nodes.Priority != nil {
		q.Priority, q.StrictPriority, q.PolicyClass = nodes.Priority[r.Node], nodes.StrictPriority[r.Node], nodes.PolicyClass[r.Node]
	}
	d, placed, err = t.routers[p.index()].Arrive(&q, t.c.now)
	switch {
	case err != nil:
	case placed:
		t.decided(p, slot, d)
	default:
		t.entered[p.index()][slot] = t.c.now
	}
	return d, placed, err
}

// release takes the next request out of a pool's queue that may go on now.
func (t *routing) release(p *pool) (slot int32, d router.Decision, ok bool) {
	slot, d, ok = t.routers[p.index()].Release(t.c.now)
	if ok {
		t.decided(p, slot, d)
	}
	return slot, d, ok
}

// decided records a decision.
func (t *routing) decided(p *pool, slot int32, d router.Decision) {
	r := &t.c.requests.Slots[slot]
	row := routingRow{
		node: r.Node, ordinal: t.placements[slot], pool: p.role, queuedMS: t.entered[p.index()][slot], releasedMS: math.NaN(),
		worker: d.Worker, rank: d.Rank, scheduler: d.Worker*int32(p.ranks) + d.Rank,
		selected: d.Selected, best: d.Best, overlapTokens: int32(int64(d.Selected) * p.spec.Engine.BlockTokens),
	}
	if !math.IsNaN(row.queuedMS) {
		row.releasedMS, row.waitMS = t.c.now, max(t.c.now-row.queuedMS, 0)
		t.entered[p.index()][slot] = math.NaN()
	}
	t.c.record.routed(&row)
	if p.role != schemas.PoolDecode && t.c.watch != nil {
		t.c.watch.routed(int64(d.Selected), (r.Prompt+p.spec.Engine.BlockTokens-1)/p.spec.Engine.BlockTokens)
	}
	if t.full {
		t.c.record.candidates(&row, t.c.now, p.ranks, t.routers[p.index()].Candidates())
	}
	t.placements[slot]++
}

// prefilled tells a pool's router that a request got its first token and goes on; left that it left
// the pool: it ended, or its prompt has moved on.
func (t *routing) prefilled(p *pool, slot int32, nowMS float64) {
	t.routers[p.index()].Prefilled(slot, nowMS)
}

func (t *routing) left(p *pool, slot int32) { t.routers[p.index()].Ended(slot, t.c.now) }

// observe shows the KV events of a rank to the router: those of a pass that ends at nowMS, before its
// outputs, or of a command.
func (t *routing) observe(p *pool, id int32, rank int, k engine.Rank, nowMS float64) {
	if events := k.Events(); len(events) > 0 {
		t.routers[p.index()].Observe(id, int32(rank), events, nowMS)
	}
}

// waiting is the number of requests in the queues of all pools.
func (t *routing) waiting() (n int) {
	for _, r := range t.routers {
		n += r.Waiting()
	}
	return n
}

// abandoned records a request that waited when the run stopped, and reports whether it did.
func (t *routing) abandoned(slot int32) (waited bool) {
	for i := range t.c.pools {
		if queued := t.entered[i][slot]; !math.IsNaN(queued) {
			nan := math.NaN()
			t.c.record.routed(&routingRow{
				node: t.c.requests.Slots[slot].Node, ordinal: t.placements[slot], pool: t.c.pools[i].role,
				queuedMS: queued, releasedMS: nan, waitMS: nan, worker: -1, rank: -1, scheduler: -1, overlapTokens: -1, selected: -1, best: -1,
			})
			waited = true
		}
	}
	return waited
}

// releases hands over the requests that a pool's router lets go on now, and returns their number.
func (c *cluster) releases(p *pool) (n int32) {
	for ; ; n++ {
		slot, d, ok := c.router.release(p)
		if !ok {
			return n
		}
		c.deliver(p, slot, d.Worker, d.Rank, c.reported(p, slot, d))
	}
}

// reported is the overlap of a decision that a request's record has, in tokens.
func (c *cluster) reported(p *pool, slot int32, d router.Decision) int32 {
	return int32(min(int64(d.Selected)*p.spec.Engine.BlockTokens, c.requests.Slots[slot].Prompt))
}

// firstTokens tells the router of the requests of a pass that got their first token before the
// pass's request number ended in the order of outputs, from the one on that is given. What the router
// then releases goes to its engine before later outputs (spec 06 section 10).
func (c *cluster) firstTokens(p *pool, pass *engine.Pass, from, ended int) int {
	for ; from < len(pass.Prefilled) && int(pass.Prefilled[from].Ended) <= ended; from++ {
		c.router.prefilled(p, pass.Prefilled[from].Slot, c.now)
		c.releases(p)
	}
	return from
}
