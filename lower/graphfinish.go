package lower

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/dynosim/dynosim/schemas"
)

// Agentic reports whether the rows so far are those of a graph of plays: then FinishAgentic, FinishParts or FinishPlays complete it, and so does Finish.
func (b *Builder) Agentic() bool { return b.graph != nil }

// Close gives up what the builder holds, temporary files too. It may be called at any time, and twice.
func (b *Builder) Close() {
	if b.graph != nil {
		b.graph.store.close()
	}
}

// finishGraph makes the workload of an agentic source.
func (b *Builder) finishGraph() (*Workload, error) {
	return b.FinishAgentic(func(*GraphPart) error { return nil })
}

// FinishAgentic is Finish for an agentic source that hands the parts of the graph over as well, each before the next
// is made.
func (b *Builder) FinishAgentic(take func(*GraphPart) error) (*Workload, error) {
	if b.err != nil {
		return nil, b.err
	}
	all := b.collect()
	whole, err := b.FinishParts(func(p *GraphPart) error { return errors.Join(all.Take(p), take(p)) })
	if err != nil {
		return nil, err
	}
	return all.finish(whole), nil
}

// FinishParts completes an agentic source and hands its graph over part by part. A part is the callee's. What is returned has
// what is not in parts: the source, the digest and the plays; its columns by node and edge are nil. In memory are the numbers of
// the nodes and the plays whose names overlap; where plays may share blocks, all chains. The builder is of no use afterwards.
func (b *Builder) FinishParts(take func(*GraphPart) error) (*Graph, error) {
	return b.finishParts(&graphFinisher{take: take})
}

// FinishPlays is FinishParts that hands over the plays one by one, each as soon as its first node has a number.
func (b *Builder) FinishPlays(each func(*PlayView) error) (*Graph, error) {
	return b.finishParts(&graphFinisher{take: func(*GraphPart) error { return nil }, each: each})
}

func (b *Builder) finishParts(f *graphFinisher) (*Graph, error) {
	if b.err != nil {
		return nil, b.err
	}
	defer b.Close()
	g := b.graph
	if err := g.endPlay(); err != nil {
		return nil, err
	}
	if g.n == 0 {
		return nil, errors.New("no requests in the trace")
	}
	if b.load.Kind != schemas.LoadTraceTimestamps {
		return nil, errors.New("an agentic trace has its own times: it needs trace_timestamps, not a concurrency")
	}
	f.g, f.speedup, f.scaled = g, b.load.Speedup, !b.load.Agentic.Snapshot
	f.out = &Graph{Source: b.graphSource, BlockTokens: b.blockTokens, PolicyClasses: g.classes.names, Sessions: g.sessions.names}
	if err := f.run(); err != nil {
		return nil, err
	}
	return f.out, nil
}

// graphFinisher makes nodes of rows, in order of their names. Plays are read from the store when their first node comes, and
// given up behind their last.
type graphFinisher struct {
	g       *graphBuilder
	take    func(*GraphPart) error
	each    func(*PlayView) error // nil when nobody asks for plays
	out     *Graph
	speedup float64
	// scaled says that times count from the first start of the source and are sped up (spec 02 section 6.2).
	scaled bool

	// node is the number of each row, playAt that of each play of the source, model that of each of its models.
	node, playAt, model []int32
	opened              []*openPlay
	// shared has the chains of all plays; or pools those of each, in their order, as long as they are not in a part. next is
	// the first number of the next pool.
	shared *chainPool
	pools  []*chainPool
	next   int32
	// blocks numbers shared blocks, distinct counts those of plays with their own.
	blocks   numbering
	distinct uint32

	digest graphDigest
	part   *GraphPart
}

// openPlay is a play whose nodes are being handed out.
type openPlay struct {
	source *sourcePlay
	// graph is the graph of its nodes alone, rows the source's rows in their order.
	graph *Graph
	rows  *playRows
	// row is the position in rows of each node, at its number in the whole graph, next the one to hand out.
	row, at []int32
	next    int32
	chains  *chainPool
	leaf    []int32 // of each row
	blocks  func(hash uint64) (uint32, error)
	number  int32 // of the play
	root    int32
}

