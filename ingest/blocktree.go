package ingest

import "github.com/dynosim/dynosim/schemas"

// blockTree holds block lists as paths from a root, each distinct prefix once: a list is then the
// number of its last node, and lists are compared by walking up. The zero value is empty.
type blockTree struct {
	parent, depth, first []int32
	id                   []uint64
	// owner is the request whose emitted blocks made the node, -1 for none yet.
	owner []int64
	// slots finds further children by parent and id: a generation in the upper half, the
	// node plus 1 in the lower. Slots of earlier generations count as empty.
	slots      []uint64
	generation uint32
	used       int
	// roots is the first child of the root, -1 for none.
	roots int32
	path  []int32
}

// reset forgets all lists and keeps the memory.
func (t *blockTree) reset() {
	t.parent, t.depth, t.first, t.id, t.owner = t.parent[:0], t.depth[:0], t.first[:0], t.id[:0], t.owner[:0]
	t.generation++
	t.used, t.roots = 0, -1
	if t.generation == 0 || len(t.slots) == 0 {
		t.generation = 1
		t.slots = make([]uint64, 1024)
	}
}

// child returns the node of id behind parent (-1 is the root), which it makes when it is missing.
func (t *blockTree) child(parent int32, id uint64) int32 {
	first := &t.roots
	if parent >= 0 {
		first = &t.first[parent]
	}
	if *first >= 0 {
		if t.id[*first] == id {
			return *first
		}
		return t.other(parent, id)
	}
	n := t.add(parent, id)
	if parent >= 0 {
		t.first[parent] = n
	} else {
		t.roots = n
	}
	return n
}

// list is the node of a whole list, -1 for an empty one.
func (t *blockTree) list(ids []uint64) int32 {
	node, next := int32(-1), t.roots
	for _, id := range ids {
		if next < 0 || t.id[next] != id {
			// Off the first children, which most lists follow far.
			node = t.child(node, id)
			next = t.first[node]
			continue
		}
		node, next = next, t.first[next]
	}
	return node
}

// add makes a node.
func (t *blockTree) add(parent int32, id uint64) int32 {
	depth := int32(0)
	if parent >= 0 {
		depth = t.depth[parent] + 1
	}
	t.parent, t.depth, t.first = append(t.parent, parent), append(t.depth, depth), append(t.first, -1)
	t.id, t.owner = append(t.id, id), append(t.owner, -1)
	return int32(len(t.parent) - 1)
}

func slotHash(parent int32, id uint64) uint64 {
	x := id ^ uint64(uint32(parent))*0x9e3779b97f4a7c15
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// other finds or makes a child that is not its parent's first.
func (t *blockTree) other(parent int32, id uint64) int32 {
	if t.used*4 >= len(t.slots)*3 {
		t.grow()
	}
	mask := uint64(len(t.slots) - 1)
	for i := slotHash(parent, id) & mask; ; i = (i + 1) & mask {
		if uint32(t.slots[i]>>32) != t.generation {
			n := t.add(parent, id)
			t.slots[i] = uint64(t.generation)<<32 | uint64(n+1)
			t.used++
			return n
		}
		if n := int32(uint32(t.slots[i])) - 1; t.parent[n] == parent && t.id[n] == id {
			return n
		}
	}
}

func (t *blockTree) grow() {
	old := t.slots
	t.slots = make([]uint64, 2*len(old))
	mask := uint64(len(t.slots) - 1)
	for _, slot := range old {
		if uint32(slot>>32) != t.generation {
			continue
		}
		n := int32(uint32(slot)) - 1
		i := slotHash(t.parent[n], t.id[n]) & mask
		for t.slots[i] != 0 {
			i = (i + 1) & mask
		}
		t.slots[i] = slot
	}
}

// length is the number of blocks of the list that ends in a node, 0 for -1.
func (t *blockTree) length(node int32) int32 {
	if node < 0 {
		return 0
	}
	return t.depth[node] + 1
}

// cut is the node of the first n blocks of the list that ends in node, -1 for none.
func (t *blockTree) cut(node, n int32) int32 {
	for t.length(node) > n {
		node = t.parent[node]
	}
	return node
}

// common is the number of leading blocks that two lists share.
func (t *blockTree) common(a, b int32) int32 {
	for a != b {
		if t.length(a) >= t.length(b) {
			a = t.parent[a]
		} else {
			b = t.parent[b]
		}
	}
	return t.length(a)
}

// emit makes the list that ends in node the block list of row i, the request number request, as the prefix of
// an earlier one and what follows; hash turns an id into the block id to write.
func (t *blockTree) emit(b *schemas.RequestBatch, i int, node int32, request int64, hash func(id uint64) uint64) {
	t.path = t.path[:0]
	for node >= 0 && t.owner[node] < 0 {
		t.owner[node] = request
		t.path = append(t.path, node)
		node = t.parent[node]
	}
	a := b.Agentic
	a.PrefixRequest[i], a.PrefixBlocks[i] = -1, 0
	if node >= 0 {
		a.PrefixRequest[i], a.PrefixBlocks[i] = t.owner[node], t.depth[node]+1
	}
	for k := len(t.path) - 1; k >= 0; k-- {
		b.Blocks = append(b.Blocks, hash(t.id[t.path[k]]))
	}
}
