package engine

import (
	"math"
	"slices"
)

// Restore is where a request stands whose prefix comes back from a host cache.
type Restore uint8

// Stages of a restore.
const (
	// NotRestored requests have nothing in the GPU's cache by a restore.
	NotRestored Restore = iota
	// Loading requests have capacity that a load fills.
	Loading
	// Restored requests have their prefix and wait for admission.
	Restored
)

// Hosted is what a request has where its rank has a host cache (spec 10). The zero value is that of a
// request that the rank has not seen.
type Hosted struct {
	// Keys are the sequence hashes of the prompt's full blocks.
	Keys []uint64
	// Units are the units of capacity of the request's blocks, kept for private caches only.
	Units []int32
	// Cursor is the number of leading blocks that were stored.
	Cursor int64
	// Store is the latest store and its transfer id, -1 for none; Load the load in flight.
	Store, Load int32
	StoreID     int64
	// Restore is the stage of a restore of Prefix blocks, of which GPU were in the GPU's cache;
	// Known is the number of blocks of the request when it was queued.
	Restore            Restore
	Prefix, GPU, Known int64
	// Tried is when a store of all blocks that are left failed last: a stamp of what it depends on, 0 for never.
	// Reached says that it lacked room, not copies to read.
	Tried   uint64
	Reached bool
	// Member says that the request is in the restore queue, and Asleep that it waits there for a
	// completion; Placed that it has a place there, maybe an old one.
	Member, Asleep, Placed bool

	// With storage behind the host cache: StagedMS is when the request last promoted blocks, staged has those of that
	// time, Rounds counts its promotions since the rank's pass Worked, and Bypassed says that it does not look there any more.
	StagedMS float64
	staged   []uint64
	Rounds   int
	Worked   uint64
	Bypassed bool
}

// Staged reports whether the request promoted a block at this very time.
func (h *Hosted) Staged(key uint64, nowMS float64) bool {
	return h.StagedMS == nowMS && slices.Contains(h.staged, key)
}

// Stage notes that the request promotes blocks.
func (h *Hosted) Stage(keys []uint64, nowMS float64) {
	if h.StagedMS != nowMS {
		h.staged = h.staged[:0]
	}
	h.StagedMS, h.staged = nowMS, append(h.staged, keys...)
}

// UseHosts makes the table keep a Hosted for each request.
func (t *Table) UseHosts() { t.hosts = true }

// Hosted is what the host cache knows of a request.
func (t *Table) Hosted(slot int32) *Hosted { return &t.hosted[slot] }

func (t *Table) host(slot int32) {
	for int(slot) >= len(t.hosted) {
		t.hosted = append(t.hosted, Hosted{})
	}
	h := &t.hosted[slot]
	*h = Hosted{Keys: h.Keys[:0], Units: h.Units[:0], Store: -1, Load: -1, StagedMS: math.NaN(), staged: h.staged[:0]}
}
