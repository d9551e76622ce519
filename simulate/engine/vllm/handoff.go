package vllm

import (
	"github.com/dynosim/dynosim/schemas"
	"github.com/dynosim/dynosim/simulate/engine"
	"github.com/dynosim/dynosim/simulate/invariants"
)

// handoffs is what a rank of a disaggregated pool keeps beside its queues (spec 03 section 10).
type handoffs struct {
	// pending lists accepted destinations that have no blocks yet; accepted numbers all of
	// them in order of acceptance.
	pending  engine.Queue
	accepted int64
	// generation changes whenever a destination that failed may fit; failed is the head that
	// failed at generation failedAt.
	generation, failedAt uint64
	failed               int32
	// promised is the number of blocks that reserved and activated destinations need beside
	// their prompts; NoEvict only.
	promised int64
	// reserved counts the reserved destinations.
	reserved int32
	// preempted counts the waiting requests that were running before.
	preempted int
}

// whole is the number of blocks that hold the request when it ends.
func (k *Rank) whole(r *engine.Request) int64 { return k.blocksFor(r.Prompt + r.MaxOutput) }

// hold keeps the blocks of a completed prefill: the request does not run any more.
func (k *Rank) hold(r *engine.Request) { k.owned -= k.ownedBlocks(r) }

// ReleaseSource gives up the blocks of a request that the rank holds as a source.
func (k *Rank) ReleaseSource(slot int32) {
	r := k.request(slot)
	k.owned += k.ownedBlocks(r)
	k.release(slot, r, true)
	if invariants.Enabled {
		k.audit.Leave(slot, 0)
		k.check()
	}
}

// Accept takes a request whose prompt is computed by another rank. It reports false when the
// request can never run here (spec 03 section 10.3).
func (k *Rank) Accept(slot int32) bool {
	r := k.request(slot)
	k.clamp(r)
	need := k.blocksFor(r.Prompt)
	if k.cfg.NoEvict {
		need = k.whole(r)
	}
	if r.Prompt >= k.cfg.MaxModelLen || need > k.pool.Total() {
		return false
	}
	h := &k.handoffs
	r.Stage, r.Accepted = engine.Pending, h.accepted
	h.accepted++
	if k.host != nil {
		k.arrive(slot)
	}
	h.pending.PushBack(slot)
	k.enter(r, false)
	if invariants.Enabled {
		k.audit.Enter(slot)
	}
	return true
}

// Reserve tries to give the first pending destination the blocks of its prompt. It returns
// the request and the tokens that have to be moved in whole blocks, or -1.
func (k *Rank) Reserve() (slot int32, missing int64) {
	h := &k.handoffs
	if h.pending.Len() == 0 || int64(len(k.running)) >= k.cfg.MaxSequences {
		return -1, 0
	}
	slot = h.pending.At(0)
	if h.failed == slot && h.failedAt == h.generation {
		return -1, 0
	}
	r := k.request(slot)
	if !k.reserve(slot, r) {
		h.failed, h.failedAt = slot, h.generation
		return -1, 0
	}
	h.pending.PopFront()
	h.failed = -1
	h.reserved++
	r.Stage = engine.Reserved
	if invariants.Enabled {
		k.check()
	}
	return slot, r.Fresh * k.cfg.BlockTokens
}

func (k *Rank) reserve(slot int32, r *engine.Request) bool {
	need := k.blocksFor(r.Prompt)
	k.hits = k.hits[:0]
	switch {
	case k.cfg.NoEvict:
		if k.whole(r) > k.available() {
			return false
		}
	case k.pool.Caching():
		k.find(r, r.Prompt/k.cfg.BlockTokens)
	}
	r.Fresh = need - int64(len(k.hits))
	if !k.take(k.hits, r.Fresh) {
		return false
	}
	r.Blocks = append(r.Blocks[:0], k.hits...)
	if k.host != nil {
		if s := k.requests.Hosted(slot); k.grew(s, k.hits, r.Fresh) > 0 {
			// Nothing is written to capacity that a store still reads.
			k.unreserve(r, s)
			return false
		}
	}
	if k.cfg.NoEvict {
		k.handoffs.promised += k.whole(r) - need
	}
	return true
}

