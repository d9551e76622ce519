package vllm

import (
	"math"

	"github.com/dynosim/dynosim/simulate/engine"
	"github.com/dynosim/dynosim/simulate/host"
	"github.com/dynosim/dynosim/simulate/invariants"
	"github.com/dynosim/dynosim/simulate/kv"
)

// offload is what a rank with a host cache has beside its queues (spec 10).
//
// A store reads GPU copies until it completes. With a private cache that is a mark on the unit of
// capacity, which may be given to another block meanwhile: the pass then waits behind the fence.
// In a shared cache the copies are held instead: an unfinished store is one more user of their blocks.
type offload struct {
	owner   *host.Owner
	private bool
	// fenceMS is the time before which no pass computes (spec 10 section 5.1).
	fenceMS float64
	// marks has the completion of the store that reads a unit, 0 for none; marked counts them.
	marks  []float64
	marked int
	// lagging counts the steady requests whose prompts are not stored, though they could be.
	lagging int
	// holds counts the unfinished stores that read a cached block, by entry.
	holds []int32
	// prepared are the stores of the pass that was decided, loads those in flight.
	prepared, loads []int32
	// loaded are the loads whose blocks are activated at the end of a boundary.
	loaded []int32
	// queue is the restore queue, with places of requests that left it; members counts the
	// requests in it, awake those that do not sleep.
	queue          places
	members, awake int
	// promised is the number of blocks that restoring requests need beside their prefixes.
	promised int64
	// retry lets a pass run because a destination that did not fit may fit now (spec 10 section 9.3).
	retry bool
	// staging is nil without storage behind the cache.
	staging *staging
	// joined is the place in the running list at which the pass's admissions begin.
	joined int64
	// missing and walked are working memory: entries and blocks of an attempt.
	missing []int64
	walked  []int32
	head    head
	// changes counts loads that began, came or were canceled, and stores that gave their copies back.
	changes uint64
}

// head remembers a request that did not fit, with what its look-up found and how many blocks it needs beside,
// as long as nothing changes what it would find or touch.
type head struct {
	slot          int32
	cache, blocks uint64
	events        uint64
	found, needed int64
}

// stamp changes with everything that changes which blocks of the GPU requests use.
func (k *Rank) stamp() uint64 { return k.host.changes + k.handoffs.generation + uint64(k.joined) }

// stillBlocked reports whether the request is the one that did not fit, and nothing that could help has happened: a
// look-up would touch the same blocks in the same order.
func (k *Rank) stillBlocked(slot int32) bool {
	h := &k.host.head
	if k.cfg.Exact || h.slot != slot || h.cache != k.host.owner.Version() || h.blocks != k.pool.Changes() || h.events != k.stamp() {
		return false
	}
	return h.needed > k.roomFor(h.found)
}

// roomFor is the number of blocks that an admission may count on, or the restore of found blocks.
func (k *Rank) roomFor(found int64) int64 {
	if found == 0 {
		return k.pool.Available()
	}
	return max(0, k.pool.Available()-k.reservedAhead())
}

// place is an entry of the restore queue; creation tells whether the slot still is that request.
type restoring struct {
	slot, creation int32
}

// places is a queue whose entries have fixed numbers: the first is number first.
type places struct {
	entries []restoring
	first   int
}

// Offload gives the rank a host cache; call it before its first request. join is called with the
// identity of every block that a shared cache has already.
func (k *Rank) Offload(owner *host.Owner) {
	k.host = &offload{owner: owner, private: !owner.Shared(), head: head{slot: -1}}
	if k.host.private {
		k.pool.NumberUnits()
	}
}

// arrive fixes the prompt keys of a request that reaches the rank.
func (k *Rank) arrive(slot int32) {
	s := k.requests.Hosted(slot)
	if len(s.Keys) == 0 {
		s.Keys = k.content.AppendKeys(k.request(slot), s.Keys)
	}
}

// LeaveHost ends the rank's part in its host cache, if it has one.
func (k *Rank) LeaveHost() {
	if k.host != nil {
		k.host.owner.Leave()
	}
}

