package kv

// units numbers the units of a pool's capacity, for those who must know which unit a block has:
// a transfer that reads a block keeps reading its unit after the block is gone (spec 10 section
// 5.1).
type units struct {
	// free is the stack of the units of free blocks, of has the unit of each entry.
	free, of []int32
	// taken has the units of the last Take in the order in which they were taken.
	taken []int32
}

// NumberUnits makes the pool keep track of its units of capacity. It must be empty.
func (p *Pool) NumberUnits() {
	p.units = &units{free: make([]int32, p.total)}
	for i := range p.units.free {
		p.units.free[i] = int32(i)
	}
}

// take takes the top n units off the stack, in the order in which they lie.
func (u *units) take(n int64) {
	at := int64(len(u.free)) - n
	u.taken = append(u.taken[:0], u.free[at:]...)
	u.free = u.free[:at]
}

// AppendTaken appends the units of the last Take as its blocks get them in ascending order: the last one first.
func (p *Pool) AppendTaken(to []int32) []int32 {
	for i := len(p.units.taken) - 1; i >= 0; i-- {
		to = append(to, p.units.taken[i])
	}
	return to
}

// SetUnit gives the block of an entry the unit it lies in.
func (p *Pool) SetUnit(e, unit int32) {
	for int(e) >= len(p.units.of) {
		p.units.of = append(p.units.of, None)
	}
	p.units.of[e] = unit
}

// Unit is the unit of an entry.
func (p *Pool) Unit(e int32) int32 { return p.units.of[e] }

// FreeUnit returns a private block and its unit to the free ones.
func (p *Pool) FreeUnit(unit int32) {
	p.units.free = append(p.units.free, unit)
	p.free++
}

// ReleaseUnit makes a private block idle, holding content that nothing will ask for again.
func (p *Pool) ReleaseUnit(unit int32) {
	e := p.newEntry()
	p.entries[e] = entry{page: None, refs: 1}
	p.SetUnit(e, unit)
	p.link(e)
	p.idle++
}
