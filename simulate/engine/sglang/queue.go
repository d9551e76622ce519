package sglang

// queue is a double-ended queue of slots in a ring.
type queue struct {
	ring []int32
	head int
	n    int
}

func (q *queue) len() int { return q.n }

func (q *queue) at(i int) int32 { return q.ring[(q.head+i)&(len(q.ring)-1)] }

func (q *queue) grow() {
	if q.n < len(q.ring) {
		return
	}
	ring := make([]int32, max(16, 2*len(q.ring)))
	for i := range q.n {
		ring[i] = q.at(i)
	}
	q.ring, q.head = ring, 0
}

func (q *queue) pushBack(slot int32) {
	q.grow()
	q.ring[(q.head+q.n)&(len(q.ring)-1)] = slot
	q.n++
}

func (q *queue) pushFront(slot int32) {
	q.grow()
	q.head = (q.head - 1) & (len(q.ring) - 1)
	q.ring[q.head] = slot
	q.n++
}

func (q *queue) popFront() int32 {
	slot := q.ring[q.head]
	q.head = (q.head + 1) & (len(q.ring) - 1)
	q.n--
	return slot
}

// set replaces entry i.
func (q *queue) set(i int, slot int32) { q.ring[(q.head+i)&(len(q.ring)-1)] = slot }

// finish says at which step a steady request gets its last token.
type finish struct {
	step, join int64
	slot       int32
}

// finishHeap is a binary heap of finishes, earliest step first, then list order.
type finishHeap []finish

func (h finishHeap) less(i, j int) bool {
	return h[i].step < h[j].step || h[i].step == h[j].step && h[i].join < h[j].join
}

func (h *finishHeap) push(f finish) {
	*h = append(*h, f)
	s := *h
	for i := len(s) - 1; i > 0; {
		up := (i - 1) / 2
		if !s.less(i, up) {
			return
		}
		s[i], s[up] = s[up], s[i]
		i = up
	}
}

func (h *finishHeap) pop() finish {
	s := *h
	top := s[0]
	n := len(s) - 1
	s[0] = s[n]
	s = s[:n]
	*h = s
	for i := 0; ; {
		c := 2*i + 1
		if c >= n {
			return top
		}
		if c+1 < n && s.less(c+1, c) {
			c++
		}
		if !s.less(c, i) {
			return top
		}
		s[i], s[c] = s[c], s[i]
		i = c
	}
}

// phases counts the steady requests by the step, modulo the block size, at which they begin
// a block. Block sizes beyond denseBlock use a map: nobody should pay for an array of that size.
type phases struct {
	block  int64
	counts []int32
	sparse map[int64]int32
}

const denseBlock = 1 << 16

func newPhases(block int64) phases {
	if block > denseBlock {
		return phases{block: block, sparse: map[int64]int32{}}
	}
	return phases{block: block, counts: make([]int32, block)}
}

// key of a request that has computed tokens at a step: it begins a block at every step s
// with s = key modulo the block size.
func (p *phases) key(computed, step int64) int64 {
	k := (step - computed) % p.block
	if k < 0 {
		k += p.block
	}
	return k
}

func (p *phases) add(computed, step int64, n int32) {
	k := p.key(computed, step)
	if p.sparse == nil {
		p.counts[k] += n
	} else if p.sparse[k] += n; p.sparse[k] == 0 {
		delete(p.sparse, k)
	}
}

// at is the number of requests that begin a block at the step.
func (p *phases) at(step int64) int64 {
	if p.sparse != nil {
		return int64(p.sparse[step%p.block])
	}
	return int64(p.counts[step%p.block])
}
