package operators

import (
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// plane is a bound that grows with every axis.
type plane struct{}

func (plane) sol(p *point) float64 { return 1e-6 * (1 + p[0]) * (1 + p[1]) * (1 + p[2]) }

// drawGrid makes a ragged grid whose latencies lie in a range, with its leaves.
func drawGrid(t *rapid.T, rootAxis int) (*grid, map[point]float64) {
	g, leaves := &grid{axes: 3, rootAxis: rootAxis}, map[point]float64{}
	axis := func(label string) []float64 {
		keys := rapid.SliceOfNDistinct(rapid.Float64Range(1, 64), 1, 4, func(v float64) float64 { return math.Trunc(v) }).Draw(t, label)
		for i := range keys {
			keys[i] = math.Trunc(keys[i])
		}
		slices.Sort(keys)
		return keys
	}
	for _, a := range axis("first") {
		for _, b := range axis("second") {
			for _, c := range axis("third") {
				p := point{a, b, c}
				leaves[p] = rapid.Float64Range(0.5, 2).Draw(t, "latency")
				g.add(p, leaves[p])
			}
		}
	}
	return g, leaves
}

// Every measured point answers with what was measured, and a point outside of everything with
// something positive.
func TestGridKnowsItsPoints(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, leaves := drawGrid(t, rapid.SampledFrom([]int{-1, 1}).Draw(t, "root axis"))
		for p, want := range leaves {
			if got, ok := g.value(&p, plane{}); !ok || got != want {
				t.Fatalf("%v: %v, want %v", p, got, want)
			}
		}
		far := point{rapid.Float64Range(100, 1000).Draw(t, "x"), 1, 1}
		if v, ok := g.value(&far, plane{}); !ok || !usable(v) {
			t.Fatalf("%v: %v", far, v)
		}
	})
}

// With all corners of a cell measured, a point in it lies between their extremes.
func TestGridBlendsBetweenItsCorners(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := &grid{axes: 3, rootAxis: rapid.SampledFrom([]int{-1, 0, 1, 2}).Draw(t, "root axis")}
		low, high := math.Inf(1), math.Inf(-1)
		for _, a := range []float64{2, 10} {
			for _, b := range []float64{3, 30} {
				for _, c := range []float64{5, 6} {
					ms := rapid.Float64Range(0.1, 100).Draw(t, "latency")
					low, high = min(low, ms), max(high, ms)
					g.add(point{a, b, c}, ms)
				}
			}
		}
		p := point{rapid.Float64Range(2, 10).Draw(t, "x"), rapid.Float64Range(3, 30).Draw(t, "y"), rapid.Float64Range(5, 6).Draw(t, "z")}
		v, ok := g.value(&p, plane{})
		if slack := 1e-12 * high; !ok || v < low-slack || v > high+slack {
			t.Fatalf("%v: %v is not between %v and %v", p, v, low, high)
		}
	})
}

// A hold does what a plain sort of all leaves says.
func TestHoldTakesTheNearest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, leaves := drawGrid(t, -1)
		p := point{rapid.Float64Range(65, 1000).Draw(t, "x"), rapid.Float64Range(1, 100).Draw(t, "y"), rapid.Float64Range(1, 100).Draw(t, "z")}
		var all []near
		for leaf := range g.leaves() {
			square := 0.0
			for axis := range 3 {
				d := log2(leaf[axis]) - log2(p[axis])
				square += d * d
			}
			all = append(all, near{square, plane{}.sol(&leaf) / leaves[leaf], len(all)})
		}
		slices.SortStableFunc(all, func(a, b near) int {
			switch {
			case a.square < b.square:
				return -1
			case a.square > b.square:
				return 1
			}
			return 0
		})
		n := min(len(all), neighbours)
		next := all[n-1].square
		if len(all) > n {
			next = all[n].square
		}
		want := plane{}.sol(&p) / efficiency(all[:n], next, len(all) > n)
		if got, ok := g.hold(&p, plane{}); !ok || math.Abs(got-want) > 1e-12*want {
			t.Fatalf("%v: %v, want %v", p, got, want)
		}
	})
}

// leaves walks the points of a grid in order.
func (g *grid) leaves() func(yield func(point) bool) {
	return func(yield func(point) bool) {
		for i, a := range g.keys[0] {
			from, to := g.children(0, i)
			for j := from; j < to; j++ {
				from, to := g.children(1, j)
				for k := from; k < to; k++ {
					if !yield(point{a, g.keys[1][j], g.keys[2][k]}) {
						return
					}
				}
			}
		}
	}
}

