package host

import (
	"cmp"
	"math"
	"slices"

	"github.com/dynosim/dynosim/schemas"
	"github.com/dynosim/dynosim/simulate/host/g3"
	"github.com/dynosim/dynosim/simulate/kv"
)

// Domain is a cache with its transfers.
type Domain struct {
	Cache
	spec   schemas.HostOffloadSpec
	number int32
	owners []*Owner
	jobs   []Job
	free   []int32
	nextID int64
	record Recorder

	// tailMS are the ends of the private lanes D2H and H2D, lanes their transfers.
	tailMS [2]float64
	lanes  [2]fifo
	// flying has the transfers of a shared cache that have not completed, in order of submission,
	// nowMS its clock. settled says that the last advance left nothing to do at nowMS.
	flying  []int32
	nowMS   float64
	settled bool
	// nextMS is the next event of the pool, where known says so.
	nextMS float64
	known  bool
	ended  []int32
	// completions counts the transfers that completed, dropped the changes that all owners have.
	completions uint64
	dropped     int
}

// NewDomain makes an empty cache; number is that of a shared one, -1 for a private one. With
// publishing it keeps its changes for the routers of its owners.
func NewDomain(spec schemas.HostOffloadSpec, number int32, publishing bool, record Recorder) *Domain {
	d := &Domain{Cache: newCache(spec.Blocks), spec: spec, number: number, record: record}
	d.publishing = publishing
	return d
}

// Publish makes the domain keep its changes for routers from now on.
func (d *Domain) Publish() { d.publishing = true }

// State changes with everything that owners have to see.
func (d *Domain) State() uint64 { return d.completions + uint64(d.dropped+len(d.changes)) }

// Shared reports whether several ranks have the cache.
func (d *Domain) Shared() bool { return d.spec.Shared }

// Owner is a rank's part in a domain.
type Owner struct {
	*Domain
	pool      schemas.Pool
	scheduler int32
	link      [2]float64
	latencyMS float64
	// unseen are the owner's completed transfers that it has not been told of, in order.
	unseen []int32
	// seen counts the completions of the domain that the owner knows, read the changes.
	seen uint64
	read int
	// first is what the cache had when the owner joined and has not been told of.
	first []kv.Event
	// flight counts the owner's transfers that were prepared and whose end it has not seen.
	flight int
	// moving counts its moving jobs by direction in the present step of the pool.
	moving [2]int32
	// tier is the storage behind the cache, nil for none, worker the owner's number there. The others are working memory.
	tier    *g3.Tier
	worker  int32
	keys    []uint64
	written []int
	left    []int32
	cohort  [1]uint64
}

// Join makes the rank an owner; spec has its links and latency.
func (d *Domain) Join(spec *schemas.HostOffloadSpec, pool schemas.Pool, scheduler int32) *Owner {
	o := &Owner{Domain: d, pool: pool, scheduler: scheduler, latencyMS: spec.LatencyMS, seen: d.completions, read: d.dropped + len(d.changes)}
	o.link = [2]float64{rate(spec.D2HGBps), rate(spec.H2DGBps)}
	if d.publishing {
		d.Blocks(func(element, position int32) { o.first = append(o.first, kv.Stored(element, position)) })
	}
	d.owners = append(d.owners, o)
	return o
}

// Leave ends the part of a rank that has no transfers.
func (o *Owner) Leave() {
	i := slices.Index(o.owners, o)
	o.owners = slices.Delete(o.owners, i, i+1)
}

// Blocks calls f with the identity of every resident block: what an owner that joins a filled
// cache publishes.
func (d *Domain) Blocks(f func(element, position int32)) {
	for _, s := range d.table.slots {
		if s.entry < 0 {
			continue
		}
		if x := &d.entries[s.entry]; !x.pending && x.element >= 0 {
			f(x.element, x.position)
		}
	}
}

// Job is a transfer by its handle.
func (d *Domain) Job(j int32) *Job { return &d.jobs[j] }

// Live reports whether the transfer id, which had the handle, has not been seen to end.
func (d *Domain) Live(j int32, id int64) bool {
	return j >= 0 && d.jobs[j].live && d.jobs[j].ID == id
}

// Reads reports whether a load reads a block.
func (d *Domain) Reads(j, e int32) bool { return slices.Contains(d.jobs[j].entries, e) }

