// Package scaling is what decides how many workers the pools of a cluster have while a simulation
// runs (spec 05 section 9): the interface of a policy, the snapshot it is given, and a policy that
// follows a script.
package scaling

import "math"

// Policy decides how many workers the pools have. It is used by one simulation.
type Policy interface {
	// InitialTickMS is the virtual time of the first tick. Times before the start of the run count
	// as the start; what is not finite asks for no tick at all.
	InitialTickMS() float64
	// OnTick looks at the cluster and decides. The snapshot and its slices are valid during the call
	// only. An error ends the run.
	OnTick(s *Snapshot) (Decision, error)
	// Settled reports that no later tick can change the pools whatever happens, so that a cluster
	// in which nothing moves any more is stuck, not waiting.
	Settled() bool
}

// None leaves a pool alone in a Decision.
const None int32 = -1

// Decision is the answer to a tick.
type Decision struct {
	// Prefill and Decode are the wanted numbers of active and starting workers, None to leave a
	// pool alone. Aggregated workers are Decode; Prefill then counts for nothing.
	Prefill, Decode int32
	// NextTickMS is the time of the next tick. What is not finite or not after this tick ends the
	// ticking for good.
	NextTickMS float64
}

// Never is a NextTickMS that ends the ticking.
func Never() float64 { return math.Inf(1) }

// Snapshot is the cluster at a tick, before the decision (spec 05 section 9.3).
type Snapshot struct {
	// Ordinal numbers the ticks from 0.
	Ordinal int64
	NowMS   float64
	// Prefill and Decode are the pools; the workers of an aggregated one are in Decode.
	Prefill, Decode Pool
	// Traffic is what happened since the tick before, or since the start.
	Traffic Traffic
}

// Pool is the workers of one role by state, ids ascending.
type Pool struct {
	Active, Starting, Draining []int32
	// Passes has the latest pass of each rank of an active worker since the tick before, ascending by
	// worker and rank; a rank that was idle for a second has one of zeros, one without news none.
	Passes []ForwardPass
}

// Live is the number of active and starting workers.
func (p *Pool) Live() int { return len(p.Active) + len(p.Starting) }

// ForwardPass is the metrics of a pass of one rank. Lengths are tokens, variances are population
// variances of token counts.
type ForwardPass struct {
	Worker, Rank int32
	// DurationMS is the duration of the worker's pass.
	DurationMS float64
	// PrefillRequests computed PrefillTokens of their prompts and had PrefillKVTokens before.
	PrefillRequests, PrefillTokens, PrefillKVTokens int64
	PrefillVariance                                 float64
	// DecodeRequests have DecodeKVTokens together.
	DecodeRequests, DecodeKVTokens int64
	DecodeVariance                 float64
	// Queued requests are those after the decision of the pass.
	QueuedPrefillRequests, QueuedPrefillTokens int64
	QueuedPrefillVariance                      float64
	QueuedDecodeRequests, QueuedDecodeKVTokens int64
	QueuedDecodeVariance                       float64
}

// Traffic is what happened in a window of time. Sums are in order of completion.
type Traffic struct {
	StartMS float64
	// Arriving requests arrived; Completed ended, those that were refused, failed or cancelled left out.
	Arriving, Completed int64
	// InputTokens and OutputTokens are sums over the completed requests.
	InputTokens, OutputTokens int64
	// TTFTRequests of them have a time to first token above 0, ITLRequests more than one token.
	TTFTRequests, ITLRequests int64
	// TTFTSumMS is the sum of these times, ITLSumMS that of the mean gaps between tokens.
	TTFTSumMS, ITLSumMS float64
	// Routed counts placements by a cache-aware router on the aggregated or prefill pool,
	// OverlapShareSum sums up the cached shares of their prompts' blocks.
	Routed          int64
	OverlapShareSum float64
	// Forwards counts decode steps of single requests, Accepted the tokens they yielded.
	Forwards, Accepted int64
}

// Mean is a sum over n, 0 without samples.
func Mean(sum float64, n int64) float64 {
	if n == 0 {
		return 0
	}
	return sum / float64(n)
}
