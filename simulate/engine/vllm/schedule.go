package vllm

import (
	"slices"

	"github.com/dynosim/dynosim/schemas"
	"github.com/dynosim/dynosim/simulate/engine"
	"github.com/dynosim/dynosim/simulate/invariants"
	"github.com/dynosim/dynosim/simulate/kv"
)

const (
	completed = schemas.StatusCompleted
	rejected  = schemas.StatusRejected
)

// verdict is the outcome of scheduling one request.
type verdict int

const (
	scheduled verdict = iota
	// stuck: the request waits, and so does everything behind it.
	stuck
	// gone: the request preempted itself.
	gone
)

// schedule computes as many tokens of a request as budget and pool allow (spec 03 section
// 5.3). For the head of the waiting engine.Queue, k.hits is its look-up.
func (k *Rank) schedule(slot int32, head bool) verdict {
	p, cfg := &k.pass, k.cfg
	r := k.request(slot)
	start := r.Computed
	var hits []int32
	if head {
		hits = k.hits
		start = int64(len(hits)) * cfg.BlockTokens
		if k.host != nil {
			start = k.headStart
		}
	}
	prefix := min(start, r.Prompt)
	if rest := r.Prompt - prefix; !cfg.ChunkedPrefill && rest > k.budget {
		return stuck
	}
	known := r.Length() - start
	n := min(known, k.budget)
	if n == 0 && known > 0 {
		return stuck
	}
	end := start + n
	// Hits are blocks of the tokens before start, so growth needs fresh blocks only.
	fresh := max(0, k.blocksFor(end)-k.blocksFor(max(start, r.Allocated)))
	for !k.take(hits, fresh) {
		if cfg.NoEvict {
			return stuck
		}
		victim := k.preempt(false)
		if victim == slot {
			return gone
		}
		if victim < 0 {
			return stuck
		}
	}
	if k.host != nil {
		k.fence(k.grew(k.requests.Hosted(slot), hits, fresh))
	}
	r.Blocks = append(r.Blocks, hits...)
	k.owned += fresh + int64(len(hits))
	r.Computed = end
	if k.random != nil {
		r.Allocated = max(r.Allocated, end)
	}
	if k.pool.Caching() {
		k.cache(slot, r, start/cfg.BlockTokens, end/cfg.BlockTokens)
		if cfg.GeneratedEvents {
			k.announce(r, start/cfg.BlockTokens, end/cfg.BlockTokens)
		}
	}

	prompt := min(end, r.Prompt) - prefix
	r.Pass, r.PassTokens, r.PassPromptTokens, r.PassStart = k.passes, n, prompt, prefix
	p.Scheduled++
	k.account(r, 1)
	k.budget -= n
	if k.together && end == r.Length() {
		k.extras = append(k.extras, slot)
	}
	return scheduled
}

// account adds (sign 1) or takes back (-1) a scheduled request's share of the prefill.
func (k *Rank) account(r *engine.Request, sign int64) {
	if p := &k.pass; r.PassPromptTokens > 0 {
		p.PrefillRequests += sign
		p.PrefillTokens += sign * r.PassTokens
		if sign > 0 {
			k.prompts.Add(r.Prompt)
		} else {
			k.prompts.Drop(r.Prompt)
		}
		p.PrefillCached += sign * r.PassStart
		k.promptSum += sign * (r.PassStart + r.PassPromptTokens)
		k.cachedSum += sign * r.PassStart
	}
}

// take acquires cached blocks and n fresh ones, all or nothing (spec 03 section 4.2).
func (k *Rank) take(hits []int32, n int64) bool {
	idle := int64(0)
	for _, e := range hits {
		if !k.pool.InUse(e) {
			idle++
		}
	}
	if n > k.pool.Available()-idle {
		return false
	}
	for _, e := range hits {
		k.pool.Use(e)
	}
	return k.pool.Take(n)
}

