package simulate

import (
	"context"
	"errors"
	"math"

	"github.com/dynosim/dynosim/lower"
	"github.com/dynosim/dynosim/schemas"
	"github.com/dynosim/dynosim/simulate/engine"
)

// cluster is the state of a run.
type cluster struct {
	requests engine.Table
	content  *engine.Content
	source   *source
	record   *recorder
	// pools is the aggregated pool, or the prefill and the decode pool.
	pools    []pool
	events   eventQueue
	progress *Progress
	// router is nil for round robin.
	router *routing
	// handoffs is nil in an aggregated run.
	handoffs *handoffs
	// host is nil without host caches.
	host *hosting

	now, limit float64
	// watch looks at the cluster, nil when nothing does. scalingMS is the next scaling tick, readyMS has
	// the times at which workers become ready, passive counts the events of both sorts.
	watch     *watch
	scalingMS float64
	readyMS   []float64
	passive   int
	// inSystem counts the requests that concurrency load compares with its limit.
	inSystem int64
	// visited is the latest end of a pass without an instant of its own.
	visited float64
	// ending is the pass end that is delivered right now, its time NaN without one; stale counts the
	// events of passes that do not come true, stoppedMS is where the time limit stopped the run.
	ending    event
	stale     int
	stoppedMS float64
	// session has the session of each live slot.
	session []int32
	// listed are the requests that name ranks, by request index; nil without any.
	listed []schemas.ListedRequest
	// launched lists the passes started at this instant.
	launched []launched

	ended, passes int64
}

func newCluster(ctx context.Context, spec *schemas.RunSpec, w *lower.Workload, sink schemas.Sink, progress *Progress, exact bool) (*cluster, error) {
	if progress == nil {
		progress = &Progress{}
	}
	var driver *plays
	measured, whole := sink, w
	if w.Graph != nil {
		var err error
		if driver, err = newPlays(spec, w); err != nil {
			return nil, err
		}
		w = driver.work
		if driver.warm != nil {
			sink = schemas.DiscardSink()
		}
	}
	c := &cluster{
		source: newSource(w), record: newRecorder(sink), content: engine.NewContent(w, spec.BlockTokens()),
		limit: spec.TimeLimitMS, scalingMS: math.Inf(1), progress: progress,
		watch: newWatch(spec),
	}
	c.source.plays, c.record.measured = driver, measured
	if c.hostCaches(spec); c.host != nil {
		c.content.UseKeys(whole)
	}
	c.listed = namedRanks(spec.Source.Requests)
	routed := spec.Router.Policy == schemas.PolicyKVRouter
	// Blocks of generated tokens that later turns have in their prompts are stored when a request
	// ends. Only with a lag can a router tell that from storing each one when it is full.
	each := routed && spec.Router.EventLagMS > 0 && c.content.Keeps()
	for i := range spec.Pools {
		p, err := c.newPool(ctx, &spec.Pools[i], exact || each, routed, each)
		if err != nil {
			return nil, err
		}
		c.pools = append(c.pools, p)
	}
	if routed {
		c.router = c.newRouting(spec)
	}
	if spec.Disaggregated() {
		c.handoffs = newHandoffs(spec)
	}
	for i := range c.pools {
		p := &c.pools[i]
		p.behind = c.coupled() && !p.logs && p.ranks == 1 && c.host == nil
		p.patient = p.behind && c.watch == nil && (c.handoffs != nil || p.spec.Engine.Backend != schemas.BackendSGLang)
	}
	c.watchStart()
	return c, nil
}

// bounded reports whether the run may stop while requests are in flight: their gaps are then kept until they end.
func (c *cluster) bounded() bool {
	return !math.IsInf(c.limit, 1) || c.source.plays != nil && c.source.plays.profile != nil
}

// run visits instants until nothing is left (spec 05 sections 2, 3 and 8).
func (c *cluster) run(ctx context.Context) error {
	for n := uint(0); ; n++ {
		if err := c.instant(); err != nil {
			return err
		}
		if c.watch != nil {
			if !c.watch.started && !c.preparing() {
				if err := c.startWatch(); err != nil {
					return err
				}
			}
			if c.done() {
				return nil
			}
		}
		if n%1024 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			c.progress.virtualMS.Store(math.Float64bits(c.now))
			c.progress.ended.Store(c.ended)
		}
		if c.record.err != nil {
			return c.record.err
		}
		if c.source.plays != nil && c.source.plays.done() {
			return nil
		}
		next := c.source.nextReady()
		if c.nextEvent() {
			next = min(next, c.events[0].at)
		}
		if c.host != nil {
			next = min(next, c.host.nextMS(c))
		}
		if math.IsInf(next, 1) || c.watch != nil && c.ticksOnly() {
			return c.stuck()
		}
		if next > c.limit {
			c.stoppedMS = c.limit
			return nil
		}
		for c.watch != nil && c.watch.samples.nextMS < next {
			c.advance(c.watch.samples.nextMS)
			c.telemetryTick()
			if err := c.watch.check(ctx, c.now); err != nil {
				return err
			}
		}
		if c.watch != nil {
			if err := c.watch.check(ctx, c.now); err != nil {
				return err
			}
		}
		c.advance(next)
	}
}

