package vllm

import (
	"github.com/dynosim/dynosim/simulate/engine"
)

// admitHosted is the admission loop of a rank with a host cache (spec 10 section 7.1).
func (k *Rank) admitHosted() {
	p, h := &k.pass, k.host
	at := h.queue.first
	for p.Preempted == 0 && int64(len(k.running)) < k.cfg.MaxSequences && k.budget > 0 {
		if k.decodes() {
			if i := k.firstActivated(); i >= 0 {
				k.admitActivated(i)
				continue
			}
			if k.handoffs.pending.Len() > 0 {
				return
			}
		}
		slot := int32(-1)
		if h.staging != nil && h.awake > 0 {
			slot = k.holder()
		}
		if slot >= 0 {
		} else if h.awake > 0 {
			at = max(at, h.queue.first)
			for slot < 0 {
				if e := h.queue.entries[at-h.queue.first]; k.current(e) {
					if s := k.requests.Hosted(e.slot); s.Member && !s.Asleep {
						slot = e.slot
						break
					}
				}
				at++
			}
		} else if k.waiting.Len() > 0 {
			slot = k.waiting.At(0)
		} else {
			return
		}
		if !k.tryHosted(slot) {
			return
		}
	}
}

// firstActivated is the place of the first activated request among the waiting ones, -1 for none.
func (k *Rank) firstActivated() int {
	for i := range k.waiting.Len() {
		if k.request(k.waiting.At(i)).Stage == engine.Activated {
			return i
		}
	}
	return -1
}

// tryHosted looks at one request of the restore queue or the head of the waiting queue. It reports false
// when the loop ends.
func (k *Rank) tryHosted(slot int32) bool {
	h, block := k.host, k.cfg.BlockTokens
	r, s := k.request(slot), k.requests.Hosted(slot)
	if r.Prompt >= k.cfg.MaxModelLen {
		k.rejectHosted(slot)
		return true
	}
	active, found := int64(0), int64(0)
	restored := int64(0)
	if s.Restore == engine.Restored {
		restored = s.Prefix
		k.hits = k.hits[:0]
	} else {
		if s.Restore == engine.Loading {
			k.sleep(slot)
			return true
		}
		if k.stillBlocked(slot) {
			return false
		}
		k.hits = k.hits[:0]
		active = k.find(r, max(r.Prompt/block, r.OwnBlocks))
		if h.owner.Live(s.Store, s.StoreID) {
			k.sleep(slot)
			return true
		}
		s.Store = -1
		staged := h.staging != nil && k.stage(r, s, int64(len(k.hits)))
		var wait bool
		found, wait = k.walk(s, int64(len(k.hits)))
		h.owner.TouchAll(s.Keys)
		wait = wait || staged
		if wait {
			k.sleep(slot)
			return true
		}
	}
	whole := k.blocksFor(r.Length())
	if r.Admissions == 0 && whole > k.pool.Total() {
		k.rejectHosted(slot)
		return true
	}
	cut := int64(len(k.hits)) + restored
	if r.Output < r.MaxOutput {
		cut = min(cut, (r.Length()-1)/block)
		active = min(active, (r.Length()-1)/block)
	}
	if needed := max(0, whole-max(active, restored)); needed > k.roomFor(found) {
		h.head.slot = -1
		if restored == 0 && h.staging == nil {
			h.head = head{slot, h.owner.Version(), k.pool.Changes(), k.stamp(), found, needed}
		}
		return false
	}
	h.head.slot = -1
	if found > 0 {
		return k.fetch(slot, r, s, found)
	}
	if k.deferring && r.Length()-cut*block > 1 {
		return false
	}
	if restored == 0 {
		k.hits = k.hits[:cut]
	}
	k.headStart = cut * block
	if k.schedule(slot, true) != scheduled {
		return false
	}
	k.leaveQueues(slot, s, int(k.pass.Preempted))
	k.leave(r, r.Admissions == 0)
	if r.Admissions > 0 {
		k.handoffs.preempted--
	}
	reused := cut * block
	fromHost := int64(0)
	if restored > 0 {
		h.promised -= s.Known - s.Prefix
		fromHost = reused - min(s.GPU*block, reused)
		s.Cursor = cut
		s.Restore = engine.NotRestored
	}
	s.Rounds, s.Bypassed = 0, false
	k.join(slot, r, int32(reused), int32(fromHost))
	return true
}

// walk counts the blocks behind the first b of the prompt that the host cache has or expects, in a row, and
// whether the request has to wait for one of them (spec 10 section 6). walked gets their entries.
func (k *Rank) walk(s *engine.Hosted, b int64) (n int64, wait bool) {
	h := k.host
	h.walked = h.walked[:0]
	for i := b; i < int64(len(s.Keys)); i++ {
		e := h.owner.Find(s.Keys[i])
		if e < 0 {
			break
		}
		wait = wait || h.owner.Pending(e) || h.owner.Pinned(e) && k.loading(e)
		h.walked = append(h.walked, e)
	}
	return int64(len(h.walked)), wait
}

// loading reports whether a load of this rank reads a block of the host cache.
func (k *Rank) loading(e int32) bool {
	for _, j := range k.host.loads {
		if k.host.owner.Reads(j, e) {
			return true
		}
	}
	return false
}