// Activate makes the blocks of a reserved destination the request's own and lets it wait for
// a running slot, in order of acceptance (spec 03 section 10.3, step 5).
func (k *Rank) Activate(slot int32) {
	r := k.request(slot)
	if k.pool.Caching() {
		if !r.PathKnown {
			k.content.Fill(r)
		}
		k.cache(slot, r, int64(len(r.Blocks)), r.Prompt/k.cfg.BlockTokens)
	}
	r.Computed, r.Fresh = r.Prompt, 0
	if k.random != nil {
		r.Allocated = r.Prompt
	}
	r.Stage = engine.Activated
	k.handoffs.reserved--
	k.waiting.Insert(k.placeOf(r), slot)
	k.blocked = -1
	if invariants.Enabled {
		k.check()
	}
}

// placeOf is the place in front of the first waiting request that was accepted later.
// Without preempted requests the queue is in order.
func (k *Rank) placeOf(r *engine.Request) int {
	if k.handoffs.preempted == 0 {
		i := k.waiting.Len()
		for i > 0 && k.request(k.waiting.At(i-1)).Accepted > r.Accepted {
			i--
		}
		return i
	}
	for i := range k.waiting.Len() {
		if k.request(k.waiting.At(i)).Accepted > r.Accepted {
			return i
		}
	}
	return k.waiting.Len()
}

// CancelDestination forgets a destination that does not run yet, with its blocks.
func (k *Rank) CancelDestination(slot int32) {
	r, h := k.request(slot), &k.handoffs
	k.leave(r, false)
	if invariants.Enabled {
		k.audit.Leave(slot, 0)
	}
	switch r.Stage {
	case engine.Pending:
		h.pending.Remove(slot)
	case engine.Reserved:
		h.reserved--
		if k.host != nil {
			k.unreserve(r, k.requests.Hosted(slot))
		} else {
			for i := len(r.Blocks); i > 0; i-- {
				k.pool.Release(r.Blocks[i-1])
			}
			k.pool.Free(r.Fresh)
		}
		r.Blocks, r.Fresh = r.Blocks[:0], 0
		k.fulfil(r)
	case engine.Activated:
		k.waiting.Remove(slot)
		k.fulfil(r)
		k.owned += k.ownedBlocks(r)
		k.release(slot, r, true)
	}
	r.Stage = engine.Plain
	h.generation++
	if invariants.Enabled {
		k.check()
	}
}

// fulfil takes a destination that begins to run, or is cancelled, out of the promises.
func (k *Rank) fulfil(r *engine.Request) {
	if k.cfg.NoEvict {
		k.handoffs.promised -= k.whole(r) - k.blocksFor(r.Prompt)
	}
}

// nextWaiting is the place of the request to admit next, -1 for none: while a destination is
// pending only activated ones are admitted (spec 03 section 10.4).
func (k *Rank) nextWaiting() int {
	if k.handoffs.pending.Len() == 0 {
		return 0
	}
	for i := range k.waiting.Len() {
		if k.request(k.waiting.At(i)).Stage == engine.Activated {
			return i
		}
	}
	return -1
}

// admitActivated lets an activated destination run: it has its blocks and needs no budget.
func (k *Rank) admitActivated(i int) {
	slot := k.waiting.At(i)
	r := k.request(slot)
	k.waiting.RemoveAt(i)
	k.leave(r, false)
	k.fulfil(r)
	k.owned += k.ownedBlocks(r)
	r.Stage = engine.Plain
	k.join(slot, r, 0, 0)
	if k.together {
		k.extras = append(k.extras, slot)
	}
}

// join adds an admitted request to the running ones; fromHost of the reused tokens came from the host cache.
func (k *Rank) join(slot int32, r *engine.Request, reused, fromHost int32) {
	p := &k.pass
	k.blocked = -1
	r.Join = k.joined
	k.joined++
	k.running = append(k.running, slot)
	if k.cfg.NoEvict {
		k.promised += k.whole(r)
	}
	if r.Authored {
		k.authored++
	}
	if r.Admissions == 0 {
		r.AdmitMS, r.FirstReused = p.StartMS, reused
	}
	if k.host == nil || r.Admissions > 0 {
		fromHost = -1
	} else {
		r.FirstHost = fromHost
	}
	r.Admissions++
	r.Reused = max(r.Reused, reused)
	p.Admitted = append(p.Admitted, engine.Admission{Slot: slot, Reused: reused, Host: fromHost})
}

// decodes and prefills tell the role of the rank's pool.
func (k *Rank) decodes() bool  { return k.cfg.Role == schemas.PoolDecode }
func (k *Rank) prefills() bool { return k.cfg.Role == schemas.PoolPrefill }
