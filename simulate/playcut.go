package simulate

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/zeebo/blake3"

	"github.com/dynosim/dynosim/lower"
	"github.com/dynosim/dynosim/schemas"
)

// cutter makes runs of plays that are cut at a time (spec 02 section 8).
type cutter struct {
	workload *lower.Workload
	speedup  float64
	seed     uint64
	lanes    int64
	// position is the place of each node of the graph in its play, rank its place in a topological
	// order of the whole graph.
	position, rank []int32
	// stride is the largest number of distinct blocks of a play.
	stride int64
	// chains are those of each play once a run of it was made.
	chains []*playChains
	nodes  []snapshotNode
}

// snapshotNode is what a snapshot says about a node of its play.
type snapshotNode struct {
	run, source  int32
	historical   bool
	remainingMS  float64
	dependencies []int32 // edges that are still to come
}

// playChains are the chains of a play as the whole workload has them, parents first.
type playChains struct {
	chains, parents []int32
	// block numbers the blocks in order of first appearance.
	block []uint32
	// leaf is the last chain of each node of the play, an index into chains, -1 for none.
	leaf []int32
}

// snapshot starts one run a lane.
func (p *plays) snapshot(spec *schemas.RunSpec) error {
	w := p.work
	if p.load.Lanes < 1 {
		return errors.New("agentic_snapshot needs agentic_lanes of at least 1")
	}
	c := &cutter{
		workload: w, speedup: spec.Load.Speedup, seed: p.load.Seed, lanes: p.load.Lanes,
		position: make([]int32, w.Nodes.Len()), chains: make([]*playChains, len(p.graph.Plays)),
	}
	p.cut = c
	for play := range p.graph.Plays {
		for at, n := range p.graph.Nodes(int32(play)) {
			c.position[n] = int32(at)
		}
		c.stride = max(c.stride, c.distinct(p.graph, int32(play)))
	}
	c.rank = topological(p.graph)
	p.delays = slices.Clone(p.graph.DelayMS)
	for e := range p.delays {
		p.delays[e] /= c.speedup
	}
	p.work = &lower.Workload{BlockTokens: w.BlockTokens, Graph: w.Graph}
	if w.AuthoredStart != nil {
		p.work.AuthoredStart = []int64{0}
	}
	p.work.Nodes.PolicyClasses = w.Nodes.PolicyClasses
	for lane := range p.load.Lanes {
		play := int32(lane % int64(len(p.graph.Plays)))
		if err := p.runOf(play, int32(lane), 0, c.at(p.graph, play, lane, 0)); err != nil {
			return err
		}
		p.lanes = append(p.lanes, int32(lane))
	}
	if p.load.Warmup {
		p.warm = newWarmup(p)
	}
	if p.load.Profile {
		p.profile = newProfile(&p.load, p)
	}
	if p.warm == nil {
		p.activate(0)
	}
	return nil
}

// activate starts all runs at the begin of the measurement.
func (p *plays) activate(now float64) {
	p.idleMS = now
	if p.profile != nil {
		p.profile.begin(now)
	}
	for i := range p.runs {
		p.launchRun(&p.runs[i], now)
	}
}

// launchRun starts a run that was cut: its times count from now.
func (p *plays) launchRun(r *playRun, now float64) {
	r.started, r.originMS, r.idleMS = true, now, now
	for _, n := range r.nodes {
		p.readyAfter[n] += now
		if p.remaining[n] == 0 {
			p.ready(n)
		}
	}
}

// at is the time at which a play is cut for a lane (spec 02 section 8.1).
func (c *cutter) at(g *lower.Graph, play int32, lane, ordinal int64) float64 {
	key := append([]byte(nil), `["aisimulate.agentic.snapshot.v1",`...)
	key = strconv.AppendUint(key, c.seed, 10)
	key = append(lower.AppendDigestText(append(key, ','), []byte(g.Digest)), ',')
	key = append(lower.AppendDigestText(key, []byte(g.Plays[play].ID)), ',')
	key = strconv.AppendInt(key, lane, 10)
	key = append(strconv.AppendInt(append(key, ','), ordinal, 10), ']')
	sum := blake3.Sum256(key)
	u := float64(binary.LittleEndian.Uint64(sum[:8])>>11) / (1 << 53)
	first, last := g.Plays[play].FirstMS, g.Plays[play].LastMS
	return first + float64((0.25+float64(0.5*u))*(last-first))
}