// advance moves the clock (spec 05 section 9.5).
func (c *cluster) advance(to float64) {
	for i := range c.pools {
		p := &c.pools[i]
		p.seconds += float64(p.existing) * (to - c.now) / 1000.0
	}
	c.now = to
}

// instant does all work that is possible at the current time.
func (c *cluster) instant() error {
	if c.handoffs != nil {
		return c.splitInstant()
	}
	for {
		changed, err := c.complete()
		if err != nil {
			return err
		}
		if c.watch != nil {
			changed = c.readyWorkers() || changed
		}
		arrived, err := c.arrivals()
		if err != nil {
			return err
		}
		changed = changed || arrived
		if c.source.plays != nil && c.source.plays.done() {
			return nil
		}
		started, err := c.startPasses(&c.pools[0])
		if err != nil {
			return err
		}
		if c.watch != nil {
			looked, err := c.looks()
			if err != nil {
				return err
			}
			changed = changed || looked
		}
		if c.host != nil {
			changed = c.host.oncemore() || changed
		}
		if !changed && !started {
			return c.launch()
		}
	}
}

// splitInstant is instant with two pools: arrivals are only noted, and placed by the actions
// of the next round (spec 05 section 4).
func (c *cluster) splitInstant() error {
	for {
		changed, err := c.complete()
		if err != nil {
			return err
		}
		if c.watch != nil {
			changed = c.readyWorkers() || changed
		}
		changed = c.transferred() || changed
		acted, err := c.act()
		if err != nil {
			return err
		}
		arrived, err := c.arrivals()
		if err != nil {
			return err
		}
		changed = changed || acted || arrived
		if c.source.plays != nil && c.source.plays.done() {
			return nil
		}
		for i := range c.pools {
			started, err := c.startPasses(&c.pools[i])
			if err != nil {
				return err
			}
			changed = changed || started
		}
		if c.watch != nil {
			looked, err := c.looks()
			if err != nil {
				return err
			}
			changed = changed || looked
		}
		if c.host != nil {
			changed = c.host.oncemore() || changed
		}
		if !changed {
			return c.launch()
		}
	}
}

// end takes a request that reached its end out of the system.
func (c *cluster) end(slot int32) {
	r := &c.requests.Slots[slot]
	c.record.result(r, c.now)
	if c.watch != nil {
		c.watch.ended(r)
	}
	for _, gap := range r.Gaps {
		c.record.gap(gap, 1)
	}
	if c.router != nil {
		c.router.left(&c.pools[0], slot)
	}
	if session := c.session[slot]; session >= 0 {
		c.content.Ended(r, session, c.source.last(r.Node, session))
		c.source.ended(r.Node, session, c.now)
	}
	if c.source.plays != nil {
		c.endPlay(slot)
		c.settlePlay(r)
	}
	c.requests.Drop(slot)
	c.inSystem--
	c.ended++
	if c.router != nil {
		c.releases(&c.pools[0])
	}
}

// arrivals places every request that is ready now.
func (c *cluster) arrivals() (changed bool, err error) {
	if c.source.plays != nil {
		return c.playArrivals()
	}
	room := c.source.limit - c.inSystem
	for {
		node, session, ready := c.source.pop(c.now, room)
		if !ready {
			return changed, nil
		}
		room--
		changed = true
		if err := c.arrive(node, session, c.now); err != nil {
			return changed, err
		}
	}
}

// arrive records an arrival, whose time in the records is atMS, and hands it to the next worker in turn (spec
// 05 section 6).
func (c *cluster) arrive(node, session int32, atMS float64) error {
	prompt := c.content.Prompt(node, session)
	slot := c.requests.New(node, prompt, int64(c.source.nodes.OutputTokens[node]), atMS)
	for int(slot) >= len(c.session) {
		c.session = append(c.session, -1)
	}
	c.session[slot] = session
	r := &c.requests.Slots[slot]
	c.content.Dispatch(r, session)
	c.inSystem++
	if c.watch != nil {
		c.watch.arrived()
	}
	if c.router != nil {
		c.router.arrived(slot)
	}
	if c.handoffs != nil {
		c.handoffs.begin(slot)
		return nil
	}
	p := &c.pools[0]
	if c.router != nil {
		d, placed, err := c.router.place(p, slot)
		if placed {
			c.deliver(p, slot, d.Worker, d.Rank, 0)
		}
		return err
	}
	id, rank, ok := c.turn(p, node)
	if !ok {
		return errors.New("placement policy error: no active workers for round-robin placement")
	}
	c.record.placed(node, 0, p, id, rank)
	c.deliver(p, slot, id, rank, 0)
	return nil
}

