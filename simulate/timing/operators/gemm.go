package operators

import (
	"cmp"
	"math"
	"slices"
)

// GEMMPoint is a measured product of an m by k and a k by n matrix. Site numbers the pairs (n, k)
// in the order of spec 09 section 5.3.
type GEMMPoint struct {
	Site    int32
	M, N, K int64
	MS      float64
}

// gemmTable has the curves of one mode: over m, for every site.
type gemmTable struct {
	flops, bandwidth, width float64
	sites                   []gemmSite
	index                   map[[2]int64]int32
}

type gemmSite struct {
	n, k       float64
	logN, logK float64
	curve
}

// sol is the theoretical bound in milliseconds.
func (g *gemmTable) sol(m, n, k float64) float64 {
	return max(2*m*n*k/g.flops*1000, g.width*(float64(m*n)+float64(m*k)+float64(n*k))/g.bandwidth*1000)
}

func (t *Tables) gemmMode(mode Quant) (*gemmTable, error) {
	if mode == FP8Static {
		mode = FP8
	}
	return t.gemm.get(mode, func() (*gemmTable, error) {
		points, err := t.source.GEMM(mode)
		if err != nil {
			return nil, err
		}
		if len(points) == 0 {
			return nil, missing("GEMM perf data missing for quant '%s'", mode)
		}
		g := &gemmTable{
			flops: t.hardware.FLOPS[mode.Arithmetic()], bandwidth: t.hardware.MemoryBandwidth, width: mode.Bytes(),
			index: map[[2]int64]int32{},
		}
		last := int32(-1)
		for i := range points {
			p := &points[i]
			if p.Site != last {
				last = p.Site
				g.index[[2]int64{p.N, p.K}] = int32(len(g.sites))
				n, k := float64(p.N), float64(p.K)
				g.sites = append(g.sites, gemmSite{n: n, k: k, logN: log2(n), logK: log2(k)})
			}
			s := &g.sites[len(g.sites)-1]
			s.add(p.M, max(p.MS, g.sol(float64(p.M), s.n, s.k)))
		}
		return g, nil
	})
}

// at is a site's curve at m (spec 09 section 5.3). It reports false when no measured point serves.
func (g *gemmTable) at(s *gemmSite, m int64) (float64, bool) {
	n := len(s.at)
	i, exact := slices.BinarySearch(s.at, m)
	switch {
	case exact:
		return s.ms[i], true
	case i > 0 && i < n:
		return blend(s.ms[i-1], s.ms[i], weight(float64(s.at[i-1]), float64(s.at[i]), float64(m))), true
	}
	from, to := 0, min(3, n)
	if i == n {
		from, to = max(n-3, 0), n
	}
	var utilisation [3]float64
	u := utilisation[:0]
	for j := from; j < to; j++ {
		sol := g.sol(float64(s.at[j]), s.n, s.k)
		if sol > 0 && s.ms[j] > 0 {
			u = append(u, sol/s.ms[j])
		}
	}
	if len(u) == 0 {
		return 0, false
	}
	slices.Sort(u)
	median := u[len(u)/2]
	if len(u) == 2 {
		median = (u[0] + u[1]) / 2
	}
	return g.sol(float64(m), s.n, s.k) / median, true
}

// GEMMOperator is a matrix product of fixed n and k. It serves one goroutine.
type GEMMOperator struct {
	table *gemmTable
	// site is the measured pair, nil when the neighbours answer.
	site *gemmSite
	near []gemmNear
	n, k float64
	mode Quant
	// compute and matrix are the tables that static FP8 subtracts, nil otherwise.
	compute, matrix *scaleTable
}

// gemmNear is a site with its distance from the operator's pair; the operator's list is sorted
// by distance, then site order.
type gemmNear struct {
	site     *gemmSite
	distance float64
}

// PrepareGEMM binds a product's weight shape. lowPrecisionInput says that its input is already
// quantised (spec 09 section 5.2).
func (t *Tables) PrepareGEMM(mode Quant, lowPrecisionInput bool, n, k int64) (*GEMMOperator, error) {
	if _, err := t.flops(mode); err != nil {
		return nil, err
	}
	g, err := t.gemmMode(mode)
	if err != nil {
		return nil, err
	}
	o := &GEMMOperator{table: g, n: float64(n), k: float64(k), mode: mode}
	if mode == FP8Static {
		if o.compute, err = t.scales(TableComputeScale); err != nil {
			return nil, err
		}
		if lowPrecisionInput {
			if o.matrix, err = t.scales(TableScaleMatrix); err != nil {
				return nil, err
			}
		}
	}
	if i, ok := g.index[[2]int64{n, k}]; ok {
		o.site = &g.sites[i]
		return o, nil
	}
	logN, logK := log2(o.n), log2(o.k)
	o.near = make([]gemmNear, len(g.sites))
	for i := range g.sites {
		s := &g.sites[i]
		dn, dk := s.logN-logN, s.logK-logK
		o.near[i] = gemmNear{s, math.Sqrt(float64(dn*dn) + float64(dk*dk))}
	}
	slices.SortStableFunc(o.near, func(a, b gemmNear) int { return cmp.Compare(a.distance, b.distance) })
	return o, nil
}

