package operators

import (
	"math"
	"sync"

	"github.com/dynosim/dynosim/internal/cmath"
)

// point is a place on the axes of a grid; a grid of two axes leaves the last at 0.
type point [3]float64

// bound is the theoretical lower limit of an operator in milliseconds at a point of a grid.
type bound interface {
	sol(p *point) float64
}

// grid is a measured function on a ragged tree of axes (spec 09 section 6.1): axis keys ascend
// under every node, and a node of one axis has its own keys of the next. All nodes of an axis lie in
// one array.
type grid struct {
	axes int
	// rootAxis is the axis on which square roots of latencies are blended, -1 for none.
	rootAxis int
	keys     [3][]float64
	// first[l][i] is where the children of node i of axis l begin among the nodes of axis l+1; they end
	// where those of the next node begin.
	first [2][]int32
	ms    []float64

	logsOnce sync.Once
	logs     [3][]float64
}

// add appends a leaf; leaves come in ascending order.
func (g *grid) add(p point, ms float64) {
	same := len(g.ms) > 0
	for axis := range g.axes {
		n := len(g.keys[axis])
		if same && g.keys[axis][n-1] == p[axis] {
			continue
		}
		same = false
		g.keys[axis] = append(g.keys[axis], p[axis])
		if axis < g.axes-1 {
			g.first[axis] = append(g.first[axis], int32(len(g.keys[axis+1])))
		}
	}
	g.ms = append(g.ms, ms)
}

// children is the range of the nodes of the next axis below a node.
func (g *grid) children(axis int, node int) (int, int) {
	from, to := int(g.first[axis][node]), len(g.keys[axis+1])
	if node+1 < len(g.first[axis]) {
		to = int(g.first[axis][node+1])
	}
	return from, to
}

// value is the grid at a point.
func (g *grid) value(p *point, b bound) (float64, bool) {
	if v, ok := g.look(0, 0, len(g.keys[0]), p, b); ok {
		return v, true
	}
	return g.hold(p, b)
}

// look searches the nodes [from, to) of an axis; it reports false when the point is outside of
// everything measured.
func (g *grid) look(axis, from, to int, p *point, b bound) (float64, bool) {
	keys, x := g.keys[axis][from:to], p[axis]
	i := lowerBound(keys, x)
	if i < len(keys) && keys[i] == x {
		return g.below(axis, from+i, p, b)
	}
	if i == 0 || i == len(keys) {
		return 0, false
	}
	lo, loOK := g.below(axis, from+i-1, p, b)
	hi, hiOK := g.below(axis, from+i, p, b)
	switch {
	case loOK && hiOK:
		w := weight(keys[i-1], keys[i], x)
		if axis != g.rootAxis {
			return blend(lo, hi, w), true
		}
		r := blend(math.Sqrt(max(lo, 0)), math.Sqrt(max(hi, 0)), w)
		return r * r, true
	case loOK:
		return scaled(lo, axis, keys[i-1], p, b), true
	case hiOK:
		return scaled(hi, axis, keys[i], p, b), true
	}
	return 0, false
}

// below is what the children of a node say, or the leaf itself.
func (g *grid) below(axis, node int, p *point, b bound) (float64, bool) {
	if axis == g.axes-1 {
		return g.ms[node], true
	}
	from, to := g.children(axis, node)
	return g.look(axis+1, from, to, p, b)
}

// scaled moves a value from a key of an axis to the point along the theoretical bound.
func scaled(v float64, axis int, key float64, p *point, b bound) float64 {
	moved := *p
	moved[axis] = key
	there, here := b.sol(p), b.sol(&moved)
	if !usable(there) || !usable(here) {
		return v
	}
	return v * (there / here)
}

func usable(v float64) bool { return v > 0 && !math.IsInf(v, 0) }

// neighbours is how many leaves a hold averages.
const neighbours = 4

// near is a leaf with its squared distance from the point and its efficiency, bound over latency.
type near struct {
	square, efficiency float64
	leaf               int
}