// Due is the time at which the rank, between passes, has a transfer to look at (spec 10 section 8).
func (k *Rank) Due(nowMS float64) float64 { return k.host.owner.Due(nowMS) }

// FenceMS is the time before which the last pass could not compute, 0 for none (spec 10 section 5.1).
func (k *Rank) FenceMS() float64 { return k.host.fenceMS }

// LanesDue is the next completion in a cache of the rank's own, +Inf for none.
func (k *Rank) LanesDue() float64 { return k.host.owner.LanesDue() }

// Transferring reports whether transfers of the rank are under way, or their ends not seen.
func (k *Rank) Transferring() bool { return k.host.owner.InFlight() }

// HostEvents are the blocks that the host cache got and gave up since they were last taken.
func (k *Rank) HostEvents() []kv.Event { return k.host.owner.Events() }

// Tick looks at the transfers of a rank between passes. It reports whether anything completed.
func (k *Rank) Tick(nowMS float64) bool {
	any := k.look(nowMS)
	k.activateLoaded()
	if invariants.Enabled {
		k.check()
	}
	return any
}

// Boundary is the end of the worker's pass: the stores that it prepared begin.
func (k *Rank) Boundary(nowMS float64) bool {
	h := k.host
	if g := h.staging; g != nil && (k.pass.Scheduled > 0 || k.pass.OutputTokens > 0) {
		g.worked++
	}
	any := k.look(nowMS)
	for _, j := range h.prepared {
		h.owner.Submit(j, nowMS)
		if h.private {
			x := h.owner.Job(j)
			for _, u := range x.Sources {
				h.marks[u] = x.EndMS
			}
			h.marked += len(x.Sources)
		}
	}
	if len(h.prepared) > 0 {
		h.prepared = h.prepared[:0]
		any = k.look(nowMS) || any
	}
	k.activateLoaded()
	h.retry = false
	if invariants.Enabled {
		k.check()
	}
	return any
}

// look sees what completed until nowMS. Loads are activated later.
func (k *Rank) look(nowMS float64) bool {
	h := k.host
	own, any := h.owner.Advance(nowMS)
	for _, j := range own {
		x := h.owner.Job(j)
		if x.Kind == host.Load {
			h.loaded = append(h.loaded, j)
			continue
		}
		k.stored(x)
		h.owner.Drop(j)
	}
	if any {
		k.wakeSleepers()
	}
	return any
}

// stored ends the marks or holds of a store.
func (k *Rank) stored(x *host.Job) {
	h := k.host
	h.changes++
	if h.private {
		for _, u := range x.Sources {
			h.marks[u] = 0
		}
		h.marked -= len(x.Sources)
	} else {
		for i := len(x.Sources) - 1; i >= 0; i-- {
			h.holds[x.Sources[i]]--
			k.pool.Release(x.Sources[i])
		}
		k.blocked = -1
	}
	if k.handoffs.pending.Len() > 0 {
		h.retry = true
	}
	k.handoffs.generation++
}

// activateLoaded makes the blocks of completed loads the requests' own and visible.
func (k *Rank) activateLoaded() {
	h := k.host
	for _, j := range h.loaded {
		h.changes++
		x := h.owner.Job(j)
		r, s := k.request(x.Slot), k.requests.Hosted(x.Slot)
		k.cache(x.Slot, r, s.GPU, s.Prefix)
		s.Restore, s.Load = engine.Restored, -1
		h.forgetLoad(j)
		h.owner.Drop(j)
	}
	h.loaded = h.loaded[:0]
}

// grew gives a request the units of the blocks that it just took: hits that it shares and fresh ones. It
// returns the latest completion of a store that reads one of these, 0 for none.
func (k *Rank) grew(s *engine.Hosted, hits []int32, fresh int64) (readMS float64) {
	if !k.host.private {
		return 0
	}
	for _, e := range hits {
		s.Units = append(s.Units, k.pool.Unit(e))
	}
	if fresh == 0 {
		return 0
	}
	from := len(s.Units)
	s.Units = k.pool.AppendTaken(s.Units)
	if k.host.marked > 0 {
		for _, u := range s.Units[from:] {
			readMS = max(readMS, k.host.marks[u])
		}
	}
	return readMS
}

