package host

import (
	"math"

	"github.com/dynosim/dynosim/schemas"
	"github.com/dynosim/dynosim/simulate/host/g3"
	"github.com/dynosim/dynosim/simulate/kv"
)

// UseStorage puts storage behind the cache: what the owner's stores bring is written on to it, and look-ups
// may get blocks back from there (spec 10 section 12). worker is the owner's number in the tier.
func (o *Owner) UseStorage(tier *g3.Tier, worker int32) { o.tier, o.worker = tier, worker }

// Worker is the owner's number in the storage behind the cache.
func (o *Owner) Worker() int32 { return o.worker }

// arrivedPinned makes pending blocks resident that storage will be offered: until then they cannot leave.
func (d *Domain) arrivedPinned(es []int32) {
	d.version++
	for _, e := range es {
		x := &d.entries[e]
		x.pending, x.pins = false, 1
		d.resident++
		if d.publishing && x.element >= 0 {
			d.changes = append(d.changes, kv.Stored(x.element, x.position))
		}
	}
}

// offer writes the blocks of a completed store on to storage. They stay in the cache until they are written.
func (o *Owner) offer(x *Job, nowMS float64) {
	o.keys = o.keys[:0]
	for _, e := range x.entries {
		o.keys = append(o.keys, o.entries[e].key)
	}
	j, written := o.tier.Write(o.worker, x.Node, o.keys, nowMS, o.written[:0])
	o.written = written
	o.left = o.left[:0]
	for i, e := range x.entries {
		if len(written) > 0 && written[0] == i {
			written = written[1:]
			w := o.tier.Job(j)
			w.Entries = append(w.Entries, e)
		} else {
			o.left = append(o.left, e)
		}
	}
	if len(o.left) > 0 {
		o.unpin(o.left)
	}
}

// seeStorage moves storage to nowMS and applies the owner's jobs that completed. It reports whether anybody's did.
func (o *Owner) seeStorage(nowMS float64) bool {
	d := o.Domain
	own, any := o.tier.Done(o.worker, nowMS)
	for _, j := range own {
		x := o.tier.Job(j)
		if x.Kind == schemas.G3Write {
			d.unpin(x.Entries)
		} else {
			d.promoted(x.Entries)
		}
		o.tier.Drop(j)
	}
	return any
}

// promoted makes blocks that came back from storage resident, touched one by one.
func (d *Domain) promoted(es []int32) {
	for i := range es {
		d.arrived(es[i : i+1])
	}
}

// Reserve expects a block that comes back from storage; it evicts others if need be and reports false when there
// is no room.
func (o *Owner) Reserve(key uint64, element, position int32, nowMS float64) (e int32, ok bool) {
	o.cohort[0] = key
	if !o.MakeRoom(1, o.cohort[:], nowMS) {
		return None, false
	}
	o.nextID++
	return o.expect(key, element, position), true
}

// Promote reads blocks for which there are reservations from storage.
func (o *Owner) Promote(node int32, keys []uint64, es []int32, nowMS float64) {
	j := o.tier.Read(o.worker, node, keys, nowMS)
	x := o.tier.Job(j)
	x.Entries = append(x.Entries, es...)
}

// Fits reports whether the whole run of blocks could be in the cache at once: those of keys, of which missing are not
// there yet.
func (o *Owner) Fits(keys []uint64, missing int64) bool {
	d := o.Domain
	spare := d.listed
	for _, key := range keys {
		if e := d.table.find(key); e >= 0 && d.entries[e].listed {
			spare--
		}
	}
	return missing <= d.capacity-d.used+spare
}

// storageDue is Due for what happens in storage.
func (o *Owner) storageDue(nowMS float64) float64 {
	switch {
	case o.tier == nil:
		return math.Inf(1)
	case o.tier.Unseen(o.worker):
		return nowMS
	}
	return o.tier.NextMS()
}
