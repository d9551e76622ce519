// Package host is the second level of the KV cache, in host memory (G2): which blocks it holds,
// which of them it gives up first, and the transfers between it and the GPUs (spec 10 sections 2
// and 3).
//
// A Domain is one cache with its transfers: that of a rank, or one that ranks share. Each rank
// has an Owner in its domain. Blocks are known by their sequence hash.
//
// # Cost
//
// Ages are the order of a linked list: whatever is touched moves to its young end, and blocks
// that are touched together are appended in the order of their hashes, which is the order in
// which equal ages are evicted. A touch is O(1), an eviction O(1) plus the protected blocks that
// it skips. Completions of private lanes are fixed at submission, O(1) each; a shared pool costs
// O(transfers in flight) for each instant of its clock, which is what equality to the last bit
// demands: every step rounds the bytes of every transfer.
package host

import (
	"cmp"
	"slices"

	"github.com/dynosim/dynosim/simulate/kv"
)

// None stands for no entry and no transfer.
const None int32 = -1

// entry is a block of the cache. Resident blocks that no load reads are in the list of ages.
type entry struct {
	key          uint64
	older, newer int32
	pins         int32
	// cohort is the last store attempt that the block belonged to.
	cohort  uint32
	pending bool
	listed  bool
	// element and position identify the block for a router.
	element, position int32
}

// Cache holds the blocks of a domain.
type Cache struct {
	capacity, used, resident int64
	entries                  []entry
	freeEntry                int32
	table                    table
	oldest, newest           int32
	listed                   int64
	cohort                   uint32
	// version changes with every change of blocks, pins or ages, room with those of blocks and pins.
	version, room uint64
	// changes lists blocks that came and went, for routers; nil unless publishing.
	publishing bool
	changes    []kv.Event
	sorted     []int32
	gone       []uint64
}

func newCache(capacity int64) Cache {
	return Cache{capacity: capacity, freeEntry: None, table: newTable(), oldest: None, newest: None}
}

// Find returns the entry of a block, None when the cache neither has nor expects it.
func (c *Cache) Find(key uint64) int32 { return c.table.find(key) }

// Pending reports whether the store of a block has not completed.
func (c *Cache) Pending(e int32) bool { return c.entries[e].pending }

// Pinned reports whether a load reads a block.
func (c *Cache) Pinned(e int32) bool { return c.entries[e].pins > 0 }

// Room changes whenever a store may fit that did not.
func (c *Cache) Room() uint64 { return c.room }

// Version changes whenever what the cache holds or the order of ages changes.
func (c *Cache) Version() uint64 { return c.version }

// Gauges are the capacity, the resident blocks and the blocks in use, pending ones included.
func (c *Cache) Gauges() (capacity, resident, used int64) { return c.capacity, c.resident, c.used }

// touch makes a block the youngest, unless a load reads it or it is pending.
func (c *Cache) touch(e int32) {
	if !c.entries[e].listed || c.newest == e {
		return
	}
	c.version++
	c.unlink(e)
	c.link(e)
}

// TouchAll touches the blocks of keys that are there, last to first.
func (c *Cache) TouchAll(keys []uint64) {
	for i := len(keys) - 1; i >= 0; i-- {
		if e := c.table.find(keys[i]); e >= 0 {
			c.touch(e)
		}
	}
}

// touchTogether gives blocks that are in no list the same youngest age.
func (c *Cache) touchTogether(es []int32) {
	c.version++
	c.room++
	slices.SortFunc(es, func(a, b int32) int { return cmp.Compare(c.entries[a].key, c.entries[b].key) })
	for _, e := range es {
		c.link(e)
	}
}

// makeRoom evicts blocks until n more fit, sparing those of the cohort; gone has their keys. It
// reports false and changes nothing when too few may go.
func (c *Cache) makeRoom(n int64, cohort []uint64) bool {
	c.gone = c.gone[:0]
	needed := n - (c.capacity - c.used)
	if needed <= 0 {
		return true
	}
	c.cohort++
	eligible := c.listed
	for _, key := range cohort {
		if e := c.table.find(key); e >= 0 {
			c.entries[e].cohort = c.cohort
			if c.entries[e].listed {
				eligible--
			}
		}
	}
	if eligible < needed {
		return false
	}
	for e := c.oldest; needed > 0; {
		x := &c.entries[e]
		next := x.newer
		if x.cohort != c.cohort {
			c.gone = append(c.gone, x.key)
			c.evict(e)
			needed--
		}
		e = next
	}
	return true
}

func (c *Cache) evict(e int32) {
	x := &c.entries[e]
	c.version++
	c.room++
	if c.publishing && x.element >= 0 {
		c.changes = append(c.changes, kv.Removed(x.element, x.position))
	}
	c.unlink(e)
	c.table.remove(x.key)
	c.used--
	c.resident--
	x.older = c.freeEntry
	c.freeEntry = e
}

// expect adds a pending block, for which there is room.
func (c *Cache) expect(key uint64, element, position int32) int32 {
	e := c.freeEntry
	if e < 0 {
		e = int32(len(c.entries))
		c.entries = append(c.entries, entry{})
	} else {
		c.freeEntry = c.entries[e].older
	}
	c.entries[e] = entry{key: key, pending: true, older: None, newer: None, element: element, position: position}
	c.table.insert(key, e)
	c.used++
	c.version++
	c.room++
	return e
}

// arrived makes pending blocks resident, touched together.
func (c *Cache) arrived(es []int32) {
	for _, e := range es {
		x := &c.entries[e]
		x.pending = false
		c.resident++
		if c.publishing && x.element >= 0 {
			c.changes = append(c.changes, kv.Stored(x.element, x.position))
		}
	}
	c.sorted = append(c.sorted[:0], es...)
	c.touchTogether(c.sorted)
}

// pin takes blocks that a load reads out of the list of ages.
func (c *Cache) pin(es []int32) {
	c.version++
	c.room++
	for _, e := range es {
		x := &c.entries[e]
		if x.pins++; x.listed {
			c.unlink(e)
		}
	}
}

// unpin ends a load: blocks that no other load reads are touched together.
func (c *Cache) unpin(es []int32) {
	c.sorted = c.sorted[:0]
	for _, e := range es {
		if x := &c.entries[e]; x.pins == 1 {
			x.pins = 0
			c.sorted = append(c.sorted, e)
		} else {
			x.pins--
		}
	}
	c.touchTogether(c.sorted)
}

func (c *Cache) link(e int32) {
	x := &c.entries[e]
	x.older, x.newer, x.listed = c.newest, None, true
	if c.newest >= 0 {
		c.entries[c.newest].newer = e
	} else {
		c.oldest = e
	}
	c.newest = e
	c.listed++
}

func (c *Cache) unlink(e int32) {
	x := &c.entries[e]
	if x.older >= 0 {
		c.entries[x.older].newer = x.newer
	} else {
		c.oldest = x.newer
	}
	if x.newer >= 0 {
		c.entries[x.newer].older = x.older
	} else {
		c.newest = x.older
	}
	x.listed = false
	c.listed--
}