// giveBack returns the private units behind the first n blocks of a request, last to first.
func (k *Rank) giveBack(s *engine.Hosted, n int64) {
	for i := int64(len(s.Units)); i > n; i-- {
		k.pool.FreeUnit(s.Units[i-1])
	}
	s.Units = s.Units[:n]
}

// unreserve gives the blocks of a reserved destination back.
func (k *Rank) unreserve(r *engine.Request, s *engine.Hosted) {
	if k.host.private {
		k.giveBack(s, int64(len(r.Blocks)))
		s.Units = s.Units[:0]
	} else {
		k.pool.Free(r.Fresh)
	}
	for i := len(r.Blocks); i > 0; i-- {
		k.pool.Release(r.Blocks[i-1])
	}
	r.Blocks, r.Fresh = r.Blocks[:0], 0
}

// decideHosted is Decide of a rank with a host cache.
func (k *Rank) decideHosted(nowMS float64, count int64) (endMS float64) {
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
		k.takeHosted()
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
	k.host.joined = k.joined
	k.admitHosted()
	if !k.deferring && p.Preempted == 0 {
		k.bound = k.waiting.Len() > 0
	}
	if p.PrefillRequests > 0 && !k.decodes() {
		p.PrefillMS = k.cfg.Timing.PrefillMS(p.PrefillRequests, k.promptSum, k.cachedSum)
	}
	if k.cfg.Metrics {
		k.measure()
	}
	k.charge()
	p.Running, p.Waiting = int32(len(k.running)), int32(k.waiting.Len()+k.host.members)
	p.DecodeMS = k.cfg.Timing.DecodeMS(p.DecodeRequests, p.DecodeTokens)
	return (k.prepare(nowMS) + p.PrefillMS) + p.DecodeMS
}

// takeHosted is takeTogether where blocks have units of capacity: each request that begins a block takes its own.
func (k *Rank) takeHosted() {
	n := k.phases.At(k.step)
	if !k.host.private {
		k.takeTogether()
		return
	}
	k.owned += n
	for _, slot := range k.running {
		if n == 0 {
			return
		}
		r := k.request(slot)
		if !r.Steady || (r.Computed+k.step-r.Base)%k.cfg.BlockTokens != 0 {
			continue
		}
		k.pool.Take(1)
		k.fence(k.grew(k.requests.Hosted(slot), nil, 1))
		n--
	}
}

// lag counts a steady request whose prompt is not stored as far as it could be.
func (h *offload) lag(s *engine.Hosted, n int) {
	if s.Cursor < int64(len(s.Keys)) {
		h.lagging += n
	}
}

// advance moves the store cursor of a request.
func (h *offload) advance(r *engine.Request, s *engine.Hosted, end int64) {
	if r.Steady {
		h.lag(s, -1)
	}
	s.Cursor = end
	if r.Steady {
		h.lag(s, 1)
	}
}

// prepare creates the stores of the pass that was just decided (spec 10 section 4) and returns when it begins to
// compute: behind the fence.
func (k *Rank) prepare(nowMS float64) float64 {
	h := k.host
	from := 0
	if k.together && h.lagging == 0 {
		// The steady requests, which stand first, have stored their prompts.
		from = int(k.steady)
	}
	for _, slot := range k.running[from:] {
		r := k.request(slot)
		if r.Pass != k.passes && r.Join < h.joined && !(k.together && r.Steady) {
			continue
		}
		s := k.requests.Hosted(slot)
		if end := min(r.Computed, r.Prompt) / k.cfg.BlockTokens; end > s.Cursor {
			k.store(slot, r, s, end, nowMS)
		}
	}
	if h.staging != nil {
		h.staging.decided(&k.pass, h.owner.Due(nowMS) <= nowMS)
	}
	return max(nowMS, h.fenceMS)
}

