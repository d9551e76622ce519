package sglang

// root is the node of the empty prefix.
const root int32 = 0

// node is a compressed edge of the radix tree, the pages from start on, and what lies below
// (spec 04 section 4.2).
type node struct {
	parent int32
	// children counts the nodes below, lock the requests that hold this one or one below.
	children, lock int32
	// place is the index among the leaves, -1 outside.
	place int32
	// owner is the request whose pages lie behind shared, which nobody else can have.
	owner int32
	// The edge is the pages from start to start+count; those before shared have identities.
	start, count, shared int64
	tick                 uint64
	// path has the path elements in which those pages end, the first one being first.
	path  []int32
	first int64
}

// end is the page behind the node.
func (n *node) end() int64 { return n.start + n.count }

// sequence is the identity of the pages of a request: those before shared are found through
// path, those behind belong to the owner alone.
type sequence struct {
	path   []int32
	shared int64
	owner  int32
}

// tree is the radix cache of a rank with its count of pages (spec 04 section 4). Every page
// is free, held by a request alone, or stored on one node.
//
// The identity of a page (its path element and its number among the pages that end there)
// stands for its whole prefix. So a page occurs once in the tree, two sequences part at one
// element, and a long edge is compared by a search over its elements, not page by page.
type tree struct {
	page, element int64
	nodes         []node
	unused        []int32
	// begins finds the node whose edge begins with a page.
	begins map[uint64]int32
	leaves []int32
	// free pages belong to nobody, evictable ones lie on nodes without a lock.
	free, evictable int64
	// version changes whenever a look-up may find more or less than before.
	version uint64
	advert  advert
}

func newTree(pages, pageTokens, elementTokens int64) *tree {
	return &tree{
		page: pageTokens, element: elementTokens, free: pages, begins: map[uint64]int32{},
		nodes: []node{{parent: -1, place: -1}},
	}
}

// available is the number of pages that can be had.
func (t *tree) available() int64 { return t.free + t.evictable }

// elementOf is the path element in which a page ends, before the number of pages that end
// in front of it.
func (t *tree) elementOf(page int64) int64 { return ((page+1)*t.page - 1) / t.element }

func (t *tree) before(element int64) int64 { return element * t.element / t.page }

// private marks the keys of pages that only their owner can ask for.
const private = 1 << 63

func (t *tree) key(s *sequence, page int64) uint64 {
	if page >= s.shared {
		return private | uint64(s.owner)<<32 | uint64(page)
	}
	e := t.elementOf(page)
	return uint64(s.path[e])<<32 | uint64(page-t.before(e))
}

// beginning is the key of the first page of a node.
func (t *tree) beginning(n *node) uint64 {
	if n.start >= n.shared {
		return private | uint64(n.owner)<<32 | uint64(n.start)
	}
	return uint64(n.path[0])<<32 | uint64(n.start-t.before(n.first))
}

// common is the number of pages that a node shares with the sequence up to page limit; the
// first one is known to agree.
func (t *tree) common(n *node, s *sequence, limit int64) int64 {
	limit = min(limit, n.end())
	known := min(s.shared, n.shared, limit)
	if known > n.start {
		low, high := n.first, t.elementOf(known-1)
		if s.path[high] != n.path[high-n.first] {
			// The elements before low agree, high does not.
			for low < high {
				if middle := (low + high) / 2; s.path[middle] == n.path[middle-n.first] {
					low = middle + 1
				} else {
					high = middle
				}
			}
			return t.before(high) - n.start
		}
		if known == limit {
			return limit - n.start
		}
	}
	if s.shared == n.shared && s.owner == n.owner || known <= n.start {
		return limit - n.start
	}
	return known - n.start
}

// match is the number of leading pages of the sequence, up to limit, that are stored (spec
// 04 section 4.3).
func (t *tree) match(s *sequence, limit int64) int64 {
	i := int64(0)
	for i < limit {
		child, ok := t.begins[t.key(s, i)]
		if !ok {
			return i
		}
		n := &t.nodes[child]
		m := t.common(n, s, limit)
		i += m
		if m < n.count {
			return i
		}
	}
	return i
}

// take is match that locks what it finds (spec 04 section 4.4).
func (t *tree) take(s *sequence, limit int64, tick uint64) (pages int64, at int32) {
	at = root
	for pages < limit {
		child, ok := t.begins[t.key(s, pages)]
		if !ok {
			break
		}
		n := &t.nodes[child]
		m := t.common(n, s, limit)
		pages += m
		if m < n.count {
			at = t.split(child, m)
			break
		}
		t.touch(child, tick)
		at = child
	}
	t.lock(at)
	return pages, at
}

// insert stores the pages from from up to to of the sequence below start, which holds what
// is before them. It returns the node of the last page and how many pages were new (spec 04
// section 4.5). The node made at the end gets the tick of the path: no other tick can lie
// between the two that the rules draw.
func (t *tree) insert(start int32, s *sequence, from, to int64, tick uint64) (at int32, stored int64) {
	if from >= to {
		return start, 0
	}
	for n := start; n != root; n = t.nodes[n].parent {
		t.touch(n, tick)
	}
	at = start
	for from < to {
		n := &t.nodes[at]
		if at != root && n.children == 0 && (n.lock == 0 || at == start && n.lock == 1) {
			t.extend(n, s, to)
			t.touch(at, tick)
			t.version++
			return at, to - from
		}
		child, ok := t.begins[t.key(s, from)]
		if !ok {
			return t.grow(at, s, from, to, tick), to - from
		}
		c := &t.nodes[child]
		m := t.common(c, s, to)
		from += m
		if m < c.count {
			at = t.split(child, m)
			if from < to {
				return t.grow(at, s, from, to, tick), to - from
			}
			return at, 0
		}
		t.touch(child, tick)
		at = child
	}
	return at, 0
}