func TestCurve(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.SliceOfNDistinct(rapid.Int64Range(1, 1000), 2, 10, rapid.ID).Draw(t, "at")
		slices.Sort(at)
		c := &curve{}
		for _, x := range at {
			c.add(x, rapid.Float64Range(0.1, 10).Draw(t, "ms"))
		}
		linear := func(x float64) float64 { return x }
		for i, x := range at {
			if got := c.value(float64(x), linear); got != c.ms[i] {
				t.Fatalf("at %v: %v, want %v", x, got, c.ms[i])
			}
		}
		i := rapid.IntRange(1, len(at)-1).Draw(t, "gap")
		x := rapid.Float64Range(float64(at[i-1]), float64(at[i])).Draw(t, "x")
		low, high := min(c.ms[i-1], c.ms[i]), max(c.ms[i-1], c.ms[i])
		if got := c.value(x, linear); got < low*(1-1e-12) || got > high*(1+1e-12) {
			t.Fatalf("at %v: %v is not between %v and %v", x, got, low, high)
		}
		// Beyond the end the time grows with the bound.
		last := len(at) - 1
		if got, want := c.value(float64(2*at[last]), linear), 2*c.ms[last]; math.Abs(got-want) > 1e-9*want {
			t.Fatalf("beyond the end: %v, want %v", got, want)
		}
	})
}

// one has one curve of matrix products at (n, k) = (8, 8), and counts what is loaded.
type one struct {
	Source
	points []GEMMPoint
	loads  int
}

func (o *one) GEMM(mode Quant) ([]GEMMPoint, error) {
	o.loads++
	if mode != BFloat16 {
		return nil, nil
	}
	return o.points, nil
}

func gpu() Hardware {
	return Hardware{
		Name: "gpu", MemoryBandwidth: 1e12, BandwidthEfficiency: 0.8, MemoryLatencySeconds: 3e-6,
		FLOPS: [Arithmetics]float64{ArithmeticBF16: 1e15, ArithmeticFP8: 2e15}, GPUsPerNode: 8, IntraNode: 4e11, InterNode: 5e10,
	}
}

func TestGEMM(t *testing.T) {
	source := &one{points: []GEMMPoint{{0, 1, 1024, 1024, 0.5}, {0, 4, 1024, 1024, 1}, {0, 8, 1024, 1024, 1e-9}}}
	tables := New(gpu(), "vllm", "1", source)
	for _, c := range []struct {
		m, n, k int64
		want    float64
	}{
		{1, 1024, 1024, 0.5}, {4, 1024, 1024, 1}, {2, 1024, 1024, 0.5 + 0.5/3},
		// No measurement is believed that beats the hardware.
		{8, 1024, 1024, 2 * (8*1024 + 8*1024 + 1024*1024) / 1e12 * 1000},
	} {
		got, err := tables.GEMM(BFloat16, false, c.m, c.n, c.k)
		if err != nil || math.Abs(got-c.want) > 1e-15 {
			t.Errorf("%+v: %v, %v", c, got, err)
		}
	}
	// A pair at a distance takes the efficiency of its neighbour; one too far away has none.
	near, err := tables.GEMM(BFloat16, false, 4, 2048, 1024)
	if err != nil || near <= 1 || near >= 3 {
		t.Errorf("near: %v, %v", near, err)
	}
	for _, far := range [][2]int64{{1 << 20, 1 << 20}, {16, 16}} {
		if v, err := tables.GEMM(BFloat16, false, 4, far[0], far[1]); !errors.Is(err, ErrMissingData) {
			t.Errorf("%v: %v, %v", far, v, err)
		}
	}
	if _, err := tables.GEMM(FP8, false, 4, 1024, 1024); !errors.Is(err, ErrMissingData) {
		t.Errorf("no rows: %v", err)
	}
	if _, err := tables.GEMM(NVFP4, false, 4, 1024, 1024); !errors.Is(err, ErrMissingArithmetic) {
		t.Errorf("no throughput: %v", err)
	}
	if source.loads != 2 {
		t.Errorf("loaded %d times", source.loads)
	}
}

func TestQuantNames(t *testing.T) {
	for _, name := range QuantNames() {
		if q, ok := ParseQuant(name); !ok || q.String() != name || q.Bytes() <= 0 {
			t.Errorf("%s: %v", name, q)
		}
	}
	if q, ok := ParseQuant("fp7"); ok {
		t.Errorf("fp7 is %v", q)
	}
}

func TestCollectiveBandwidth(t *testing.T) {
	h := Hardware{GPUsPerNode: 4, GPUsPerRack: 72, IntraNode: 3, InterNode: 2, InterRack: 1}
	for gpus, want := range map[int64]float64{1: 3, 4: 3, 5: 2, 72: 2, 73: 1} {
		if got := h.CollectiveBandwidth(gpus); got != want {
			t.Errorf("%d GPUs: %v, want %v", gpus, got, want)
		}
	}
}

func TestMethod(t *testing.T) {
	g := &grid{axes: 3, rootAxis: -1}
	for _, heads := range []float64{2, 4, 16} {
		g.add(point{heads, 1, 1}, 1)
	}
	for heads, want := range map[float64]string{
		4: "measured heads", 1: "estimated from 2 heads up", 6: "blended between 4 and 16 heads", 32: "estimated from 16 heads down",
	} {
		if got := g.method(heads); got != want {
			t.Errorf("%v heads: %q, want %q", heads, got, want)
		}
	}
}
