package simulate

import (
	"math"

	"github.com/dynosim/dynosim/schemas"
	"github.com/dynosim/dynosim/simulate/engine"
)

// action is one step of a hand-off from a prefill to a decode worker (spec 05 section 7.2).
type action uint8

const (
	submitPrefill action = iota
	reserveDestination
	startTransfer
	activateDestination
	releaseSource
	cancelSource
	cancelDestination
	complete
)

// actionNames are for diagnoses.
var actionNames = []string{"its prefill", "a decode rank", "its transfer", "its activation", "the release of its source",
	"the end of its source", "the end of its destination", "the end of its hand-off"}

// task is an action on the hand-off of a request, which the slot of its decode side stands for.
type task struct {
	action action
	slot   int32
}

// handoff is what a request of a disaggregated run has beside engine.Request; its slot is the
// same. Times are virtual milliseconds, NaN until they happen.
type handoff struct {
	ordinal int64
	// waits is the action that is outstanding, for diagnoses.
	waits action
	// ended says that the request left the system, closed that its hand-off is over.
	ended, closed bool
	// missing is the tokens of whole blocks that the destination lacked.
	missing int64
	// placements counts the rows of routing.
	placements int32

	prefillWorker                     int32
	prefillAdmissions                 int32
	reused, firstReused, firstHost    int32
	prefillOverlap, decodeOverlap     int32
	prefillAdmitMS, heldMS            float64
	reservedMS, activatedMS, released float64
	terminalMS                        float64
}

// handoffs is the machinery of a disaggregated run; nil in an aggregated one.
type handoffs struct {
	transfer schemas.TransferSpec
	// destinationFirst reserves on the decode rank before the prefill; SGLang does.
	destinationFirst bool
	// of has the hand-off of each live request by slot; open counts them.
	of   []handoff
	open int
	next int64
	// queue is the action queue; tasks before head are done.
	queue []task
	head  int
}

func newHandoffs(spec *schemas.RunSpec) *handoffs {
	return &handoffs{transfer: spec.Transfer, destinationFirst: spec.Pools[0].Engine.Backend == schemas.BackendSGLang}
}

func (h *handoffs) push(a action, slot int32) {
	h.of[slot].waits = a
	h.queue = append(h.queue, task{a, slot})
}

// begin starts the hand-off of a request that arrives.
func (h *handoffs) begin(slot int32) {
	for int(slot) >= len(h.of) {
		h.of = append(h.of, handoff{})
	}
	nan := math.NaN()
	h.next++
	h.open++
	h.of[slot] = handoff{ordinal: h.next, prefillWorker: -1, prefillOverlap: -1, decodeOverlap: -1, firstHost: -1, prefillAdmitMS: nan,
		heldMS: nan, reservedMS: nan, activatedMS: nan, released: nan, terminalMS: nan}
	if h.destinationFirst {
		h.push(reserveDestination, slot)
	} else {
		h.push(submitPrefill, slot)
	}
}

// delay is the time that tokens take to move (spec 05 section 7.4), in its order of operations.
func (h *handoffs) delay(tokens int64) float64 {
	t := &h.transfer
	if t.BandwidthGBPerSecond == 0 || t.BytesPerToken == 0 {
		return t.FallbackMS
	}
	bytes := float64(float64(tokens) * float64(t.BytesPerToken))
	return float64(bytes/float64(t.BandwidthGBPerSecond*1e9)) * 1000.0
}

// act executes the action queue until it is empty.
func (c *cluster) act() (changed bool, err error) {
	h := c.handoffs
	for h.head < len(h.queue) {
		t := h.queue[h.head]
		h.head++
		if err := c.execute(t); err != nil {
			return true, err
		}
		changed = true
	}
	h.queue, h.head = h.queue[:0], 0
	return changed, nil
}