// topological ranks the nodes: the ready one of the smallest number is always next.
func topological(g *lower.Graph) []int32 {
	n := len(g.Play)
	rank, left := make([]int32, n), make([]int32, n)
	p := plays{}
	for i := range n {
		if left[i] = g.InDegree(int32(i)); left[i] == 0 {
			p.heap.Push(readyNode{0, int32(i)})
		}
	}
	for next := int32(0); len(p.heap) > 0; next++ {
		node := p.heap.Pop().node
		rank[node] = next
		for _, e := range g.Out[g.OutFirst[2*node]:g.OutFirst[2*node+2]] {
			t := g.Target[e]
			if left[t]--; left[t] == 0 {
				p.heap.Push(readyNode{0, t})
			}
		}
	}
	return rank
}

// runOf makes a run of a play that is cut at t.
func (p *plays) runOf(play, lane int32, ordinal int64, t float64) error {
	c, g := p.cut, p.graph
	slot := ordinal*c.lanes + int64(lane)
	id := "agentic-v1:" + g.Digest + ":" + strconv.FormatUint(c.seed, 10) + ":" + strconv.Itoa(int(lane)) + ":" + strconv.FormatInt(ordinal, 10)
	run := int32(len(p.runs))
	r := newPlayRun(play, lane, id, nil)
	r.ordinal, r.slot, r.tStarMS = ordinal, slot, t
	nodes := g.Nodes(play)
	r.at = make([]int32, len(nodes))
	base, err := c.copyChains(p.work, g, play, slot)
	if err != nil {
		return err
	}
	r.base = base
	for at, n := range nodes {
		s := snapshotNode{run: run, source: n, historical: g.RecordedStartMS[n] < t}
		r.at[at] = -1
		if s.historical {
			for e := g.EdgeFirst[n]; e < g.EdgeFirst[n+1]; e++ {
				if !(g.RecordedStartMS[g.Predecessor[e]] < t) {
					return fmt.Errorf("%s: play %q: the snapshot at %v ms cuts between request %q, which had started, and request %q, which it waits for and which had not",
						g.Plays[play].Source, g.Plays[play].ID, t, g.RequestID(int(n)), g.RequestID(int(g.Predecessor[e])))
				}
			}
			c.nodes = append(c.nodes, s)
			continue
		}
		s.remainingMS = max(0, g.NotBeforeMS[n]-t)
		pending := int32(0)
		for e := g.EdgeFirst[n]; e < g.EdgeFirst[n+1]; e++ {
			from := g.Predecessor[e]
			if !(g.RecordedStartMS[from] < t) {
				s.dependencies = append(s.dependencies, e)
				pending++
				continue
			}
			trigger := g.RecordedStartMS[from]
			if g.Trigger[e] == schemas.TriggerCompletion && !math.IsNaN(g.RecordedEndMS[from]) {
				trigger = g.RecordedEndMS[from]
			}
			s.remainingMS = max(s.remainingMS, trigger+g.DelayMS[e]-t)
		}
		c.nodes = append(c.nodes, s)
		node := p.addNode(n, run, base, c.chains[play].leaf[at], int64(c.workload.Nodes.OutputTokens[n]), s.remainingMS/c.speedup)
		r.at[at] = node
		r.nodes = append(r.nodes, node)
		p.remaining[node] = pending
	}
	r.primers = c.primers(g, nodes, t)
	p.runs = append(p.runs, r)
	p.open++
	return nil
}

// addNode adds an executed node of a node of the graph; leaf is its last chain behind base.
func (p *plays) addNode(n, run, base, leaf int32, output int64, delayMS float64) int32 {
	w, from := p.work, p.cut.workload
	node := int32(len(p.source))
	p.grow(1)
	p.source[node], p.run[node], p.readyAfter[node] = n, run, delayMS
	w.Nodes.ReleaseMS = append(w.Nodes.ReleaseMS, delayMS)
	w.Nodes.InputTokens, w.Nodes.OutputTokens = append(w.Nodes.InputTokens, from.Nodes.InputTokens[n]), append(w.Nodes.OutputTokens, int32(output))
	if leaf >= 0 {
		leaf += base
	}
	w.Nodes.Chain, w.Nodes.ChainTokens = append(w.Nodes.Chain, leaf), append(w.Nodes.ChainTokens, from.Nodes.ChainTokens[n])
	if from.Nodes.Priority != nil {
		w.Nodes.Priority = append(w.Nodes.Priority, from.Nodes.Priority[n])
		w.Nodes.StrictPriority = append(w.Nodes.StrictPriority, from.Nodes.StrictPriority[n])
		w.Nodes.PolicyClass = append(w.Nodes.PolicyClass, from.Nodes.PolicyClass[n])
	}
	if w.AuthoredStart != nil {
		if output == int64(from.Nodes.OutputTokens[n]) {
			w.Authored = append(w.Authored, from.Authored[from.AuthoredStart[n]:from.AuthoredStart[n+1]]...)
		}
		w.AuthoredStart = append(w.AuthoredStart, int64(len(w.Authored)))
	}
	return node
}

