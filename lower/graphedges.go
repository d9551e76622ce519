package lower

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dynosim/dynosim/schemas"
)

// checkEdge checks one dependency of a row of a play.
func (g *graphBuilder) checkEdge(play *sourcePlay, row int32, e *schemas.SourceEdge) error {
	switch {
	case e.Predecessor < 0 || e.Predecessor >= g.n:
		return g.errorf(row, "it waits for request %d of %d", e.Predecessor, g.n)
	case e.Predecessor == int64(row):
		return g.errorf(row, "it waits for itself")
	case e.Predecessor < int64(play.first) || e.Predecessor >= int64(play.end):
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

// cycle is the error of a graph of one play whose nodes wait for left predecessors that never come.
func cycle(g *Graph, left []int32) error {
	var blocked []string
	for n, count := range left {
		if count > 0 && len(blocked) < 8 {
			blocked = append(blocked, fmt.Sprintf("%q", g.requestID(n)))
		}
	}
	return fmt.Errorf("%s: play %q has a cycle: %s wait for each other", g.Plays[0].Source, g.Plays[0].ID, strings.Join(blocked, ", "))
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

// scale moves the origin to the earliest start of the source, first, and applies the speed-up (spec 02 section 6.2).
func (g *Graph) scale(first, speedup float64) {
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
	turns := map[int32]int32{} // of each session
	var byStart []int32
	for p := range g.Plays {
		play := &g.Plays[p]
		play.FirstMS, play.LastMS = math.Inf(1), math.Inf(-1)
		byStart = append(byStart[:0], g.Nodes(int32(p))...)
		slices.SortStableFunc(byStart, func(a, b int32) int { return cmp.Compare(g.RecordedStartMS[a], g.RecordedStartMS[b]) })
		clear(turns)
		for _, n := range byStart {
			s := g.Session[n]
			g.Turn[n] = turns[s]
			turns[s]++
			play.FirstMS, play.LastMS = min(play.FirstMS, g.RecordedStartMS[n]), max(play.LastMS, g.RecordedStartMS[n])
			play.InputTokens += int64(input[n])
			play.OutputTokens += int64(output[n])
			play.Edges += g.InDegree(n)
		}
		play.Sessions = int32(len(turns))
	}
}
