package sglang

import (
	"slices"

	"github.com/dynosim/dynosim/schemas"
	"github.com/dynosim/dynosim/simulate/engine"
	"github.com/dynosim/dynosim/simulate/invariants"
)

// Decide schedules one pass at nowMS and returns when the rank would be done (spec 04
// section 5, steps 1 to 8). Tokens and ends are delivered by Emit.
func (k *Rank) Decide(nowMS float64, _ int64) (endMS float64) {
	p := &k.pass
	p.Reset(nowMS)
	k.passes++
	k.before = k.ratio
	k.batch, k.done, k.retracted, k.rejects = k.batch[:0], k.done[:0], k.retracted[:0], k.rejects[:0]
	k.promptSum, k.cachedSum = 0, 0
	k.prompts = engine.Moments{}
	k.deferring = k.group.blocked > 0
	k.promote()
	k.idleDeferral = k.deferring && len(k.running) == 0
	k.kind = nothing
	if k.tooLong > 0 {
		k.refuse()
	}
	if k.waiting.Len() > 0 {
		k.sortWaiting()
		if !k.deferring && k.handoffs.prebuilt.Len() == 0 && k.handoffs.pending.Len() == 0 {
			k.formBatch()
		}
	}
	if len(k.batch) > 0 {
		k.kind = prefill
		k.startBatch()
		if k.cfg.Metrics {
			k.measure()
		}
		return nowMS + p.PrefillMS
	}
	if k.cfg.Metrics {
		k.measure()
		k.measureDecode()
	}
	k.decideDecode()
	return nowMS + p.DecodeMS
}

// refuse takes the prompts that the model length does not allow out of the queue.
func (k *Rank) refuse() {
	n := k.waiting.Len()
	for range n {
		slot := k.waiting.PopFront()
		if k.request(slot).Prompt >= k.cfg.MaxModelLen {
			k.queued.Leave(k.request(slot), k.request(slot).Output == 0)
			k.rejects = append(k.rejects, slot)
		} else {
			k.waiting.PushBack(slot)
		}
	}
	k.tooLong = 0
}

// startBatch computes the duration of the prefill and moves its requests on (spec 04
// section 5, steps 6 and 7).
func (k *Rank) startBatch() {
	p := &k.pass
	n := int64(len(k.batch))
	p.Scheduled = n
	if k.promptSum/n > k.cachedSum/n && !k.decodes() {
		p.PrefillMS = k.cfg.Timing.PrefillMS(n, k.promptSum, k.cachedSum)
	}
	if p.PrefillTokens > 0 {
		k.group.prefill, k.group.model = true, true
	}
	whole := k.batch[:0]
	for _, slot := range k.batch {
		r := k.request(slot)
		r.Pass = k.passes
		if r.Computed < r.Length() {
			k.store(r, k.draw)
			k.waiting.PushFront(slot)
			k.queued.Enter(r, r.Output == 0)
			k.order.sorted = false
			continue
		}
		r.Join = k.join
		k.join++
		k.running = append(k.running, slot)
		whole = append(whole, slot)
	}
	k.batch = whole
}

// Emit delivers the outputs of the decided pass at endMS, the end of the worker's pass, and
// takes the remaining steps of spec 04 section 5.
func (k *Rank) Emit(endMS float64) {
	p := &k.pass
	p.EndMS = endMS
	switch k.kind {
	case prefill:
		k.emitFirst(endMS)
	case together:
		k.advance(endMS)
	case decode:
		k.emitDecode(endMS)
	}
	for _, slot := range k.done {
		k.finish(slot)
		k.end(slot, schemas.StatusCompleted)
	}
	if k.prefills() {
		// Its tokens are no output of the requests.
		p.OutputTokens = 0
	}
	for _, slot := range k.rejects {
		k.end(slot, schemas.StatusRejected)
	}
	for _, slot := range k.retracted {
		k.enqueue(slot)
	}
	k.settleRatio()
	if p.Effect() {
		p.Repeat = engine.RepeatLater
	}
	p.Running, p.Waiting = int32(len(k.running)), int32(k.waiting.Len())
	if invariants.Enabled {
		k.audit.Passed(p.OutputTokens)
		k.check()
	}
}

// settleRatio is steps 11 and 12 of spec 04 section 5; after a retraction the ratio is the
// estimate already. It also tells what a pass without effect means (spec 04 section 5.1).
func (k *Rank) settleRatio() {
	p := &k.pass
	if len(k.retracted) == 0 && k.kind != prefill && !k.idleDeferral {
		k.ratio = max(k.ratio-k.decay, k.floor)
	}
	if k.idleDeferral && !k.group.model {
		k.ratio = k.start
	}
	k.group.passed(k.cfg.Settings.PrefillDecodeInterval)
	switch {
	case k.deferring:
		p.Repeat = engine.RepeatCountdown
	case k.ratio != k.before:
		p.Repeat = engine.RepeatRatio
	case len(k.running) > 0 || k.waiting.Len() > 0:
		p.Repeat = engine.RepeatNever
	}
}