// search finds the nearest usable leaves, and the next one. Leaves at one distance count in their
// order.
type search struct {
	grid *grid
	// logs is the point, at the leaf that is looked at.
	logs, at point
	best     [neighbours + 1]near
	found    int
	bound    bound
}

// hold answers outside of everything measured from the nearest leaves: their efficiencies,
// weighted by distance, at the point's bound.
func (g *grid) hold(p *point, b bound) (float64, bool) {
	if g.axes == 1 {
		return 0, false
	}
	g.logsOnce.Do(g.takeLogs)
	s := search{grid: g, bound: b}
	for axis := range g.axes {
		s.logs[axis] = log2(p[axis])
	}
	s.visit(0, 0, len(g.keys[0]), 0)
	if s.found == 0 {
		return 0, false
	}
	return b.sol(p) / efficiency(s.best[:min(s.found, neighbours)], s.best[s.found-1].square, s.found > neighbours), true
}

// visit looks at the nodes [from, to) of an axis, nearest first in both directions, until no leaf
// below can be among the best.
func (s *search) visit(axis, from, to int, square float64) {
	g, logs, x := s.grid, s.grid.logs[axis], s.logs[axis]
	up := from + lowerBound(logs[from:to], x)
	down := up - 1
	for down >= from || up < to {
		node := up
		if up >= to || down >= from && x-logs[down] < logs[up]-x {
			node = down
			down--
		} else {
			up++
		}
		d := logs[node] - x
		below := square + float64(d*d)
		if s.found == len(s.best) && below > s.best[s.found-1].square {
			return
		}
		s.at[axis] = g.keys[axis][node]
		if axis == g.axes-1 {
			s.consider(below, node)
			continue
		}
		first, end := g.children(axis, node)
		s.visit(axis+1, first, end, below)
	}
}

func (s *search) consider(square float64, leaf int) {
	before := func(n *near) bool { return n.square < square || n.square == square && n.leaf < leaf }
	if s.found == len(s.best) && before(&s.best[s.found-1]) {
		return
	}
	sol, ms := s.bound.sol(&s.at), s.grid.ms[leaf]
	if !usable(sol) || !usable(ms) {
		return
	}
	i := min(s.found, len(s.best)-1)
	for ; i > 0 && !before(&s.best[i-1]); i-- {
		s.best[i] = s.best[i-1]
	}
	s.best[i] = near{square, sol / ms, leaf}
	s.found = min(s.found+1, len(s.best))
}

// lowerBound is the index of the first of ascending keys that is not below x.
func lowerBound(keys []float64, x float64) int {
	lo, hi := 0, len(keys)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if keys[mid] < x {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// efficiency is the weighted mean over the nearest leaves. With a next leaf at the given squared
// distance the weights fall to 0 there, otherwise they are inverse squares.
func efficiency(nearest []near, next float64, bounded bool) float64 {
	var weights [neighbours]float64
	total := 0.0
	for i, n := range nearest {
		d := math.Sqrt(n.square)
		if bounded {
			r := math.Sqrt(next)
			w := max(r-d, 0) / (float64(r*d) + 1e-12)
			weights[i] = w * w
		} else {
			weights[i] = 1 / (float64(d*d) + 1e-12)
		}
		total += weights[i]
	}
	if total == 0 {
		for i := range nearest {
			weights[i] = 1
		}
	}
	sum := 0.0
	total = 0
	for i, n := range nearest {
		total += weights[i]
		sum += float64(weights[i] * n.efficiency)
	}
	return sum / total
}

func (g *grid) takeLogs() {
	for axis := range g.axes {
		g.logs[axis] = make([]float64, len(g.keys[axis]))
		for i, key := range g.keys[axis] {
			g.logs[axis][i] = log2(key)
		}
	}
}

// log2 of a number, of a tiny positive one when there is none (spec 09 sections 5.3 and 6.1).
func log2(v float64) float64 { return cmath.Log2(max(v, 1e-12)) }
