package engine

// Queue is a double-ended queue of slots in a ring. The zero value is empty.
type Queue struct {
	ring []int32
	head int
	n    int
}

// Len is the number of entries.
func (q *Queue) Len() int { return q.n }

// At is entry i, counted from the front.
func (q *Queue) At(i int) int32 { return q.ring[(q.head+i)&(len(q.ring)-1)] }

func (q *Queue) grow() {
	if q.n < len(q.ring) {
		return
	}
	ring := make([]int32, max(16, 2*len(q.ring)))
	for i := range q.n {
		ring[i] = q.At(i)
	}
	q.ring, q.head = ring, 0
}

// PushBack adds an entry behind the last.
func (q *Queue) PushBack(slot int32) {
	q.grow()
	q.ring[(q.head+q.n)&(len(q.ring)-1)] = slot
	q.n++
}

// PushFront adds an entry before the first.
func (q *Queue) PushFront(slot int32) {
	q.grow()
	q.head = (q.head - 1) & (len(q.ring) - 1)
	q.ring[q.head] = slot
	q.n++
}

// PopFront takes out the first entry. The queue must not be empty.
func (q *Queue) PopFront() int32 {
	slot := q.ring[q.head]
	q.head = (q.head + 1) & (len(q.ring) - 1)
	q.n--
	return slot
}

// RemoveAt takes out entry i; entries before it move back by one.
func (q *Queue) RemoveAt(i int) {
	for ; i > 0; i-- {
		q.ring[(q.head+i)&(len(q.ring)-1)] = q.At(i - 1)
	}
	q.PopFront()
}

// Insert puts an entry in front of entry i.
func (q *Queue) Insert(i int, slot int32) {
	q.PushBack(slot)
	for j := q.n - 1; j > i; j-- {
		q.Set(j, q.At(j-1))
	}
	q.Set(i, slot)
}

// Remove takes out the entry slot, which must be there once.
func (q *Queue) Remove(slot int32) {
	for i := range q.n {
		if q.At(i) == slot {
			q.RemoveAt(i)
			return
		}
	}
}

// Set replaces entry i.
func (q *Queue) Set(i int, slot int32) { q.ring[(q.head+i)&(len(q.ring)-1)] = slot }
