package ingest

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/dynosim/dynosim/schemas"
)

// dynamoGraph connects the requests of a trace with agent contexts (spec 02 section 5).
type dynamoGraph struct {
	// ids has the hashes of the current request.
	ids   []uint64
	r     *dynamoReader
	rows  []graphRow
	names map[string]int32
	// sessions are the names in order of first request, of their numbers, requests theirs in order.
	sessions []string
	of       map[string]int32
	requests [][]int32
	session  []int32
	// parent is the session's parent, -1 for none.
	parent []int32
	// linked are the pairs of sessions, lower number first, that dependencies of the exporter connect.
	linked map[[2]int32]bool
}

// connect makes the graph of the rows, which are sorted.
func (r *dynamoReader) connect() error {
	g := &dynamoGraph{r: r, names: map[string]int32{}, of: map[string]int32{}, linked: map[[2]int32]bool{}}
	out := &graphRows{blockTokens: r.assert, place: func(row *graphRow) string { return fmt.Sprintf("%s:%d", r.shards[row.shard].name, row.line) }}
	out.tree.reset()
	for i := range r.rows {
		if err := g.add(out, int32(i)); err != nil {
			return err
		}
	}
	g.rows = out.rows
	for _, step := range []func() error{g.parents, g.sequences, g.dependencies, g.children} {
		if err := step(); err != nil {
			return err
		}
	}
	for i := range g.rows {
		if row := &g.rows[i]; len(row.edges) > 0 {
			row.notBefore = 0
		}
	}
	out.components("dynamo-play:")
	out.source = schemas.GraphSource{Format: dynamoSchema, Digest: fmt.Sprintf("requests:%d;tools:%d", len(g.rows), r.toolRecords)}
	out.arrange()
	r.hashes.close()
	r.graph, r.rows, r.hashes, r.agents = out, nil, idStore{}, nil
	return nil
}

// GraphSource implements GraphReader.
func (r *dynamoReader) GraphSource() (schemas.GraphSource, bool) {
	if r.graph == nil {
		return schemas.GraphSource{}, false
	}
	return r.graph.source, true
}

// add makes the row of a request.
func (g *dynamoGraph) add(out *graphRows, i int32) error {
	q := &g.r.rows[i]
	a := &g.r.agents[q.agent]
	zero := g.r.zero
	row := graphRow{
		id: q.id, session: a.session, model: a.model, ordinal: -1, line: q.line, shard: q.shard, input: q.input, output: q.output,
		start: float64(q.start - zero), end: float64(q.end - zero), api: unknown, leaf: -1, edges: nil,
	}
	row.notBefore = row.start
	switch {
	case q.input < 1:
		return fmt.Errorf("%s: request %q: input_length must be at least 1, got %d", g.r.place(q), q.id, q.input)
	case int64(q.hashes) != (q.input-1)/g.r.assert+1:
		return fmt.Errorf("%s: request %q: input_sequence_hashes has %d blocks, but input_length %d needs exactly %d of %d tokens", g.r.place(q), q.id, q.hashes, q.input, (q.input-1)/g.r.assert+1, g.r.assert)
	}
	ids, err := g.r.hashes.read(g.ids[:0], q.firstHash, int(q.hashes))
	if err != nil {
		return err
	}
	g.ids = ids
	for _, id := range ids {
		row.leaf = out.tree.child(row.leaf, id)
	}
	s, ok := g.of[a.session]
	if !ok {
		s = int32(len(g.sessions))
		g.of[a.session] = s
		g.sessions, g.requests, g.parent = append(g.sessions, a.session), append(g.requests, nil), append(g.parent, -1)
	}
	g.requests[s], g.session = append(g.requests[s], i), append(g.session, s)
	g.names[q.id] = i
	out.rows = append(out.rows, row)
	return nil
}

// errorf makes an error about a request.
func (g *dynamoGraph) errorf(i int32, format string, args ...any) error {
	return fmt.Errorf("%s: request %q: %w", g.r.place(&g.r.rows[i]), g.rows[i].id, fmt.Errorf(format, args...))
}

// parents finds the parent of each session.
func (g *dynamoGraph) parents() error {
	for i := range g.rows {
		a := &g.r.agents[g.r.rows[i].agent]
		if !a.hasParent {
			continue
		}
		p, ok := g.of[a.parent]
		switch {
		case !ok:
			return g.errorf(int32(i), "parent_session_id %q has no request in the trace", a.parent)
		case g.parent[g.session[i]] >= 0 && g.parent[g.session[i]] != p:
			return g.errorf(int32(i), "parent_session_id is %q, but %q in earlier requests of session %q", a.parent, g.sessions[g.parent[g.session[i]]], a.session)
		}
		g.parent[g.session[i]] = p
	}
	return nil
}

