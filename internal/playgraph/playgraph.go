// Package playgraph draws the graph of a play: conversations as rows, requests as bars over time, and the dependencies
// between them with their times.
package playgraph

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Play is what is drawn. Times are milliseconds from the start of the play.
type Play struct {
	Title string
	// Sessions are the names of conversations.
	Sessions []string
	Nodes    []Node
	Edges    []Edge
}

// Node is a request.
type Node struct {
	// Name is the full name, Short the one that is shown.
	Name, Short string
	Session     int
	// EndMS is NaN when unknown.
	StartMS, EndMS            float64
	InputTokens, OutputTokens int32
	Model                     string
}

// end is the end, the start when it is unknown.
func (n *Node) end() float64 {
	if math.IsNaN(n.EndMS) {
		return n.StartMS
	}
	return n.EndMS
}

// Edge is a dependency between two nodes.
type Edge struct {
	From, To int
	// Dispatch says that the start of From counts, not its end.
	Dispatch bool
	// Relation is sequence, spawn, join or replay_barrier.
	Relation string
	DelayMS  float64
}

// duration writes milliseconds for people.
func duration(ms float64) string {
	switch {
	case ms == 0:
		return "0"
	case ms < 1000:
		return trim(fmt.Sprintf("%.1f", ms)) + " ms"
	case ms < 120_000:
		return trim(fmt.Sprintf("%.2f", ms/1000)) + " s"
	case ms < 7_200_000:
		return trim(fmt.Sprintf("%.1f", ms/60_000)) + " min"
	}
	return trim(fmt.Sprintf("%.1f", ms/3_600_000)) + " h"
}

func trim(s string) string {
	if strings.ContainsRune(s, '.') {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// tree orders the conversations that have nodes: each behind the one that it was spawned from. depth is how far down
// each stands.
func (p *Play) tree() (order []int, depth map[int]int) {
	first := map[int]int{}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if f, ok := first[n.Session]; !ok || n.StartMS < p.Nodes[f].StartMS {
			first[n.Session] = i
		}
	}
	parent := map[int]int{}
	for _, e := range p.Edges {
		to, from := p.Nodes[e.To].Session, p.Nodes[e.From].Session
		if _, known := parent[to]; e.Relation == "spawn" && to != from && !known && first[to] == e.To {
			parent[to] = from
		}
	}
	children := map[int][]int{}
	var roots []int
	for s := range first {
		if up, ok := parent[s]; ok {
			children[up] = append(children[up], s)
		} else {
			roots = append(roots, s)
		}
	}
	byStart := func(a, b int) int {
		x, y := p.Nodes[first[a]].StartMS, p.Nodes[first[b]].StartMS
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return strings.Compare(p.Sessions[a], p.Sessions[b])
	}
	depth = map[int]int{}
	var add func(s, d int)
	add = func(s, d int) {
		if _, seen := depth[s]; seen {
			return
		}
		depth[s] = d
		order = append(order, s)
		slices.SortFunc(children[s], byStart)
		for _, c := range children[s] {
			add(c, d+1)
		}
	}
	slices.SortFunc(roots, byStart)
	for _, s := range roots {
		add(s, 0)
	}
	// Conversations that spawned each other have no root.
	var rest []int
	for s := range first {
		if _, seen := depth[s]; !seen {
			rest = append(rest, s)
		}
	}
	slices.SortFunc(rest, byStart)
	for _, s := range rest {
		add(s, 0)
	}
	return order, depth
}

// scale places times on a line: idle time is shortened, so that what happens has room.
type scale struct {
	times []float64
	at    []float64
}

func (p *Play) scale(widest float64) scale {
	var s scale
	for i := range p.Nodes {
		s.times = append(s.times, p.Nodes[i].StartMS, p.Nodes[i].end())
	}
	slices.Sort(s.times)
	s.times = slices.Compact(s.times)
	x := 0.0
	for i := range s.times {
		if i > 0 {
			x += 10 + min(90, 14*math.Log2(1+(s.times[i]-s.times[i-1])/200))
		}
		s.at = append(s.at, x)
	}
	if x > widest {
		for i := range s.at {
			s.at[i] *= widest / x
		}
	}
	return s
}

// x is the place of a time that occurs.
func (s *scale) x(ms float64) float64 {
	i, _ := slices.BinarySearch(s.times, ms)
	return s.at[min(i, len(s.at)-1)]
}