// execute does one action, or parks it until it can be done.
func (c *cluster) execute(t task) error {
	h := c.handoffs
	prefill, decode := &c.pools[0], &c.pools[1]
	switch t.action {
	case submitPrefill:
		return c.placeIn(prefill, t)
	case reserveDestination:
		return c.placeIn(decode, t)
	case startTransfer:
		return c.transfer(t.slot)
	case activateDestination:
		c.touchRank(decode, c.requests.Slots[t.slot].Worker)
		w, k := decode.rank(c.requests.Slots[t.slot].Worker)
		if w.busy {
			w.park(decode.rankOf(c.requests.Slots[t.slot].Worker), t)
			return nil
		}
		k.Activate(t.slot)
		h.of[t.slot].activatedMS = c.now
		h.push(releaseSource, t.slot)
		c.commanded(decode, c.requests.Slots[t.slot].Worker)
	case releaseSource, cancelSource:
		c.endSource(t)
	case cancelDestination:
		c.cancelDestination(t)
	case complete:
		c.close(t.slot)
	}
	return nil
}

// placeIn asks for a rank of the pool and hands the request over; without an active worker
// it waits for one.
func (c *cluster) placeIn(p *pool, t task) error {
	if c.router != nil && len(p.active) > 0 {
		d, placed, err := c.router.place(p, t.slot)
		if placed {
			c.deliver(p, t.slot, d.Worker, d.Rank, c.reported(p, t.slot, d))
		}
		return err
	}
	id, rank, ok := c.turn(p, c.requests.Slots[t.slot].Node)
	if !ok {
		p.parked = append(p.parked, t)
		return nil
	}
	h := &c.handoffs.of[t.slot]
	c.record.placed(c.requests.Slots[t.slot].Node, h.placements, p, id, rank)
	h.placements++
	c.deliver(p, t.slot, id, rank, 0)
	return nil
}

// deliver hands a placed request to its rank: with two pools its prefill, or the reservation for it. Of
// the prompt, overlapTokens were believed to be cached there.
func (c *cluster) deliver(p *pool, slot, id, rank, overlapTokens int32) {
	scheduler := id*int32(p.ranks) + rank
	c.touch(p, id)
	if c.handoffs == nil {
		c.requests.Slots[slot].Worker = scheduler
		p.submit(slot, id, rank)
		return
	}
	h := &c.handoffs.of[slot]
	w := p.workers[id]
	if p.role == schemas.PoolPrefill {
		h.prefillWorker, h.prefillOverlap = scheduler, overlapTokens
		twin := c.requests.NewTwin(slot, min(1, c.requests.Slots[slot].Requested))
		c.requests.Slots[twin].Worker = scheduler
		p.submit(twin, id, rank)
		return
	}
	h.decodeOverlap = overlapTokens
	if !w.ranks[rank].Accept(slot) {
		c.fail(slot, schemas.StatusFailed)
		return
	}
	c.requests.Slots[slot].Worker = scheduler
	w.owned++
	if !w.busy {
		c.attempt(p, scheduler)
	}
	p.refresh(w, int(rank))
}

// attempt lets a decode rank try to reserve for its first pending destination (spec 05
// section 7.3).
func (c *cluster) attempt(p *pool, scheduler int32) (reserved bool) {
	_, k := p.rank(scheduler)
	slot, missing := k.Reserve()
	if slot < 0 {
		return false
	}
	h := &c.handoffs.of[slot]
	h.reservedMS, h.missing = c.now, missing
	if c.handoffs.destinationFirst {
		c.handoffs.push(submitPrefill, slot)
	} else {
		c.handoffs.push(startTransfer, slot)
	}
	return true
}

// commanded is what follows a command that a decode rank was given between passes.
func (c *cluster) commanded(p *pool, scheduler int32) {
	c.attempt(p, scheduler)
	p.wake(scheduler / int32(p.ranks))
	p.refresh(p.workers[scheduler/int32(p.ranks)], p.rankOf(scheduler))
}

