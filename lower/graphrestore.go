package lower

import (
	"fmt"
	"slices"

	"github.com/dynosim/dynosim/schemas"
)

// NewGraph makes an empty graph, for a workload that is read back from its tables.
func NewGraph(digest string, blockTokens int64, sessions []string) *Graph {
	return &Graph{Digest: digest, BlockTokens: blockTokens, Sessions: sessions, idAt: []int64{0}}
}

// AppendNames adds the names of the next node.
func (g *Graph) AppendNames(request, model, class string, hasClass bool) {
	g.ids = append(g.ids, request...)
	g.idAt = append(g.idAt, int64(len(g.ids)))
	g.Model = append(g.Model, place(&g.Models, model))
	if hasClass {
		g.PolicyClass = append(g.PolicyClass, place(&g.PolicyClasses, class))
	} else {
		g.PolicyClass = append(g.PolicyClass, -1)
	}
}

// place is the index of a name in a short list, to which it is added when it is missing.
func place(list *[]string, name string) int32 {
	i := slices.Index(*list, name)
	if i < 0 {
		i = len(*list)
		*list = append(*list, name)
	}
	return int32(i)
}

// AppendEdge adds the next edge; targets must ascend.
func (g *Graph) AppendEdge(predecessor, target int32, trigger, relation string, delayMS float64) error {
	t, r := slices.Index(schemas.TriggerNames, trigger), slices.Index(schemas.RelationNames, relation)
	last := int32(0)
	if n := len(g.Target); n > 0 {
		last = g.Target[n-1]
	}
	if t < 0 || r < 0 || target < last || predecessor < 0 || !(delayMS >= 0) {
		return fmt.Errorf("an edge from node %d to node %d: %s, %s, %v ms", predecessor, target, trigger, relation, delayMS)
	}
	g.Predecessor, g.Target = append(g.Predecessor, predecessor), append(g.Target, target)
	g.Trigger, g.Relation, g.DelayMS = append(g.Trigger, schemas.Trigger(t)), append(g.Relation, schemas.Relation(r)), append(g.DelayMS, delayMS)
	return nil
}

// Restore derives the rest of the graph from its columns, edges and plays, and checks them.
func (g *Graph) Restore(nodes *Nodes) error {
	n := len(g.Play)
	if n == 0 || len(g.Plays) == 0 {
		return fmt.Errorf("%d nodes in %d plays", n, len(g.Plays))
	}
	g.EdgeFirst = make([]int32, n+1)
	for e, target := range g.Target {
		if int(target) >= n || int(g.Predecessor[e]) >= n || g.Predecessor[e] == target || g.Play[target] != g.Play[g.Predecessor[e]] {
			return fmt.Errorf("an edge from node %d to node %d of %d", g.Predecessor[e], target, n)
		}
		g.EdgeFirst[target+1]++
	}
	for i := range n {
		g.EdgeFirst[i+1] += g.EdgeFirst[i]
	}
	for i, p := range g.Play {
		if p < 0 || int(p) >= len(g.Plays) {
			return fmt.Errorf("node %d is of play %d of %d", i, p, len(g.Plays))
		}
	}
	g.listPlays()
	g.index()
	if p, _, ok := g.roots(); !ok {
		return fmt.Errorf("play %q has a cycle", g.Plays[p].ID)
	}
	g.describe(nodes.InputTokens, nodes.OutputTokens)
	return nil
}
