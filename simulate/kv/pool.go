// Package kv is the pool of KV blocks of one rank: which content is cached, who uses it,
// and in which order unused content is evicted (spec 03 section 4).
//
// A block of the pool is free, private to a request, or cached. Free and private blocks
// are only counted. A cached block is an entry: content with an identity, a reference
// count, and, while nobody uses it, a place in the list of least recently released blocks.
//
// Identities are (page, position) pairs. A page stands for one chain (a distinct prefix of
// trace blocks) and has one position for each engine block that ends inside the chain's
// last trace block, so one hash look-up answers for several blocks. The look-up costs a
// few nanoseconds and keeps the memory proportional to the pool; an array over all chains
// of a trace for every rank would not.
package kv

// None stands for no entry, no page and no chain.
const None int32 = -1

// Pool is the block pool of one rank. Its invariant is Total = free + active + idle.
type Pool struct {
	total, free, idle int64
	caching           bool
	positions         int32
	entries           []entry
	// nextCopy has, for each entry, the next younger block with the same content. Such
	// copies are rare; while further is 0 there are none and nobody looks.
	nextCopy       []int32
	further        int64
	freeEntry      int32
	oldest, newest int32
	// heads holds, for position s of page p at p*positions+s, the oldest copy of the content.
	heads    []int32
	pages    []page
	freePage int32
	index    index
	stored   uint64
	events   *Log
	// units numbers the units of capacity, nil when nobody asks.
	units *units
	// evicted counts the blocks that were evicted so far.
	evicted uint64
}

// entry is one cached block with its number of users, or (page None) a run of refs idle
// blocks with content that nothing can ask for again: generated tokens of a request that
// ended. Unused entries are chained through older.
type entry struct {
	refs           int32
	older, newer   int32
	page, position int32
}

type page struct {
	key     int32
	entries int32
	pinned  bool
}

// New makes a pool of blocks blocks. A page has positions positions. With caching false
// nothing is ever cached and released blocks are free at once.
func New(blocks int64, positions int32, caching bool) *Pool {
	return &Pool{total: blocks, free: blocks, caching: caching, positions: positions,
		freeEntry: None, freePage: None, oldest: None, newest: None, index: newIndex()}
}

// Total is the number of blocks of the pool.
func (p *Pool) Total() int64 { return p.total }

// Available is the number of blocks that can be taken: free and idle ones.
func (p *Pool) Available() int64 { return p.free + p.idle }

// Active is the number of blocks in use.
func (p *Pool) Active() int64 { return p.total - p.free - p.idle }

// Idle is the number of cached blocks that nobody uses.
func (p *Pool) Idle() int64 { return p.idle }

// Record lets the log have the events of the pool from now on: content of pages with a chain
// that became visible, and content whose last block was evicted (spec 03 section 11.3).
func (p *Pool) Record(log *Log) { p.events = log }

// Caching reports whether released content stays.
func (p *Pool) Caching() bool { return p.caching }

// Stored counts the blocks that became visible so far. While it and Active stand still, no
// look-up can find more than before.
func (p *Pool) Stored() uint64 { return p.stored }

// Changes counts the blocks that became visible or were evicted so far: while it stands still, look-ups find the
// same.
func (p *Pool) Changes() uint64 { return p.stored + p.evicted }

// Find returns the page of a chain, None when nothing of it is cached.
func (p *Pool) Find(chain int32) int32 { return p.index.find(chain) }

// Head returns the oldest block with the content of the position, None when there is none.
func (p *Pool) Head(page, position int32) int32 { return p.heads[page*p.positions+position] }

// InUse reports whether a request holds the block.
func (p *Pool) InUse(e int32) bool { return p.entries[e].refs > 0 }

// Take takes n private blocks, free ones first, then the least recently released idle ones,
// which are evicted. It reports false and changes nothing when there are too few.
func (p *Pool) Take(n int64) bool {
	if n > p.free+p.idle {
		return false
	}
	if p.units != nil {
		p.units.take(min(n, p.free))
	}
	for p.free < n {
		p.evict()
	}
	p.free -= n
	return true
}

// Use adds a reference to a cached block.
func (p *Pool) Use(e int32) {
	x := &p.entries[e]
	if x.refs == 0 {
		p.unlink(e)
		p.idle--
	}
	x.refs++
}

// Page returns the page of a chain and makes it when there is none. Something must be
// stored on a new page before anything else happens to the pool.
func (p *Pool) Page(chain int32) int32 {
	pg := p.index.find(chain)
	if pg < 0 {
		pg = p.newPage(chain)
		p.index.insert(chain, pg)
	}
	return pg
}