// store creates a store of the blocks of a request up to end that the host cache lacks; all or none.
func (k *Rank) store(slot int32, r *engine.Request, s *engine.Hosted, end int64, nowMS float64) {
	h := k.host
	if r.Steady && s.Tried == h.stamp() {
		// Nothing has changed that could help; but an attempt moves the clock of a shared pool.
		if s.Reached && !h.private {
			h.owner.AdvancePool(nowMS)
		}
		if s.Tried == h.stamp() {
			return
		}
	}
	s.Tried = 0
	h.missing = h.missing[:0]
	for i := s.Cursor; i < end; i++ {
		if h.owner.Find(s.Keys[i]) < 0 {
			h.missing = append(h.missing, i)
		}
	}
	if len(h.missing) == 0 {
		h.advance(r, s, end)
		return
	}
	for _, i := range h.missing {
		if k.read(r, s, i) {
			s.Tried, s.Reached = h.stamp(), false
			return
		}
	}
	if !h.private {
		h.owner.AdvancePool(nowMS)
	}
	if !h.owner.MakeRoom(int64(len(h.missing)), s.Keys[s.Cursor:end], nowMS) {
		s.Tried, s.Reached = h.stamp(), true
		return
	}
	if h.private && h.marks == nil {
		h.marks = make([]float64, k.pool.Total())
	}
	j := h.owner.Prepare(slot, r.Node, nowMS)
	x := h.owner.Job(j)
	for _, i := range h.missing {
		at := k.position(i)
		h.owner.Expect(j, s.Keys[i], r.Path[at.element], at.position)
		if h.private {
			x.Sources = append(x.Sources, s.Units[i])
			continue
		}
		e := r.Blocks[i]
		for int(e) >= len(h.holds) {
			h.holds = append(h.holds, 0)
		}
		h.holds[e]++
		k.pool.Use(e)
		x.Sources = append(x.Sources, e)
	}
	h.advance(r, s, end)
	s.Store, s.StoreID = j, x.ID
	h.prepared = append(h.prepared, j)
	h.owner.TouchAll(s.Keys)
}

// read reports whether an unfinished store reads the GPU copy of a block of a request.
func (k *Rank) read(r *engine.Request, s *engine.Hosted, i int64) bool {
	h := k.host
	if h.private {
		return h.marked > 0 && h.marks[s.Units[i]] > 0
	}
	e := int(r.Blocks[i])
	return e < len(h.holds) && h.holds[e] > 0
}

// stamp changes with everything that an attempt to store depends on.
func (h *offload) stamp() uint64 { return h.owner.Room() + h.changes + 1 }

// fence delays passes until a time.
func (k *Rank) fence(untilMS float64) { k.host.fenceMS = max(k.host.fenceMS, untilMS) }

// preempted raises the fence for a request whose latest store is under way (spec 10 section 5.1).
func (k *Rank) preemptedHost(slot int32) {
	h, s := k.host, k.requests.Hosted(slot)
	s.Rounds, s.Bypassed = 0, false
	if h.private && h.owner.Live(s.Store, s.StoreID) {
		if end := h.owner.Job(s.Store).EndMS; !math.IsNaN(end) {
			k.fence(end)
		}
	}
}

// releaseUnits is the private part of release: it gives back the units of the blocks behind held.
func (k *Rank) releaseUnits(r *engine.Request, s *engine.Hosted, full, held int64, ended bool) {
	k.giveBack(s, full)
	if full > held {
		if ended && !k.content.Keeps() {
			for i := full; i > held; i-- {
				k.pool.ReleaseUnit(s.Units[i-1])
			}
		} else {
			k.storeOwn(r, held, full)
			for i := held; i < full; i++ {
				k.pool.SetUnit(r.Blocks[i], s.Units[i])
			}
			for i := full; i > held; i-- {
				k.pool.Release(r.Blocks[i-1])
			}
		}
	}
	s.Units = s.Units[:0]
}
