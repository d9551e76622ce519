package simulate

import (
	"context"
	"fmt"
	"math"

	"github.com/dynosim/dynosim/schemas"
	"github.com/dynosim/dynosim/simulate/engine"
	"github.com/dynosim/dynosim/simulate/scaling"
)

// watch is what looks at the cluster while it runs: telemetry and the scaling policy. A cluster
// without either has none, and pays one comparison a pass.
type watch struct {
	policy scaling.Policy
	// started says that the baseline was taken and the policy asked for its first tick.
	started bool
	// samples is telemetry; its interval is 0 without.
	samples telemetry
	// traffic counts since the last scaling tick.
	traffic scaling.Traffic
	// tick numbers the rows of ticks, ordinal the scaling ticks, operations the lifecycle operations.
	tick, ordinal, operations int32
	snapshot                  scaling.Snapshot
}

// gauge is what a rank shows: its state after the last command or pass end (spec 03 section 11.2).
type gauge struct {
	active, idle     int64
	running, waiting int32
}

// sight is what the watch keeps of a worker.
type sight struct {
	gauges []gauge
	// passes has the last pass of each rank since the last scaling tick, where fresh says so.
	passes []seenPass
	// beganMS is the begin of the pass in flight, admitted whether a rank admits a request to it.
	beganMS  float64
	admitted bool
	// publishedMS is when each rank showed its metrics last (spec 05 section 9.3).
	publishedMS []float64
}

// seenPass is the metrics of a pass as the engine leaves them; variances are computed when asked for.
type seenPass struct {
	fresh                          bool
	durationMS                     float64
	prefillTokens, prefillKVTokens int64
	metrics                        engine.ForwardMetrics
}

func newSight(ranks int, nowMS float64) *sight {
	s := &sight{gauges: make([]gauge, ranks), passes: make([]seenPass, ranks), publishedMS: make([]float64, ranks)}
	s.publish(nowMS)
	return s
}

// publish sets the time from which the ranks count as idle.
func (s *sight) publish(nowMS float64) {
	for rank := range s.publishedMS {
		s.publishedMS[rank] = nowMS
	}
}

// newWatch makes the watch of a run, nil when nothing looks.
func newWatch(spec *schemas.RunSpec) *watch {
	var policy scaling.Policy
	if spec.Scaling.Enabled {
		policy = scaling.NewScript(spec.Scaling)
	}
	if policy == nil && spec.TelemetryIntervalMS == 0 {
		return nil
	}
	return &watch{policy: policy, samples: newTelemetry(spec.TelemetryIntervalMS)}
}

// measures reports whether passes are measured for a policy; w may be nil.
func (w *watch) measures() bool { return w != nil && w.policy != nil }

// watchStart records the workers that are there from the start, and lets the watch see them.
func (c *cluster) watchStart() {
	for i := range c.pools {
		p := &c.pools[i]
		op := &operation{pool: p.role, cause: schemas.CauseStart, number: -1, origin: -1}
		for k, id := range p.live {
			if c.watch != nil {
				c.sights(p, id)
			}
			c.record.change(op, c.now, int32(k), -1, 0, change{id, schemas.WorkerAbsent, schemas.WorkerActive, -1})
		}
	}
}

// refresh shows the state of a rank: a command was applied to it, or a pass of its worker ended.
func (p *pool) refresh(w *worker, rank int) {
	s := w.sight
	if s == nil {
		return
	}
	g := &s.gauges[rank]
	g.active, g.idle = w.ranks[rank].Gauges()
	g.running, g.waiting = w.ranks[rank].Queues()
}

// sawPass takes the figures of a rank's pass that ended.
func (c *cluster) sawPass(p *pool, w *worker, rank int, pass *engine.Pass) {
	if w.sight == nil {
		return
	}
	p.refresh(w, rank)
	c.watch.samples.observed = true
	c.watch.samples.passed(p, pass)
	if p.role != schemas.PoolPrefill {
		for _, t := range c.watch.windows() {
			t.Forwards += pass.Forwards
			t.Accepted += pass.Accepted
		}
	}
	if c.watch.policy != nil {
		w.sight.passes[rank] = seenPass{true, pass.EndMS - pass.StartMS, pass.PrefillTokens, pass.PrefillCached, pass.Metrics}
		w.sight.publishedMS[rank] = pass.EndMS
	}
}

// sawIdle notes the end of a pass of the worker in which the rank had no part. A pass of no length that
// admits nothing, but only refuses requests or goes on with others, says nothing of it.
func (c *cluster) sawIdle(w *worker, rank int) {
	if w.sight != nil && c.watch.policy != nil && (w.sight.admitted || c.now > w.sight.beganMS) {
		w.sight.passes[rank] = seenPass{fresh: true, durationMS: c.now - w.sight.beganMS}
		w.sight.publishedMS[rank] = c.now
	}
}

// windows are the traffic windows that are open.
func (w *watch) windows() [2]*scaling.Traffic {
	return [2]*scaling.Traffic{&w.traffic, &w.samples.traffic}
}

// arrived counts an arrival.
func (w *watch) arrived() {
	w.samples.observed = true
	for _, t := range w.windows() {
		t.Arriving++
	}
}

// routed counts the placement of a prompt of promptBlocks blocks, of which overlapBlocks are cached
// on the chosen worker.
func (w *watch) routed(overlapBlocks, promptBlocks int64) {
	if promptBlocks == 0 {
		return
	}
	share := float64(overlapBlocks) / float64(promptBlocks)
	for _, t := range w.windows() {
		t.Routed++
		t.OverlapShareSum += share
	}
}

