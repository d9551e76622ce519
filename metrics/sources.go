package metrics

import (
	"slices"

	"github.com/dynosim/dynosim/schemas"
)

// NodeColumns holds the table nodes (one element a node), as package lower lays it out.
type NodeColumns struct {
	// RequestIndex is the row of requests; nil numbers the nodes from 0.
	RequestIndex []int32
	// SessionName gives the name of a session, and Session the session of a node, -1 for
	// none. Session and Turn are nil for a plain list of requests, Turn alone for a graph of plays, and
	// Session alone for a list whose requests say a turn, -1 for none.
	SessionName   func(session int) string
	Session, Turn []int32
	// ReleaseMS is NaN where a predecessor or the concurrency limit decides.
	ReleaseMS                 []float64
	InputTokens, OutputTokens []int32
	// Chain is -1 for none.
	Chain, ChainTokens []int32
	// Priority, StrictPriority and PolicyClass, an index of PolicyClasses or -1, are nil when no
	// node has any of them.
	Priority       []int32
	StrictPriority []uint32
	PolicyClass    []int32
	PolicyClasses  []string
}

func writeNodes(w *tableWriter, c *NodeColumns) error {
	numbers := w.rowNumbers()
	return w.write(len(c.InputTokens), func(lo, hi int) {
		ids := numbers.of(lo, hi)
		w.i32(ids)
		if c.RequestIndex != nil {
			w.i32(c.RequestIndex[lo:hi])
		} else {
			w.i32(ids)
		}
		if c.Session != nil {
			w.str(hi-lo, true, func(i int) (string, bool) {
				s := c.Session[lo+i]
				if s < 0 {
					return "", false
				}
				return c.SessionName(int(s)), true
			})
			w.i32Null(c.Session[lo:hi])
		} else {
			w.nulls(hi - lo)
			w.nulls(hi - lo)
		}
		if c.Turn != nil {
			w.i32Null(c.Turn[lo:hi])
		} else {
			w.nulls(hi - lo)
		}
		w.f64Null(c.ReleaseMS[lo:hi])
		w.i32(c.InputTokens[lo:hi])
		w.i32(c.OutputTokens[lo:hi])
		w.i32Null(c.Chain[lo:hi])
		w.i32(c.ChainTokens[lo:hi])
		if c.Priority == nil {
			w.i32(make([]int32, hi-lo))
			w.u32(make([]uint32, hi-lo))
			w.nulls(hi - lo)
			return
		}
		w.i32(c.Priority[lo:hi])
		w.u32(c.StrictPriority[lo:hi])
		w.str(hi-lo, true, func(i int) (string, bool) {
			if class := c.PolicyClass[lo+i]; class >= 0 {
				return c.PolicyClasses[class], true
			}
			return "", false
		})
	})
}

// EdgeColumns holds the table edges, one element an edge. Nil Trigger and Relation stand
// for "completion" and "sequence" in every row.
type EdgeColumns struct {
	Predecessor, Successor []int32
	Trigger                []string
	DelayMS                []float64
	Relation               []string
}

func writeEdges(w *tableWriter, c *EdgeColumns) error {
	pick := func(v []string, lo int, or string) func(int) (string, bool) {
		if v == nil {
			return func(int) (string, bool) { return or, true }
		}
		return func(i int) (string, bool) { return v[lo+i], true }
	}
	return w.write(len(c.Predecessor), func(lo, hi int) {
		w.i32(c.Predecessor[lo:hi])
		w.i32(c.Successor[lo:hi])
		w.str(hi-lo, false, pick(c.Trigger, lo, "completion"))
		w.f64(c.DelayMS[lo:hi])
		w.str(hi-lo, false, pick(c.Relation, lo, "sequence"))
	})
}

// ChainColumns holds the table chains, one element a chain. Parent is -1 for a first block.
type ChainColumns struct {
	Parent []int32
	Block  []uint32
}

func writeChains(w *tableWriter, c *ChainColumns) error {
	numbers := w.rowNumbers()
	var blocks []int32
	return w.write(len(c.Parent), func(lo, hi int) {
		blocks = blocks[:0]
		for i := lo; i < hi; i++ {
			blocks = append(blocks, int32(c.Block[i]))
		}
		w.i32(numbers.of(lo, hi))
		w.i32Null(c.Parent[lo:hi])
		w.i32(blocks)
	})
}

// NodeOutputColumns holds rows of the table node_outputs: the tokens of a range of nodes.
type NodeOutputColumns struct {
	// First is the first node of the range; node First+i owns Tokens[Start[i]:Start[i+1]].
	First  int32
	Start  []int64
	Tokens []uint32
}

func writeNodeOutputs(w *tableWriter, c *NodeOutputColumns) error {
	from, to := int(c.Start[0]), int(c.Start[len(c.Start)-1])
	var nodes, position []int32
	row := 0
	return w.write(to-from, func(lo, hi int) {
		nodes, position = nodes[:0], position[:0]
		for i := from + lo; i < from+hi; i++ {
			for int64(i) >= c.Start[row+1] {
				row++
			}
			nodes = append(nodes, c.First+int32(row))
			position = append(position, int32(int64(i)-c.Start[row]))
		}
		w.i32(nodes)
		w.i32(position)
		w.u32(c.Tokens[from+lo : from+hi])
	})
}

// sourceWriter writes the tables requests, blocks and authored_outputs of one source.
type sourceWriter struct {
	requests, blocks, authored *tableWriter
	plays                      playWriter
	next                       int64 // request_index of the next row
	index                      []int64
	count                      []int32
}

