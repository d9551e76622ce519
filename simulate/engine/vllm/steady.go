package vllm

import (
	"github.com/dynosim/dynosim/simulate/engine"
	"github.com/dynosim/dynosim/simulate/invariants"
)

// makeSteady adds a request that just got a token to the steady ones.
func (k *Rank) makeSteady(slot int32, r *engine.Request) {
	r.Steady, r.Base, r.GapFrom = true, k.step, k.step
	k.steady++
	k.lengthSum += r.Length()
	k.squareSum += r.Length() * r.Length()
	k.phases.Add(r.Computed, k.step, 1)
	k.finishes.Push(engine.Finish{Step: k.step + k.remaining(r), Join: r.Join, Slot: slot})
	if r.Output == 1 {
		k.second = append(k.second, slot)
	}
	if k.host != nil {
		k.host.lag(k.requests.Hosted(slot), 1)
	}
}

// leaveSteady makes a steady request's own fields true and takes it out of the sums. Its
// entry among the finishes is the caller's concern.
func (k *Rank) leaveSteady(slot int32, r *engine.Request) {
	if k.host != nil {
		k.host.lag(k.requests.Hosted(slot), -1)
	}
	r.Sync(k.step)
	r.Steady, r.GapTo = false, k.step
	k.steady--
	k.lengthSum -= r.Length()
	k.squareSum -= r.Length() * r.Length()
	k.phases.Add(r.Computed, k.step, -1)
}

// Coasting reports whether the next pass can only advance the steady requests: nothing
// waits, nothing else runs, and the pool has the blocks. An arrival before the end of that
// pass changes nothing in it. Passes of no length are left to the cluster: it runs them
// before the arrivals of their instant.
func (k *Rank) Coasting() bool {
	return k.steady > 0 && k.lastEnd+k.cfg.minDecodeMS > k.lastEnd && k.steady == int64(len(k.running)) && k.waiting.Len() == 0 && k.handoffs.pending.Len() == 0 && !k.cfg.Exact &&
		k.authored == 0 && k.steady <= k.cfg.MaxBatchedTokens && k.phases.At(k.step) <= k.pool.Available()
}

// Coast decides and emits the next pass of a coasting rank, which begins at the end of the
// last one, and returns its end.
func (k *Rank) Coast() (endMS float64) {
	k.CoastFor(k.cfg.Timing.DecodeMS(k.steady, k.lengthSum))
	return k.lastEnd
}

// Forecast appends the durations of the passes that Coast would run next; see engine.Rank.
func (k *Rank) Forecast(untilMS float64, ahead []float64) []float64 {
	if !k.Coasting() {
		return ahead
	}
	next := engine.Steady{Requests: k.steady, Length: k.lengthSum, Step: k.step, Finish: k.finishes[0].Step, Free: k.pool.Available(), EndMS: k.lastEnd}
	return k.phases.Forecast(&k.cfg.Timing, next, untilMS, ahead)
}

// CoastFor is Coast with the duration of the pass.
func (k *Rank) CoastFor(durationMS float64) {
	p := &k.pass
	p.Reset(k.lastEnd)
	p.Scheduled, p.DecodeRequests, p.DecodeTokens, p.Running = k.steady, k.steady, k.lengthSum, int32(len(k.running))
	k.passes++
	k.bound = false
	k.takeTogether()
	if k.cfg.Metrics {
		k.together, k.prompts = true, engine.Moments{}
		k.measure()
	}
	p.DecodeMS = durationMS
	p.EndMS = p.StartMS + p.DecodeMS
	k.advance(p.EndMS)
	k.prevEnd, k.lastEnd = k.lastEnd, p.EndMS
	if invariants.Enabled {
		k.audit.Passed(p.OutputTokens)
		k.check()
	}
}

// settle dissolves the steady set. With decided true the pass being decided has already
// given each of them its computation, and their schedule entries are made explicit.
func (k *Rank) settle(decided bool) {
	k.together = false
	k.finishes, k.second = k.finishes[:0], k.second[:0]
	for _, slot := range k.running {
		r := k.request(slot)
		if !r.Steady {
			continue
		}
		k.leaveSteady(slot, r)
		r.LastTokenMS = k.lastEnd
		if k.cfg.TrackGaps {
			k.log.Own(r)
		}
		if decided {
			r.Pass, r.PassTokens, r.PassPromptTokens, r.PassStart = k.passes, 1, 0, r.Prompt
			r.Computed++
		}
	}
}

// keepGap logs the gap of the steady requests at the current step.
func (k *Rank) keepGap(gapMS float64) {
	if k.log.Keep(k.step, gapMS, k.steady) {
		k.log.HandOver(k.requests.OldestGap(k.running, k.step), k.gaps)
	}
}

// Abandon forgets the gaps of a request that the time limit cut off.
func (k *Rank) Abandon(slot int32) { k.log.Forget(k.request(slot), k.step) }

// Close hands over the gaps that were kept back.
func (k *Rank) Close() { k.log.HandOver(k.step, k.gaps) }

// Produced returns the tokens a request has produced, those of a pass in flight included.
func (k *Rank) Produced(slot int32) int64 { return k.request(slot).Produced(k.step) }

// InFlight is the number of tokens that the pass in flight at nowMS gives a request: a steady
// request gets one in every pass, others show it by their time.
func (k *Rank) InFlight(slot int32, nowMS float64) int64 {
	switch r := k.request(slot); {
	case r.Steady:
		return 1
	case r.LastTokenMS > nowMS:
		return max(r.Burst, 1)
	}
	return 0
}

// LastToken is the time of the last token a request has at nowMS. A steady request got one with
// every pass since it became steady at the end of one.
func (k *Rank) LastToken(slot int32, nowMS float64) float64 {
	switch r := k.request(slot); {
	case r.Steady && k.lastEnd <= nowMS:
		return k.lastEnd
	case r.Steady && r.Base < k.step:
		return k.prevEnd
	case r.Steady || r.LastTokenMS > nowMS:
		return r.PrevTokenMS
	default:
		return r.LastTokenMS
	}
}

// InPass reports whether the pass in flight at nowMS computes something of a request. One that leaves the steady requests with
// its last token shows it by the time of that.
func (k *Rank) InPass(slot int32, nowMS float64) bool {
	r := k.request(slot)
	return r.Steady || r.Pass == k.passes || r.LastTokenMS > nowMS
}
