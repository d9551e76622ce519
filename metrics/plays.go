package metrics

import (
	"github.com/dynosim/dynosim/schemas"
)

// playWriter writes the tables source_plays, source_nodes and source_edges.
type playWriter struct {
	plays, nodes, edges *tableWriter
	nextPlay            int32 // source_play of the next play
	ints                []int32
	longs               []int64
}

// write appends a batch whose first row is the request first.
func (p *playWriter) write(b *schemas.RequestBatch, first int64) error {
	a := b.Agentic
	if a == nil || b.N == 0 {
		return nil
	}
	firstPlay := p.nextPlay
	p.nextPlay += int32(len(a.Plays))
	for _, write := range []func(*schemas.RequestBatch, int64, int32) error{p.writePlays, p.writeNodes, p.writeEdges} {
		if err := write(b, first, firstPlay); err != nil {
			return err
		}
	}
	return nil
}

// column makes a column of n values in the writer's scratch.
func (p *playWriter) column(n int, at func(i int) int32) []int32 {
	p.ints = p.ints[:0]
	for i := range n {
		p.ints = append(p.ints, at(i))
	}
	return p.ints
}

// requests is column for request indexes.
func (p *playWriter) requests(n int, at func(i int) int64) []int64 {
	p.longs = p.longs[:0]
	for i := range n {
		p.longs = append(p.longs, at(i))
	}
	return p.longs
}

func (p *playWriter) writePlays(b *schemas.RequestBatch, _ int64, firstPlay int32) error {
	w, plays := p.plays, b.Agentic.Plays
	if w == nil {
		return nil
	}
	return w.write(len(plays), func(lo, hi int) {
		w.i32(p.column(hi-lo, func(i int) int32 { return firstPlay + int32(lo+i) }))
		w.str(hi-lo, false, func(i int) (string, bool) { return plays[lo+i].ID, true })
		w.str(hi-lo, false, func(i int) (string, bool) { return plays[lo+i].Source, true })
		w.i64Null(p.requests(hi-lo, func(i int) int64 { return plays[lo+i].Ordinal }))
		w.i32(p.column(hi-lo, func(i int) int32 {
			if lo+i == 0 {
				return int32(plays[0].End)
			}
			return int32(plays[lo+i].End - plays[lo+i-1].End)
		}))
	})
}

func (p *playWriter) writeNodes(b *schemas.RequestBatch, first int64, firstPlay int32) error {
	w, a := p.nodes, b.Agentic
	if w == nil {
		return nil
	}
	return w.write(b.N, func(lo, hi int) {
		n, play := hi-lo, 0
		w.i64(p.requests(n, func(i int) int64 { return first + int64(lo+i) }))
		w.i32(p.column(n, func(i int) int32 {
			for lo+i >= a.Plays[play].End {
				play++
			}
			return firstPlay + int32(play)
		}))
		w.str(n, false, func(i int) (string, bool) { return a.Model[lo+i], true })
		w.f64(a.RecordedStartMS[lo:hi])
		w.f64Null(a.RecordedEndMS[lo:hi])
		w.f64Null(a.RecordedAPITimeMS[lo:hi])
		w.i64Null(a.PrefixRequest[lo:hi])
		w.i32(a.PrefixBlocks[lo:hi])
		w.i32(p.column(n, func(i int) int32 {
			if lo+i == 0 {
				return int32(a.EdgeEnd[0])
			}
			return int32(a.EdgeEnd[lo+i] - a.EdgeEnd[lo+i-1])
		}))
	})
}

