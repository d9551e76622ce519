package vllm

import (
	"github.com/dynosim/dynosim/simulate/engine"
	"github.com/dynosim/dynosim/simulate/invariants"
)

// Decide schedules one pass at nowMS and returns when the rank would be done (spec 03
// sections 5.1 to 5.4). The state moves on at once; Emit delivers the outputs. count numbers
// the passes of the worker since it was last drained.
func (k *Rank) Decide(nowMS float64, count int64) (endMS float64) {
	if k.host != nil {
		return k.decideHosted(nowMS, count)
	}
	p := &k.pass
	p.Reset(nowMS)
	k.promptSum, k.cachedSum = 0, 0
	k.prompts = engine.Moments{}
	k.passes++
	k.extras, k.rejects = k.extras[:0], k.rejects[:0]
	k.budget = k.cfg.MaxBatchedTokens

	k.deferring = k.cfg.PrefillInterval > 1 && count%k.cfg.PrefillInterval != 0 && !k.bound && k.prompted()
	k.together = k.canAdvanceTogether(nowMS)
	if k.together {
		k.takeTogether()
		k.budget -= k.steady
		p.Scheduled = k.steady
		if int64(len(k.running)) > k.steady && k.budget > 0 {
			if last := k.running[len(k.running)-1]; !k.passedOver(last) {
				k.schedule(last, false)
			}
		}
	} else {
		k.settle(false)
		k.scheduleRunning()
	}
	if k.waiting.Len() > 0 {
		k.admit()
	}
	if !k.deferring && p.Preempted == 0 {
		k.bound = k.waiting.Len() > 0
	}
	if p.PrefillRequests > 0 && !k.decodes() {
		p.PrefillMS = k.cfg.Timing.PrefillMS(p.PrefillRequests, k.promptSum, k.cachedSum)
	}
	if k.cfg.Metrics {
		k.measure()
	}
	if k.random != nil {
		k.speculate()
	} else {
		k.charge()
	}
	p.Running, p.Waiting = int32(len(k.running)), int32(k.waiting.Len())
	p.DecodeMS = k.cfg.Timing.DecodeMS(p.DecodeRequests, p.DecodeTokens)
	return (nowMS + p.PrefillMS) + p.DecodeMS
}

// prompted tells whether some running request has its whole prompt computed.
func (k *Rank) prompted() bool {
	for _, slot := range k.running {
		if r := k.request(slot); r.Steady || r.Computed >= r.Prompt {
			return true
		}
	}
	return false
}

// passedOver tells whether a running request has to wait because prefills are deferred.
func (k *Rank) passedOver(slot int32) bool {
	r := k.request(slot)
	return k.deferring && r.Computed < r.Prompt
}

// takeTogether takes the blocks that the steady requests begin at this step.
func (k *Rank) takeTogether() {
	n := k.phases.At(k.step)
	k.pool.Take(n)
	k.owned += n
}

// canAdvanceTogether tells whether every steady request gets its token in this pass, so
// that no per-request work is needed for them: see the package comment.
func (k *Rank) canAdvanceTogether(nowMS float64) bool {
	others := int64(len(k.running)) - k.steady
	if k.cfg.Exact || others > 1 || k.authored > 0 || k.steady > k.budget {
		return false
	}
	if others == 1 && k.request(k.running[len(k.running)-1]).Steady {
		return false
	}
	return k.steady == 0 || k.lastEnd == nowMS && k.phases.At(k.step) <= k.pool.Available()
}

// scheduleRunning is step 1 of spec 03 section 5.1. The index is not corrected when a
// victim in front of it leaves: the next request is skipped, as in the reference.
func (k *Rank) scheduleRunning() {
	for i := 0; i < len(k.running) && k.budget > 0; {
		if k.passedOver(k.running[i]) {
			i++
			continue
		}
		switch k.schedule(k.running[i], false) {
		case scheduled:
			i++
		case stuck:
			return
		}
	}
}

// admit is step 2 of spec 03 section 5.1.
func (k *Rank) admit() {
	p, cfg := &k.pass, k.cfg
	for p.Preempted == 0 && int64(len(k.running)) < cfg.MaxSequences && k.waiting.Len() > 0 {
		next := k.nextWaiting()
		if next < 0 {
			return
		}
		slot := k.waiting.At(next)
		r := k.request(slot)
		if r.Stage == engine.Activated {
			k.admitActivated(next)
			if k.budget == 0 {
				return
			}
			continue
		}
		whole := k.blocksFor(r.Length())
		if cfg.NoEvict {
			whole = k.whole(r)
		}
		if r.Prompt >= cfg.MaxModelLen || r.Admissions == 0 && whole > k.pool.Total() {
			k.waiting.PopFront()
			k.leave(r, r.Admissions == 0)
			k.rejects = append(k.rejects, slot)
			k.blocked = -1
			continue
		}
		// Without budget only a request that needs no computation could go on, and one of
		// vLLM with output to produce always computes at least a token, unless its prompt is empty.
		if k.budget == 0 && r.Output < r.MaxOutput && !cfg.NoEvict && r.Length() > 0 {
			return
		}
		available := k.available()
		if k.blocked == slot && available <= k.blockedAvail && k.pool.Stored() == k.blockedStored {
			return
		}
		active := k.lookUp(r)
		if whole-active > available {
			k.blocked, k.blockedAvail, k.blockedStored = slot, available, k.pool.Stored()
			return
		}
		if k.deferring && r.Length()-int64(len(k.hits))*cfg.BlockTokens > 1 {
			return
		}
		reused := int32(int64(len(k.hits)) * cfg.BlockTokens)
		if k.schedule(slot, true) != scheduled {
			return
		}
		k.waiting.RemoveAt(int(p.Preempted))
		k.leave(r, r.Admissions == 0)
		if r.Admissions > 0 {
			k.handoffs.preempted--
		}
		k.join(slot, r, reused, -1)
		if r.PassTokens == 0 && k.budget == 0 {
			return
		}
	}
}

