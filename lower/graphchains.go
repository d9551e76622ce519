package lower

import (
	"fmt"
	"math"
)

// chainList makes the chains of rows whose block lists begin with those of earlier rows.
type chainList struct {
	// One element a chain: the chain before it, the number of blocks before its last, and the hash of that.
	parent, depth []int32
	hash          []uint64
	// One element a row: leaf is the last chain of its list, -1 for none; own the first chain that the row
	// made, shared the number of blocks before it.
	leaf, own, shared []int32
}

// add makes the chains of the next row: those of a prefix, shared blocks of the earlier row prefix (-1 for none), and one for
// each block behind it.
func (c *chainList) add(prefix int64, shared int32, own []uint64) (leaf int32, err error) {
	at := int32(-1)
	if prefix >= 0 {
		if prefix >= int64(len(c.leaf)) || shared < 1 || shared <= c.shared[prefix] || c.leaf[prefix] < 0 || shared > c.depth[c.leaf[prefix]]+1 {
			return -1, fmt.Errorf("the block list begins with %d blocks of request %d, which made no such prefix", shared, prefix)
		}
		at = c.own[prefix] + shared - 1 - c.shared[prefix]
	} else {
		shared = 0
	}
	if len(c.parent)+len(own) >= math.MaxInt32 {
		return -1, errTooManyChains
	}
	c.own, c.shared = append(c.own, int32(len(c.parent))), append(c.shared, shared)
	for k, hash := range own {
		c.parent, c.depth, c.hash = append(c.parent, at), append(c.depth, shared+int32(k)), append(c.hash, hash)
		at = int32(len(c.parent) - 1)
	}
	c.leaf = append(c.leaf, at)
	return at, nil
}

// restored makes the chains of a play that has its own.
func (c *chainList) restore(r *playRows) error {
	from := int32(0)
	for i, to := range r.blockEnd {
		if _, err := c.add(int64(r.prefix[i]), r.shared[i], r.hash[from:to]); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// chainPool gives the blocks of chains their numbers as nodes use them (spec 02 section 7.4).
type chainPool struct {
	*chainList
	// base is the number of the first chain, block the number of the last block of each.
	base   int32
	block  []uint32
	done   []bool
	hashes *hashLists
	// complete says that no further node has a chain of the pool.
	complete bool
	path     []int32
}

func newChainPool(list *chainList, base int32) *chainPool {
	n := len(list.parent)
	return &chainPool{chainList: list, base: base, block: make([]uint32, n), done: make([]bool, n), hashes: newHashLists(list.hash, list.parent)}
}

// use numbers the blocks of the prompt that ends in a chain, -1 for none.
func (p *chainPool) use(chain int32, number func(hash uint64) (uint32, error)) error {
	p.path = p.path[:0]
	for ; chain >= 0 && !p.done[chain]; chain = p.parent[chain] {
		p.done[chain] = true
		p.path = append(p.path, chain)
	}
	for i := len(p.path) - 1; i >= 0; i-- {
		n, err := number(p.hash[p.path[i]])
		if err != nil {
			return err
		}
		p.block[p.path[i]] = n
	}
	return nil
}

// appendTo appends the chains from lo up to hi with their final numbers.
func (p *chainPool) appendTo(c *Chains, lo, hi int) {
	for _, parent := range p.parent[lo:hi] {
		if parent >= 0 {
			parent += p.base
		}
		c.Parent = append(c.Parent, parent)
	}
	c.Depth, c.Block = append(c.Depth, p.depth[lo:hi]...), append(c.Block, p.block[lo:hi]...)
}