func (p *playWriter) writeEdges(b *schemas.RequestBatch, first int64, _ int32) error {
	w, a := p.edges, b.Agentic
	if w == nil || len(a.Edges) == 0 {
		return nil
	}
	row := 0
	var delays []float64
	return w.write(len(a.Edges), func(lo, hi int) {
		n := hi - lo
		w.i64(p.requests(n, func(i int) int64 {
			for lo+i >= a.EdgeEnd[row] {
				row++
			}
			return first + int64(row)
		}))
		w.i64(p.requests(n, func(i int) int64 { return a.Edges[lo+i].Predecessor }))
		w.str(n, false, func(i int) (string, bool) { return schemas.TriggerNames[a.Edges[lo+i].Trigger], true })
		delays = delays[:0]
		for _, e := range a.Edges[lo:hi] {
			delays = append(delays, e.DelayMS)
		}
		w.f64(delays)
		w.str(n, false, func(i int) (string, bool) { return schemas.RelationNames[a.Edges[lo+i].Relation], true })
	})
}

// PlayColumns holds the table plays, one element a play.
type PlayColumns struct {
	PlayID, SourceName []string
	// SourceOrdinal is -1 without one.
	SourceOrdinal                                 []int64
	NodeCount, RootCount, EdgeCount, SessionCount []int32
	RecordedStartMS, RecordedLastStartMS          []float64
	InputTokens, OutputTokens                     []int64
}

// WritePlays appends plays. The columns must not change before Close or Abort.
func (r *Recorders) WritePlays(c PlayColumns) error {
	return later(r, &schemas.Plays, &c, func(w *tableWriter, c *PlayColumns) error {
		numbers := w.rowNumbers()
		return w.write(len(c.PlayID), func(lo, hi int) {
			w.i32(numbers.of(lo, hi))
			w.str(hi-lo, false, func(i int) (string, bool) { return c.PlayID[lo+i], true })
			w.str(hi-lo, false, func(i int) (string, bool) { return c.SourceName[lo+i], true })
			w.i64Null(c.SourceOrdinal[lo:hi])
			w.i32(c.NodeCount[lo:hi])
			w.i32(c.RootCount[lo:hi])
			w.i32(c.EdgeCount[lo:hi])
			w.i32(c.SessionCount[lo:hi])
			w.f64(c.RecordedStartMS[lo:hi])
			w.f64(c.RecordedLastStartMS[lo:hi])
			w.i64(c.InputTokens[lo:hi])
			w.i64(c.OutputTokens[lo:hi])
		})
	})
}

// PlayNodeColumns holds the table play_nodes, one element a node.
type PlayNodeColumns struct {
	Play             []int32
	RequestID, Model func(i int) string
	NotBeforeMS      []float64
	// RecordedEndMS and RecordedAPITimeMS are NaN when unknown.
	RecordedStartMS, RecordedEndMS, RecordedAPITimeMS []float64
	Priority                                          []int32
	StrictPriority                                    []uint32
	// PolicyClass says whether there is one.
	PolicyClass func(i int) (string, bool)
	// ParentNode and RootNode are -1 for none.
	ParentNode, RootNode, Turn []int32
}

// WritePlayNodes appends nodes of plays. The columns must not change before Close or Abort.
func (r *Recorders) WritePlayNodes(c PlayNodeColumns) error {
	return later(r, &schemas.PlayNodes, &c, func(w *tableWriter, c *PlayNodeColumns) error {
		numbers := w.rowNumbers()
		return w.write(len(c.Play), func(lo, hi int) {
			w.i32(numbers.of(lo, hi))
			w.i32(c.Play[lo:hi])
			w.str(hi-lo, false, func(i int) (string, bool) { return c.RequestID(lo + i), true })
			w.str(hi-lo, false, func(i int) (string, bool) { return c.Model(lo + i), true })
			w.f64(c.NotBeforeMS[lo:hi])
			w.f64(c.RecordedStartMS[lo:hi])
			w.f64Null(c.RecordedEndMS[lo:hi])
			w.f64Null(c.RecordedAPITimeMS[lo:hi])
			w.i32(c.Priority[lo:hi])
			w.u32(c.StrictPriority[lo:hi])
			w.str(hi-lo, true, func(i int) (string, bool) { return c.PolicyClass(lo + i) })
			w.i32Null(c.ParentNode[lo:hi])
			w.i32Null(c.RootNode[lo:hi])
			w.i32(c.Turn[lo:hi])
		})
	})
}
