package lower

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/dynosim/dynosim/schemas"
)

// graphBuilder gathers the rows of an agentic source, in its order.
type graphBuilder struct {
	plays []sourcePlay
	// ids holds the request names back to back, idEnd where each ends.
	ids      []byte
	idEnd    []int64
	line     []int64
	sessions nameList
	models   nameList
	classes  nameList

	session, model, class          []int32
	input, output                  []int32
	notBefore, start, end, apiTime []float64
	priority                       []int32
	strict                         []uint32
	edges                          []schemas.SourceEdge
	edgeEnd                        []int64
	authored                       []uint32
	authoredEnd                    []int64
	hasAuthored                    []bool
	anyAuthored                    bool
	// leaf is the last chain of a row's block list, -1 for none; own the first chain that the row made,
	// shared the number of blocks before it.
	leaf, own, shared []int32
	parent, depth     []int32
	hash              []uint64
}

// sourcePlay is a play as the source has it; its rows go up to end.
type sourcePlay struct {
	id, source string
	ordinal    int64
	end        int32
}

// nameList numbers names in order of first use.
type nameList struct {
	names []string
	of    map[string]int32
}

func (l *nameList) number(name string) int32 {
	if n, ok := l.of[name]; ok {
		return n
	}
	if l.of == nil {
		l.of = map[string]int32{}
	}
	n := int32(len(l.names))
	l.names = append(l.names, string(append([]byte(nil), name...)))
	l.of[l.names[n]] = n
	return n
}

// add takes the plays of a batch.
func (g *graphBuilder) add(b *schemas.RequestBatch) error {
	a := b.Agentic
	base := int32(len(g.input))
	if int64(base)+int64(b.N) >= math.MaxInt32 {
		return fmt.Errorf("more than %d requests", math.MaxInt32)
	}
	row := 0
	for _, play := range a.Plays {
		if play.Continued && len(g.plays) > 0 {
			g.plays[len(g.plays)-1].end = base + int32(play.End)
		} else {
			g.plays = append(g.plays, sourcePlay{play.ID, play.Source, play.Ordinal, base + int32(play.End)})
		}
		for ; row < play.End; row++ {
			if err := g.row(b, row); err != nil {
				return fmt.Errorf("%s:%d: play %q, request %q: %w", play.Source, b.Line[row], play.ID, b.RequestID[row], err)
			}
		}
	}
	return nil
}

// between is the part of a list that row i owns.
func between(end []int, i int) (lo, hi int) {
	if i > 0 {
		lo = end[i-1]
	}
	return lo, end[i]
}

func (g *graphBuilder) row(b *schemas.RequestBatch, i int) error {
	a := b.Agentic
	input, output := b.InputTokens[i], b.OutputTokens[i]
	switch {
	case input < 1:
		return fmt.Errorf("the input length must be at least 1, got %d", input)
	case input > math.MaxInt32 || output > math.MaxInt32:
		return fmt.Errorf("input length %d and output length %d must each be at most %d", input, output, math.MaxInt32)
	}
	g.ids = append(g.ids, b.RequestID[i]...)
	g.idEnd, g.line = append(g.idEnd, int64(len(g.ids))), append(g.line, b.Line[i])
	g.session, g.model = append(g.session, g.sessions.number(b.SessionID[i])), append(g.model, g.models.number(a.Model[i]))
	class := int32(-1)
	if b.HasPolicyClass[i] {
		class = g.classes.number(b.PolicyClass[i])
	}
	g.class = append(g.class, class)
	g.input, g.output = append(g.input, int32(input)), append(g.output, int32(output))
	g.notBefore, g.start = append(g.notBefore, b.TimestampMS[i]), append(g.start, a.RecordedStartMS[i])
	g.end, g.apiTime = append(g.end, a.RecordedEndMS[i]), append(g.apiTime, a.RecordedAPITimeMS[i])
	g.priority, g.strict = append(g.priority, b.Priority[i]), append(g.strict, b.StrictPriority[i])
	lo, hi := between(a.EdgeEnd, i)
	g.edges = append(g.edges, a.Edges[lo:hi]...)
	g.edgeEnd = append(g.edgeEnd, int64(len(g.edges)))
	lo, hi = between(b.AuthoredEnd, i)
	g.authored = append(g.authored, b.Authored[lo:hi]...)
	g.authoredEnd, g.hasAuthored = append(g.authoredEnd, int64(len(g.authored))), append(g.hasAuthored, b.HasAuthored[i])
	g.anyAuthored = g.anyAuthored || b.HasAuthored[i]
	lo, hi = between(b.BlockEnd, i)
	return g.blocks(a.PrefixRequest[i], a.PrefixBlocks[i], b.Blocks[lo:hi])
}

