package perfdata

import (
	"slices"

	"github.com/dynosim/dynosim/simulate/timing/operators"
)

// source hands the rows of a place to the operators. Collectives of the communication library
// lie in a place of their own.
type source struct {
	set            *Set
	place, library *Place
}

func (s *source) entry(table operators.Table) *TableEntry {
	if table == operators.TableNCCL {
		return s.library.entry(table)
	}
	return s.place.entry(table)
}

// Rows is how many rows a table has.
func (s *source) Rows(table operators.Table) int64 {
	if e := s.entry(table); e != nil {
		return e.Rows()
	}
	return 0
}

// group decodes the rows of a table that share names; there may be none.
func (s *source) group(table operators.Table, names ...string) (rows, error) {
	if e := s.entry(table); e != nil {
		for i := range e.Groups {
			if slices.Equal(e.Groups[i].Names, names) {
				return s.set.group(families[table], e.Groups[i].Index, e.Groups[i].Rows)
			}
		}
	}
	return rows{}, nil
}

func (s *source) GEMM(mode operators.Quant) ([]operators.GEMMPoint, error) {
	r, err := s.group(operators.TableGEMM, mode.String())
	points := make([]operators.GEMMPoint, len(r.ms))
	for i, ms := range r.ms {
		points[i] = operators.GEMMPoint{Site: int32(r.keys[0][i]), M: r.keys[1][i], N: r.keys[2][i], K: r.keys[3][i], MS: ms}
	}
	return points, err
}

func (s *source) Quantize(table operators.Table) ([]operators.QuantizePoint, error) {
	r, err := s.group(table, table.String(), operators.FP8.String())
	points := make([]operators.QuantizePoint, len(r.ms))
	for i, ms := range r.ms {
		points[i] = operators.QuantizePoint{M: r.keys[0][i], K: r.keys[1][i], MS: ms}
	}
	return points, err
}

func (s *source) Attention(table operators.Table, fmha, kv operators.Quant) ([]operators.AttentionPoint, error) {
	names := []string{kv.String()}
	if table == operators.TablePrefillAttention {
		names = []string{fmha.String(), kv.String()}
	}
	r, err := s.group(table, names...)
	points := make([]operators.AttentionPoint, len(r.ms))
	for i, ms := range r.ms {
		points[i] = operators.AttentionPoint{
			KVHeads: r.keys[0][i], HeadSize: r.keys[1][i], Window: r.keys[2][i],
			Axes: [3]int64{r.keys[3][i], r.keys[4][i], r.keys[5][i]}, MS: ms,
		}
	}
	return points, err
}

func (s *source) AllReduce() ([]operators.CollectivePoint, error) {
	return collectivePoints(s.group(operators.TableAllReduce))
}

func (s *source) NCCL(c operators.Collective) ([]operators.CollectivePoint, error) {
	return collectivePoints(s.group(operators.TableNCCL, HalfMode, c.String()))
}

func collectivePoints(r rows, err error) ([]operators.CollectivePoint, error) {
	points := make([]operators.CollectivePoint, len(r.ms))
	for i, ms := range r.ms {
		points[i] = operators.CollectivePoint{GPUs: r.keys[0][i], Elements: r.keys[1][i], MS: ms}
	}
	return points, err
}

func (s *source) Experts(mode operators.Quant, distribution string, lowLatency bool) ([]operators.ExpertsPoint, error) {
	kernels := KernelsAny
	if lowLatency {
		kernels = KernelsLowLatency
	}
	r, err := s.group(operators.TableExperts, mode.String(), distribution, kernels)
	points := make([]operators.ExpertsPoint, len(r.ms))
	for i, ms := range r.ms {
		points[i] = operators.ExpertsPoint{
			TopK: r.keys[0][i], Experts: r.keys[1][i], Hidden: r.keys[2][i], Inter: r.keys[3][i],
			TP: r.keys[4][i], EP: r.keys[5][i], Tokens: r.keys[6][i], MS: ms,
		}
	}
	return points, err
}

func (s *source) MLA(table operators.Table, fmha, kv, gemm operators.Quant) ([]operators.MLAPoint, error) {
	var names []string
	switch table {
	case operators.TableMLAPrefill:
		names = []string{fmha.String(), kv.String()}
	case operators.TableMLAPrefillModule:
		names = []string{fmha.String(), kv.String(), gemm.String()}
	case operators.TableMLADecode:
		names = []string{kv.String()}
	default:
		names = []string{kv.String(), gemm.String()}
	}
	r, err := s.group(table, names...)
	points := make([]operators.MLAPoint, len(r.ms))
	keys := r.keys
	for i, ms := range r.ms {
		p := &points[i]
		p.MS = ms
		k := 0
		if len(keys) == 4 {
			p.NativeHeads, k = keys[0][i], 1
		}
		p.Axes = [3]int64{keys[k][i], keys[k+1][i], keys[k+2][i]}
	}
	return points, err
}

func (s *source) BMM(mode operators.Quant) ([]operators.BMMPoint, error) {
	var points []operators.BMMPoint
	for _, side := range []string{SidePre, SidePost} {
		r, err := s.group(operators.TableBMM, mode.String(), side)
		if err != nil {
			return nil, err
		}
		for i, ms := range r.ms {
			points = append(points, operators.BMMPoint{Post: side == SidePost, Heads: r.keys[0][i], Tokens: r.keys[1][i], MS: ms})
		}
	}
	return points, nil
}