// GEMM is the duration in milliseconds of a product of an m by k and a k by n matrix.
func (t *Tables) GEMM(mode Quant, lowPrecisionInput bool, m, n, k int64) (float64, error) {
	o, err := t.PrepareGEMM(mode, lowPrecisionInput, n, k)
	if err != nil {
		return 0, err
	}
	return o.MS(m)
}

// MS is the duration in milliseconds for m rows of input.
func (o *GEMMOperator) MS(m int64) (float64, error) {
	v, ok := 0.0, false
	if o.site != nil {
		v, ok = o.table.at(o.site, m)
	} else {
		v, ok = o.estimate(m)
	}
	if !ok {
		return 0, missing("GEMM perf data missing for quant '%s' at (m %d, n %v, k %v)", o.mode, m, o.n, o.k)
	}
	if o.compute == nil {
		return v, nil
	}
	cs, ok := o.compute.clamped(float64(m), o.k, false)
	if !ok {
		return 0, missing("compute_scale data missing at (m %d, k %v)", m, o.k)
	}
	v -= cs
	if o.matrix != nil {
		sm, ok := o.matrix.clamped(float64(m), o.k, true)
		if !ok {
			return 0, missing("scale_matrix data missing at (m %d, k %v)", m, o.k)
		}
		v -= sm
	}
	return max(v, o.table.sol(float64(m), o.n, o.k)), nil
}

// reach is how far, in powers of two, a neighbour may lie.
const reach = 2

// estimate answers for a pair that was not measured from the nearest sites that were (spec 09
// section 5.3 steps 2 to 5).
func (o *GEMMOperator) estimate(m int64) (float64, bool) {
	inRange := func(s *gemmSite) bool { return s.at[0] <= m && m <= s.at[len(s.at)-1] }
	all := !slices.ContainsFunc(o.near, func(n gemmNear) bool { return inRange(n.site) })
	candidate := func(s *gemmSite) bool { return all || inRange(s) }

	first := slices.IndexFunc(o.near, func(n gemmNear) bool { return candidate(n.site) })
	if first < 0 {
		return 0, false
	}
	keep := func(n *gemmNear) bool { return n.distance <= reach }
	if o.near[first].distance > reach {
		var ok bool
		if keep, ok = o.frontier(candidate); !ok {
			return 0, false
		}
	}
	mf := float64(m)
	sum, total, taken := 0.0, 0.0, 0
	for i := range o.near {
		n := &o.near[i]
		if !candidate(n.site) || !keep(n) {
			continue
		}
		if taken++; taken > neighbours {
			break
		}
		v, ok := o.table.at(n.site, m)
		s := o.table.sol(mf, n.site.n, n.site.k)
		if !ok || !(v > 0) || !(s > 0) {
			continue
		}
		q := 1 / (float64(n.distance*n.distance) + 1e-12)
		sum += float64(q * (s / v))
		total += q
	}
	if total == 0 {
		return 0, false
	}
	return o.table.sol(mf, o.n, o.k) / (sum / total), true
}

// frontier says which candidates serve a pair beyond all of them in exactly one coordinate:
// those near in the other.
func (o *GEMMOperator) frontier(candidate func(*gemmSite) bool) (func(*gemmNear) bool, bool) {
	minN, minK, maxN, maxK := math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for i := range o.near {
		if s := o.near[i].site; candidate(s) {
			minN, maxN = min(minN, s.n), max(maxN, s.n)
			minK, maxK = min(minK, s.k), max(maxK, s.k)
		}
	}
	if o.n < minN || o.k < minK || (o.n > maxN) == (o.k > maxK) {
		return nil, false
	}
	if o.n > maxN {
		at := log2(o.k)
		return func(n *gemmNear) bool { return math.Abs(n.site.logK-at) <= reach }, true
	}
	at := log2(o.n)
	return func(n *gemmNear) bool { return math.Abs(n.site.logN-at) <= reach }, true
}