// ended counts the end of a request.
func (w *watch) ended(r *engine.Request) {
	w.samples.observed = true
	if r.Status != schemas.StatusCompleted {
		return
	}
	for _, t := range w.windows() {
		t.Completed++
		t.InputTokens += r.Prompt
		t.OutputTokens += r.Output
		if r.Output == 0 {
			continue
		}
		if ttft := max(r.FirstTokenMS-r.ArrivalMS, 0); ttft > 0 {
			t.TTFTRequests++
			t.TTFTSumMS += ttft
		}
		if r.Output > 1 {
			t.ITLRequests++
			t.ITLSumMS += max(r.LastTokenMS-r.FirstTokenMS, 0) / float64(r.Output-1)
		}
	}
}

// look gives a policy's view of a pool and records the gauges of its ranks at a tick.
func (c *cluster) look(p *pool, tick int32, to *scaling.Pool) {
	to.Active, to.Starting, to.Draining, to.Passes = to.Active[:0], to.Starting[:0], to.Draining[:0], to.Passes[:0]
	for _, id := range p.live {
		w := p.workers[id]
		var state schemas.WorkerState
		switch w.state {
		case active:
			state, to.Active = schemas.WorkerActive, append(to.Active, id)
		case starting:
			state, to.Starting = schemas.WorkerStarting, append(to.Starting, id)
		case draining:
			state, to.Draining = schemas.WorkerDraining, append(to.Draining, id)
		}
		for rank := range w.sight.gauges {
			g := &w.sight.gauges[rank]
			b := c.record.tickWorkers
			i := b.N
			b.Tick[i], b.Pool[i], b.Worker[i], b.Rank[i], b.State[i] = tick, p.role, id, int32(rank), state
			b.ActiveBlocks[i], b.IdleBlocks[i], b.TotalBlocks[i] = g.active, g.idle, p.spec.Engine.NumBlocks
			b.Running[i], b.Waiting[i] = g.running, g.waiting
			if b.N++; b.N == len(b.Tick) {
				take(c.record, c.record.sink.TickWorkers, &c.record.tickWorkers)
				c.record.tickWorkers.Clear()
			}
		}
	}
}

// idleAfterMS is the time after which a rank that published nothing shows an idle pass.
const idleAfterMS = 1000.0

// passesSince hands the latest passes of the active workers over and forgets those of all (spec 05
// section 9.3).
func (c *cluster) passesSince(p *pool, tick int32, to *scaling.Pool) {
	for _, id := range p.live {
		w := p.workers[id]
		for rank := range w.sight.passes {
			seen := &w.sight.passes[rank]
			if w.state == active {
				if idle := c.now - w.sight.publishedMS[rank]; idle >= idleAfterMS {
					w.sight.publishedMS[rank] += math.Floor(idle/idleAfterMS) * idleAfterMS
					*seen = seenPass{fresh: true}
				}
				if seen.fresh {
					to.Passes = append(to.Passes, seen.forwardPass(id, int32(rank)))
					c.record.tickPass(tick, p.role, &to.Passes[len(to.Passes)-1])
				}
			}
			seen.fresh = false
		}
	}
}

// forwardPass is the metrics as a policy sees them.
func (s *seenPass) forwardPass(worker, rank int32) scaling.ForwardPass {
	m := &s.metrics
	return scaling.ForwardPass{
		Worker: worker, Rank: rank, DurationMS: s.durationMS,
		PrefillRequests: m.Prompts.N, PrefillTokens: s.prefillTokens, PrefillKVTokens: s.prefillKVTokens, PrefillVariance: m.Prompts.Variance(),
		DecodeRequests: m.Decoding.N, DecodeKVTokens: m.Decoding.Sum, DecodeVariance: m.Decoding.Variance(),
		QueuedPrefillRequests: m.QueuedPrompts.N, QueuedPrefillTokens: m.QueuedPrompts.Sum, QueuedPrefillVariance: m.QueuedPrompts.Variance(),
		QueuedDecodeRequests: m.QueuedDecoding.N, QueuedDecodeKVTokens: m.QueuedDecoding.Sum, QueuedDecodeVariance: m.QueuedDecoding.Variance(),
	}
}

// forgetPreparation forgets what the requests that prepare caches did: nobody looks before the
// measurement begins.
func (c *cluster) forgetPreparation() {
	w := c.watch
	w.traffic = scaling.Traffic{StartMS: c.now}
	w.samples.traffic, w.samples.prefill, w.samples.decode, w.samples.observed = w.traffic, counters{}, counters{}, false
	for i := range c.pools {
		for _, id := range c.pools[i].live {
			s := c.pools[i].workers[id].sight
			for rank := range s.passes {
				s.passes[rank].fresh = false
			}
		}
	}
}

// maxTicks bounds the ticks of a run: an interval that needs more is a mistake, and such a run would not end.
const maxTicks = 10_000_000

// check ends a run that is canceled, or has too many ticks.
func (w *watch) check(ctx context.Context, nowMS float64) error {
	if w.tick >= maxTicks {
		return fmt.Errorf("%d ticks of telemetry and scaling were taken until %g ms of virtual time, the most that a run may have: choose a longer interval", w.tick, nowMS)
	}
	if w.tick%1024 == 0 {
		return ctx.Err()
	}
	return nil
}
