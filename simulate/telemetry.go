package simulate

import (
	"math"

	"github.com/dynosim/dynosim/schemas"
	"github.com/dynosim/dynosim/simulate/engine"
	"github.com/dynosim/dynosim/simulate/scaling"
)

// telemetry takes samples at even intervals (spec 05 section 10). Sampling changes nothing.
type telemetry struct {
	// intervalMS is 0 without telemetry, originMS the time of the baseline.
	intervalMS, originMS float64
	// periods counts the periodic samples, nextMS is the time of the next one, +Inf for none.
	periods int64
	nextMS  float64
	ordinal int32
	// traffic, prefill and decode count since the last sample; observed says that anything happened.
	traffic         scaling.Traffic
	prefill, decode counters
	observed        bool
	// pool is working memory.
	pool scaling.Pool
}

func newTelemetry(intervalMS float64) telemetry {
	return telemetry{intervalMS: intervalMS, nextMS: math.Inf(1)}
}

// counters are the interval figures of a pool.
type counters struct{ preemptions, hitTokens, cacheTokens int64 }

// passed counts a pass that ended. Retractions of SGLang are no preemptions here, as in the reference.
func (t *telemetry) passed(p *pool, pass *engine.Pass) {
	n := &t.decode
	if p.role == schemas.PoolPrefill {
		n = &t.prefill
	}
	if p.spec.Engine.Backend != schemas.BackendSGLang {
		n.preemptions += int64(pass.Preempted)
	}
	n.hitTokens += pass.HitTokens
	n.cacheTokens += pass.CacheTokens
}

// startTelemetry takes the baseline, at the end of instant 0.
func (c *cluster) startTelemetry() {
	t := &c.watch.samples
	if t.intervalMS == 0 {
		return
	}
	observed := t.observed
	c.sample(schemas.TickBaseline)
	t.observed = observed
	t.originMS, t.traffic.StartMS = c.now, c.now
	c.armTelemetry()
}

// armTelemetry sets the time of the next sample: one multiplication, no running sum.
func (c *cluster) armTelemetry() {
	t := &c.watch.samples
	t.periods++
	t.nextMS = t.originMS + float64(float64(t.periods)*t.intervalMS)
}

// telemetryTick takes the sample that is due now, if one is.
func (c *cluster) telemetryTick() {
	if t := &c.watch.samples; t.nextMS == c.now {
		c.sample(schemas.TickPeriodic)
		c.armTelemetry()
		if c.done() {
			t.nextMS = math.Inf(1)
		}
	}
}

// finishTelemetry takes the last sample when anything can be new in it.
func (c *cluster) finishTelemetry() {
	if t := &c.watch.samples; t.intervalMS > 0 && (t.observed || c.now > t.traffic.StartMS) {
		c.sample(schemas.TickFinal)
	}
}

// sample records the gauges of all workers and, but for the baseline, what happened since the last
// sample.
func (c *cluster) sample(kind schemas.TickKind) {
	c.catchUpAll(c.now)
	t := &c.watch.samples
	b := c.record.ticks
	i := b.N
	tick := c.watch.tick
	c.watch.tick++
	b.Kind[i], b.Ordinal[i] = kind, t.ordinal
	t.ordinal++
	counted, prefill, decode := t.traffic, t.prefill, t.decode
	if kind == schemas.TickBaseline {
		counted, prefill, decode = scaling.Traffic{StartMS: c.now}, counters{}, counters{}
	} else {
		t.traffic, t.prefill, t.decode, t.observed = scaling.Traffic{StartMS: c.now}, counters{}, counters{}, false
	}
	b.Prefill.Preemptions[i], b.Prefill.CacheHitTokens[i], b.Prefill.CacheTotalTokens[i] = prefill.preemptions, prefill.hitTokens, prefill.cacheTokens
	b.Decode.Preemptions[i], b.Decode.CacheHitTokens[i], b.Decode.CacheTotalTokens[i] = decode.preemptions, decode.hitTokens, decode.cacheTokens
	b.TargetPrefill[i], b.TargetDecode[i], b.NextTickMS[i] = -1, -1, math.NaN()
	for k := range c.pools {
		c.look(&c.pools[k], tick, &t.pool)
	}
	c.tickRow(tick, &counted)
}

// tickRow completes a row of ticks.
func (c *cluster) tickRow(tick int32, t *scaling.Traffic) {
	b := c.record.ticks
	i := b.N
	b.Tick[i], b.AtMS[i], b.StartMS[i] = tick, c.now, t.StartMS
	b.Arriving[i], b.Completed[i], b.InputTokens[i], b.OutputTokens[i] = t.Arriving, t.Completed, t.InputTokens, t.OutputTokens
	b.TTFTRequests[i], b.TTFTSumMS[i], b.ITLRequests[i], b.ITLSumMS[i] = t.TTFTRequests, t.TTFTSumMS, t.ITLRequests, t.ITLSumMS
	b.Routed[i], b.OverlapShareSum[i], b.DecodeForwards[i], b.Accepted[i] = t.Routed, t.OverlapShareSum, t.Forwards, t.Accepted
	b.PrefillQueued[i], b.DecodeQueued[i] = 0, 0
	if c.router != nil {
		for k := range c.pools {
			if n := int32(c.router.routers[k].Waiting()); c.pools[k].role == schemas.PoolPrefill {
				b.PrefillQueued[i] = n
			} else {
				b.DecodeQueued[i] = n
			}
		}
	}
	if b.N++; b.N == len(b.Tick) {
		take(c.record, c.record.sink.Ticks, &c.record.ticks)
		c.record.ticks.Clear()
	}
}