// Store gives one private block of a request the content (page, position) and returns its
// entry, used once. The content becomes visible unless an older copy already is.
func (p *Pool) Store(pg, position int32) int32 {
	e := p.newEntry()
	p.entries[e] = entry{refs: 1, older: None, newer: None, page: pg, position: position}
	p.pages[pg].entries++
	head := &p.heads[pg*p.positions+position]
	if *head < 0 {
		*head = e
		p.stored++
		if key := p.pages[pg].key; p.events != nil && key >= 0 {
			p.events.Add(Stored(key, position))
		}
		return e
	}
	last := *head
	for p.nextCopy[last] >= 0 {
		last = p.nextCopy[last]
	}
	p.nextCopy[last] = e
	p.further++
	return e
}

// Release drops a reference; a block without any becomes idle, last in line for eviction.
func (p *Pool) Release(e int32) {
	x := &p.entries[e]
	x.refs--
	if x.refs == 0 {
		p.link(e)
		p.idle++
	}
}

// ReleaseRun makes n private blocks idle, holding content that nothing will ask for again.
func (p *Pool) ReleaseRun(n int64) {
	if n <= 0 {
		return
	}
	e := p.newEntry()
	p.entries[e] = entry{page: None, refs: int32(n)}
	p.link(e)
	p.idle += n
}

// Free returns n private blocks to the free ones.
func (p *Pool) Free(n int64) { p.free += n }

// PrivatePage makes a page that no look-up by chain finds, for content only its owner can
// ask for. It stays until Unpin.
func (p *Pool) PrivatePage() int32 {
	pg := p.newPage(None)
	p.pages[pg].pinned = true
	return pg
}

// Unpin gives up a private page; it goes when its last block is evicted.
func (p *Pool) Unpin(pg int32) {
	p.pages[pg].pinned = false
	if p.pages[pg].entries == 0 {
		p.dropPage(pg)
	}
}

// evict frees the least recently released idle block.
func (p *Pool) evict() {
	e := p.oldest
	x := &p.entries[e]
	p.idle--
	p.free++
	p.evicted++
	if p.units != nil {
		p.units.taken = append(p.units.taken, p.units.of[e])
	}
	if x.page < 0 {
		if x.refs--; x.refs > 0 {
			return
		}
		p.unlink(e)
		p.dropEntry(e)
		return
	}
	p.unlink(e)
	head := &p.heads[x.page*p.positions+x.position]
	switch {
	case p.further == 0:
		*head = None
	case *head == e:
		if *head = p.nextCopy[e]; *head >= 0 {
			p.further--
			p.nextCopy[e] = None
		}
	default:
		c := *head
		for p.nextCopy[c] != e {
			c = p.nextCopy[c]
		}
		p.nextCopy[c], p.nextCopy[e] = p.nextCopy[e], None
		p.further--
	}
	pg := &p.pages[x.page]
	if p.events != nil && pg.key >= 0 && *head < 0 {
		p.events.Add(Removed(pg.key, x.position))
	}
	if pg.entries--; pg.entries == 0 && !pg.pinned {
		p.dropPage(x.page)
	}
	p.dropEntry(e)
}

func (p *Pool) link(e int32) {
	x := &p.entries[e]
	x.older, x.newer = p.newest, None
	if p.newest >= 0 {
		p.entries[p.newest].newer = e
	} else {
		p.oldest = e
	}
	p.newest = e
}

func (p *Pool) unlink(e int32) {
	x := &p.entries[e]
	if x.older >= 0 {
		p.entries[x.older].newer = x.newer
	} else {
		p.oldest = x.newer
	}
	if x.newer >= 0 {
		p.entries[x.newer].older = x.older
	} else {
		p.newest = x.older
	}
}

func (p *Pool) newEntry() int32 {
	e := p.freeEntry
	if e < 0 {
		p.entries, p.nextCopy = append(p.entries, entry{}), append(p.nextCopy, None)
		return int32(len(p.entries) - 1)
	}
	p.freeEntry = p.entries[e].older
	return e
}

func (p *Pool) dropEntry(e int32) {
	p.entries[e].older = p.freeEntry
	p.freeEntry = e
}

// newPage and dropPage keep unused pages in a list through their keys.
func (p *Pool) newPage(chain int32) int32 {
	pg := p.freePage
	if pg >= 0 {
		p.freePage = p.pages[pg].key
	} else {
		pg = int32(len(p.pages))
		p.pages = append(p.pages, page{})
		for range p.positions {
			p.heads = append(p.heads, None)
		}
	}
	p.pages[pg] = page{key: chain}
	return pg
}

func (p *Pool) dropPage(pg int32) {
	if k := p.pages[pg].key; k >= 0 {
		p.index.remove(k)
	}
	p.pages[pg].key = p.freePage
	p.freePage = pg
}