// blocks makes the chains of a row: those of a prefix and one for each block behind it.
func (g *graphBuilder) blocks(prefix int64, shared int32, own []uint64) error {
	at := int32(-1)
	if prefix >= 0 {
		if prefix >= int64(len(g.leaf)) || shared < 1 || shared <= g.shared[prefix] || shared > g.depth[g.leaf[prefix]]+1 {
			return fmt.Errorf("the block list begins with %d blocks of request %d, which made no such prefix", shared, prefix)
		}
		at = g.own[prefix] + shared - 1 - g.shared[prefix]
	} else {
		shared = 0
	}
	if len(g.parent)+len(own) >= math.MaxInt32 {
		return errTooManyChains
	}
	g.own, g.shared = append(g.own, int32(len(g.parent))), append(g.shared, shared)
	for k, hash := range own {
		g.parent, g.depth, g.hash = append(g.parent, at), append(g.depth, shared+int32(k)), append(g.hash, hash)
		at = int32(len(g.parent) - 1)
	}
	g.leaf = append(g.leaf, at)
	return nil
}

func (g *graphBuilder) id(row int32) []byte {
	from := int64(0)
	if row > 0 {
		from = g.idEnd[row-1]
	}
	return g.ids[from:g.idEnd[row]]
}

// finishGraph makes the workload of an agentic source.
func (b *Builder) finishGraph() (*Workload, error) {
	g := b.graph
	if len(g.input) == 0 {
		return nil, errors.New("no requests in the trace")
	}
	if b.load.Kind != schemas.LoadTraceTimestamps {
		return nil, errors.New("an agentic trace has its own times: it needs trace_timestamps, not a concurrency")
	}
	order, node, err := g.number()
	if err != nil {
		return nil, err
	}
	playOrder, err := g.playOrder()
	if err != nil {
		return nil, err
	}
	out := &Graph{Source: b.graphSource, BlockTokens: b.blockTokens, PolicyClasses: g.classes.names, Sessions: g.sessions.names}
	g.finishPlays(out, playOrder, node)
	g.finishColumns(out, order)
	if err := g.finishEdges(out, order, node); err != nil {
		return nil, err
	}
	if err := g.checkOrder(out, playOrder); err != nil {
		return nil, err
	}
	if !b.load.Agentic.Snapshot {
		out.scale(b.load.Speedup)
	}
	out.describe(pick(g.input, order), pick(g.output, order))
	w := &Workload{BlockTokens: b.blockTokens, Graph: out}
	w.Nodes = Nodes{
		ReleaseMS: out.NotBeforeMS, InputTokens: pick(g.input, order), OutputTokens: pick(g.output, order),
		Chain: pick(g.leaf, order), RequestIndex: order,
	}
	w.Nodes.ChainTokens = make([]int32, len(order))
	for i, chain := range w.Nodes.Chain {
		if chain >= 0 {
			w.Nodes.ChainTokens[i] = int32(min(int64(w.Nodes.InputTokens[i]), int64(g.depth[chain]+1)*b.blockTokens))
		}
	}
	if slices.ContainsFunc(out.Priority, func(p int32) bool { return p != 0 }) ||
		slices.ContainsFunc(out.StrictPriority, func(p uint32) bool { return p != 0 }) || len(out.PolicyClasses) > 0 {
		w.Nodes.Priority, w.Nodes.StrictPriority = out.Priority, out.StrictPriority
		w.Nodes.PolicyClass, w.Nodes.PolicyClasses = out.PolicyClass, out.PolicyClasses
	}
	g.finishAuthored(w, order)
	out.Digest = digestGraph(w, g.hash, g.parent, g.hasAuthoredIn(order))
	if err := g.finishChains(w); err != nil {
		return nil, err
	}
	return w, nil
}

// pick is the elements of a column in the order of rows.
func pick[T any](column []T, order []int32) []T {
	out := make([]T, len(order))
	for i, row := range order {
		out[i] = column[row]
	}
	return out
}

// number sorts the rows by name: order has the row of each node, node the node of each row.
func (g *graphBuilder) number() (order, node []int32, err error) {
	order, node = identity(len(g.input)), make([]int32, len(g.input))
	slices.SortFunc(order, func(a, b int32) int { return bytes.Compare(g.id(a), g.id(b)) })
	for i, row := range order {
		if i > 0 && bytes.Equal(g.id(order[i-1]), g.id(row)) {
			return nil, nil, g.errorf(max(order[i-1], row), "the request id is used twice")
		}
		node[row] = int32(i)
	}
	return order, node, nil
}

// errorf makes an error about a row.
func (g *graphBuilder) errorf(row int32, format string, args ...any) error {
	play := g.playOf(row)
	return fmt.Errorf("%s:%d: play %q, request %q: %w", g.plays[play].source, g.line[row], g.plays[play].id, g.id(row), fmt.Errorf(format, args...))
}