// reservedAhead is the number of blocks that running prompts and restoring requests will need: the R of
// spec 10 section 6.
func (k *Rank) reservedAhead() int64 {
	n := k.host.promised
	for _, slot := range k.running {
		if r := k.request(slot); r.Computed < r.Prompt {
			n += k.blocksFor(r.Length()) - k.ownedBlocks(r)
		}
	}
	return n
}

// fetch begins the restore of a request of which the host cache has found blocks behind those of the GPU.
func (k *Rank) fetch(slot int32, r *engine.Request, s *engine.Hosted, found int64) bool {
	h, p := k.host, &k.pass
	if !k.take(k.hits, found) {
		return false
	}
	s.GPU = int64(len(k.hits))
	r.Blocks = append(r.Blocks[:0], k.hits...)
	s.Units = s.Units[:0]
	ready := max(p.StartMS, k.grew(s, k.hits, found))
	s.Restore, s.Prefix, s.Known = engine.Loading, s.GPU+found, k.blocksFor(r.Length())
	r.Allocated = s.Prefix * k.cfg.BlockTokens
	k.owned += s.Prefix
	h.promised += s.Known - s.Prefix
	if !h.private {
		h.owner.AdvancePool(p.StartMS)
	}
	h.changes++
	s.Load = h.owner.Fetch(slot, r.Node, h.walked, p.StartMS, ready)
	h.loads = append(h.loads, s.Load)
	if h.staging != nil {
		h.staging.moved = true
	}
	k.sleep(slot)
	return true
}

// rejectHosted refuses a request.
func (k *Rank) rejectHosted(slot int32) {
	r, s := k.request(slot), k.requests.Hosted(slot)
	k.leaveQueues(slot, s, 0)
	k.leave(r, r.Admissions == 0)
	if s.Restore == engine.Restored {
		k.dropRestored(slot, r, s)
	}
	k.rejects = append(k.rejects, slot)
}

// dropRestored gives up the capacity of a restore.
func (k *Rank) dropRestored(slot int32, r *engine.Request, s *engine.Hosted) {
	k.host.promised -= s.Known - s.Prefix
	s.Restore = engine.NotRestored
	k.release(slot, r, true)
	r.Allocated = 0
}

// CancelLoad ends the load of a request that is canceled, if it has one: its capacity returns and the sleepers
// wake (spec 10 section 9.5).
func (k *Rank) CancelLoad(slot int32, nowMS float64) {
	h, r, s := k.host, k.request(slot), k.requests.Hosted(slot)
	if s.Restore != engine.Loading {
		return
	}
	h.changes++
	h.owner.Cancel(s.Load, nowMS)
	h.forgetLoad(s.Load)
	s.Load = -1
	s.Member = false
	h.members--
	if !s.Asleep {
		h.awake--
	}
	k.dropRestored(slot, r, s)
	k.wakeSleepers()
}

// forgetLoad takes a load out of those in flight.
func (h *offload) forgetLoad(j int32) {
	for i, l := range h.loads {
		if l == j {
			h.loads = append(h.loads[:i], h.loads[i+1:]...)
			return
		}
	}
}

// sleep puts a request to sleep at the end of the restore queue, or at the place that it has there.
func (k *Rank) sleep(slot int32) {
	h, s := k.host, k.requests.Hosted(slot)
	if s.Member {
		if !s.Asleep {
			s.Asleep = true
			h.awake--
		}
		return
	}
	k.waiting.PopFront()
	s.Member, s.Asleep = true, true
	h.members++
	if !s.Placed {
		s.Placed = true
		h.queue.entries = append(h.queue.entries, restoring{slot, k.request(slot).Creation})
	}
}

// wakeSleepers lets all sleepers look again.
func (k *Rank) wakeSleepers() {
	h := k.host
	if h.awake == h.members {
		return
	}
	for _, e := range h.queue.entries {
		if k.current(e) {
			k.requests.Hosted(e.slot).Asleep = false
		}
	}
	h.awake = h.members
}

// current reports whether a place belongs to a request that is in the table.
func (k *Rank) current(e restoring) bool {
	r := k.request(e.slot)
	return r.Node >= 0 && r.Creation == e.creation
}

// leaveQueues takes a request that is admitted or refused out of its queue, where preempted requests have been put
// in front of the waiting head.
func (k *Rank) leaveQueues(slot int32, s *engine.Hosted, preempted int) {
	h := k.host
	if !s.Member {
		k.waiting.RemoveAt(preempted)
		return
	}
	s.Member = false
	h.members--
	h.awake--
	q := &h.queue
	if q.entries[0].slot != slot || !k.current(q.entries[0]) {
		return
	}
	s.Placed = false
	q.drop()
	for len(q.entries) > 0 {
		e := q.entries[0]
		if k.current(e) {
			s := k.requests.Hosted(e.slot)
			if s.Member {
				break
			}
			s.Placed = false
		}
		q.drop()
	}
}

// drop takes the first place away.
func (q *places) drop() {
	q.entries = q.entries[1:]
	q.first++
}