// edge adds an edge unless the target has one with the same predecessor and trigger.
func (g *dynamoGraph) edge(from, to int32, trigger schemas.Trigger, relation schemas.Relation, floor bool) {
	row := &g.rows[to]
	for _, e := range row.edges {
		if e.from == from && e.trigger == trigger {
			return
		}
	}
	since := g.rows[from].end
	if trigger == schemas.TriggerDispatch {
		since = g.rows[from].start
	}
	delay := row.start - since
	if floor {
		delay = max(delay, 0)
	}
	row.edges = append(row.edges, graphEdge{from: from, trigger: trigger, relation: relation, delayMS: delay})
}

func (g *dynamoGraph) sequences() error {
	for _, requests := range g.requests {
		for k := 1; k < len(requests); k++ {
			g.edge(requests[k-1], requests[k], schemas.TriggerCompletion, schemas.RelationSequence, false)
		}
	}
	return nil
}

// dependencies adds the edges that the exporter gives.
func (g *dynamoGraph) dependencies() error {
	for i := range g.rows {
		to := int32(i)
		for _, e := range g.r.agents[g.r.rows[i].agent].dependencies {
			from, ok := g.names[e.name]
			switch {
			case !ok:
				return g.errorf(to, "it depends on request %q, which is not in the trace", e.name)
			case g.rows[from].start > g.rows[to].start:
				return g.errorf(to, "it depends on request %q, which starts later", e.name)
			}
			g.edge(from, to, e.trigger, e.relation, true)
			if a, b := g.session[from], g.session[to]; a != b {
				g.linked[[2]int32{min(a, b), max(a, b)}] = true
			}
		}
	}
	return nil
}

// children connects child sessions with their parents.
func (g *dynamoGraph) children() error {
	tools := map[string][]dynamoTool{}
	for _, t := range g.r.tools {
		tools[t.child] = append(tools[t.child], t)
	}
	for c, p := range g.parent {
		if p < 0 {
			continue
		}
		child := int32(c)
		if known := tools[g.sessions[c]]; len(known) > 0 {
			for i := range known {
				if err := g.tool(child, p, &known[i]); err != nil {
					return err
				}
			}
			continue
		}
		if !g.linked[[2]int32{min(child, p), max(child, p)}] {
			g.infer(child, p)
		}
	}
	return nil
}

// tool connects a child session as the tool call says that ran it.
func (g *dynamoGraph) tool(child, parent int32, t *dynamoTool) error {
	find := func(what, name string) (int32, error) {
		i, ok := g.names[name]
		if !ok || g.session[i] != parent || g.sessions[parent] != t.session {
			return 0, fmt.Errorf("%s:%d: tool.claude.%s %q is no request of session %q, the parent of session %q", g.r.shards[t.shard].name, t.line, what, name, t.session, t.child)
		}
		return i, nil
	}
	source, err := find("source_request_id", t.source)
	if err != nil {
		return err
	}
	g.edge(source, g.requests[child][0], schemas.TriggerDispatch, schemas.RelationSpawn, false)
	if t.consumer == "" {
		return nil
	}
	consumer, err := find("consumer_request_id", t.consumer)
	if err != nil {
		return err
	}
	if last := g.last(child, func(i int32) bool { return g.rows[i].end <= g.rows[consumer].start }); last >= 0 {
		g.edge(last, consumer, schemas.TriggerCompletion, schemas.RelationJoin, false)
	}
	return nil
}

// last is the request of a session that ends last among those that count, -1 for none.
func (g *dynamoGraph) last(session int32, counts func(i int32) bool) int32 {
	last := int32(-1)
	for _, i := range g.requests[session] {
		if counts(i) && (last < 0 || g.later(i, last) > 0) {
			last = i
		}
	}
	return last
}

func (g *dynamoGraph) later(a, b int32) int {
	x, y := &g.rows[a], &g.rows[b]
	return cmp.Or(cmp.Compare(x.end, y.end), cmp.Compare(x.start, y.start), cmp.Compare(x.id, y.id))
}

// infer connects a child session by its times.
func (g *dynamoGraph) infer(child, parent int32) {
	first := g.requests[child][0]
	requests := g.requests[parent]
	from := int32(-1)
	for _, i := range requests {
		if g.rows[i].start <= g.rows[first].start {
			from = i
		}
	}
	if from >= 0 {
		g.edge(from, first, schemas.TriggerDispatch, schemas.RelationSpawn, false)
	}
	last := g.last(child, func(int32) bool { return true })
	if k := slices.IndexFunc(requests, func(i int32) bool { return g.rows[i].start >= g.rows[last].end }); k >= 0 {
		g.edge(last, requests[k], schemas.TriggerCompletion, schemas.RelationJoin, false)
	}
}
