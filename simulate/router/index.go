package router

import (
	"math/bits"

	"github.com/dynosim/dynosim/simulate/kv"
)

// index knows which blocks the targets hold (spec 06 section 3). The columns are those of the
// chains: each chain that somebody holds a block of has a row with one bit set of targets for
// every block that ends in it. A request's path is walked once, for all targets together.
//
// Rows follow what is cached, not the length of the trace; the chains have only the number
// of their row.
type index struct {
	// positions is the most blocks that end in one path element, words the length of a bit set.
	positions, words int
	// row of a chain, -1 for none; chains beyond have none.
	row []int32
	// sets has the bit sets of row r from r*positions*words on, held the bits set in a row.
	sets []uint64
	held []int32
	free []int32
	// alive is the working memory of a walk.
	alive []uint64
}

func newIndex(positions int) index {
	return index{positions: positions, words: 1, alive: make([]uint64, 1)}
}

// grow makes room for targets targets.
func (x *index) grow(targets int) {
	words := (targets + 63) / 64
	if words <= x.words {
		return
	}
	words = max(words, 2*x.words)
	sets := make([]uint64, len(x.held)*x.positions*words)
	for i := range len(x.held) * x.positions {
		copy(sets[i*words:], x.sets[i*x.words:(i+1)*x.words])
	}
	x.sets, x.words, x.alive = sets, words, make([]uint64, words)
}

// apply takes events of a target in their order.
func (x *index) apply(target int32, events []kv.Event) {
	word, bit := int(target>>6), uint64(1)<<(target&63)
	for _, e := range events {
		element, position, removed := e.Block()
		if removed {
			x.remove(element, position, word, bit)
		} else {
			x.store(element, position, word, bit)
		}
	}
}

func (x *index) store(element, position int32, word int, bit uint64) {
	if int(element) >= len(x.row) {
		grown := make([]int32, max(int(element)+1, 2*len(x.row)))
		for i := copy(grown, x.row); i < len(grown); i++ {
			grown[i] = -1
		}
		x.row = grown
	}
	row := x.row[element]
	if row < 0 {
		row = x.newRow()
		x.row[element] = row
	}
	set := &x.sets[(int(row)*x.positions+int(position))*x.words+word]
	if *set&bit == 0 {
		*set |= bit
		x.held[row]++
	}
}

func (x *index) remove(element, position int32, word int, bit uint64) {
	if int(element) >= len(x.row) || x.row[element] < 0 {
		return
	}
	row := x.row[element]
	set := &x.sets[(int(row)*x.positions+int(position))*x.words+word]
	if *set&bit == 0 {
		return
	}
	*set &^= bit
	if x.held[row]--; x.held[row] == 0 {
		x.row[element] = -1
		x.free = append(x.free, row)
	}
}

func (x *index) newRow() int32 {
	if n := len(x.free); n > 0 {
		row := x.free[n-1]
		x.free = x.free[:n-1]
		return row
	}
	x.held = append(x.held, 0)
	for range x.positions * x.words {
		x.sets = append(x.sets, 0)
	}
	return int32(len(x.held) - 1)
}

// forget drops everything that a target holds.
func (x *index) forget(target int32) {
	word, bit := int(target>>6), uint64(1)<<(target&63)
	for element, row := range x.row {
		if row < 0 {
			continue
		}
		for p := range x.positions {
			x.remove(int32(element), int32(p), word, bit)
			if x.row[element] < 0 {
				break
			}
		}
	}
}

// overlap sets out, one number a target, to the leading blocks of the path that the target
// holds (spec 06 section 3.3), blocks at most. It returns the greatest.
func (x *index) overlap(s shape, path []int32, blocks int64, out []int32) (most int32) {
	clear(out)
	alive := x.alive[:x.words]
	n := len(out)
	for w := range alive {
		alive[w] = ^uint64(0)
		if left := n - w*64; left < 64 {
			alive[w] = uint64(1)<<max(left, 0) - 1
		}
	}
	done := int64(0)
	for e, element := range path {
		if done >= blocks {
			break
		}
		end := min(s.before(int64(e)+1), blocks)
		if end == done {
			continue
		}
		row := int32(-1)
		if int(element) < len(x.row) {
			row = x.row[element]
		}
		if row < 0 {
			break
		}
		set := x.sets[int(row)*x.positions*x.words:]
		for ; done < end; done++ {
			left := uint64(0)
			for w := range alive {
				gone := alive[w] &^ set[w]
				alive[w] &= set[w]
				left |= alive[w]
				for ; gone != 0; gone &= gone - 1 {
					out[w<<6|bits.TrailingZeros64(gone)] = int32(done)
				}
			}
			if left == 0 {
				return int32(done)
			}
			set = set[x.words:]
		}
	}
	for w, left := range alive {
		for ; left != 0; left &= left - 1 {
			out[w<<6|bits.TrailingZeros64(left)] = int32(done)
		}
	}
	return int32(done)
}

// shape says how engine blocks lie in the elements of a path.
type shape struct{ block, element int64 }

// before is the number of blocks that end in front of an element.
func (s shape) before(element int64) int64 { return element * s.element / s.block }

// positions is the most blocks that end in one element.
func (s shape) positions() int { return int(max(1, (s.element+s.block-1)/s.block)) }