// extend appends the pages of the sequence up to to.
func (t *tree) extend(n *node, s *sequence, to int64) {
	end := n.end()
	n.count = to - n.start
	if n.lock == 0 {
		t.evictable += to - end
	}
	t.identify(n, s)
	t.stored(s, end, to)
}

// identify gives the pages at the end of a node their identities, or their owner.
func (t *tree) identify(n *node, s *sequence) {
	if known := min(n.end(), s.shared); known > n.shared {
		n.path = append(n.path, s.path[n.first+int64(len(n.path)):t.elementOf(known-1)+1]...)
		n.shared = known
	}
	if n.end() > n.shared {
		n.owner = s.owner
	}
}

// grow makes a node below parent.
func (t *tree) grow(parent int32, s *sequence, from, to int64, tick uint64) int32 {
	id := t.alloc()
	n := &t.nodes[id]
	*n = node{parent: parent, place: -1, owner: -1, start: from, count: to - from, shared: from, tick: tick,
		path: n.path[:0], first: t.elementOf(from)}
	t.identify(n, s)
	t.begins[t.beginning(n)] = id
	t.evictable += n.count
	p := &t.nodes[parent]
	p.children++
	if p.place >= 0 {
		t.drop(parent)
	}
	t.join(id)
	t.version++
	t.stored(s, from, to)
	return id
}

// split puts the first pages of a node on a new one above it.
func (t *tree) split(id int32, pages int64) int32 {
	upper := t.alloc()
	n, u := &t.nodes[id], &t.nodes[upper]
	cut := n.start + pages
	*u = node{parent: n.parent, children: 1, lock: n.lock, place: -1, owner: -1, start: n.start, count: pages,
		shared: min(n.shared, cut), tick: n.tick, path: u.path[:0], first: n.first}
	if cut > n.shared {
		u.owner = n.owner
	}
	if u.shared > u.start {
		u.path = append(u.path, n.path[:t.elementOf(u.shared-1)+1-n.first]...)
	}
	t.begins[t.beginning(n)] = upper
	n.parent, n.start, n.count = upper, cut, n.count-pages
	first := t.elementOf(cut)
	kept := 0
	if n.shared > cut {
		kept = copy(n.path, n.path[first-n.first:])
	} else {
		n.shared = cut
	}
	n.path, n.first = n.path[:kept], first
	t.begins[t.beginning(n)] = id
	return upper
}

func (t *tree) alloc() int32 {
	if n := len(t.unused); n > 0 {
		id := t.unused[n-1]
		t.unused = t.unused[:n-1]
		return id
	}
	t.nodes = append(t.nodes, node{})
	return int32(len(t.nodes) - 1)
}

// lock holds a node and all above it (spec 04 section 4.6).
func (t *tree) lock(id int32) {
	for id != root {
		n := &t.nodes[id]
		if n.lock == 0 {
			t.evictable -= n.count
			if n.place >= 0 {
				t.drop(id)
			}
		}
		n.lock++
		id = n.parent
	}
}

// unlock takes back a lock. A node without locks and children can be evicted.
func (t *tree) unlock(id int32) {
	for id != root {
		n := &t.nodes[id]
		if n.lock--; n.lock == 0 {
			t.evictable += n.count
			if n.children == 0 {
				t.join(id)
			}
		}
		id = n.parent
	}
}

// evict frees pages of the leaves used least recently (spec 04 section 4.7).
func (t *tree) evict(pages int64) {
	if pages > 0 && len(t.leaves) > 0 {
		t.version++
	}
	for pages > 0 && len(t.leaves) > 0 {
		id := t.leaves[0]
		n := &t.nodes[id]
		cut := min(pages, n.count)
		t.dropped(n, cut)
		pages -= cut
		t.free += cut
		t.evictable -= cut
		if cut < n.count {
			t.trim(n, cut)
			return
		}
		t.drop(id)
		delete(t.begins, t.beginning(n))
		t.unused = append(t.unused, id)
		parent := n.parent
		p := &t.nodes[parent]
		if p.children--; p.children == 0 && p.lock == 0 && parent != root {
			t.join(parent)
		}
	}
}

// trim takes pages off the end of a node.
func (t *tree) trim(n *node, pages int64) {
	n.count -= pages
	if n.shared > n.end() {
		n.shared = n.end()
		n.path = n.path[:t.elementOf(n.shared-1)+1-n.first]
	}
}

// touch sets the tick of a node.
func (t *tree) touch(id int32, tick uint64) {
	n := &t.nodes[id]
	n.tick = tick
	if n.place >= 0 {
		t.down(n.place)
	}
}

// renew raises the ticks of a node and all above it to at least tick.
func (t *tree) renew(id int32, tick uint64) {
	for ; id != root; id = t.nodes[id].parent {
		if t.nodes[id].tick < tick {
			t.touch(id, tick)
		}
	}
}
