package vllm

import "github.com/dynosim/dynosim/simulate/engine"

// makeSteady adds a request that just got a token to the steady ones.
func (k *Rank) makeSteady(slot int32, r *engine.Request) {
	r.Steady, r.Base, r.GapFrom = true, k.step, k.step
	k.steady++
	k.lengthSum += r.Length()
	k.phases.add(r.Computed, k.step, 1)
	k.finishes.push(finish{k.step + k.remaining(r), r.Join, slot})
	if r.Output == 1 {
		k.second = append(k.second, slot)
	}
}

// leaveSteady makes a steady request's own fields true and takes it out of the sums. Its
// entry among the finishes is the caller's concern.
func (k *Rank) leaveSteady(r *engine.Request) {
	gained := k.step - r.Base
	r.Output += gained
	r.Computed += gained
	r.Steady, r.Base, r.GapTo = false, k.step, k.step
	k.steady--
	k.lengthSum -= r.Length()
	k.phases.add(r.Computed, k.step, -1)
}

// Coasting reports whether the next pass can only advance the steady requests: nothing
// waits, nothing else runs, and the pool has the blocks. An arrival before the end of that
// pass changes nothing in it. Passes of no length are left to the cluster: it runs them
// before the arrivals of their instant.
func (k *Rank) Coasting() bool {
	return k.steady > 0 && k.lastEnd+k.cfg.minDecodeMS > k.lastEnd && k.steady == int64(len(k.running)) && k.waiting.len() == 0 && !k.cfg.Exact &&
		k.authored == 0 && k.steady <= k.cfg.MaxBatchedTokens && k.phases.at(k.step) <= k.pool.Available()
}

// Coast decides and emits the next pass of a coasting rank, which begins at the end of the
// last one, and returns its end.
func (k *Rank) Coast() (endMS float64) {
	p := &k.pass
	*p = engine.Pass{
		StartMS: k.lastEnd, Admitted: p.Admitted[:0], Ended: p.Ended[:0], Scheduled: k.steady,
		DecodeRequests: k.steady, DecodeTokens: k.lengthSum, Running: int32(len(k.running)),
	}
	k.passes++
	k.bound = false
	k.takeTogether()
	p.DecodeMS = k.cfg.Timing.DecodeMS(p.DecodeRequests, p.DecodeTokens)
	p.EndMS = p.StartMS + p.DecodeMS
	k.advance(p.EndMS)
	k.lastEnd = p.EndMS
	return p.EndMS
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
		k.leaveSteady(r)
		r.LastTokenMS = k.lastEnd
		if k.cfg.TrackGaps {
			k.ownGaps(r)
		}
		if decided {
			r.Pass, r.PassTokens, r.PassPromptTokens, r.PassStart = k.passes, 1, 0, r.Prompt
			r.Computed++
		}
	}
}

// gapLog holds the gaps of steady passes, from step base on, with the number of requests
// each belongs to, until none of these can be cut off any more.
type gapLog struct {
	base   int64
	gaps   []float64
	counts []int64
}

// keepGap logs the gap of the steady requests at the current step. Now and then it hands
// over the gaps of steps before those of any request that is still running.
func (k *Rank) keepGap(gapMS float64) {
	l := &k.log
	if len(l.gaps) == 0 {
		l.base = k.step
	}
	// Steps without a steady pass do not exist: exact passes keep the step.
	l.gaps, l.counts = append(l.gaps, gapMS), append(l.counts, k.steady)
	if n := len(l.gaps); n >= 4096 && n&(n-1) == 0 {
		oldest := k.step
		for _, slot := range k.running {
			if r := k.request(slot); r.Steady {
				oldest = min(oldest, r.GapFrom)
			}
		}
		k.handOver(oldest)
	}
}

// handOver passes the logged gaps of the steps before oldest to the recorder.
func (k *Rank) handOver(oldest int64) {
	l := &k.log
	n := min(oldest-l.base, int64(len(l.gaps)))
	if n <= 0 {
		return
	}
	for i := range n {
		k.gaps(l.gaps[i], l.counts[i])
	}
	l.gaps = append(l.gaps[:0], l.gaps[n:]...)
	l.counts = append(l.counts[:0], l.counts[n:]...)
	l.base += n
}

// ownGaps moves the logged gaps of a request from the log to the request.
func (k *Rank) ownGaps(r *engine.Request) {
	l := &k.log
	for s := r.GapFrom; s < r.GapTo; s++ {
		r.Gaps = append(r.Gaps, l.gaps[s-l.base])
		l.counts[s-l.base]--
	}
	r.GapFrom = r.GapTo
}

// Abandon forgets the gaps of a request that the time limit cut off.
func (k *Rank) Abandon(slot int32) {
	r := k.request(slot)
	to := r.GapTo
	if r.Steady {
		to = k.step
	}
	for s := r.GapFrom; s < to; s++ {
		k.log.counts[s-k.log.base]--
	}
}

// Close hands over the gaps that were kept back.
func (k *Rank) Close() { k.handOver(k.step) }

// Produced returns the tokens a request has produced, those of a pass in flight included.
func (k *Rank) Produced(slot int32) int64 {
	r := k.request(slot)
	if r.Steady {
		return r.Output + k.step - r.Base
	}
	return r.Output
}

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
