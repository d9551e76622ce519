package g3

import "github.com/dynosim/dynosim/simulate/heap"

// Found is what a probe of a block finds.
type Found uint8

// Answers of a probe.
const (
	Absent Found = iota
	// Pending blocks are still being written.
	Pending
	Resident
)

// block is an entry of a store.
type block struct {
	key uint64
	// age is the ordinal that says when the block leaves; blocks of one age leave by key.
	age int64
	// reads are the reads under way; writer is the worker that wrote the block.
	reads, writer int32
	pending       bool
	// offer is the last write that the block was offered to.
	offer uint32
}

// place is an entry of the order of eviction. It is stale once its block has another age, is being read, or is
// gone.
type place struct {
	age   int64
	key   uint64
	block int32
}

// Before is the order in which blocks leave.
func (a *place) Before(b *place) bool { return a.age < b.age || a.age == b.age && a.key < b.key }

// store is what one worker, or all of them, have on storage.
type store struct {
	capacity int64
	blocks   []block
	free     []int32
	byKey    map[uint64]int32
	order    heap.Heap[place, *place]
	// idle counts the resident blocks that nobody reads, pending those being written.
	idle, pending int64
	offer         uint32
	kept          []place
}

func newStore(capacity int64) *store {
	return &store{capacity: capacity, byKey: map[uint64]int32{}}
}

// find returns the block of a key, -1 for none.
func (s *store) find(key uint64) int32 {
	if b, ok := s.byKey[key]; ok {
		return b
	}
	return -1
}

// add makes a pending block.
func (s *store) add(key uint64, writer int32) int32 {
	var b int32
	if n := len(s.free); n > 0 {
		b = s.free[n-1]
		s.free = s.free[:n-1]
	} else {
		b = int32(len(s.blocks))
		s.blocks = append(s.blocks, block{})
	}
	s.blocks[b] = block{key: key, writer: writer, pending: true}
	s.byKey[key] = b
	s.pending++
	return b
}

// written makes a pending block resident.
func (s *store) written(b int32, age int64) {
	s.blocks[b].pending = false
	s.pending--
	s.idle++
	s.touch(b, age)
}

// touch gives a block an age.
func (s *store) touch(b int32, age int64) {
	s.blocks[b].age = age
	if s.blocks[b].reads == 0 {
		s.queue(b)
	}
}

// queue puts a block into the order of eviction, which is made anew when most of it is stale.
func (s *store) queue(b int32) {
	if len(s.order) > 4*len(s.byKey)+64 {
		s.order = s.order[:0]
		for i := range s.blocks {
			if x := &s.blocks[i]; !x.pending && x.reads == 0 && int32(i) != b && s.find(x.key) == int32(i) {
				s.order.Push(place{x.age, x.key, int32(i)})
			}
		}
	}
	x := &s.blocks[b]
	s.order.Push(place{x.age, x.key, b})
}

// pin keeps a resident block while it is read, unpin ends that, with an age.
func (s *store) pin(b int32) {
	x := &s.blocks[b]
	if x.reads == 0 {
		s.idle--
	}
	x.reads++
}

func (s *store) unpin(b int32, age int64) {
	x := &s.blocks[b]
	x.age = age
	if x.reads--; x.reads == 0 {
		s.idle++
		s.queue(b)
	}
}

// makeRoom evicts blocks until n more fit, or as many as possible, sparing those of the present offer. It
// returns how many fit and how many left.
func (s *store) makeRoom(n, spared int64) (fit, gone int64) {
	room := s.capacity - int64(len(s.byKey))
	needed := min(n-room, s.idle-spared)
	for gone < needed {
		p := s.order.Pop()
		x := &s.blocks[p.block]
		switch {
		case x.key != p.key || x.age != p.age || x.pending || x.reads > 0 || s.byKey[p.key] != p.block:
		case x.offer == s.offer:
			s.kept = append(s.kept, p)
		default:
			delete(s.byKey, p.key)
			*x = block{}
			s.free = append(s.free, p.block)
			s.idle--
			gone++
		}
	}
	for _, p := range s.kept {
		s.order.Push(p)
	}
	s.kept = s.kept[:0]
	return min(n, room+gone), gone
}
