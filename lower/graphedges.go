package lower

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dynosim/dynosim/schemas"
)

// finishEdges numbers, checks and sorts the edges (spec 02 section 6.1).
func (g *graphBuilder) finishEdges(out *Graph, order, node []int32) error {
	n := len(g.edges)
	if n >= math.MaxInt32 {
		return fmt.Errorf("more than %d dependencies", math.MaxInt32)
	}
	out.EdgeFirst = make([]int32, 1, len(order)+1)
	out.Predecessor, out.Target = make([]int32, 0, n), make([]int32, 0, n)
	out.Trigger, out.Relation, out.DelayMS = make([]schemas.Trigger, 0, n), make([]schemas.Relation, 0, n), make([]float64, 0, n)
	var own []schemas.SourceEdge
	for target, row := range order {
		from := int64(0)
		if row > 0 {
			from = g.edgeEnd[row-1]
		}
		own = append(own[:0], g.edges[from:g.edgeEnd[row]]...)
		for i := range own {
			if err := g.checkEdge(out, node, row, &own[i]); err != nil {
				return err
			}
			own[i].Predecessor = int64(node[own[i].Predecessor])
		}
		slices.SortFunc(own, func(a, b schemas.SourceEdge) int {
			return cmp.Or(cmp.Compare(a.Predecessor, b.Predecessor), cmp.Compare(a.Trigger, b.Trigger),
				cmp.Compare(a.Relation, b.Relation), cmp.Compare(a.DelayMS, b.DelayMS))
		})
		for _, e := range own {
			out.Predecessor, out.Target = append(out.Predecessor, int32(e.Predecessor)), append(out.Target, int32(target))
			out.Trigger, out.Relation, out.DelayMS = append(out.Trigger, e.Trigger), append(out.Relation, e.Relation), append(out.DelayMS, e.DelayMS)
		}
		out.EdgeFirst = append(out.EdgeFirst, int32(len(out.Predecessor)))
	}
	out.index()
	return nil
}

// checkEdge checks one dependency of a row.
func (g *graphBuilder) checkEdge(out *Graph, node []int32, row int32, e *schemas.SourceEdge) error {
	switch {
	case e.Predecessor < 0 || e.Predecessor >= int64(len(node)):
		return g.errorf(row, "it waits for request %d of %d", e.Predecessor, len(node))
	case e.Predecessor == int64(row):
		return g.errorf(row, "it waits for itself")
	case out.Play[node[e.Predecessor]] != out.Play[node[row]]:
		return g.errorf(row, "it waits for request %q of another play", g.id(int32(e.Predecessor)))
	case !(e.DelayMS >= 0) || math.IsInf(e.DelayMS, 0):
		return g.errorf(row, "the delay after request %q must be a finite number of at least 0 ms, got %v", g.id(int32(e.Predecessor)), e.DelayMS)
	case e.Trigger == schemas.TriggerDispatch && e.Relation != schemas.RelationSpawn:
		return g.errorf(row, "the %s of request %q has the trigger dispatch, which only a spawn may have", schemas.RelationNames[e.Relation], g.id(int32(e.Predecessor)))
	}
	return nil
}

// index lists the edges by predecessor and trigger.
func (g *Graph) index() {
	nodes := len(g.EdgeFirst) - 1
	g.OutFirst = make([]int32, 2*nodes+1)
	for e, p := range g.Predecessor {
		g.OutFirst[2*int(p)+int(g.Trigger[e])+1]++
	}
	for i := range 2 * nodes {
		g.OutFirst[i+1] += g.OutFirst[i]
	}
	next := slices.Clone(g.OutFirst)
	g.Out = make([]int32, len(g.Predecessor))
	for e, p := range g.Predecessor {
		key := 2*int(p) + int(g.Trigger[e])
		g.Out[next[key]] = int32(e)
		next[key]++
	}
}

// checkOrder refuses cycles, and so plays without a root.
func (g *graphBuilder) checkOrder(out *Graph, playOrder []int32) error {
	p, left, ok := out.roots()
	if ok {
		return nil
	}
	var blocked []string
	for _, n := range out.Nodes(p) {
		if left[n] > 0 && len(blocked) < 8 {
			blocked = append(blocked, fmt.Sprintf("%q", out.requestID(int(n))))
		}
	}
	return fmt.Errorf("%s: play %q has a cycle: %s wait for each other", g.plays[playOrder[p]].source, out.Plays[p].ID, strings.Join(blocked, ", "))
}

// roots counts the roots of each play. When a play has a cycle, ok is false, and left has for its nodes
// the number of predecessors that never come.
func (g *Graph) roots() (play int32, left []int32, ok bool) {
	left = make([]int32, len(g.Play))
	var ready []int32
	for p := range g.Plays {
		play := &g.Plays[p]
		done := 0
		ready = ready[:0]
		for _, n := range g.Nodes(int32(p)) {
			if left[n] = g.InDegree(n); left[n] == 0 {
				ready = append(ready, n)
				play.Roots++
				play.Root = n
			}
		}
		if play.Roots != 1 {
			play.Root = -1
		}
		for len(ready) > 0 {
			n := ready[len(ready)-1]
			ready = ready[:len(ready)-1]
			done++
			for _, e := range g.Out[g.OutFirst[2*n]:g.OutFirst[2*n+2]] {
				if t := g.Target[e]; left[t] > 0 {
					if left[t]--; left[t] == 0 {
						ready = append(ready, t)
					}
				}
			}
		}
		if done < len(g.Nodes(int32(p))) {
			return int32(p), left, false
		}
	}
	return 0, nil, true
}

// scale moves the origin and applies the speed-up (spec 02 section 6.2).
func (g *Graph) scale(speedup float64) {
	first := math.Inf(1)
	for _, at := range g.NotBeforeMS {
		first = min(first, at)
	}
	for i := range g.NotBeforeMS {
		g.NotBeforeMS[i] = (g.NotBeforeMS[i] - first) / speedup
	}
	for i := range g.DelayMS {
		g.DelayMS[i] /= speedup
	}
}

// describe fills what follows from the rest: parents, turns, and the figures of plays.
func (g *Graph) describe(input, output []int32) {
	g.Parent, g.Turn = make([]int32, len(g.Play)), make([]int32, len(g.Play))
	for n := range g.Play {
		g.Parent[n] = -1
		for e := g.EdgeFirst[n]; e < g.EdgeFirst[n+1]; e++ {
			if g.Relation[e] == schemas.RelationSpawn {
				g.Parent[n] = g.Predecessor[e]
				break
			}
		}
	}
	turns := make([]int32, len(g.Sessions))
	seen := make([]int32, len(g.Sessions))
	var byStart []int32
	for p := range g.Plays {
		play := &g.Plays[p]
		play.FirstMS, play.LastMS = math.Inf(1), math.Inf(-1)
		byStart = append(byStart[:0], g.Nodes(int32(p))...)
		slices.SortStableFunc(byStart, func(a, b int32) int { return cmp.Compare(g.RecordedStartMS[a], g.RecordedStartMS[b]) })
		for _, n := range byStart {
			s := g.Session[n]
			if seen[s] != int32(p)+1 {
				seen[s], turns[s] = int32(p)+1, 0
				play.Sessions++
			}
			g.Turn[n] = turns[s]
			turns[s]++
			play.FirstMS, play.LastMS = min(play.FirstMS, g.RecordedStartMS[n]), max(play.LastMS, g.RecordedStartMS[n])
			play.InputTokens += int64(input[n])
			play.OutputTokens += int64(output[n])
			play.Edges += g.InDegree(n)
		}
	}
}
