package lower

import (
	"errors"
	"math"
)

// errTooManyBlocks and errTooManyChains are limits of the id types.
var (
	errTooManyBlocks = errors.New("the trace has more than 2^32 distinct block ids")
	errTooManyChains = errors.New("the trace has more than 2^31 distinct prefixes of blocks")
)

// numbering gives block ids dense numbers in order of first occurrence (spec 01 section
// 7.1).
type numbering struct {
	// next is the number of the next new id.
	next uint64
	// hashed says that an id differed from its number; until then, with ids that are
	// numbered already, nothing is stored.
	hashed bool
	ids    column[uint64]
	table  table
}

// number returns the number of an id.
func (b *numbering) number(id uint64) (uint32, error) {
	if !b.hashed {
		if id < b.next {
			return uint32(id), nil
		}
		if id == b.next && id <= math.MaxUint32 {
			b.next++
			return uint32(id), nil
		}
		b.hashed = true
		for known := range b.next {
			b.add(known)
		}
	}
	if t, hash := &b.table, mix(id); t.n > 0 {
		for i := t.slot(hash); t.tags[i] != 0; i = t.after(i) {
			if t.tags[i] == tag(hash) && b.ids.at(int(t.ids[i])) == id {
				return t.ids[i], nil
			}
		}
	}
	if b.next >= math.MaxUint32 {
		return 0, errTooManyBlocks
	}
	b.add(id)
	b.next++
	return uint32(b.next - 1), nil
}

// add stores an id that is not in the table.
func (b *numbering) add(id uint64) {
	t := &b.table
	if t.crowded() {
		t.grow(func(yield func(uint32, uint64) bool) {
			n := uint32(0)
			for _, chunk := range b.ids.chunks {
				for _, known := range chunk {
					if !yield(n, mix(known)) {
						return
					}
					n++
				}
			}
		})
	}
	t.insert(uint32(b.ids.n), mix(id))
	b.ids.push(id)
}

// interner gives every distinct prefix of blocks, a chain, a dense id (spec 01 section 7.2).
//
// Most blocks occur behind one prefix only: block ids of traces are mostly made from the
// whole prefix. So each block number remembers the first chain that ends in it, and only
// further chains go into a table.
type interner struct {
	blocks        numbering
	parent, depth column[int32]
	block         column[uint32]
	// first has, for every block number, the first chain that ends in it, -1 for none.
	first column[int32]
	table table
	// extra has the chains in the table, in order.
	extra column[int32]
}

func (c *interner) len() int { return c.parent.n }

// prompt interns the chains of a row's blocks, of which the first used are in the prompt, and returns
// the last one, -1 for none. Surplus blocks are numbered only.
func (c *interner) prompt(ids []uint64, used int) (chain int32, err error) {
	chain = -1
	for i, id := range ids {
		n, err := c.blocks.number(id)
		if err != nil {
			return 0, err
		}
		for c.first.n <= int(n) {
			c.first.push(-1)
		}
		if i >= used {
			continue
		}
		if chain, err = c.chain(chain, n, int32(i)); err != nil {
			return 0, err
		}
	}
	return chain, nil
}

// chain returns the chain of a block behind a parent.
func (c *interner) chain(parent int32, block uint32, depth int32) (int32, error) {
	first := c.first.at(int(block))
	if first >= 0 && c.parent.at(int(first)) == parent {
		return first, nil
	}
	if first >= 0 {
		if found := c.find(parent, block); found >= 0 {
			return found, nil
		}
	}
	if c.len() >= math.MaxInt32 {
		return 0, errTooManyChains
	}
	id := int32(c.len())
	c.parent.push(parent)
	c.block.push(block)
	c.depth.push(depth)
	if first < 0 {
		c.first.set(int(block), id)
	} else {
		c.add(id)
	}
	return id, nil
}

func (c *interner) hash(id int32) uint64 {
	return chainHash(c.parent.at(int(id)), c.block.at(int(id)))
}

func chainHash(parent int32, block uint32) uint64 {
	return mix(uint64(uint32(parent))<<32 | uint64(block))
}

// find looks a chain up in the table, -1 when it is not there.
func (c *interner) find(parent int32, block uint32) int32 {
	t, hash := &c.table, chainHash(parent, block)
	if t.n == 0 {
		return -1
	}
	for i := t.slot(hash); t.tags[i] != 0; i = t.after(i) {
		if t.tags[i] != tag(hash) {
			continue
		}
		if id := int(t.ids[i]); c.parent.at(id) == parent && c.block.at(id) == block {
			return int32(id)
		}
	}
	return -1
}

// add puts a chain into the table.
func (c *interner) add(id int32) {
	t := &c.table
	if t.crowded() {
		t.grow(func(yield func(uint32, uint64) bool) {
			for _, chunk := range c.extra.chunks {
				for _, known := range chunk {
					if !yield(uint32(known), c.hash(known)) {
						return
					}
				}
			}
		})
	}
	t.insert(uint32(id), c.hash(id))
	c.extra.push(id)
}

// finish hands the chains over and forgets how to find them.
func (c *interner) finish() Chains {
	c.blocks, c.first, c.table, c.extra = numbering{}, column[int32]{}, table{}, column[int32]{}
	return Chains{Parent: c.parent.flat(nil), Block: c.block.flat(nil), Depth: c.depth.flat(nil)}
}
