package simulate

import (
	"github.com/dynosim/dynosim/schemas"
	"github.com/dynosim/dynosim/simulate/scaling"
)

// change records a transition of an operation; tick is the scaling tick, -1 for none.
func (r *recorder) change(o *operation, atMS float64, position, tick, released int32, c change) {
	b := r.lifecycle
	i := b.N
	b.Operation[i], b.Position[i], b.AtMS[i], b.Pool[i], b.Cause[i] = o.number, position, atMS, o.pool, o.cause
	b.Tick[i], b.Origin[i], b.Released[i] = tick, o.origin, released
	b.Worker[i], b.Prior[i], b.State[i], b.OwnOrigins[i] = c.worker, c.prior, c.state, c.origin
	if b.N++; b.N == len(b.Worker) {
		take(r, r.sink.Lifecycle, &r.lifecycle)
		r.lifecycle.Clear()
	}
}

// tickPass records the metrics that a policy got of a rank.
func (r *recorder) tickPass(tick int32, pool schemas.Pool, f *scaling.ForwardPass) {
	b := r.tickPasses
	i := b.N
	b.Tick[i], b.Pool[i], b.Worker[i], b.Rank[i], b.DurationMS[i] = tick, pool, f.Worker, f.Rank, f.DurationMS
	b.PrefillRequests[i], b.PrefillTokens[i], b.PrefillKVTokens[i], b.PrefillVariance[i] = f.PrefillRequests, f.PrefillTokens, f.PrefillKVTokens, f.PrefillVariance
	b.DecodeRequests[i], b.DecodeKVTokens[i], b.DecodeVariance[i] = f.DecodeRequests, f.DecodeKVTokens, f.DecodeVariance
	b.QueuedPrefillRequests[i], b.QueuedPrefillTokens[i], b.QueuedPrefillVariance[i] = f.QueuedPrefillRequests, f.QueuedPrefillTokens, f.QueuedPrefillVariance
	b.QueuedDecodeRequests[i], b.QueuedDecodeKVTokens[i], b.QueuedDecodeVariance[i] = f.QueuedDecodeRequests, f.QueuedDecodeKVTokens, f.QueuedDecodeVariance
	if b.N++; b.N == len(b.Tick) {
		take(r, r.sink.TickPasses, &r.tickPasses)
		r.tickPasses.Clear()
	}
}