func (s *sourceWriter) write(b *schemas.RequestBatch) error {
	first := s.next
	s.next += int64(b.N)
	if err := s.plays.write(b, first); err != nil {
		return err
	}
	if w := s.requests; w != nil {
		err := w.write(b.N, func(lo, hi int) {
			s.index, s.count = s.index[:0], s.count[:0]
			for i := lo; i < hi; i++ {
				s.index = append(s.index, first+int64(i))
				start := 0
				if i > 0 {
					start = b.BlockEnd[i-1]
				}
				s.count = append(s.count, int32(b.BlockEnd[i]-start))
			}
			w.i64(s.index)
			w.i64(b.Line[lo:hi])
			w.str(hi-lo, true, func(i int) (string, bool) { return b.SessionID[lo+i], b.HasSession[lo+i] })
			w.str(hi-lo, true, func(i int) (string, bool) { return b.RequestID[lo+i], b.HasRequest[lo+i] })
			w.i64(b.InputTokens[lo:hi])
			w.i64(b.OutputTokens[lo:hi])
			w.f64Has(b.TimestampMS[lo:hi], b.HasTimestamp[lo:hi])
			w.f64Has(b.DelayMS[lo:hi], b.HasDelay[lo:hi])
			w.i32(b.Priority[lo:hi])
			w.u32(b.StrictPriority[lo:hi])
			w.str(hi-lo, true, func(i int) (string, bool) { return b.PolicyClass[lo+i], b.HasPolicyClass[lo+i] })
			w.i32(s.count)
			s.writeAuthoredCount(b, lo, hi)
		})
		if err != nil {
			return err
		}
	}
	if s.blocks != nil && b.N > 0 {
		if err := s.writeLists(s.blocks, b.BlockEnd[:b.N], first, func(lo, hi int) { s.blocks.u64(b.Blocks[lo:hi]) }); err != nil {
			return err
		}
	}
	if s.authored != nil && len(b.Authored) > 0 {
		return s.writeLists(s.authored, b.AuthoredEnd[:b.N], first, func(lo, hi int) { s.authored.u32(b.Authored[lo:hi]) })
	}
	return nil
}

// writeAuthoredCount writes the column authored_count of rows lo up to hi.
func (s *sourceWriter) writeAuthoredCount(b *schemas.RequestBatch, lo, hi int) {
	if len(b.Authored) == 0 && !slices.Contains(b.HasAuthored[lo:hi], true) {
		s.requests.nulls(hi - lo)
		return
	}
	s.count = s.count[:0]
	for i := lo; i < hi; i++ {
		start := 0
		if i > 0 {
			start = b.AuthoredEnd[i-1]
		}
		if !b.HasAuthored[i] {
			s.count = append(s.count, -1)
			continue
		}
		s.count = append(s.count, int32(b.AuthoredEnd[i]-start))
	}
	s.requests.i32Null(s.count)
}

// writeLists writes lists that lie back to back, one row an element: the request, the
// position in its list, and the value, which values writes.
func (s *sourceWriter) writeLists(w *tableWriter, end []int, first int64, values func(lo, hi int)) error {
	row, start := 0, 0
	return w.write(end[len(end)-1], func(from, hi int) {
		lo := from
		owner, position := w.next(), w.next()
		for lo < hi {
			for lo >= end[row] {
				start = end[row]
				row++
			}
			n := min(hi, end[row]) - lo
			owner.addRun(first+int64(row), n)
			position.addCounter(lo-start, n)
			lo += n
		}
		values(from, hi)
	})
}

// RunRow is the one row of the table run. NaN bounds are not set.
type RunRow struct {
	Stack                                     string
	Source                                    schemas.SourceKind
	LastInstantMS                             float64
	PrefillWorkerSeconds, DecodeWorkerSeconds float64
	PrefillGPUsPerWorker, DecodeGPUsPerWorker int64
	SLA                                       schemas.SLA
	// TelemetryIntervalMS is 0 without telemetry.
	TelemetryIntervalMS float64
	// PrefillEstimator and DecodeEstimator are timing models; the first is empty without a prefill pool.
	PrefillEstimator, DecodeEstimator string
	// ScalingPolicy is empty without.
	ScalingPolicy string
}

func writeRun(w *tableWriter, r *RunRow) error {
	return w.write(1, func(_, _ int) {
		w.str(1, false, func(int) (string, bool) { return r.Stack, true })
		w.str(1, false, func(int) (string, bool) { return string(r.Source), true })
		w.f64([]float64{r.LastInstantMS})
		w.f64([]float64{r.PrefillWorkerSeconds})
		w.f64([]float64{r.DecodeWorkerSeconds})
		w.i64([]int64{r.PrefillGPUsPerWorker})
		w.i64([]int64{r.DecodeGPUsPerWorker})
		w.f64Null([]float64{r.SLA.TTFTMS})
		w.f64Null([]float64{r.SLA.ITLMS})
		w.f64Null([]float64{r.SLA.E2EMS})
		w.f64Has([]float64{r.TelemetryIntervalMS}, []bool{r.TelemetryIntervalMS > 0})
		for _, name := range []string{r.PrefillEstimator, r.DecodeEstimator} {
			w.str(1, true, func(int) (string, bool) { return name, name != "" })
		}
		w.str(1, true, func(int) (string, bool) { return r.ScalingPolicy, r.ScalingPolicy != "" })
	})
}
