package metrics

import (
	"slices"

	"github.com/dynosim/dynosim/schemas"
)

// Plays reads the names, sources and ordinals of the table plays; the other columns stay nil.
func (f *Folder) Plays() (*PlayColumns, error) {
	n := int(f.Rows(&schemas.Plays))
	c := &PlayColumns{PlayID: make([]string, n), SourceName: make([]string, n), SourceOrdinal: make([]int64, n)}
	err := f.read(&schemas.Plays, func(r *tableReader, lo, hi int) {
		r.str("play_id", hi-lo, func(i int, s []byte) { c.PlayID[lo+i] = string(s) })
		r.str("source_name", hi-lo, func(i int, s []byte) { c.SourceName[lo+i] = string(s) })
		r.i64Null("source_ordinal", c.SourceOrdinal[lo:hi])
	})
	return c, err
}

// PlayNodes reads the table play_nodes; the columns ParentNode and RootNode stay nil.
func (f *Folder) PlayNodes() (*PlayNodeColumns, error) {
	n := int(f.Rows(&schemas.PlayNodes))
	c := &PlayNodeColumns{
		Play: make([]int32, n), NotBeforeMS: make([]float64, n), RecordedStartMS: make([]float64, n), RecordedEndMS: make([]float64, n),
		RecordedAPITimeMS: make([]float64, n), Priority: make([]int32, n), StrictPriority: make([]uint32, n), Turn: make([]int32, n),
	}
	ids, models, classes := make([]string, n), make([]string, n), make([]string, n)
	classed := make([]bool, n)
	c.RequestID, c.Model = func(i int) string { return ids[i] }, func(i int) string { return models[i] }
	c.PolicyClass = func(i int) (string, bool) { return classes[i], classed[i] }
	err := f.read(&schemas.PlayNodes, func(r *tableReader, lo, hi int) {
		r.i32("play", c.Play[lo:hi])
		r.str("request_id", hi-lo, func(i int, s []byte) { ids[lo+i] = string(s) })
		r.str("model", hi-lo, func(i int, s []byte) { models[lo+i] = string(s) })
		r.f64("not_before_ms", c.NotBeforeMS[lo:hi])
		r.f64("recorded_start_ms", c.RecordedStartMS[lo:hi])
		r.f64Null("recorded_end_ms", c.RecordedEndMS[lo:hi])
		r.f64Null("recorded_api_time_ms", c.RecordedAPITimeMS[lo:hi])
		r.i32("priority", c.Priority[lo:hi])
		r.u32("strict_priority", c.StrictPriority[lo:hi])
		r.str("policy_class", hi-lo, func(i int, s []byte) { classes[lo+i], classed[lo+i] = string(s), true })
		r.i32("turn", c.Turn[lo:hi])
	})
	return c, err
}

// NamedEdges hands the edges to each in ranges, triggers and relations included; each may keep them.
func (f *Folder) NamedEdges(each func(c *EdgeColumns)) error {
	return f.read(&schemas.Edges, func(r *tableReader, lo, hi int) {
		n := hi - lo
		c := EdgeColumns{
			Predecessor: make([]int32, n), Successor: make([]int32, n), DelayMS: make([]float64, n),
			Trigger: make([]string, n), Relation: make([]string, n),
		}
		r.i32("predecessor", c.Predecessor)
		r.i32("successor", c.Successor)
		r.str("trigger", n, named(c.Trigger, schemas.TriggerNames))
		r.f64("delay_ms", c.DelayMS)
		r.str("relation", n, named(c.Relation, schemas.RelationNames))
		if r.err == nil {
			each(&c)
		}
	})
}

// named sets strings that are mostly among few, without a copy of those.
func named(dst, names []string) func(i int, s []byte) {
	return func(i int, s []byte) {
		if k := slices.IndexFunc(names, func(n string) bool { return n == string(s) }); k >= 0 {
			dst[i] = names[k]
			return
		}
		dst[i] = string(s)
	}
}

// playReader reads the tables source_plays, source_nodes and source_edges beside those of requests.
type playReader struct {
	plays, nodes, edges *tableReader
	// at is the play whose rows come next, left how many of them are still to come, begun whether
	// some were handed out.
	at    schemas.SourcePlay
	left  int32
	begun bool
	edgeN []int32
}

// openPlays opens the tables, nil when the source has no plays.
func (f *Folder) openPlays() (p *playReader, err error) {
	if f.Rows(&schemas.SourcePlays) == 0 {
		return nil, nil
	}
	p = &playReader{}
	for _, o := range []struct {
		t  *schemas.Table
		to **tableReader
	}{{&schemas.SourcePlays, &p.plays}, {&schemas.SourceNodes, &p.nodes}, {&schemas.SourceEdges, &p.edges}} {
		if *o.to, err = f.open(o.t); err != nil {
			p.close()
			return nil, err
		}
	}
	return p, nil
}

