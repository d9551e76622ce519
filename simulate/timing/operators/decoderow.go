package operators

import "slices"

// samples is how many lengths one decode query asks for.
const samples = 5

// decodeRow is the grid of decode attention at measured query heads and one batch, as a function of
// the length: what grid.look would find, without searching for it again. Each of the five samples
// of a query remembers where it was, since the lengths of a batch grow by one from step to step.
type decodeRow struct {
	// batch is 0 before the first.
	batch int64
	// lo and hi are the curves of the measured batches around it; measured says that it is one
	// itself, which lo then is. w is its place between them.
	lo, hi   lengthCurve
	measured bool
	w        float64
}

// bind looks a batch up. A row without curves answers nothing.
func (r *decodeRow) bind(g *grid, queryHeads float64, batch int64) {
	*r = decodeRow{batch: batch}
	node, ok := slices.BinarySearch(g.keys[0], queryHeads)
	if !ok {
		return
	}
	from, to := g.children(0, node)
	keys, x := g.keys[1][from:to], float64(batch)
	i, exact := slices.BinarySearch(keys, x)
	switch {
	case exact:
		r.lo, r.measured = g.lengths(from+i), true
	case i > 0 && i < len(keys):
		r.lo, r.hi, r.w = g.lengths(from+i-1), g.lengths(from+i), weight(keys[i-1], keys[i], x)
	}
}

// value is the row at a length, for one of the samples. It reports false where the grid would have
// to answer from other places.
func (r *decodeRow) value(sample int, x float64) (float64, bool) {
	lo, ok := r.lo.value(sample, x)
	if !ok || r.measured {
		return lo, ok
	}
	hi, ok := r.hi.value(sample, x)
	return blend(lo, hi, r.w), ok
}

// lengthCurve is the leaves below one node of the second axis.
type lengthCurve struct {
	keys, ms []float64
	// last is where each sample was: the key at or before its length.
	last [samples]int
}

func (g *grid) lengths(node int) lengthCurve {
	from, to := g.children(1, node)
	return lengthCurve{keys: g.keys[2][from:to], ms: g.ms[from:to]}
}

// value is the curve at a length within it.
func (c *lengthCurve) value(sample int, x float64) (float64, bool) {
	keys := c.keys
	if len(keys) == 0 || x < keys[0] || x > keys[len(keys)-1] {
		return 0, false
	}
	i := c.last[sample]
	for keys[i] > x {
		i--
	}
	for i+1 < len(keys) && keys[i+1] <= x {
		i++
	}
	c.last[sample] = i
	if keys[i] == x {
		return c.ms[i], true
	}
	return blend(c.ms[i], c.ms[i+1], weight(keys[i], keys[i+1], x)), true
}
