package lower

import (
	"slices"

	"github.com/dynosim/dynosim/schemas"
)

// GraphPart is a range of consecutive nodes of a lowered graph, and chains: those of a graph are all in its parts, in their
// order, but not beside the nodes that end in them.
type GraphPart struct {
	// Graph has the columns of the nodes and of the edges that they wait for. EdgeFirst counts the edges of the part; all other
	// numbers and lists of names are those of the whole graph. Lists by play and edges by predecessor are nil.
	Graph *Graph
	// First is the number of the first node.
	First int32
	Nodes Nodes
	// Root is the root of each node's play, -1 when that has several.
	Root []int32
	// Authored holds the prescribed outputs: node i of the part has Authored[AuthoredStart[i]:AuthoredStart[i+1]]. Both are nil
	// when no node of the graph has any.
	Authored      []uint32
	AuthoredStart []int64
	Chains        Chains
}

// A part ends when it has so many nodes, or so many chains.
const (
	partNodes  = 1 << 14
	partChains = 1 << 17
)

func newGraphPart(first int32, whole *Graph, authored bool) *GraphPart {
	p := &GraphPart{First: first, Graph: &Graph{
		Source: whole.Source, BlockTokens: whole.BlockTokens, Models: whole.Models, Plays: whole.Plays, PolicyClasses: whole.PolicyClasses,
		Sessions: whole.Sessions, EdgeFirst: []int32{0}, idAt: []int64{0},
	}}
	if authored {
		p.AuthoredStart = []int64{0}
	}
	return p
}

// AgenticWorkload gathers the parts of a graph in memory.
type AgenticWorkload struct{ w Workload }

// collect prepares for a graph of the builder's size.
func (b *Builder) collect() *AgenticWorkload {
	g := b.graph
	n, edges, chains := int(g.n), int(g.edges), int(g.blocks)
	c := &AgenticWorkload{Workload{Graph: &Graph{
		Play: make([]int32, 0, n), Session: make([]int32, 0, n), Model: make([]int32, 0, n),
		NotBeforeMS: make([]float64, 0, n), RecordedStartMS: make([]float64, 0, n), RecordedEndMS: make([]float64, 0, n), RecordedAPITimeMS: make([]float64, 0, n),
		Priority: make([]int32, 0, n), StrictPriority: make([]uint32, 0, n), PolicyClass: make([]int32, 0, n),
		Parent: make([]int32, 0, n), Turn: make([]int32, 0, n),
		EdgeFirst: append(make([]int32, 0, n+1), 0), Predecessor: make([]int32, 0, edges), Target: make([]int32, 0, edges),
		Trigger: make([]schemas.Trigger, 0, edges), Relation: make([]schemas.Relation, 0, edges), DelayMS: make([]float64, 0, edges),
		idAt: append(make([]int64, 0, n+1), 0),
	}}}
	c.w.Nodes = Nodes{
		InputTokens: make([]int32, 0, n), OutputTokens: make([]int32, 0, n), Chain: make([]int32, 0, n), ChainTokens: make([]int32, 0, n),
		RequestIndex: make([]int32, 0, n),
	}
	c.w.Chains = Chains{Parent: make([]int32, 0, chains), Block: make([]uint32, 0, chains), Depth: make([]int32, 0, chains)}
	if g.anyAuthored {
		c.w.AuthoredStart, c.w.Authored = append(make([]int64, 0, n+1), 0), make([]uint32, 0, g.authored)
	}
	return c
}

