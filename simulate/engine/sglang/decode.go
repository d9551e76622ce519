package sglang

import (
	"slices"

	"github.com/dynosim/dynosim/simulate/engine"
)

// decideDecode finds the pages for the next tokens of all running requests, retracts some
// when there are too few, and computes the duration (spec 04 section 8, steps 1 to 5).
func (k *Rank) decideDecode() {
	if len(k.promoted) > 0 {
		k.completePromoted()
	}
	n := int64(len(k.running))
	if n == 0 {
		return
	}
	p := &k.pass
	if k.steady+k.newcomers() == n && !k.cfg.Exact && k.takeTogether() {
		k.kind = together
		p.DecodeRequests, p.DecodeTokens, p.Scheduled = n, k.lengthSum, n
		for _, slot := range k.promoted {
			p.DecodeTokens += k.request(slot).Length()
		}
		if p.DecodeMS = k.forecastMS; p.DecodeMS == 0 {
			p.DecodeMS = k.cfg.Timing.DecodeMS(n, p.DecodeTokens)
		}
		k.group.model = true
		return
	}
	k.promoted = k.promoted[:0]
	k.settle()
	growth := k.growth()
	for k.tree.available() < growth && len(k.running) > 1 {
		growth -= k.retract()
	}
	k.tree.evict(growth - k.tree.free)
	if len(k.retracted) > 0 {
		k.ratio = k.estimate()
		p.Preempted = int32(len(k.retracted))
	}
	if growth > k.tree.free {
		return
	}
	k.kind = decode
	k.group.model = true
	p.DecodeRequests = int64(len(k.running))
	p.Scheduled = p.DecodeRequests
	for _, slot := range k.running {
		p.DecodeTokens += k.request(slot).Length()
	}
	p.DecodeMS = k.cfg.Timing.DecodeMS(p.DecodeRequests, p.DecodeTokens)
}

// growth is the number of pages that the longest bursts of the running requests begin.
func (k *Rank) growth() (pages int64) {
	for _, slot := range k.running {
		pages += k.growthOf(k.request(slot))
	}
	return pages
}

func (k *Rank) growthOf(r *engine.Request) int64 {
	return k.pagesFor(r.Length()+min(k.cfg.Speculation.DraftTokens+1, remaining(r))) - k.pagesFor(r.Computed)
}

// retract takes the request with the fewest tokens produced out of the running ones and
// returns the growth it would have had (spec 04 section 8.2).
func (k *Rank) retract() (growth int64) {
	victim := 0
	for i, slot := range k.running {
		if k.request(slot).Output < k.request(k.running[victim]).Output {
			victim = i
		}
	}
	slot := k.running[victim]
	r := k.request(slot)
	growth = k.growthOf(r)
	k.running = slices.Delete(k.running, victim, victim+1)
	k.tree.free += k.pagesFor(r.Computed) - r.Cached/k.cfg.PageTokens
	k.withdraw(r, r.Cached/k.cfg.PageTokens)
	k.tree.unlock(r.Anchor)
	r.Anchor, r.Computed, r.Cached = root, 0, 0
	k.handoffs.generation++
	k.retracted = append(k.retracted, slot)
	return growth
}

// estimate is the new-token ratio after a retraction (spec 04 section 8.3).
func (k *Rank) estimate() float64 {
	produced, wanted := int64(0), int64(0)
	for _, slot := range k.running {
		r := k.request(slot)
		produced += r.Output
		wanted += r.MaxOutput
	}
	return min((float64(produced)+float64(20.0*float64(len(k.running))))/(float64(wanted)+1.0), 1.0)
}

// emitDecode gives every running request its tokens, one by one (spec 04 section 8, step 6).
func (k *Rank) emitDecode(endMS float64) {
	k.round++
	k.draws = 0
	for _, slot := range k.running {
		r := k.request(slot)
		n := int64(1)
		k.pass.Forwards++
		if k.random != nil {
			n = engine.Accepted(k.cfg.Speculation.AcceptRates, k.random)
		}
		k.pass.Accepted += n
		n = min(n, remaining(r))
		r.Burst = n
		for range n {
			k.give(r, endMS)
			if remaining(r) == 0 {
				k.done = append(k.done, slot)
				break
			}
			if r.Output == 1 {
				k.first(slot)
			}
			k.store(r, func() uint64 { return decodeTick(k.round, r.Join) })
		}
	}
	for _, slot := range k.running {
		if r := k.request(slot); remaining(r) > 0 {
			k.makeSteady(slot, r)
		}
	}
}