// cache makes the full blocks from up to, not including, to visible where other requests
// may ask for them (spec 03 section 4.4). Blocks that only this request could ask for get
// an identity when they are released.
func (k *Rank) cache(slot int32, r *engine.Request, from, to int64) {
	// Of a restored prefix the last block may be computed again in place.
	from = max(from, int64(len(r.Blocks)))
	if to = min(to, r.Identified); from >= to {
		return
	}
	var units []int32
	if k.host != nil && k.host.private {
		units = k.requests.Hosted(slot).Units
	}
	at := k.position(from)
	for i, element, page := from, int64(-1), int32(-1); i < to; i++ {
		if at.element != element {
			element = at.element
			page = k.pool.Page(r.Path[element])
		}
		e := k.pool.Store(page, at.position)
		if units != nil {
			k.pool.SetUnit(e, units[i])
		}
		r.Blocks = append(r.Blocks, e)
		k.next(&at)
	}
}

// announce logs the full blocks of generated tokens from up to, not including, to. The pool
// stores them when the request gives them back.
func (k *Rank) announce(r *engine.Request, from, to int64) {
	if from = max(from, r.Identified); from >= to {
		return
	}
	k.content.Extend(r, to)
	for _, element := range r.Path[from:to] {
		k.events.Add(kv.Stored(element, 0))
	}
}

// lookUp finds the leading cached blocks of the head of the queue and returns how many of
// them count as being in use (spec 03 section 4.3). k.hits gets the blocks to reuse.
func (k *Rank) lookUp(r *engine.Request) (active int64) {
	k.hits = k.hits[:0]
	if !k.pool.Caching() {
		return 0
	}
	block := k.cfg.BlockTokens
	active = k.find(r, max(r.Prompt/block, r.OwnBlocks))
	if r.Output < r.MaxOutput && !k.cfg.NoEvict {
		n := min(int64(len(k.hits)), (r.Length()-1)/block)
		active = min(active, (r.Length()-1)/block)
		if k.random != nil && n > 0 {
			n--
			active = min(active, n)
		}
		k.hits = k.hits[:n]
	}
	return active
}

// find puts the leading cached blocks of a request, at most limit, into k.hits and returns
// how many of them are in use.
func (k *Rank) find(r *engine.Request, limit int64) (active int64) {
	if !r.PathKnown {
		k.content.Fill(r)
	}
	shared := r.Identified
	if k.content.Interned() {
		shared = int64(len(r.Path))
	}
	shared = min(shared, limit)
	i := int64(0)
	at := k.position(0)
	for element, page := int64(-1), int32(-1); i < shared; i++ {
		if at.element != element {
			element = at.element
			if page = k.pool.Find(r.Path[element]); page < 0 {
				break
			}
		}
		e := k.pool.Head(page, at.position)
		if e < 0 {
			break
		}
		if k.pool.InUse(e) {
			active++
		}
		k.hits = append(k.hits, e)
		k.next(&at)
	}
	for n := int64(k.cfg.Positions); i >= r.Identified && i < limit; i++ {
		own := i - r.Identified
		if own/n >= int64(len(r.OwnPages)) {
			break
		}
		e := k.pool.Head(r.OwnPages[own/n], int32(own%n))
		if e < 0 {
			break
		}
		if k.pool.InUse(e) {
			active++
		}
		k.hits = append(k.hits, e)
	}
	return active
}

// place is where the identity of an engine block is found: an element of the request's path
// and a position in the page of that chain.
type place struct {
	element  int64
	position int32
	// end is the token behind the block, limit the token behind the element.
	end, limit int64
}

// position returns the place of full block i: the path element that holds its last token,
// and its number among the blocks that end there (spec 01 section 7.2).
func (k *Rank) position(i int64) place {
	b, t := k.cfg.BlockTokens, k.cfg.PathTokens
	end := (i + 1) * b
	element := (end - 1) / t
	return place{element, int32(i - element*t/b), end, (element + 1) * t}
}

// next moves the place to the next block.
func (k *Rank) next(at *place) {
	at.end += k.cfg.BlockTokens
	if at.end <= at.limit {
		at.position++
		return
	}
	t := k.cfg.PathTokens
	at.element = (at.end - 1) / t
	at.limit = (at.element + 1) * t
	at.position = 0
}