// maxRepeats is how many passes without effect may follow each other at an instant while
// only a new-token ratio moves (spec 05 section 8.3).
const maxRepeats = 1024

// tryPass runs one pass of every rank of a worker that has work, up to the end of the
// slowest. A pass of no length is delivered on the spot; repeat says what to do about one
// that also has no effect.
func (c *cluster) tryPass(p *pool, id int32) (effect bool, repeat engine.Repeat, err error) {
	w := p.workers[id]
	end, hopeless, reserved := c.now, false, false
	for rank, k := range w.ranks {
		w.took[rank] = !k.Idle()
		if w.took[rank] {
			end = max(end, k.Decide(c.now, w.count))
		}
	}
	if !(end-c.now < engine.MaxPassMS) {
		return false, 0, c.tooLong(p, id, c.now, end)
	}
	if w.sight != nil {
		w.sight.beganMS, w.sight.admitted = c.now, false
	}
	for rank, k := range w.ranks {
		if !w.took[rank] {
			k.Skip(c.now, end)
			continue
		}
		k.Emit(end)
		pass := k.Pass()
		if w.sight != nil && len(pass.Admitted) > 0 {
			w.sight.admitted = true
		}
		effect = effect || pass.Effect()
		repeat = max(repeat, pass.Repeat)
		for i := range pass.Admitted {
			a := &pass.Admitted[i]
			before := int32(0)
			if p.role == schemas.PoolDecode {
				before = c.handoffs.of[a.Slot].prefillAdmissions
			}
			c.record.admission(&c.requests.Slots[a.Slot], p.role, before, c.now, a)
		}
		if pass.Stuck && math.IsInf(c.limit, 1) {
			if c.handoffs == nil || pass.Hopeless {
				return false, 0, c.stuck()
			}
			hopeless = true
		}
	}
	if w.hosts != nil {
		if w.endMS = end; end == c.now {
			published, completed := c.boundary(p, id)
			effect = effect || published
			c.host.again = c.host.again || completed
		}
	}
	if end == c.now {
		if hopeless || !effect {
			// The end of the pass lets destinations be reserved all the same.
			for rank := 0; p.role == schemas.PoolDecode && rank < p.ranks; rank++ {
				reserved = c.attempt(p, id*int32(p.ranks)+int32(rank)) || reserved
			}
			if reserved {
				p.wake(id)
			}
			return reserved, repeat, nil
		}
		c.deliverPass(p, id)
		return true, 0, nil
	}
	w.busy = true
	c.launched = append(c.launched, launched{p, id, end, math.Inf(1)})
	return true, 0, nil
}

// finish records the requests that the time limit cut off and hands over the last rows.
func (c *cluster) finish() error {
	c.catchUpAll(max(c.now, c.stoppedMS))
	if c.visited > c.now {
		c.advance(c.visited)
	}
	if c.watch != nil {
		c.finishTelemetry()
	}
	for slot := range c.requests.Slots {
		if r := &c.requests.Slots[slot]; r.Node >= 0 && !r.Source {
			c.abandon(int32(slot), r)
		}
	}
	if c.host != nil {
		c.finishHosts()
	}
	for i := range c.pools {
		for _, w := range c.pools[i].workers {
			for _, k := range w.ranks {
				k.Close()
			}
		}
	}
	c.progress.virtualMS.Store(math.Float64bits(c.now))
	c.progress.ended.Store(c.ended)
	return c.record.close()
}

// abandon records a request that was in flight when the run stopped. Its tokens of a pass
// in flight did not happen.
func (c *cluster) abandon(slot int32, r *engine.Request) {
	if c.handoffs != nil && c.handoffs.of[slot].ended {
		c.settleHandoff(slot)
		return
	}
	r.Status = schemas.StatusUnfinished
	if c.router != nil && c.router.abandoned(slot) && c.handoffs == nil {
		c.record.result(r, math.NaN())
		return
	}
	if p := &c.pools[len(c.pools)-1]; r.Worker >= 0 {
		w, k := p.rank(r.Worker)
		k.Abandon(slot)
		r.Output = k.Produced(slot)
		if w.busy && w.took[p.rankOf(r.Worker)] {
			r.Output -= k.InFlight(slot, c.now)
		}
	}
	for _, t := range []*float64{&r.FirstTokenMS, &r.SecondTokenMS} {
		if *t > c.now {
			*t = math.NaN()
		}
	}
	r.LastTokenMS = math.NaN()
	if c.handoffs == nil {
		c.record.result(r, math.NaN())
		return
	}
	h := &c.handoffs.of[slot]
	h.terminalMS = math.NaN()
	c.stopped(slot)
	c.record.handedOff(r, h)
}
