package inspect

import (
	"maps"
	"math"
	"slices"

	"github.com/zeebo/xxh3"
)

// mix spreads the bits of v over the whole result.
func mix(v uint64) uint64 {
	v += 0x9e3779b97f4a7c15
	v = (v ^ v>>30) * 0xbf58476d1ce4e5b9
	v = (v ^ v>>27) * 0x94d049bb133111eb
	return v ^ v>>31
}

// sampleLimit is the most distinct things that a sample remembers.
const sampleLimit = 1 << 20

// sample estimates how much of a stream is new, in bounded memory. It remembers the hashes below a
// limit, all of them at first, and halves the limit when they are too many. Whether such a hash was there
// before is always known exactly, since the limit only falls; a new one counts for all that are not
// looked at. Up to sampleLimit distinct things the result is exact.
type sample struct {
	// slots is an open-addressing table of hashes, 0 for none.
	slots []uint64
	n     int
	// halvings is how often the limit was halved, mask the bits that are 0 in hashes below it.
	halvings int
	mask     uint64
	// all is the sum of all weights, fresh of those of what was not there before.
	all, fresh float64
}

// add notes a thing by its hash.
func (s *sample) add(hash uint64, weight float64) {
	s.all += weight
	if hash&s.mask == 0 {
		s.look(max(hash, 1), weight)
	}
}

// look notes a thing whose hash is below the limit.
func (s *sample) look(hash uint64, weight float64) {
	if 2*s.n >= len(s.slots) {
		s.room()
	}
	if hash&s.mask == 0 && s.put(hash) {
		s.fresh += weight * float64(s.oneIn())
	}
}

// put remembers a hash and reports whether it is new.
func (s *sample) put(hash uint64) bool {
	last := uint64(len(s.slots) - 1)
	for at := hash & last; ; at = (at + 1) & last {
		switch s.slots[at] {
		case hash:
			return false
		case 0:
			s.slots[at] = hash
			s.n++
			return true
		}
	}
}

// room doubles the table, or halves the limit when there are too many hashes.
func (s *sample) room() {
	size := max(1<<10, 2*len(s.slots))
	if s.n >= sampleLimit {
		size = len(s.slots)
		s.halvings++
		s.mask |= 1 << 63 >> (s.halvings - 1)
	}
	old := s.slots
	s.slots, s.n = make([]uint64, size), 0
	for _, hash := range old {
		if hash != 0 && hash&s.mask == 0 {
			s.put(hash)
		}
	}
}

// oneIn is how many things stand behind each that is looked at.
func (s *sample) oneIn() int64 { return 1 << s.halvings }

// sessionLimit is the most sessions whose turns are counted.
const sessionLimit = 1 << 19

// sessions counts turns by the hash of the session's name, by the rule of sample.
type sessions struct {
	turns    map[uint64]int64
	halvings int
	mask     uint64
}

func (s *sessions) add(name string) {
	hash := xxh3.HashString(name)
	if hash&s.mask != 0 {
		return
	}
	if s.turns == nil {
		s.turns = map[uint64]int64{}
	}
	s.turns[hash]++
	for len(s.turns) > sessionLimit {
		s.mask |= 1 << 63 >> s.halvings
		s.halvings++
		maps.DeleteFunc(s.turns, func(hash uint64, _ int64) bool { return hash&s.mask != 0 })
	}
}

// figures are the number of sessions, how many stand behind each that was counted, and the turns of one.
func (s *sessions) figures() (n, oneIn int64, turns Lengths) {
	var l lengths
	for _, t := range s.turns {
		l.add(t, 1)
	}
	oneIn = 1 << s.halvings
	turns = l.figures()
	turns.Sum *= oneIn
	return int64(len(s.turns)) * oneIn, oneIn, turns
}

// denseLengths is where lengths are no longer counted one by one.
const denseLengths = 1 << 17

// lengths counts values: exactly below denseLengths, in steps of less than a 65,536th of the value above.
type lengths struct {
	dense []int64
	// large has the counts of larger values by their lower bound.
	large    map[int64]int64
	sum, max int64
}

func (l *lengths) add(v, n int64) {
	l.sum += v * n
	l.max = max(l.max, v)
	if uint64(v) < denseLengths {
		if v >= int64(len(l.dense)) {
			l.dense = append(l.dense, make([]int64, max(v+1, 2*int64(len(l.dense)))-int64(len(l.dense)))...)
		}
		l.dense[v] += n
		return
	}
	if l.large == nil {
		l.large = map[int64]int64{}
	}
	shift := 0
	for v>>shift >= denseLengths {
		shift++
	}
	l.large[v>>shift<<shift] += n
}

func (l *lengths) figures() (f Lengths) {
	values := slices.Sorted(maps.Keys(l.large))
	total := int64(0)
	each := func(do func(v, n int64) bool) {
		for v, n := range l.dense {
			if n > 0 && !do(int64(v), n) {
				return
			}
		}
		for _, v := range values {
			if !do(v, l.large[v]) {
				return
			}
		}
	}
	each(func(_, n int64) bool { total += n; return true })
	rank := func(percent int64) (at int64) {
		left := (total*percent + 99) / 100
		each(func(v, n int64) bool { at = v; left -= n; return left > 0 })
		return at
	}
	return Lengths{Sum: l.sum, P50: rank(50), P90: rank(90), P99: rank(99), Max: l.max}
}

// tally is what a bin of a histogram counts.
type tally struct{ rows, tokens int64 }

// histogram counts rows over time in bins of a width that doubles when there are too many of them.
type histogram struct {
	width  float64
	counts map[int64]tally
}

const maxBins = 1 << 14

func (h *histogram) add(ms float64, tokens int64) {
	bin := h.bin(ms)
	t := h.counts[bin]
	h.counts[bin] = tally{t.rows + 1, t.tokens + tokens}
	for len(h.counts) > maxBins {
		h.width *= 2
		merged := make(map[int64]tally, maxBins)
		for bin, t := range h.counts {
			m := merged[bin>>1]
			merged[bin>>1] = tally{m.rows + t.rows, m.tokens + t.tokens}
		}
		h.counts = merged
	}
}

// bin is the number of the bin; times beyond what can be numbered share the outermost ones.
func (h *histogram) bin(ms float64) int64 {
	return int64(math.Floor(max(-1<<62, min(1<<62, ms/h.width))))
}

// charts spread the bins over equal slices from first to last, as rates. A bin counts where it starts.
// Without a span of time there is nothing to divide by: nil.
func (h *histogram) charts(first, last float64, slices int) (rows, tokens *Chart) {
	slice := (last - first) / float64(slices)
	if !(slice > 0) || math.IsInf(slice, 0) {
		return nil, nil
	}
	rows = &Chart{Title: "requests per second", StartMS: first, SliceMS: slice, Values: make([]float64, slices)}
	tokens = &Chart{Title: "input tokens per second", StartMS: first, SliceMS: slice, Values: make([]float64, slices)}
	for bin, t := range h.counts {
		at := int(max(0, min(float64(slices-1), math.Floor((float64(bin)*h.width-first)/slice))))
		rows.Values[at] += float64(t.rows) / slice * 1000
		tokens.Values[at] += float64(t.tokens) / slice * 1000
	}
	return rows, tokens
}
