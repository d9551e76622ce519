package sglang

import "github.com/dynosim/dynosim/simulate/engine"

// newcomers is the number of promoted requests, 0 unless they are the last of the running ones.
func (k *Rank) newcomers() int64 {
	n := len(k.promoted)
	if n == 0 || k.running[len(k.running)-n] != k.promoted[0] {
		return 0
	}
	return int64(n)
}

// takeTogether takes the pages that the steady requests begin at this step, and makes those
// free that promoted ones begin. It reports false and changes nothing when there are too few.
func (k *Rank) takeTogether() bool {
	n := k.phases.At(k.step)
	all := n
	for _, slot := range k.promoted {
		all += k.growthOf(k.request(slot))
	}
	if all > k.tree.available() {
		return false
	}
	if all > k.tree.free {
		k.tree.evict(all - k.tree.free)
	}
	k.tree.free -= n
	return true
}

// makeSteady lets a request that just got a token decode with the others. Requests whose
// output other prompts may contain stay apart.
func (k *Rank) makeSteady(slot int32, r *engine.Request) {
	if k.cfg.Exact || r.Authored {
		return
	}
	r.Steady, r.Base, r.GapFrom, r.GapTo = true, k.step, k.step, k.step
	k.steady++
	k.lengthSum += r.Length()
	k.squareSum += r.Length() * r.Length()
	k.phases.Add(r.Computed, k.step, 1)
	last := k.step + remaining(r)
	k.finishes.Push(engine.Finish{Step: last, Join: r.Join, Slot: slot})
	k.fresh = append(k.fresh, slot)
	clip := k.cfg.Settings.ClipNewTokens
	k.reserve += min(remaining(r), clip)
	if remaining(r) <= clip {
		k.falling++
	} else if clip > 0 {
		k.clips.Push(engine.Finish{Step: last - clip, Join: r.Join, Slot: slot})
	}
	if page := k.cfg.PageTokens; k.cfg.PrefixCaching && !k.anchored(r) {
		if at := k.step + page - r.Computed%page; at < last {
			k.anchors.Push(engine.Finish{Step: at, Join: r.Join, Slot: slot})
		}
	}
}

// anchored tells whether the request's node ends with a page that only the request can have.
func (k *Rank) anchored(r *engine.Request) bool {
	return r.Cached > r.Identified*k.cfg.PageTokens
}

// advance gives every steady request one token.
func (k *Rank) advance(endMS float64) {
	p := &k.pass
	p.OutputTokens += k.steady
	p.Forwards += k.steady
	p.Accepted += k.steady
	old := k.steady - int64(len(k.fresh))
	gap := max(endMS-k.lastStepMS, 0)
	if old == 0 {
		gap = 0
	}
	if k.cfg.TrackGaps {
		k.keepGap(gap, old)
	} else {
		p.GapMS, p.GapCount = gap, old
	}
	for _, slot := range k.fresh {
		r := k.request(slot)
		k.gap(r, max(endMS-r.LastTokenMS, 0))
		if r.Output == 1 {
			r.SecondTokenMS = endMS
		}
		r.GapFrom = k.step + 1
	}
	k.fresh = k.fresh[:0]
	k.prevStepMS, k.lastStepMS = k.lastStepMS, endMS
	k.step++
	k.round++
	k.draws = 0
	k.squareSum += 2*k.lengthSum + k.steady
	k.lengthSum += k.steady
	k.reserve -= k.falling
	for len(k.clips) > 0 && k.clips[0].Step == k.step {
		k.clips.Pop()
		k.falling++
	}
	for len(k.anchors) > 0 && k.anchors[0].Step == k.step {
		r := k.request(k.anchors.Pop().Slot)
		r.Sync(k.step)
		k.store(r, func() uint64 { return decodeTick(k.round, r.Join) })
	}
	for len(k.finishes) > 0 && k.finishes[0].Step == k.step {
		slot := k.finishes.Pop().Slot
		r := k.request(slot)
		if r.PrevTokenMS = r.LastTokenMS; r.GapFrom < k.step {
			r.PrevTokenMS = k.prevStepMS
		}
		k.leaveSteady(r, 1)
		r.LastTokenMS = endMS
		k.done = append(k.done, slot)
	}
	if len(k.promoted) > 0 {
		k.emitPromoted(endMS)
	}
}