// newJob creates a transfer at nowMS.
func (o *Owner) newJob(kind Kind, slot, node int32, nowMS float64) int32 {
	d := o.Domain
	var j int32
	if n := len(d.free); n > 0 {
		j = d.free[n-1]
		d.free = d.free[:n-1]
	} else {
		j = int32(len(d.jobs))
		d.jobs = append(d.jobs, Job{})
	}
	x := &d.jobs[j]
	*x = Job{
		Transfer: Transfer{ID: d.nextID, Kind: kind, Domain: d.number, Pool: o.pool, Scheduler: o.scheduler, Node: node,
			CreatedMS: nowMS, SubmittedMS: math.NaN(), EndMS: math.NaN(), FirstByteMS: math.NaN(), SeenMS: math.NaN()},
		Slot: slot, owner: o, Sources: x.Sources[:0], entries: x.entries[:0], live: true,
	}
	d.nextID++
	o.flight++
	return j
}

// Drop forgets a transfer whose end the owner has seen, and records it.
func (o *Owner) Drop(j int32) {
	if d := o.Domain; d.record != nil {
		d.record.HostTransfer(&d.jobs[j].Transfer)
	}
	o.forget(j)
}

func (o *Owner) forget(j int32) {
	d := o.Domain
	d.jobs[j].live = false
	o.flight--
	d.free = append(d.free, j)
}

// InFlight reports whether the owner has transfers, prepared ones included, whose end it has not
// seen.
func (o *Owner) InFlight() bool {
	return o.flight > 0 || o.tier != nil && o.tier.InFlight(o.worker)
}

// MakeRoom evicts what n more blocks need, sparing the cohort. It reports false and changes
// nothing when that is not possible.
func (o *Owner) MakeRoom(n int64, cohort []uint64, nowMS float64) bool {
	d := o.Domain
	if !d.makeRoom(n, cohort) {
		return false
	}
	if d.record != nil {
		for _, key := range d.gone {
			d.record.HostEviction(&Eviction{Domain: d.number, Pool: o.pool, Scheduler: o.scheduler, Store: d.nextID, AtMS: nowMS, Key: key})
		}
	}
	return true
}

// Prepare creates a store of nothing yet.
func (o *Owner) Prepare(slot, node int32, nowMS float64) int32 {
	return o.newJob(Store, slot, node, nowMS)
}

// Expect adds a block that is not in the cache to a store that was not submitted; there must be
// room. element is -1 for a block that no router knows.
func (o *Owner) Expect(j int32, key uint64, element, position int32) {
	x := &o.jobs[j]
	x.entries = append(x.entries, o.expect(key, element, position))
}

// Fetch creates a load of resident blocks, pins them and submits it with its first byte at readyMS at the
// earliest.
func (o *Owner) Fetch(slot, node int32, es []int32, nowMS, readyMS float64) int32 {
	j := o.newJob(Load, slot, node, nowMS)
	x := &o.jobs[j]
	x.entries = append(x.entries, es...)
	o.pin(es)
	o.Submit(j, readyMS)
	return j
}

// Submit begins a transfer at readyMS. That of a private lane has its end then.
func (o *Owner) Submit(j int32, readyMS float64) {
	d := o.Domain
	x := &d.jobs[j]
	x.Blocks = int64(len(x.entries))
	x.Bytes = x.Blocks * d.spec.BlockBytes
	x.SubmittedMS = readyMS
	bytes := float64(x.Bytes)
	if d.spec.Shared {
		x.FirstByteMS, x.left = readyMS+o.latencyMS, bytes
		d.flying = append(d.flying, j)
		d.settled, d.known = false, false
		return
	}
	tail := max(d.tailMS[x.Kind], readyMS+o.latencyMS)
	x.FirstByteMS = tail
	if r := o.link[x.Kind]; !math.IsInf(r, 1) {
		tail += bytes / r
	}
	d.tailMS[x.Kind], x.EndMS = tail, tail
	d.lanes[x.Kind].push(j)
}

// complete applies a completion to the cache (spec 10 section 2.3).
func (d *Domain) complete(j int32) {
	x := &d.jobs[j]
	if x.Kind == Store && x.owner.tier != nil {
		d.arrivedPinned(x.entries)
	} else if x.Kind == Store {
		d.arrived(x.entries)
	} else {
		d.unpin(x.entries)
	}
	d.completions++
	x.owner.unseen = append(x.owner.unseen, j)
}

// Advance moves the domain to nowMS and returns the owner's transfers that it has not seen
// complete, in order, and whether anybody's completed since it looked. Each of them has to be dropped.
func (o *Owner) Advance(nowMS float64) (own []int32, any bool) {
	d := o.Domain
	if d.spec.Shared {
		d.AdvancePool(nowMS)
	} else {
		d.advanceLanes(nowMS)
	}
	any = o.seen != d.completions
	o.seen = d.completions
	own = o.unseen
	o.unseen = o.unseen[:0]
	for _, j := range own {
		d.jobs[j].SeenMS = nowMS
	}
	if o.tier != nil {
		any = o.seeStorage(nowMS) || any
		for _, j := range own {
			if x := &d.jobs[j]; x.Kind == Store {
				o.offer(x, nowMS)
			}
		}
	}
	return own, any
}

