package kv

// index maps chain ids to pages: an open-addressing hash table with linear probing and
// deletion by shifting back, so that it never fills up with tombstones. Its size follows
// what is cached, not the number of chains of the trace.
type index struct {
	slots []indexSlot
	shift uint
	n     int
}

type indexSlot struct{ key, page int32 }

func newIndex() index {
	var x index
	x.init(6)
	return x
}

func (x *index) init(log2 uint) {
	x.slots = make([]indexSlot, 1<<log2)
	for i := range x.slots {
		x.slots[i].key = -1
	}
	x.shift = 32 - log2
}

func (x *index) home(key int32) int { return int(uint32(key) * 2654435769 >> x.shift) }

// find returns the page of key, -1 for none.
func (x *index) find(key int32) int32 {
	mask := len(x.slots) - 1
	for i := x.home(key); ; i = (i + 1) & mask {
		s := x.slots[i&mask]
		if s.key == key {
			return s.page
		}
		if s.key < 0 {
			return -1
		}
	}
}

// insert adds a key that is not there.
func (x *index) insert(key, page int32) {
	if 2*(x.n+1) > len(x.slots) {
		old := x.slots
		x.init(33 - x.shift)
		for _, s := range old {
			if s.key >= 0 {
				x.place(s)
			}
		}
	}
	x.n++
	x.place(indexSlot{key, page})
}

func (x *index) place(s indexSlot) {
	mask := len(x.slots) - 1
	i := x.home(s.key)
	for x.slots[i].key >= 0 {
		i = (i + 1) & mask
	}
	x.slots[i] = s
}

// remove deletes a key that is there.
func (x *index) remove(key int32) {
	mask := len(x.slots) - 1
	i := x.home(key)
	for x.slots[i].key != key {
		i = (i + 1) & mask
	}
	x.n--
	for j := i; ; {
		j = (j + 1) & mask
		s := x.slots[j]
		if s.key < 0 {
			break
		}
		// s may move into the hole unless its home lies behind the hole.
		if h := x.home(s.key); (j-h)&mask >= (j-i)&mask {
			x.slots[i] = s
			i = j
		}
	}
	x.slots[i].key = -1
}