// primers are the nodes that warm up the conversations which go on behind the cut: the latest
// historical one of each, in order of the conversations' names (spec 02 section 8.3).
func (c *cutter) primers(g *lower.Graph, nodes []int32, t float64) []int32 {
	best, goesOn := map[int32]int32{}, map[int32]bool{}
	for _, n := range nodes {
		s := g.Session[n]
		if !(g.RecordedStartMS[n] < t) {
			goesOn[s] = true
			continue
		}
		b, ok := best[s]
		if !ok || cmp.Or(cmp.Compare(g.RecordedStartMS[n], g.RecordedStartMS[b]), cmp.Compare(c.rank[n], c.rank[b])) > 0 {
			best[s] = n
		}
	}
	var primers []int32
	for s, n := range best {
		if goesOn[s] {
			primers = append(primers, n)
		}
	}
	slices.SortFunc(primers, func(a, b int32) int { return cmp.Compare(g.Sessions[g.Session[a]], g.Sessions[g.Session[b]]) })
	return primers
}

// of gathers the chains of a play.
func (c *cutter) of(g *lower.Graph, play int32) *playChains {
	if known := c.chains[play]; known != nil {
		return known
	}
	out, w := &playChains{}, c.workload
	local := map[int32]int32{}
	var path []int32
	for _, n := range g.Nodes(play) {
		path = path[:0]
		leaf := w.Nodes.Chain[n]
		for chain := leaf; chain >= 0; chain = w.Chains.Parent[chain] {
			if _, known := local[chain]; known {
				break
			}
			path = append(path, chain)
		}
		for i := len(path) - 1; i >= 0; i-- {
			parent := int32(-1)
			if up := w.Chains.Parent[path[i]]; up >= 0 {
				parent = local[up]
			}
			local[path[i]] = int32(len(out.chains))
			out.chains, out.parents = append(out.chains, path[i]), append(out.parents, parent)
		}
		if leaf >= 0 {
			leaf = local[leaf]
		}
		out.leaf = append(out.leaf, leaf)
	}
	ranks := map[uint32]uint32{}
	for _, chain := range out.chains {
		b := w.Chains.Block[chain]
		if _, known := ranks[b]; !known {
			ranks[b] = uint32(len(ranks))
		}
		out.block = append(out.block, ranks[b])
	}
	c.chains[play] = out
	return out
}

// distinct counts the blocks of a play.
func (c *cutter) distinct(g *lower.Graph, play int32) int64 {
	n := int64(0)
	for _, b := range c.of(g, play).block {
		n = max(n, int64(b)+1)
	}
	return n
}

// copyChains gives a run blocks of its own and returns the number of the first (spec 02 section 8.4).
func (c *cutter) copyChains(w *lower.Workload, g *lower.Graph, play int32, slot int64) (base int32, err error) {
	from := c.of(g, play)
	if slot*c.stride+c.stride > math.MaxUint32 || len(w.Chains.Parent)+len(from.chains) > math.MaxInt32 {
		return 0, fmt.Errorf("run %d of %d blocks each: more than 2^32 block identities", slot, c.stride)
	}
	base = int32(len(w.Chains.Parent))
	for i, chain := range from.chains {
		parent := from.parents[i]
		if parent >= 0 {
			parent += base
		}
		w.Chains.Parent = append(w.Chains.Parent, parent)
		w.Chains.Depth = append(w.Chains.Depth, c.workload.Chains.Depth[chain])
		w.Chains.Block = append(w.Chains.Block, uint32(slot*c.stride)+from.block[i])
	}
	return base, nil
}