// transfer starts the movement of a prompt's KV, which may take no time.
func (c *cluster) transfer(slot int32) error {
	h, r := &c.handoffs.of[slot], &c.requests.Slots[slot]
	tokens := r.Prompt
	if c.handoffs.transfer.Timing == schemas.TransferMissing {
		tokens = h.missing
	}
	delay := c.handoffs.delay(tokens)
	if math.IsNaN(delay) || math.IsInf(delay, 0) {
		return invariantf("the transfer of request %d would last %g ms: %d tokens at %d bytes and %g GB/s", r.Node, delay, tokens,
			c.handoffs.transfer.BytesPerToken, c.handoffs.transfer.BandwidthGBPerSecond)
	}
	c.record.transfer(r, h, c.handoffs.transfer.BytesPerToken, tokens, c.now, c.now+max(delay, 0))
	if !(delay > 0) {
		c.handoffs.push(activateDestination, slot)
		return nil
	}
	h.waits = startTransfer
	c.events.Push(event{at: c.now + delay, class: transferComplete, ordinal: h.ordinal<<31 | int64(slot)})
	return nil
}

// transferred takes the transfers that are complete now.
func (c *cluster) transferred() (changed bool) {
	for len(c.events) > 0 && c.events[0].at == c.now && c.events[0].class == transferComplete {
		e := c.events.Pop()
		c.handoffs.push(activateDestination, int32(e.ordinal&(1<<31-1)))
		changed = true
	}
	return changed
}

// endSource gives up what the prefill rank holds.
func (c *cluster) endSource(t task) {
	p, h := &c.pools[0], &c.handoffs.of[t.slot]
	twin := c.requests.Slots[t.slot].Twin
	if twin >= 0 {
		// A worker that drains may be gone by now when it rejected the request.
		w, rank := p.workers[h.prefillWorker/int32(p.ranks)], p.rankOf(h.prefillWorker)
		c.touchRank(p, h.prefillWorker)
		if w.busy {
			w.park(rank, t)
			return
		}
		if !math.IsNaN(h.heldMS) {
			w.ranks[rank].ReleaseSource(twin)
			if c.router != nil {
				c.router.observe(p, h.prefillWorker/int32(p.ranks), rank, w.ranks[rank], c.now)
			}
			w.owned--
			p.wake(h.prefillWorker / int32(p.ranks))
			p.refresh(w, rank)
		}
		c.requests.DropTwin(twin)
	}
	if t.action == releaseSource {
		h.released = c.now
		c.handoffs.push(complete, t.slot)
		return
	}
	c.handoffs.push(cancelDestination, t.slot)
}

// cancelDestination is the second part of a clean-up.
func (c *cluster) cancelDestination(t task) {
	r, p := &c.requests.Slots[t.slot], &c.pools[1]
	if r.Stage != engine.Plain {
		c.touchRank(p, r.Worker)
		w, k := p.rank(r.Worker)
		if w.busy {
			w.park(p.rankOf(r.Worker), t)
			return
		}
		k.CancelDestination(t.slot)
		w.owned--
		c.commanded(p, r.Worker)
	}
	c.handoffs.push(complete, t.slot)
}

// fail takes a request that cannot go on out of the system and begins its clean-up (spec 05
// section 7.7).
func (c *cluster) fail(slot int32, status schemas.Status) {
	h, r := &c.handoffs.of[slot], &c.requests.Slots[slot]
	r.Status = status
	h.terminalMS = c.now
	c.leave(slot)
	c.handoffs.push(cancelSource, slot)
}

// close ends a hand-off.
func (c *cluster) close(slot int32) {
	h := &c.handoffs.of[slot]
	c.handoffs.open--
	h.closed = true
	if c.router != nil {
		if s := c.requests.Slots[slot].Status; h.ended && s != schemas.StatusCompleted {
			// The router of the decode pool counts a request that failed until its clean-up is over.
			c.router.left(&c.pools[1], slot)
		}
		c.router.left(&c.pools[0], slot)
		c.releases(&c.pools[0])
	}
	if h.ended {
		c.settleHandoff(slot)
	}
}