func (p *playReader) close() {
	for _, t := range []*tableReader{p.plays, p.nodes, p.edges} {
		if t != nil {
			t.close()
		}
	}
}

// advance reads the next play.
func (p *playReader) advance() {
	if p.plays.advance(1) == 0 {
		p.plays.fail(errShort)
		return
	}
	count, ordinal := make([]int32, 1), make([]int64, 1)
	p.at = schemas.SourcePlay{}
	p.plays.str("play_id", 1, func(_ int, s []byte) { p.at.ID = string(s) })
	p.plays.str("source_name", 1, func(_ int, s []byte) { p.at.Source = string(s) })
	p.plays.i64Null("source_ordinal", ordinal)
	p.plays.i32("request_count", count)
	p.at.Ordinal, p.left, p.begun = ordinal[0], count[0], false
}

// list gives the next n rows to their plays.
func (p *playReader) list(a *schemas.AgenticColumns, n int) {
	a.Plays = a.Plays[:0]
	for done := int32(0); int(done) < n && p.plays.err == nil; {
		if p.left <= 0 {
			p.advance()
			continue
		}
		take := min(p.left, int32(n)-done)
		done += take
		play := p.at
		play.End, play.Continued = int(done), p.begun
		a.Plays = append(a.Plays, play)
		p.left -= take
		p.begun = true
	}
}

// columns reads the agentic columns of n rows.
func (p *playReader) columns(a *schemas.AgenticColumns, n int) {
	p.list(a, n)
	a.Model, a.RecordedStartMS, a.RecordedEndMS = make([]string, n), make([]float64, n), make([]float64, n)
	a.RecordedAPITimeMS, a.PrefixRequest, a.PrefixBlocks = make([]float64, n), make([]int64, n), make([]int32, n)
	p.edgeN = append(p.edgeN[:0], make([]int32, n)...)
	for done := 0; done < n; {
		k := p.nodes.advance(n - done)
		if k == 0 {
			p.nodes.fail(errShort)
			return
		}
		lo, hi := done, done+k
		var last string
		p.nodes.str("model", k, func(i int, s []byte) {
			if last != string(s) {
				last = string(s)
			}
			a.Model[lo+i] = last
		})
		p.nodes.f64("recorded_start_ms", a.RecordedStartMS[lo:hi])
		p.nodes.f64Null("recorded_end_ms", a.RecordedEndMS[lo:hi])
		p.nodes.f64Null("recorded_api_time_ms", a.RecordedAPITimeMS[lo:hi])
		p.nodes.i64Null("prefix_request", a.PrefixRequest[lo:hi])
		p.nodes.i32("prefix_blocks", a.PrefixBlocks[lo:hi])
		p.nodes.i32("edge_count", p.edgeN[lo:hi])
		done = hi
	}
	total := 0
	a.EdgeEnd = make([]int, n)
	for i, k := range p.edgeN {
		total += int(max(k, 0))
		a.EdgeEnd[i] = total
	}
	p.readEdges(a, total)
}

// readEdges reads the next edges.
func (p *playReader) readEdges(a *schemas.AgenticColumns, n int) {
	if int64(n) > p.edges.rows() {
		p.edges.fail(errShort)
		return
	}
	a.Edges = make([]schemas.SourceEdge, n)
	predecessors, delays := make([]int64, n), make([]float64, n)
	triggers, relations := make([]string, n), make([]string, n)
	for done := 0; done < n; {
		k := p.edges.advance(n - done)
		if k == 0 {
			p.edges.fail(errShort)
			return
		}
		lo, hi := done, done+k
		p.edges.i64("predecessor", predecessors[lo:hi])
		p.edges.str("trigger", k, named(triggers[lo:hi], schemas.TriggerNames))
		p.edges.f64("delay_ms", delays[lo:hi])
		p.edges.str("relation", k, named(relations[lo:hi], schemas.RelationNames))
		done = hi
	}
	for i := range a.Edges {
		a.Edges[i] = schemas.SourceEdge{
			Predecessor: predecessors[i], DelayMS: delays[i],
			Trigger:  schemas.Trigger(max(0, slices.Index(schemas.TriggerNames, triggers[i]))),
			Relation: schemas.Relation(max(0, slices.Index(schemas.RelationNames, relations[i]))),
		}
	}
}
