package sglang

import (
	"github.com/dynosim/dynosim/schemas"
	"github.com/dynosim/dynosim/simulate/engine"
	"github.com/dynosim/dynosim/simulate/invariants"
)

// handoffs is what a rank of a disaggregated pool keeps beside its queues (spec 04 section 11).
type handoffs struct {
	// pending lists accepted destinations that have no pages yet, prebuilt activated ones that
	// wait for a running slot.
	pending, prebuilt engine.Queue
	// generation changes whenever a destination that failed may fit; failed is the head that
	// failed at generation failedAt.
	generation, failedAt uint64
	failed               int32
	// reserved counts the reserved destinations.
	reserved int32
}

// ReleaseSource finishes a request that the rank holds as a source.
func (k *Rank) ReleaseSource(slot int32) {
	k.giveBack(k.request(slot))
	if invariants.Enabled {
		k.audit.Leave(slot, 0)
		k.check()
	}
}

// Accept takes a request whose prompt is computed by another rank. It reports false when the
// request can never run here (spec 04 section 11.3).
func (k *Rank) Accept(slot int32) bool {
	r := k.request(slot)
	if r.Prompt >= k.cfg.MaxModelLen || k.pagesFor(r.Prompt) > k.cfg.Pages {
		return false
	}
	k.clamp(r)
	r.Stage = engine.Pending
	k.handoffs.pending.PushBack(slot)
	k.queued.Enter(r, false)
	if invariants.Enabled {
		k.audit.Enter(slot)
	}
	return true
}

// Reserve tries to give the first pending destination the pages of its prompt. It returns
// the request and the tokens that have to be moved in whole pages, or -1. What a failed
// attempt touched in the tree stays touched.
func (k *Rank) Reserve() (slot int32, missing int64) {
	h := &k.handoffs
	if h.pending.Len() == 0 {
		return -1, 0
	}
	slot = h.pending.At(0)
	if h.failed == slot && h.failedAt == h.generation {
		return -1, 0
	}
	r := k.request(slot)
	matched := int64(0)
	if k.cfg.PrefixCaching {
		s := k.sequence(r)
		matched, r.Anchor = k.tree.take(&s, r.Prompt/k.cfg.PageTokens, k.draw())
	}
	need := k.pagesFor(r.Prompt) - matched
	if need > k.tree.available() {
		k.tree.unlock(r.Anchor)
		r.Anchor = root
		h.failed, h.failedAt = slot, h.generation
		return -1, 0
	}
	k.tree.evict(need - k.tree.free)
	k.tree.free -= need
	r.Cached, r.Fresh = matched*k.cfg.PageTokens, need
	h.pending.PopFront()
	h.failed = -1
	h.reserved++
	r.Stage = engine.Reserved
	if invariants.Enabled {
		k.check()
	}
	return slot, need * k.cfg.PageTokens
}

// Activate stores the complete pages of a reserved destination and lets it wait for a running
// slot, behind those that were activated before.
func (k *Rank) Activate(slot int32) {
	r := k.request(slot)
	free := k.tree.free
	r.Computed, r.Fresh = r.Prompt, 0
	k.store(r, k.draw)
	if k.tree.free > free {
		k.handoffs.generation++
	}
	r.Stage = engine.Activated
	k.handoffs.reserved--
	k.handoffs.prebuilt.PushBack(slot)
	if invariants.Enabled {
		k.check()
	}
}

// CancelDestination forgets a destination that does not run yet, with its pages.
func (k *Rank) CancelDestination(slot int32) {
	r, h := k.request(slot), &k.handoffs
	k.queued.Leave(r, false)
	if invariants.Enabled {
		k.audit.Leave(slot, 0)
	}
	switch r.Stage {
	case engine.Pending:
		h.pending.Remove(slot)
	case engine.Reserved:
		h.reserved--
		k.tree.free += r.Fresh
		k.tree.unlock(r.Anchor)
		r.Anchor, r.Fresh, r.Cached = root, 0, 0
	case engine.Activated:
		h.prebuilt.Remove(slot)
		k.giveBack(r)
	}
	r.Stage = engine.Plain
	h.generation++
	if invariants.Enabled {
		k.check()
	}
}

// promote moves activated destinations to the running requests while there are slots (spec 04
// section 5, step 3).
func (k *Rank) promote() {
	p, h := &k.pass, &k.handoffs
	for h.prebuilt.Len() > 0 && int64(len(k.running)) < k.cfg.MaxSequences {
		slot := h.prebuilt.PopFront()
		r := k.request(slot)
		k.queued.Leave(r, false)
		r.Stage = engine.Plain
		r.Join = k.join
		k.join++
		k.running = append(k.running, slot)
		k.promoted = append(k.promoted, slot)
		if r.Admissions == 0 {
			r.AdmitMS = p.StartMS
		}
		r.Admissions++
		p.Admitted = append(p.Admitted, engine.Admission{Slot: slot, Host: -1})
	}
}

// completePromoted ends those promoted requests that have no output to produce, and leaves
// the others in promoted (spec 04 section 8, step 1).
func (k *Rank) completePromoted() {
	rest := k.promoted[:0]
	for _, slot := range k.promoted {
		if r := k.request(slot); remaining(r) == 0 {
			k.leaveRunning(r)
			k.done = append(k.done, slot)
		} else {
			rest = append(rest, slot)
		}
	}
	k.promoted = rest
}

// decodes and prefills tell the role of the rank's pool.
func (k *Rank) decodes() bool  { return k.cfg.Role == schemas.PoolDecode }
func (k *Rank) prefills() bool { return k.cfg.Role == schemas.PoolPrefill }