// admitted takes over what the prefill side knows of admissions.
func (h *handoff) admitted(q *engine.Request) {
	h.prefillAdmissions, h.prefillAdmitMS, h.reused, h.firstReused, h.firstHost = q.Admissions, q.AdmitMS, q.Reused, q.FirstReused, q.FirstHost
}

// stopped takes over the admissions of a request whose prefill did not end.
func (c *cluster) stopped(slot int32) {
	h := &c.handoffs.of[slot]
	if twin := c.requests.Slots[slot].Twin; math.IsNaN(h.heldMS) && twin >= 0 {
		h.admitted(&c.requests.Slots[twin])
	}
}

// sourceHeld notes the end of a prefill.
func (c *cluster) sourceHeld(twin int32) {
	q := &c.requests.Slots[twin]
	slot := q.Twin
	h := &c.handoffs.of[slot]
	h.heldMS = c.now
	h.admitted(q)
	if c.handoffs.destinationFirst {
		c.handoffs.push(startTransfer, slot)
	} else {
		c.handoffs.push(reserveDestination, slot)
	}
}

// leave takes a request out of the system and tells the workload.
func (c *cluster) leave(slot int32) {
	r := &c.requests.Slots[slot]
	h := &c.handoffs.of[slot]
	h.ended = true
	if c.watch != nil {
		c.watch.ended(r)
	}
	if session := c.session[slot]; session >= 0 {
		// A request that a decode rank refused is the last of its session.
		failed := r.Status == schemas.StatusFailed
		c.content.Ended(r, session, failed || c.source.last(r.Node, session))
		if failed {
			c.source.over(c.now)
		} else {
			c.source.ended(r.Node, session, c.now)
		}
	}
	if c.source.plays != nil {
		c.endPlay(slot)
	}
	c.inSystem--
	c.ended++
}

// settleHandoff records a request whose decoding and hand-off are both over.
func (c *cluster) settleHandoff(slot int32) {
	r := &c.requests.Slots[slot]
	c.record.handedOff(r, &c.handoffs.of[slot])
	if c.source.plays != nil {
		c.settlePlay(r)
	}
	for _, gap := range r.Gaps {
		c.record.gap(gap, 1)
	}
	c.requests.Drop(slot)
}

// endPassOfRank wakes what is parked on a rank, delivers the ends of its requests and the
// facts that drive hand-offs (spec 05 section 4, step 2).
func (c *cluster) endPassOfRank(p *pool, w *worker, id int32, rank int, ended []engine.Terminal) {
	if w.parked != nil {
		c.handoffs.queue = append(c.handoffs.queue, w.parked[rank]...)
		w.parked[rank] = w.parked[rank][:0]
	}
	if p.role == schemas.PoolPrefill {
		c.endPrefill(p, w, ended)
	} else {
		c.endDecode(p, w, id*int32(p.ranks)+int32(rank), ended)
	}
}

func (c *cluster) endPrefill(p *pool, w *worker, ended []engine.Terminal) {
	for _, e := range ended {
		if c.router != nil {
			c.router.prefilled(p, c.requests.Slots[e.Slot].Twin, c.now)
			c.releases(p)
		}
		if e.Status == schemas.StatusCompleted {
			continue
		}
		w.owned--
		c.fail(c.requests.Slots[e.Slot].Twin, e.Status)
	}
	for _, e := range ended {
		if e.Status == schemas.StatusCompleted {
			c.sourceHeld(e.Slot)
		}
	}
}

func (c *cluster) endDecode(p *pool, w *worker, scheduler int32, ended []engine.Terminal) {
	w.owned -= int32(len(ended))
	for _, e := range ended {
		h := &c.handoffs.of[e.Slot]
		h.terminalMS = c.now
		if c.router != nil {
			c.router.left(p, e.Slot)
		}
		c.leave(e.Slot)
		if h.closed {
			c.settleHandoff(e.Slot)
		}
	}
	c.attempt(p, scheduler)
	p.refresh(w, p.rankOf(scheduler))
}