// playOf is the play of a row, as the source counts them.
func (g *graphBuilder) playOf(row int32) int {
	p, _ := slices.BinarySearchFunc(g.plays, row, func(p sourcePlay, row int32) int {
		if p.end <= row {
			return -1
		}
		return 1
	})
	return p
}

// playOrder sorts the plays by ordinal, or by name where they have none (spec 02 section 6.1).
func (g *graphBuilder) playOrder() ([]int32, error) {
	order := identity(len(g.plays))
	with := 0
	for _, p := range g.plays {
		if p.ordinal >= 0 {
			with++
		}
	}
	if with == 0 {
		slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(g.plays[a].id, g.plays[b].id) })
		return order, nil
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(g.plays[a].ordinal, g.plays[b].ordinal) })
	for i, p := range order {
		play := g.plays[p]
		switch {
		case play.ordinal < 0:
			return nil, fmt.Errorf("%s: play %q has no source_play_ordinal, but others have one", play.source, play.id)
		case play.ordinal != int64(i):
			return nil, fmt.Errorf("%s: play %q has the source_play_ordinal %d: those of %d plays must be 0 to %d, each once", play.source, play.id, play.ordinal, len(order), len(order)-1)
		}
	}
	return order, nil
}

// finishPlays lists the plays and their nodes.
func (g *graphBuilder) finishPlays(out *Graph, playOrder, node []int32) {
	out.Play = make([]int32, len(node))
	out.PlayFirst = make([]int32, 1, len(playOrder)+1)
	out.PlayNodes = make([]int32, 0, len(node))
	for at, p := range playOrder {
		from := int32(0)
		if p > 0 {
			from = g.plays[p-1].end
		}
		play := g.plays[p]
		first := len(out.PlayNodes)
		for row := from; row < play.end; row++ {
			out.PlayNodes = append(out.PlayNodes, node[row])
			out.Play[node[row]] = int32(at)
		}
		slices.Sort(out.PlayNodes[first:])
		out.PlayFirst = append(out.PlayFirst, int32(len(out.PlayNodes)))
		out.Plays = append(out.Plays, Play{ID: play.id, Source: play.source, Ordinal: play.ordinal, Root: -1})
	}
}

// finishColumns fills the columns that are reordered only.
func (g *graphBuilder) finishColumns(out *Graph, order []int32) {
	out.NotBeforeMS, out.RecordedStartMS = pick(g.notBefore, order), pick(g.start, order)
	out.RecordedEndMS, out.RecordedAPITimeMS = pick(g.end, order), pick(g.apiTime, order)
	out.Priority, out.StrictPriority, out.PolicyClass = pick(g.priority, order), pick(g.strict, order), pick(g.class, order)
	out.Session, out.Model = pick(g.session, order), pick(g.model, order)
	// Models are sorted by name.
	out.Models = slices.Clone(g.models.names)
	slices.Sort(out.Models)
	for i, m := range out.Model {
		at, _ := slices.BinarySearch(out.Models, g.models.names[m])
		out.Model[i] = int32(at)
	}
	out.ids, out.idAt = make([]byte, 0, len(g.ids)), make([]int64, 1, len(order)+1)
	for _, row := range order {
		out.ids = append(out.ids, g.id(row)...)
		out.idAt = append(out.idAt, int64(len(out.ids)))
	}
}

// finishAuthored hands over the prescribed output tokens in the order of the nodes.
func (g *graphBuilder) finishAuthored(w *Workload, order []int32) {
	if !g.anyAuthored {
		return
	}
	w.AuthoredStart = make([]int64, 1, len(order)+1)
	for _, row := range order {
		from := int64(0)
		if row > 0 {
			from = g.authoredEnd[row-1]
		}
		w.Authored = append(w.Authored, g.authored[from:g.authoredEnd[row]]...)
		w.AuthoredStart = append(w.AuthoredStart, int64(len(w.Authored)))
	}
}

// hasAuthoredIn tells which nodes have prescribed outputs, empty ones included; nil for none.
func (g *graphBuilder) hasAuthoredIn(order []int32) []bool {
	if !g.anyAuthored {
		return nil
	}
	return pick(g.hasAuthored, order)
}

// finishChains numbers the blocks in order of first appearance over the nodes (spec 02 section 7.4).
func (g *graphBuilder) finishChains(w *Workload) error {
	w.Chains = Chains{Parent: g.parent, Depth: g.depth, Block: make([]uint32, len(g.parent))}
	var blocks numbering
	done := make([]bool, len(g.parent))
	var path []int32
	for _, chain := range w.Nodes.Chain {
		path = path[:0]
		for ; chain >= 0 && !done[chain]; chain = g.parent[chain] {
			done[chain] = true
			path = append(path, chain)
		}
		for i := len(path) - 1; i >= 0; i-- {
			n, err := blocks.number(g.hash[path[i]])
			if err != nil {
				return err
			}
			w.Chains.Block[path[i]] = n
		}
	}
	return nil
}