// Take adds the next part.
func (c *AgenticWorkload) Take(p *GraphPart) error {
	g, from, w := c.w.Graph, p.Graph, &c.w
	g.Play, g.Session, g.Model = append(g.Play, from.Play...), append(g.Session, from.Session...), append(g.Model, from.Model...)
	g.NotBeforeMS, g.RecordedStartMS = append(g.NotBeforeMS, from.NotBeforeMS...), append(g.RecordedStartMS, from.RecordedStartMS...)
	g.RecordedEndMS, g.RecordedAPITimeMS = append(g.RecordedEndMS, from.RecordedEndMS...), append(g.RecordedAPITimeMS, from.RecordedAPITimeMS...)
	g.Priority, g.StrictPriority = append(g.Priority, from.Priority...), append(g.StrictPriority, from.StrictPriority...)
	g.PolicyClass, g.Parent, g.Turn = append(g.PolicyClass, from.PolicyClass...), append(g.Parent, from.Parent...), append(g.Turn, from.Turn...)
	edges, names := int32(len(g.Predecessor)), int64(len(g.ids))
	for i := range from.Play {
		g.EdgeFirst, g.idAt = append(g.EdgeFirst, edges+from.EdgeFirst[i+1]), append(g.idAt, names+from.idAt[i+1])
	}
	g.ids = append(g.ids, from.ids...)
	g.Predecessor, g.Target = append(g.Predecessor, from.Predecessor...), append(g.Target, from.Target...)
	g.Trigger, g.Relation, g.DelayMS = append(g.Trigger, from.Trigger...), append(g.Relation, from.Relation...), append(g.DelayMS, from.DelayMS...)
	n := &w.Nodes
	n.InputTokens, n.OutputTokens = append(n.InputTokens, p.Nodes.InputTokens...), append(n.OutputTokens, p.Nodes.OutputTokens...)
	n.Chain, n.ChainTokens = append(n.Chain, p.Nodes.Chain...), append(n.ChainTokens, p.Nodes.ChainTokens...)
	n.RequestIndex = append(n.RequestIndex, p.Nodes.RequestIndex...)
	if p.AuthoredStart != nil {
		before := int64(len(w.Authored))
		w.Authored = append(w.Authored, p.Authored...)
		for _, end := range p.AuthoredStart[1:] {
			w.AuthoredStart = append(w.AuthoredStart, before+end)
		}
	}
	w.Chains.Parent, w.Chains.Depth = append(w.Chains.Parent, p.Chains.Parent...), append(w.Chains.Depth, p.Chains.Depth...)
	w.Chains.Block = append(w.Chains.Block, p.Chains.Block...)
	return nil
}

// finish completes the workload with what is known of the whole graph.
func (c *AgenticWorkload) finish(whole *Graph) *Workload {
	w, g := &c.w, c.w.Graph
	g.Source, g.Digest, g.BlockTokens = whole.Source, whole.Digest, whole.BlockTokens
	g.Models, g.Plays, g.PolicyClasses, g.Sessions = whole.Models, whole.Plays, whole.PolicyClasses, whole.Sessions
	g.listPlays()
	g.index()
	w.BlockTokens, w.Nodes.ReleaseMS = g.BlockTokens, g.NotBeforeMS
	if slices.ContainsFunc(g.Priority, func(p int32) bool { return p != 0 }) ||
		slices.ContainsFunc(g.StrictPriority, func(p uint32) bool { return p != 0 }) || len(g.PolicyClasses) > 0 {
		w.Nodes.Priority, w.Nodes.StrictPriority = g.Priority, g.StrictPriority
		w.Nodes.PolicyClass, w.Nodes.PolicyClasses = g.PolicyClass, g.PolicyClasses
	}
	return w
}

// listPlays lists the nodes of each play.
func (g *Graph) listPlays() {
	g.PlayFirst = make([]int32, len(g.Plays)+1)
	for _, p := range g.Play {
		g.PlayFirst[p+1]++
	}
	for p := range g.Plays {
		g.Plays[p].Nodes = g.PlayFirst[p+1]
		g.PlayFirst[p+1] += g.PlayFirst[p]
	}
	next := slices.Clone(g.PlayFirst)
	g.PlayNodes = make([]int32, len(g.Play))
	for i, p := range g.Play {
		g.PlayNodes[next[p]] = int32(i)
		next[p]++
	}
}

// PlayView is one play of a graph by itself: its nodes are numbered from 0 in the order of their names. The lists of names of
// its graph are nil.
type PlayView struct {
	// Number is the place of the play among those of the whole graph.
	Number                    int32
	Graph                     *Graph
	InputTokens, OutputTokens []int32
	// PromptBlocks counts the blocks of each prompt, KnownBlocks those of them that begin the prompt of an earlier
	// request of the source.
	PromptBlocks, KnownBlocks []int32
}

// view is the play as others see it.
func (p *openPlay) view() *PlayView {
	v := &PlayView{Number: p.number, Graph: p.graph, InputTokens: pick(p.rows.input, p.row), OutputTokens: pick(p.rows.output, p.row)}
	for _, row := range p.row {
		blocks, at := int32(0), row
		if leaf := p.leaf[row]; leaf >= 0 {
			blocks = p.chains.depth[leaf] + 1
		}
		if len(p.rows.leaf) > 0 {
			at += p.source.first // the list has the rows of all plays
		}
		v.PromptBlocks, v.KnownBlocks = append(v.PromptBlocks, blocks), append(v.KnownBlocks, p.chains.shared[at])
	}
	return v
}