func (f *graphFinisher) run() error {
	g := f.g
	order, err := g.number()
	if err != nil {
		return err
	}
	playOrder, err := g.playOrder()
	if err != nil {
		return err
	}
	f.node, f.playAt = make([]int32, g.n), make([]int32, len(g.plays))
	for i, row := range order {
		f.node[row] = int32(i)
	}
	f.out.Plays = make([]Play, len(playOrder))
	for at, p := range playOrder {
		f.playAt[p] = int32(at)
		f.out.Plays[at] = Play{ID: g.plays[p].id, Source: g.plays[p].source, Ordinal: g.plays[p].ordinal, Root: -1}
	}
	f.sortModels()
	f.opened = make([]*openPlay, len(g.plays))
	if !g.private {
		f.shared = newChainPool(&g.chains, 0)
	}
	f.digest.begin(f.out.BlockTokens)
	f.part = newGraphPart(0, f.out, g.anyAuthored)
	last := -1
	for _, row := range order {
		if last < 0 || row < g.plays[last].first || row >= g.plays[last].end {
			last = g.playOf(row)
		}
		if f.opened[last] == nil {
			if err := f.open(last); err != nil {
				return err
			}
		}
		if err := f.emit(f.opened[last]); err != nil {
			return err
		}
		if p := f.opened[last]; int(p.next) == len(p.row) {
			f.close(last)
		}
		if len(f.part.Nodes.InputTokens) >= partNodes || len(f.part.Chains.Parent) >= partChains {
			if err := f.flush(); err != nil {
				return err
			}
		}
	}
	return f.end()
}

// sortModels numbers the models by their names.
func (f *graphFinisher) sortModels() {
	names := f.g.models.names
	f.out.Models = slices.Clone(names)
	slices.Sort(f.out.Models)
	for _, name := range names {
		at, _ := slices.BinarySearch(f.out.Models, name)
		f.model = append(f.model, int32(at))
	}
}

// open reads a play and checks its edges.
func (f *graphFinisher) open(play int) error {
	g := f.g
	source := &g.plays[play]
	p := &openPlay{source: source, rows: &playRows{}, number: f.playAt[play], root: -1}
	if err := g.store.read(p.rows, source.at, source.size); err != nil {
		return err
	}
	n := int(source.end - source.first)
	place := make([]int32, n) // of each row among the nodes of the play
	for k, row := range g.sorted[source.first:source.end] {
		p.row, p.at = append(p.row, row-source.first), append(p.at, f.node[row])
		place[row-source.first] = int32(k)
	}
	if err := f.openGraph(p, place); err != nil {
		return err
	}
	f.opened[play] = p
	if err := f.openChains(p); err != nil || f.each == nil {
		return err
	}
	return f.each(p.view())
}

// openGraph makes the graph of a play alone.
func (f *graphFinisher) openGraph(p *openPlay, place []int32) error {
	r := p.rows
	n := len(p.row)
	lg := &Graph{
		Play: make([]int32, n), PlayFirst: []int32{0, int32(n)}, PlayNodes: identity(n), Plays: []Play{f.out.Plays[p.number]},
		Session: pick(r.session, p.row), Model: pick(r.model, p.row), NotBeforeMS: pick(r.notBefore, p.row),
		RecordedStartMS: pick(r.start, p.row), RecordedEndMS: pick(r.end, p.row), RecordedAPITimeMS: pick(r.apiTime, p.row),
		Priority: pick(r.priority, p.row), StrictPriority: pick(r.strict, p.row), PolicyClass: pick(r.class, p.row), idAt: []int64{0},
	}
	p.graph = lg
	for k, m := range lg.Model {
		lg.Model[k] = f.model[m]
	}
	for _, row := range p.row {
		lg.ids = p.source.names.append(lg.ids, row)
		lg.idAt = append(lg.idAt, int64(len(lg.ids)))
	}
	if err := f.openEdges(p, place); err != nil {
		return err
	}
	lg.index()
	if _, left, ok := lg.roots(); !ok {
		return cycle(lg, left)
	}
	if f.scaled {
		lg.scale(f.g.firstMS, f.speedup)
	}
	lg.describe(pick(r.input, p.row), pick(r.output, p.row))
	play := lg.Plays[0]
	play.Nodes = int32(n)
	if play.Root >= 0 {
		p.root = p.at[play.Root]
		play.Root = p.root
	}
	f.out.Plays[p.number] = play
	return nil
}

