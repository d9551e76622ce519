package host

// table maps sequence hashes to entries: open addressing with linear probing and deletion by
// shifting back. Hashes are uniform, so that their low bits are the home of a key.
type table struct {
	slots []slot
	n     int
}

// slot is a key and its entry; entry None is an empty slot.
type slot struct {
	key   uint64
	entry int32
}

func newTable() table {
	var t table
	t.reset(64)
	return t
}

func (t *table) reset(n int) {
	t.slots = make([]slot, n)
	for i := range t.slots {
		t.slots[i].entry = None
	}
}

// find returns the entry of a key, None without one.
func (t *table) find(key uint64) int32 {
	mask := uint64(len(t.slots) - 1)
	for i := key & mask; ; i = (i + 1) & mask {
		if s := &t.slots[i]; s.entry < 0 || s.key == key {
			return s.entry
		}
	}
}

// insert adds a key that is not there.
func (t *table) insert(key uint64, entry int32) {
	if 2*(t.n+1) > len(t.slots) {
		old := t.slots
		t.reset(2 * len(old))
		for _, s := range old {
			if s.entry >= 0 {
				t.place(s)
			}
		}
	}
	t.n++
	t.place(slot{key, entry})
}

func (t *table) place(s slot) {
	mask := uint64(len(t.slots) - 1)
	i := s.key & mask
	for t.slots[i].entry >= 0 {
		i = (i + 1) & mask
	}
	t.slots[i] = s
}

// remove deletes a key that is there.
func (t *table) remove(key uint64) {
	mask := uint64(len(t.slots) - 1)
	i := key & mask
	for t.slots[i].key != key || t.slots[i].entry < 0 {
		i = (i + 1) & mask
	}
	t.n--
	for j := i; ; {
		j = (j + 1) & mask
		s := t.slots[j]
		if s.entry < 0 {
			break
		}
		// s may move into the hole unless its home lies behind the hole.
		if (j-s.key&mask)&mask >= (j-i)&mask {
			t.slots[i] = s
			i = j
		}
	}
	t.slots[i].entry = None
}
