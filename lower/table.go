package lower

// table finds dense ids by what they stand for: open addressing over ids, with the keys
// kept by the owner. A search goes
//
//	for i := t.slot(hash); t.tags[i] != 0; i = t.after(i) {
//		if t.tags[i] == tag(hash) { compare the key of t.ids[i] }
//	}
//
// so that it looks at a key, which lies elsewhere, almost only when it is the right one. The zero
// table has no slots: it must not be searched.
type table struct {
	// tags has eight bits of the hash of each slot, 0 for an empty one.
	tags []uint8
	ids  []uint32
	n    int
}

// mix spreads the bits of a key (the finaliser of SplitMix64).
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// tag is never 0.
func tag(hash uint64) uint8 { return max(uint8(hash), 1) }

// slot is where a search for a hash starts: the upper bits, scaled to the number of slots.
func (t *table) slot(hash uint64) uint64 {
	return hash >> 32 * uint64(len(t.tags)) >> 32
}

// after is the slot that a search looks at next.
func (t *table) after(i uint64) uint64 {
	if i++; i == uint64(len(t.tags)) {
		return 0
	}
	return i
}

// insert puts an id in. The table must not be crowded, and the id not be there.
func (t *table) insert(id uint32, hash uint64) {
	i := t.slot(hash)
	for t.tags[i] != 0 {
		i = t.after(i)
	}
	t.tags[i], t.ids[i] = tag(hash), id
	t.n++
}

// grow makes room for more ids. known yields the ids in the table with their hashes; the old
// slots are given up first, so that the two never exist together.
func (t *table) grow(known func(yield func(id uint32, hash uint64) bool)) {
	size := max(256, len(t.tags)+len(t.tags)/4*3)
	*t = table{}
	t.tags, t.ids = make([]uint8, size), make([]uint32, size)
	for id, hash := range known {
		t.insert(id, hash)
	}
}

// crowded reports whether the table has to grow before another id goes in: searches
// get long beyond three quarters.
func (t *table) crowded() bool { return t.n >= len(t.tags)/4*3 }