// openEdges numbers, checks and sorts the edges of a play (spec 02 section 6.1).
func (f *graphFinisher) openEdges(p *openPlay, place []int32) error {
	lg, r := p.graph, p.rows
	lg.EdgeFirst = make([]int32, 1, len(p.row)+1)
	var own []schemas.SourceEdge
	for target, row := range p.row {
		from := int32(0)
		if row > 0 {
			from = r.edgeEnd[row-1]
		}
		own = own[:0]
		for e := from; e < r.edgeEnd[row]; e++ {
			edge := schemas.SourceEdge{
				Predecessor: r.predecessor[e], Trigger: schemas.Trigger(r.trigger[e]), Relation: schemas.Relation(r.relation[e]), DelayMS: r.delay[e],
			}
			if err := f.g.checkEdge(p.source, p.source.first+row, &edge); err != nil {
				return err
			}
			edge.Predecessor = int64(place[edge.Predecessor-int64(p.source.first)])
			own = append(own, edge)
		}
		slices.SortFunc(own, func(a, b schemas.SourceEdge) int {
			return cmp.Or(cmp.Compare(a.Predecessor, b.Predecessor), cmp.Compare(a.Trigger, b.Trigger),
				cmp.Compare(a.Relation, b.Relation), cmp.Compare(a.DelayMS, b.DelayMS))
		})
		for _, e := range own {
			lg.Predecessor, lg.Target = append(lg.Predecessor, int32(e.Predecessor)), append(lg.Target, int32(target))
			lg.Trigger, lg.Relation, lg.DelayMS = append(lg.Trigger, e.Trigger), append(lg.Relation, e.Relation), append(lg.DelayMS, e.DelayMS)
		}
		lg.EdgeFirst = append(lg.EdgeFirst, int32(len(lg.Predecessor)))
	}
	return nil
}

// openChains finds or makes the chains of a play.
func (f *graphFinisher) openChains(p *openPlay) error {
	if f.shared != nil {
		p.chains, p.leaf, p.blocks = f.shared, p.rows.leaf, f.blocks.number
		return nil
	}
	list := &chainList{}
	if err := list.restore(p.rows); err != nil {
		return fmt.Errorf("%s: play %q: %w", p.source.source, p.source.id, err)
	}
	p.chains, p.leaf = newChainPool(list, f.next), list.leaf
	f.next += int32(len(list.parent))
	f.pools = append(f.pools, p.chains)
	known := map[uint64]uint32{}
	p.blocks = func(hash uint64) (uint32, error) {
		n, ok := known[hash]
		if !ok {
			if f.distinct == math.MaxUint32 {
				return 0, errTooManyBlocks
			}
			n = f.distinct
			known[hash] = n
			f.distinct++
		}
		return n, nil
	}
	return nil
}

// pick is the elements of a column in the order of rows.
func pick[T any](column []T, order []int32) []T {
	out := make([]T, len(order))
	for i, row := range order {
		out[i] = column[row]
	}
	return out
}