// emitFirst gives the requests that a prefill pass completed their first tokens (spec 04
// section 7.1).
func (k *Rank) emitFirst(endMS float64) {
	growth := int64(0)
	for _, slot := range k.batch {
		if remaining(k.request(slot)) == 0 {
			k.done = append(k.done, slot)
		}
	}
	rest := k.batch[:0]
	for _, slot := range k.batch {
		switch r := k.request(slot); remaining(r) {
		case 0:
		case 1:
			// The only token gets no slot of KV.
			k.emitOne(r, endMS)
			k.done = append(k.done, slot)
		default:
			rest = append(rest, slot)
			growth += k.pagesFor(r.Length()+1) - k.pagesFor(r.Computed)
		}
	}
	k.batch = rest
	k.tree.evict(growth - k.tree.free)
	if growth > k.tree.free {
		for _, slot := range rest {
			k.advertise(k.request(slot))
		}
		return
	}
	for _, slot := range rest {
		r := k.request(slot)
		r.Burst = 1
		k.give(r, endMS)
		k.first(slot)
		k.store(r, k.draw)
		k.makeSteady(slot, r)
	}
}

// first notes that a request got its first token and goes on, behind those that are done.
func (k *Rank) first(slot int32) {
	k.pass.Prefilled = append(k.pass.Prefilled, engine.Prefilled{Slot: slot, Ended: int32(len(k.done))})
}

// give gives a request one token that owns a slot of KV, and a page when it begins one.
func (k *Rank) give(r *engine.Request, endMS float64) {
	if r.Computed%k.cfg.PageTokens == 0 {
		k.tree.free--
	}
	r.Computed++
	k.emitOne(r, endMS)
}

// emitOne records the next token of a request that does not decode with the steady ones.
func (k *Rank) emitOne(r *engine.Request, endMS float64) {
	r.Output++
	k.pass.OutputTokens++
	if r.Output == 1 {
		r.FirstTokenMS = endMS
	} else {
		if r.Output == 2 {
			r.SecondTokenMS = endMS
		}
		k.gap(r, max(endMS-r.LastTokenMS, 0))
	}
	r.PrevTokenMS, r.LastTokenMS = r.LastTokenMS, endMS
}

// gap counts a gap of one request.
func (k *Rank) gap(r *engine.Request, gapMS float64) {
	if k.cfg.TrackGaps {
		r.Gaps = append(r.Gaps, gapMS)
	} else {
		k.gaps(gapMS, 1)
	}
}

// store puts the complete pages of a running request into the tree (spec 04 section 7.4).
func (k *Rank) store(r *engine.Request, tick func() uint64) {
	page := k.cfg.PageTokens
	to, from := r.Computed/page, r.Cached/page
	if !k.cfg.PrefixCaching || to <= from {
		return
	}
	s := k.known(r, to)
	at, stored := k.tree.insert(r.Anchor, &s, from, to, tick())
	if at != r.Anchor {
		k.tree.lock(at)
		k.tree.unlock(r.Anchor)
		r.Anchor = at
	}
	k.tree.free += to - from - stored
	k.withdraw(r, from)
	r.Cached = to * page
}

// known is the request's sequence; pages of generated tokens that later turns will ask for
// have their identities up to page to.
func (k *Rank) known(r *engine.Request, to int64) sequence {
	s := k.sequence(r)
	if k.content.Interned() && k.content.Keeps() && s.shared < to {
		k.content.Extend(r, to)
		s = k.sequence(r)
	}
	return s
}

// finish takes a request out of the running ones. A prefill rank keeps what it holds.
func (k *Rank) finish(slot int32) {
	r := k.request(slot)
	k.leaveRunning(r)
	k.handoffs.generation++
	if k.prefills() {
		k.advertise(r)
	} else {
		k.giveBack(r)
	}
}

// leaveRunning takes a request out of the running ones, if it is there.
func (k *Rank) leaveRunning(r *engine.Request) {
	i, running := slices.BinarySearchFunc(k.running, r.Join, func(s int32, join int64) int {
		return int(k.request(s).Join - join)
	})
	if running {
		k.running = slices.Delete(k.running, i, i+1)
	}
}

// giveBack gives back what a request holds; its complete pages stay in the tree (spec 04
// section 7.5).
func (k *Rank) giveBack(r *engine.Request) {
	owned := k.pagesFor(r.Computed)
	if !k.cfg.PrefixCaching {
		k.tree.free += owned
		return
	}
	page := k.cfg.PageTokens
	full, from := r.Computed/page, r.Cached/page
	k.tree.free += owned - full
	if full > from {
		s := k.known(r, full)
		_, stored := k.tree.insert(r.Anchor, &s, from, full, k.draw())
		k.tree.free += full - from - stored
		k.withdraw(r, from)
	}
	k.tree.unlock(r.Anchor)
	r.Anchor = root
}

func (k *Rank) end(slot int32, status schemas.Status) {
	if invariants.Enabled && (status == schemas.StatusRejected || !k.prefills()) {
		k.audit.Leave(slot, k.request(slot).Output)
	}
	k.request(slot).Status = status
	k.pass.Ended = append(k.pass.Ended, engine.Terminal{Slot: slot, Status: status})
}