// preempt takes the victim of spec 03 section 5.6 out of the running list and returns it,
// -1 when nothing is running. With keep, what the pass scheduled for it stays charged.
func (k *Rank) preempt(keep bool) int32 {
	if k.together {
		k.settle(true)
	}
	if len(k.running) == 0 {
		return -1
	}
	i := len(k.running) - 1
	if k.cfg.PreemptFirst {
		i = 0
	}
	slot := k.running[i]
	k.running = slices.Delete(k.running, i, i+1)
	r := k.request(slot)
	if r.Pass == k.passes && !keep {
		k.budget += r.PassTokens
		k.pass.Scheduled--
		k.account(r, -1)
		r.Pass = -1
	}
	if r.Authored {
		k.authored--
	}
	if k.host != nil {
		k.preemptedHost(slot)
	}
	k.release(slot, r, false)
	r.Computed, r.Allocated = 0, 0
	k.waiting.PushFront(slot)
	k.enter(r, false)
	k.blocked = -1
	k.handoffs.preempted++
	k.handoffs.generation++
	k.pass.Preempted++
	return slot
}

// complete ends a running request.
func (k *Rank) complete(slot int32) {
	r := k.request(slot)
	i, _ := slices.BinarySearchFunc(k.running, r.Join, func(s int32, join int64) int {
		return int(k.request(s).Join - join)
	})
	k.running = slices.Delete(k.running, i, i+1)
	if r.Authored {
		k.authored--
	}
	if k.cfg.NoEvict {
		k.promised -= k.whole(r)
	}
	if k.prefills() {
		k.hold(r)
	} else {
		k.release(slot, r, true)
	}
	k.handoffs.generation++
	k.end(slot, completed)
}

func (k *Rank) end(slot int32, status schemas.Status) {
	if invariants.Enabled && (status == rejected || !k.prefills()) {
		k.audit.Leave(slot, k.request(slot).Output)
	}
	k.request(slot).Status = status
	k.pass.Ended = append(k.pass.Ended, engine.Terminal{Slot: slot, Status: status})
}

// release gives the request's blocks back, last to first (spec 03 section 4.2). Computed
// full blocks stay cached; those of a preempted request can be found again by itself.
func (k *Rank) release(slot int32, r *engine.Request, ended bool) {
	owned, full, held := k.ownedBlocks(r), r.Computed/k.cfg.BlockTokens, int64(len(r.Blocks))
	full = max(full, held)
	k.owned -= owned
	if !k.pool.Caching() {
		k.pool.Free(owned)
		return
	}
	private := k.host != nil && k.host.private
	if !private {
		k.pool.Free(owned - full)
	}
	switch {
	case private:
		k.releaseUnits(r, k.requests.Hosted(slot), full, held, ended)
	case full <= held:
	case ended && !k.content.Keeps():
		k.pool.ReleaseRun(full - held)
	default:
		k.storeOwn(r, held, full)
		for i := full; i > held; i-- {
			k.pool.Release(r.Blocks[i-1])
		}
	}
	for i := held; i > 0; i-- {
		k.pool.Release(r.Blocks[i-1])
	}
	r.Blocks = r.Blocks[:0]
	r.OwnBlocks = max(r.OwnBlocks, full)
	if ended {
		for _, page := range r.OwnPages {
			k.pool.Unpin(page)
		}
		r.OwnPages = r.OwnPages[:0]
	}
}

// storeOwn gives the blocks from held up to, not including, full their identity.
func (k *Rank) storeOwn(r *engine.Request, held, full int64) {
	if k.content.Interned() {
		k.content.Extend(r, full)
		for i := held; i < full; i++ {
			r.Blocks = append(r.Blocks, k.pool.Store(k.pool.Page(r.Path[i]), 0))
		}
		return
	}
	n := int64(k.cfg.Positions)
	for i := held; i < full; i++ {
		own := i - r.Identified
		for own/n >= int64(len(r.OwnPages)) {
			r.OwnPages = append(r.OwnPages, k.pool.PrivatePage())
		}
		r.Blocks = append(r.Blocks, k.pool.Store(r.OwnPages[own/n], int32(own%n)))
	}
}