// emit adds the next node of a play to the part.
func (f *graphFinisher) emit(p *openPlay) error {
	k := p.next
	p.next++
	row, lg, g, part := p.row[k], p.graph, f.part.Graph, f.part
	g.ids = append(g.ids, lg.requestID(int(k))...)
	g.idAt = append(g.idAt, int64(len(g.ids)))
	g.Play, g.Session, g.Model = append(g.Play, p.number), append(g.Session, lg.Session[k]), append(g.Model, lg.Model[k])
	g.NotBeforeMS, g.RecordedStartMS = append(g.NotBeforeMS, lg.NotBeforeMS[k]), append(g.RecordedStartMS, lg.RecordedStartMS[k])
	g.RecordedEndMS, g.RecordedAPITimeMS = append(g.RecordedEndMS, lg.RecordedEndMS[k]), append(g.RecordedAPITimeMS, lg.RecordedAPITimeMS[k])
	g.Priority, g.StrictPriority = append(g.Priority, lg.Priority[k]), append(g.StrictPriority, lg.StrictPriority[k])
	g.PolicyClass, g.Turn = append(g.PolicyClass, lg.PolicyClass[k]), append(g.Turn, lg.Turn[k])
	parent := lg.Parent[k]
	if parent >= 0 {
		parent = p.at[parent]
	}
	g.Parent, part.Root = append(g.Parent, parent), append(part.Root, p.root)
	for e := lg.EdgeFirst[k]; e < lg.EdgeFirst[k+1]; e++ {
		g.Predecessor, g.Target = append(g.Predecessor, p.at[lg.Predecessor[e]]), append(g.Target, p.at[k])
		g.Trigger, g.Relation, g.DelayMS = append(g.Trigger, lg.Trigger[e]), append(g.Relation, lg.Relation[e]), append(g.DelayMS, lg.DelayMS[e])
	}
	g.EdgeFirst = append(g.EdgeFirst, int32(len(g.Predecessor)))
	nodes, leaf := &part.Nodes, p.leaf[row]
	nodes.InputTokens, nodes.OutputTokens = append(nodes.InputTokens, p.rows.input[row]), append(nodes.OutputTokens, p.rows.output[row])
	nodes.RequestIndex = append(nodes.RequestIndex, p.source.first+row)
	chain, tokens := int32(-1), int32(0)
	if leaf >= 0 {
		chain = leaf + p.chains.base
		tokens = int32(min(int64(p.rows.input[row]), int64(p.chains.depth[leaf]+1)*f.out.BlockTokens))
	}
	nodes.Chain, nodes.ChainTokens = append(nodes.Chain, chain), append(nodes.ChainTokens, tokens)
	authored := p.authored(row)
	if part.AuthoredStart != nil {
		part.Authored = append(part.Authored, authored...)
		part.AuthoredStart = append(part.AuthoredStart, int64(len(part.Authored)))
	}
	f.digest.node(f.out, p, k, authored)
	return p.chains.use(leaf, p.blocks)
}

// authored are the prescribed tokens of a row.
func (p *openPlay) authored(row int32) []uint32 {
	from := int32(0)
	if row > 0 {
		from = p.rows.authoredEnd[row-1]
	}
	return p.rows.authored[from:p.rows.authoredEnd[row]]
}

// close gives a play up. Its chains go into the part behind those of the plays before.
func (f *graphFinisher) close(play int) {
	if pool := f.opened[play].chains; pool != f.shared {
		pool.complete = true
		for len(f.pools) > 0 && f.pools[0].complete {
			f.pools[0].appendTo(&f.part.Chains, 0, len(f.pools[0].parent))
			f.pools = f.pools[1:]
		}
	}
	f.opened[play] = nil
}

// flush hands the part over and begins the next one.
func (f *graphFinisher) flush() error {
	full := f.part
	full.Nodes.ReleaseMS = full.Graph.NotBeforeMS
	if f.g.anyRouting {
		full.Nodes.Priority, full.Nodes.StrictPriority = full.Graph.Priority, full.Graph.StrictPriority
		full.Nodes.PolicyClass, full.Nodes.PolicyClasses = full.Graph.PolicyClass, full.Graph.PolicyClasses
	}
	f.part = newGraphPart(full.First+int32(len(full.Nodes.InputTokens)), f.out, f.g.anyAuthored)
	return f.take(full)
}

// end hands the last parts over.
func (f *graphFinisher) end() error {
	f.out.Digest = f.digest.end()
	if f.shared != nil {
		for from := 0; from < len(f.shared.parent); from += partChains {
			to := min(from+partChains, len(f.shared.parent))
			f.shared.appendTo(&f.part.Chains, from, to)
			if to < len(f.shared.parent) {
				if err := f.flush(); err != nil {
					return err
				}
			}
		}
	}
	return f.flush()
}
