package engine

import (
	"github.com/dynosim/dynosim/schemas"
	"github.com/dynosim/dynosim/simulate/kv"
)

// Admission is one admission of a pass. Reused counts cached tokens; Host is how many of them came from
// the host cache, -1 for a readmission and without a host cache.
type Admission struct{ Slot, Reused, Host int32 }

// Terminal is the end of a request with a pass.
type Terminal struct {
	Slot   int32
	Status schemas.Status
}

// Prefilled is a request that gets its first token with a pass and goes on. Ended is how many of
// the pass's Ended come before it in the order of outputs.
type Prefilled struct{ Slot, Ended int32 }

// Pass is what one pass of one rank did. It is valid until the next Decide of the rank.
type Pass struct {
	// StartMS and EndMS bound the worker's pass, PrefillMS and DecodeMS are the rank's parts.
	StartMS, PrefillMS, DecodeMS, EndMS float64
	// PrefillRequests, PrefillTokens and PrefillCached follow num_prefill_requests,
	// sum_prefill_tokens and sum_prefill_kv_tokens of spec 03 section 11.1.
	PrefillRequests, PrefillTokens, PrefillCached int64
	// DecodeRequests and DecodeTokens are what the decode part was charged with: the b and
	// s of spec 03 section 6.3.
	DecodeRequests, DecodeTokens int64
	OutputTokens                 int64
	Preempted                    int32
	Running, Waiting             int32
	Admitted                     []Admission
	// Ended lists the requests that end with the pass in the order in which they do.
	Ended []Terminal
	// Prefilled lists the requests that get their first token and go on, in that order too.
	Prefilled []Prefilled
	// GapMS is the gap of the GapCount requests that decoded together; the gaps of others
	// went to the recorder one by one.
	GapMS    float64
	GapCount int64
	// Forwards counts the requests that decoded a token, Accepted the tokens these yielded before
	// cuts: bursts yield several.
	Forwards, Accepted int64
	// Metrics is filled where a scaling policy wants it.
	Metrics ForwardMetrics
	// HitTokens and CacheTokens are the cache figures of spec 04 section 13.3; SGLang only.
	HitTokens, CacheTokens int64
	// Scheduled counts the requests that computed something.
	Scheduled int64
	// Stuck says that the only running request cannot ever get a token although nothing
	// else holds blocks: the same passes would repeat for ever (spec 03 section 5.7).
	Stuck bool
	// Hopeless says that it needs more blocks for its next tokens than the pool has: nothing that others
	// give back would help.
	Hopeless bool
	// Repeat says what it means if no rank of the worker's pass had an effect and the pass
	// took no time.
	Repeat Repeat
}

// MaxPassMS bounds the length of a pass: what 64 bits of nanoseconds hold, 570 years.
const MaxPassMS = 1.8e13

// Repeat tells what becomes of a worker after a pass without effect or duration (spec 05
// section 8.3).
type Repeat int

// Outcomes of passes without effect; for a group of ranks the largest counts.
const (
	// RepeatLater waits for the next event.
	RepeatLater Repeat = iota
	// RepeatNever: the requests of the rank can never go on.
	RepeatNever
	// RepeatRatio tries again, a limited number of times in a row: the rank's new-token
	// ratio moved.
	RepeatRatio
	// RepeatCountdown tries again: a deferral counts down.
	RepeatCountdown
)

// Effect reports whether the pass changed anything (spec 03 section 5.7).
func (p *Pass) Effect() bool {
	return p.Scheduled > 0 || p.Preempted > 0 || len(p.Admitted) > 0 || len(p.Ended) > 0 || p.OutputTokens > 0
}

// First notes that a request gets its first token and goes on.
func (p *Pass) First(slot int32) {
	p.Prefilled = append(p.Prefilled, Prefilled{slot, int32(len(p.Ended))})
}