// advanceLanes completes what is due, in order of time, stores first, then by id.
func (d *Domain) advanceLanes(nowMS float64) {
	for {
		best := -1
		at := math.Inf(1)
		for k := range d.lanes {
			if l := &d.lanes[k]; l.n > 0 {
				if end := d.jobs[l.first()].EndMS; end <= nowMS && end < at {
					best, at = k, end
				}
			}
		}
		if best < 0 {
			return
		}
		j := d.lanes[best].pop()
		if d.jobs[j].Cancelled {
			d.jobs[j].owner.forget(j)
			continue
		}
		d.complete(j)
	}
}

// Due is the time at which an idle owner has something to see, nowMS when that is there already
// and +Inf for never.
func (o *Owner) Due(nowMS float64) float64 {
	d := o.Domain
	if o.Unseen() {
		return nowMS
	}
	at := o.storageDue(nowMS)
	if d.spec.Shared {
		return min(at, d.NextMS())
	}
	return min(at, o.LanesDue())
}

// LanesDue is the next completion in a private cache, +Inf for none.
func (o *Owner) LanesDue() float64 {
	d := o.Domain
	at := math.Inf(1)
	for k := range d.lanes {
		if l := &d.lanes[k]; l.n > 0 {
			at = min(at, d.jobs[l.first()].EndMS)
		}
	}
	return at
}

// Unseen reports whether something happened in the domain that the owner does not know.
func (o *Owner) Unseen() bool {
	d := o.Domain
	return o.seen != d.completions || d.publishing && (o.read != d.dropped+len(d.changes) || len(o.first) > 0)
}

// Events are the blocks that came and went since they were last taken, none unless the domain
// publishes. They are valid until the next call of the domain.
func (o *Owner) Events() []kv.Event {
	d := o.Domain
	if !d.publishing {
		return nil
	}
	out := d.changes[o.read-d.dropped:]
	if len(o.first) > 0 {
		out = append(o.first, out...)
		o.first = nil
	}
	o.read = d.dropped + len(d.changes)
	if len(d.changes) >= 1024 {
		least := o.read
		for _, p := range d.owners {
			least = min(least, p.read)
		}
		if n := least - d.dropped; 2*n > len(d.changes) {
			// What was handed out stays as it is.
			d.changes = append([]kv.Event(nil), d.changes[n:]...)
			d.dropped = least
		}
	}
	return out
}

// Cancel ends a load before it completes. Its host blocks are given up at once; a private lane keeps
// the time (spec 10 section 9.5).
func (o *Owner) Cancel(j int32, nowMS float64) {
	d := o.Domain
	x := &d.jobs[j]
	if d.spec.Shared {
		i := slices.Index(d.flying, j)
		d.flying = slices.Delete(d.flying, i, i+1)
		d.settled, d.known = false, false
	}
	x.Cancelled, x.EndMS = true, nowMS
	d.unpin(x.entries)
	if d.record != nil {
		d.record.HostTransfer(&x.Transfer)
	}
	if d.spec.Shared {
		o.forget(j)
	}
}

// Unfinished records the transfers that the end of the run at nowMS cut off, or whose owners did not see their ends.
func (d *Domain) Unfinished(nowMS float64) {
	if d.record == nil {
		return
	}
	var open []int32
	for j := range d.jobs {
		if d.jobs[j].live && !d.jobs[j].Cancelled {
			open = append(open, int32(j))
		}
	}
	slices.SortFunc(open, func(a, b int32) int { return cmp.Compare(d.jobs[a].ID, d.jobs[b].ID) })
	for _, j := range open {
		if !(d.jobs[j].EndMS <= nowMS) {
			d.jobs[j].EndMS = math.NaN()
		}
		d.record.HostTransfer(&d.jobs[j].Transfer)
	}
}

// fifo is a queue of transfers in a ring.
type fifo struct {
	ring    []int32
	head, n int
}

func (q *fifo) push(j int32) {
	if q.n == len(q.ring) {
		ring := make([]int32, max(16, 2*q.n))
		for i := range q.n {
			ring[i] = q.ring[(q.head+i)&(len(q.ring)-1)]
		}
		q.ring, q.head = ring, 0
	}
	q.ring[(q.head+q.n)&(len(q.ring)-1)] = j
	q.n++
}

func (q *fifo) first() int32 { return q.ring[q.head] }

func (q *fifo) pop() int32 {
	j := q.ring[q.head]
	q.head = (q.head + 1) & (len(q.ring) - 1)
	q.n--
	return j
}