// charge counts the requests and lengths that the decode part is charged with (spec 03
// sections 5.5 and 6.3).
func (k *Rank) charge() {
	p := &k.pass
	if k.together {
		p.DecodeRequests, p.DecodeTokens = k.steady, k.lengthSum
		for _, slot := range k.extras {
			k.chargeOne(k.request(slot))
		}
		return
	}
	for _, slot := range k.running {
		if r := k.request(slot); r.Computed == r.Length() {
			k.chargeOne(r)
		}
	}
}

// chargeOne leaves out the first token of a prompt whose last chunk this pass computed: it
// is part of that prefill. A prefill rank charges nothing, a decode rank everything.
func (k *Rank) chargeOne(r *engine.Request) {
	if k.remaining(r) == 0 || k.prefills() || r.Output == 0 && r.PassPromptTokens > 0 && !k.decodes() {
		return
	}
	k.pass.DecodeRequests++
	k.pass.DecodeTokens += r.Length()
}

// Emit delivers the outputs of the decided pass at endMS, the end of the worker's pass
// (spec 03 section 5.5).
func (k *Rank) Emit(endMS float64) {
	p := &k.pass
	p.EndMS = endMS
	switch {
	case k.random != nil:
		k.emitBursts(endMS)
	case k.together:
		k.emitTogether(endMS)
	default:
		k.emitExactly(endMS)
	}
	for _, slot := range k.rejects {
		k.end(slot, rejected)
	}
	if k.prefills() {
		// Its tokens are no output of the requests.
		p.OutputTokens = 0
	}
	k.prevEnd, k.lastEnd = k.lastEnd, endMS
	if invariants.Enabled {
		k.audit.Passed(p.OutputTokens)
		k.check()
	}
}

func (k *Rank) emitTogether(endMS float64) {
	p := &k.pass
	ready := k.extras[:0]
	for _, slot := range k.extras {
		if k.remaining(k.request(slot)) == 0 {
			k.complete(slot)
		} else {
			ready = append(ready, slot)
		}
	}
	if k.steady > 0 {
		k.advance(endMS)
	}
	k.countForwards(ready)
	for _, slot := range ready {
		k.emitOne(slot, endMS)
		if r := k.request(slot); k.remaining(r) == 0 {
			k.complete(slot)
		} else {
			k.makeSteady(slot, r)
		}
	}
	p.OutputTokens += int64(len(ready))
}

// advance gives every steady request one token.
func (k *Rank) advance(endMS float64) {
	p := &k.pass
	p.OutputTokens += k.steady
	p.Forwards += k.steady
	p.Accepted += k.steady
	gap := max(endMS-p.StartMS, 0)
	if k.cfg.TrackGaps {
		k.keepGap(gap)
	} else {
		p.GapMS, p.GapCount = gap, k.steady
	}
	k.step++
	k.squareSum += 2*k.lengthSum + k.steady
	k.lengthSum += k.steady
	for _, slot := range k.second {
		k.request(slot).SecondTokenMS = endMS
	}
	k.second = k.second[:0]
	for len(k.finishes) > 0 && k.finishes[0].Step == k.step {
		slot := k.finishes.Pop().Slot
		r := k.request(slot)
		k.leaveSteady(slot, r)
		r.PrevTokenMS, r.LastTokenMS = k.lastEnd, endMS
		k.complete(slot)
	}
}

// emitExactly walks the running list, then sorts its requests into steady ones and others.
func (k *Rank) emitExactly(endMS float64) {
	ready := k.extras[:0]
	k.finishing = append(k.finishing[:0], k.running...)
	for _, slot := range k.finishing {
		r := k.request(slot)
		switch {
		case r.Computed != r.Length():
		case k.remaining(r) == 0:
			k.complete(slot)
		default:
			ready = append(ready, slot)
		}
	}
	k.pass.OutputTokens += int64(len(ready))
	k.countForwards(ready)
	for _, slot := range ready {
		k.emitOne(slot, endMS)
		if k.remaining(k.request(slot)) == 0 {
			k.complete(slot)
		}
	}
	k.extras = ready
	for _, slot := range k.running {
		if r := k.request(slot); r.Output > 0 && r.Computed == r.Length()-1 && r.LastTokenMS == endMS {
			k.makeSteady(slot, r)
		}
	}
}

// emitOne gives a request that is not steady its next token.
func (k *Rank) emitOne(slot int32, endMS float64) {
	r := k.request(slot)
	r.Output++
	switch {
	case r.Output == 1:
		r.FirstTokenMS = endMS
		if k.remaining(r) > 0 {
			k.pass.First(slot)
		}
	default:
		if r.Output == 2 {
			r.SecondTokenMS = endMS
		}
		gap := max(endMS-r.LastTokenMS, 0)
		if k.cfg.TrackGaps {
			r.Gaps = append(r.Gaps, gap)
		} else {
			k.gaps(gap, 1)
		}
	}
	r.PrevTokenMS, r.LastTokenMS = r.LastTokenMS, endMS
}
