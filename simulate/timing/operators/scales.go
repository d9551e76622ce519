package operators

// QuantizePoint is a measured conversion of an m by k matrix to 8 bits.
type QuantizePoint struct {
	M, K int64
	MS   float64
}

// scaleTable is a quantisation table: a grid over (m, k) and its ranges (spec 09 section 5.2).
type scaleTable struct {
	grid                   grid
	traffic                float64 // bytes moved per element
	bandwidth              float64
	minM, maxM, minK, maxK float64
}

func (s *scaleTable) sol(p *point) float64 { return s.traffic * p[0] * p[1] / s.bandwidth * 1000 }

func (t *Tables) scales(table Table) (*scaleTable, error) {
	return t.quantize.get(table, func() (*scaleTable, error) {
		points, err := t.source.Quantize(table)
		if err != nil {
			return nil, err
		}
		if len(points) == 0 {
			return nil, missing("%s data missing for quant 'fp8'", table)
		}
		s := &scaleTable{grid: grid{axes: 2, rootAxis: -1}, traffic: 2, bandwidth: t.hardware.MemoryBandwidth}
		if table == TableScaleMatrix {
			s.traffic = 3
		}
		s.minM, s.maxM = float64(points[0].M), float64(points[len(points)-1].M)
		s.minK, s.maxK = float64(points[0].K), float64(points[0].K)
		for i := range points {
			p := point{float64(points[i].M), float64(points[i].K)}
			s.minK, s.maxK = min(s.minK, p[1]), max(s.maxK, p[1])
			s.grid.add(p, points[i].MS)
		}
		return s, nil
	})
}

// clamped is the table at the nearest point inside its ranges, scaled by the bound to the point
// asked for when scale says so.
func (s *scaleTable) clamped(m, k float64, scale bool) (float64, bool) {
	p := point{min(max(m, s.minM), s.maxM), min(max(k, s.minK), s.maxK)}
	v, ok := s.grid.value(&p, s)
	asked := point{m, k}
	if !ok || !scale || p == asked {
		return v, ok
	}
	there, here := s.sol(&asked), s.sol(&p)
	if there > 0 && here > 0 {
		v *= there / here
	}
	return v, true
}