// Reset begins a new pass and keeps the memory of the lists. It sets field by field: a
// struct literal would be built aside and copied, which shows in the cost of a pass.
func (p *Pass) Reset(startMS float64) {
	p.StartMS, p.PrefillMS, p.DecodeMS, p.EndMS = startMS, 0, 0, 0
	p.PrefillRequests, p.PrefillTokens, p.PrefillCached = 0, 0, 0
	p.DecodeRequests, p.DecodeTokens, p.OutputTokens = 0, 0, 0
	p.Preempted, p.Running, p.Waiting = 0, 0, 0
	p.Admitted, p.Ended, p.Prefilled = p.Admitted[:0], p.Ended[:0], p.Prefilled[:0]
	p.GapMS, p.GapCount, p.Scheduled, p.Stuck, p.Hopeless = 0, 0, 0, false, false
	p.Forwards, p.Accepted, p.HitTokens, p.CacheTokens = 0, 0, 0, 0
}

// Rank is one scheduler of a worker, with its own queues and KV pool: what the cluster
// drives, whatever the backend. One call a pass goes through the interface.
//
// The cluster calls Decide at the start of a pass, then Emit with the end of the worker's
// pass, and reads Pass. The state of the rank is then the one after the pass; the cluster
// delivers the outputs at the end.
type Rank interface {
	// Submit adds a request to the back of the waiting queue.
	Submit(slot int32)
	// ReleaseSource gives up what the rank, of a prefill pool, holds of a request whose
	// prefill is complete.
	ReleaseSource(slot int32)
	// Accept takes a request whose prompt is computed elsewhere as a pending destination; it
	// reports false when the request can never run here. Reserve tries to give the first
	// pending one its blocks and returns it with the tokens to move, or -1. Activate lets a
	// reserved one run, CancelDestination forgets one that does not run yet. All of these are
	// called between passes, Accept at any time (spec 05 section 7).
	Accept(slot int32) bool
	Reserve() (slot int32, missingTokens int64)
	Activate(slot int32)
	CancelDestination(slot int32)
	// Waits says what requests wait for, for the diagnosis of a run that cannot go on.
	Waits() []Wait
	// Idle reports whether the rank has neither running nor waiting requests.
	Idle() bool
	// Decide schedules a pass at startMS and returns when the rank alone would be done.
	// count numbers the worker's passes since it was last drained.
	Decide(startMS float64, count int64) (endMS float64)
	// Emit delivers the outputs of the decided pass at endMS.
	Emit(endMS float64)
	// Skip tells the rank that its worker ran a pass it had no part in.
	Skip(startMS, endMS float64)
	// Pass is the last pass.
	Pass() *Pass
	// Coasting reports whether the next pass can only advance the decoding requests, so
	// that no arrival before its end changes it; Coast runs that pass.
	Coasting() bool
	Coast() (endMS float64)
	// Forecast appends to ahead, up to its capacity, the durations of the passes that Coast
	// would run next, as far as one ends at untilMS or ends a request, that one included. It
	// changes nothing. CoastFor is Coast with the duration that was forecast.
	Forecast(untilMS float64, ahead []float64) []float64
	CoastFor(durationMS float64)
	// Events are the KV events since they were last taken, none unless the rank logs them:
	// those of the passes decided since then, and of commands. They are valid until the next
	// call of the rank.
	Events() []kv.Event
	// Gauges are the blocks in use and the cached blocks nobody uses, after the pass.
	Gauges() (active, idle int64)
	// Queues are the requests that run and that wait, after the pass.
	Queues() (running, waiting int32)
	// Produced is the number of tokens a request has produced, those of a pass in flight
	// included; InFlight is how many of them that pass gives it, at time nowMS.
	Produced(slot int32) int64
	InFlight(slot int32, nowMS float64) int64
	// InPass reports whether the pass in flight at nowMS computes something of a request.
	InPass(slot int32, nowMS float64) bool
	// LastToken is the time of the last token a request has at nowMS, that of a pass in flight
	// left out; NaN for none. Ranks that keep no gaps apart need not know it.
	LastToken(slot int32, nowMS float64) float64
	// Abandon forgets the gaps of a request that a time limit cut off, Close hands over
	// the gaps that were kept back.
	Abandon(slot int32)
	Close()
}