// emitPromoted gives the promoted requests their first tokens and lets them decode with the
// steady ones.
func (k *Rank) emitPromoted(endMS float64) {
	for _, slot := range k.promoted {
		r := k.request(slot)
		r.Burst = 1
		k.pass.Forwards++
		k.pass.Accepted++
		k.give(r, endMS)
		if remaining(r) == 0 {
			k.done = append(k.done, slot)
			continue
		}
		k.store(r, func() uint64 { return decodeTick(k.round, r.Join) })
		k.makeSteady(slot, r)
	}
	k.promoted = k.promoted[:0]
}

// leaveSteady makes a steady request's own fields and its node true and takes it out of the
// sums. The last unstored tokens are not in the tree yet.
func (k *Rank) leaveSteady(r *engine.Request, unstored int64) {
	r.Sync(k.step)
	r.Steady, r.GapTo = false, k.step
	k.steady--
	k.lengthSum -= r.Length()
	k.squareSum -= r.Length() * r.Length()
	if clip := k.cfg.Settings.ClipNewTokens; remaining(r) > clip {
		k.reserve -= clip
	} else if clip > 0 {
		k.reserve -= remaining(r)
		k.falling--
	}
	k.phases.Add(r.Computed, k.step, -1)
	page := k.cfg.PageTokens
	to := (r.Computed - unstored) / page
	if !k.cfg.PrefixCaching || to <= r.Cached/page {
		return
	}
	// The pages were stored one at a time, the last of them this many steps ago.
	s := k.known(r, to)
	k.tree.extend(&k.tree.nodes[r.Anchor], &s, to)
	r.Cached = to * page
	k.tree.renew(r.Anchor, decodeTick(k.round-uint64(r.Computed-r.Cached), r.Join))
}

// settle dissolves the steady set.
func (k *Rank) settle() {
	if k.steady == 0 {
		return
	}
	k.finishes, k.anchors, k.clips = k.finishes[:0], k.anchors[:0], k.clips[:0]
	for _, slot := range k.fresh {
		// Its last token is the one its own field says.
		k.request(slot).GapFrom = -1
	}
	k.fresh = k.fresh[:0]
	for _, slot := range k.running {
		r := k.request(slot)
		if !r.Steady {
			continue
		}
		fresh := r.GapFrom < 0
		if fresh {
			r.GapFrom = k.step
		} else {
			r.LastTokenMS = k.lastStepMS
		}
		k.leaveSteady(r, 0)
		if k.cfg.TrackGaps {
			k.log.Own(r)
		}
	}
}

// Coasting reports whether the next pass can only advance the steady requests: nothing
// waits, nothing else runs, and the pool has the pages. An arrival before the end of that
// pass changes nothing in it. Passes of no length are left to the cluster: it runs them
// before the arrivals of their instant.
func (k *Rank) Coasting() bool {
	return k.steady > 0 && k.pass.EndMS+k.cfg.minDecodeMS > k.pass.EndMS && k.steady == int64(len(k.running)) && k.waiting.Len() == 0 && k.handoffs.prebuilt.Len() == 0 &&
		k.handoffs.pending.Len() == 0 && !k.cfg.Exact &&
		k.phases.At(k.step) <= k.tree.available()
}

// Coast decides and emits the next pass of a coasting rank, which begins at the end of the
// last one, and returns its end.
func (k *Rank) Coast() (endMS float64) {
	end := k.Decide(k.pass.EndMS, 0)
	k.Emit(end)
	return end
}

// Forecast appends the durations of the passes that Coast would run next; see engine.Rank.
func (k *Rank) Forecast(untilMS float64, ahead []float64) []float64 {
	if !k.Coasting() {
		return ahead
	}
	next := engine.Steady{Requests: k.steady, Length: k.lengthSum, Step: k.step, Finish: k.finishes[0].Step, Free: k.tree.available(), EndMS: k.pass.EndMS}
	return k.phases.Forecast(&k.cfg.Timing, next, untilMS, ahead)
}

// CoastFor is Coast with the duration of the pass.
func (k *Rank) CoastFor(durationMS float64) {
	k.forecastMS = durationMS
	k.Coast()
	k.forecastMS = 0
}
