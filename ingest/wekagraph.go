package ingest

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/dynosim/dynosim/schemas"
)

// wekaEdge is a dependency between two requests of a play.
type wekaEdge struct {
	from     int32
	trigger  schemas.Trigger
	relation schemas.Relation
	delayMS  float64
}

// wekaGraph turns a trace object into a play (spec 02 sections 2.4 to 2.6).
type wekaGraph struct {
	trace *wekaTrace
	// all has the requests of the play: those of the top level, then those of the subagents.
	all     []wekaRequest
	streams streamer
	main    []wekaStream
	agents  [][]wekaStream
	edges   [][]wekaEdge
	sorted  [][]int32
	session []sessionRef
	picked  []int32
}

// sessionRef names the session of a request: the stream of a scope, -1 for the top level.
type sessionRef struct{ agent, stream int32 }

// build makes the graph of a trace whose nested starts are on the play's clock.
func (g *wekaGraph) build(t *wekaTrace) {
	g.trace = t
	g.all = append(append(g.all[:0], t.requests...), t.nested...)
	for len(g.edges) < len(g.all) {
		g.edges = append(g.edges, nil)
	}
	g.edges = g.edges[:len(g.all)]
	for i := range g.edges {
		g.edges[i] = g.edges[i][:0]
	}
	g.streams.tree, g.streams.all = &t.tree, g.all
	g.main = g.streams.split(0, int32(len(t.requests)))
	g.agents = g.agents[:0]
	for i := range t.agents {
		a := &t.agents[i]
		g.agents = append(g.agents, g.streams.split(int32(len(t.requests))+a.from, int32(len(t.requests))+a.to))
	}
	g.name()
	g.sequences()
	g.spawns()
	g.barriers(g.main)
	for _, streams := range g.agents {
		g.barriers(streams)
	}
	g.joins()
	g.orphans()
}

// scopes calls each for every scope with the number of its subagent, -1 for the top level.
func (g *wekaGraph) scopes(each func(agent int32, streams []wekaStream)) {
	each(-1, g.main)
	for i, streams := range g.agents {
		each(int32(i), streams)
	}
}

func (g *wekaGraph) name() {
	g.session = grown(g.session, len(g.all))
	g.scopes(func(agent int32, streams []wekaStream) {
		for k := range streams {
			for _, r := range streams[k].requests {
				g.session[r] = sessionRef{agent, int32(k)}
			}
		}
	})
}

// edge adds an edge unless the target has an equal one: the first delay wins.
func (g *wekaGraph) edge(to int32, e wekaEdge) {
	for _, known := range g.edges[to] {
		if known.from == e.from && known.trigger == e.trigger && known.relation == e.relation {
			return
		}
	}
	g.edges[to] = append(g.edges[to], e)
}

// milliseconds converts seconds (spec 02 section 1.2).
func milliseconds(s float64) float64 { return math.Round(max(s, 0)*1e9) / 1e6 }

func (g *wekaGraph) sequences() {
	g.scopes(func(_ int32, streams []wekaStream) {
		for k := range streams {
			requests := streams[k].requests
			for i := 1; i < len(requests); i++ {
				a, b := requests[i-1], requests[i]
				g.edge(b, wekaEdge{a, schemas.TriggerCompletion, schemas.RelationSequence, milliseconds(g.all[b].t - g.all[a].end())})
			}
		}
	})
}

// owner is the top-level request with the largest index below that of a marker.
func (g *wekaGraph) owner(a *wekaAgent) int32 {
	n := sort.Search(len(g.trace.requests), func(i int) bool { return g.trace.requests[i].outer > a.outer })
	return int32(n - 1)
}

func (g *wekaGraph) spawns() {
	g.scopes(func(agent int32, streams []wekaStream) {
		for k := range streams {
			p := streams[k].fork
			if k == 0 && agent >= 0 {
				p = g.owner(&g.trace.agents[agent])
			}
			if p >= 0 {
				g.spawn(p, streams[k].requests[0])
			}
		}
	})
}

func (g *wekaGraph) spawn(p, f int32) {
	from, first := &g.all[p], &g.all[f]
	if first.t < from.end() {
		g.edge(f, wekaEdge{p, schemas.TriggerDispatch, schemas.RelationSpawn, milliseconds(first.t - from.t)})
		return
	}
	g.edge(f, wekaEdge{p, schemas.TriggerCompletion, schemas.RelationSpawn, milliseconds(first.t - from.end())})
}

// barriers keeps what ran after each other in different streams of a scope after each other.
func (g *wekaGraph) barriers(streams []wekaStream) {
	if len(streams) < 2 {
		return
	}
	for len(g.sorted) < len(streams) {
		g.sorted = append(g.sorted, nil)
	}
	for k := range streams {
		g.sorted[k] = append(g.sorted[k][:0], streams[k].requests...)
		slices.SortFunc(g.sorted[k], g.byEnd)
	}
	for k := range streams {
		for _, target := range streams[k].requests {
			g.barrier(streams, k, target)
		}
	}
}

// byEnd is the order in which a barrier prefers requests, the last one most.
func (g *wekaGraph) byEnd(a, b int32) int {
	x, y := &g.all[a], &g.all[b]
	if c := cmp.Or(cmp.Compare(x.end(), y.end()), cmp.Compare(x.t, y.t)); c != 0 {
		return c
	}
	return cmp.Compare(wekaID(x), wekaID(y))
}

// barrier adds the barriers of one request of stream own: from the last request of each other stream that had ended,
// unless a later one of another stream started after its end.
func (g *wekaGraph) barrier(streams []wekaStream, own int, target int32) {
	t := g.all[target].t
	g.picked = g.picked[:0]
	latest := math.Inf(-1)
	for k := range streams {
		if k == own {
			continue
		}
		list := g.sorted[k]
		i := sort.Search(len(list), func(i int) bool { return g.all[list[i]].end() > t+wekaEpsilon }) - 1
		for i >= 0 && !(g.all[list[i]].t < t) {
			i--
		}
		if i >= 0 {
			g.picked = append(g.picked, list[i])
			latest = max(latest, g.all[list[i]].t)
		}
	}
	for _, c := range g.picked {
		if r := &g.all[c]; r.t < latest && r.end() <= latest+wekaEpsilon {
			continue
		}
		g.edge(target, wekaEdge{c, schemas.TriggerCompletion, schemas.RelationBarrier, 0})
	}
}

// joins lets the owner of a blocking subagent wait for the ends of its streams.
func (g *wekaGraph) joins() {
	for i, streams := range g.agents {
		a := &g.trace.agents[i]
		if !a.blocking {
			continue
		}
		j := g.joinTarget(a, streams)
		if j < 0 {
			continue
		}
		for k := range streams {
			last := streams[k].requests[len(streams[k].requests)-1]
			g.edge(j, wekaEdge{last, schemas.TriggerCompletion, schemas.RelationJoin, milliseconds(g.all[j].t - g.all[last].end())})
		}
	}
}

// joinTarget is the first request of the owner's stream behind the marker that starts after the
// subagent's end, -1 for none.
func (g *wekaGraph) joinTarget(a *wekaAgent, streams []wekaStream) int32 {
	end := a.t
	if a.hasDuration {
		end = a.t + a.durationMS/1000
	} else {
		for k := range streams {
			for _, r := range streams[k].requests {
				end = max(end, g.all[r].end())
			}
		}
	}
	target := int32(-1)
	for _, r := range g.main[g.session[g.owner(a)].stream].requests {
		if q := &g.all[r]; q.outer > a.outer && q.t+wekaEpsilon >= end && (target < 0 || q.outer < g.all[target].outer) {
			target = r
		}
	}
	return target
}

// orphans ties streams that wait for nothing to the start of the play.
func (g *wekaGraph) orphans() {
	root := g.main[0].requests[0]
	g.scopes(func(_ int32, streams []wekaStream) {
		for k := range streams {
			if f := streams[k].requests[0]; f != root && len(g.edges[f]) == 0 {
				g.edge(f, wekaEdge{root, schemas.TriggerDispatch, schemas.RelationSpawn, milliseconds(g.all[f].t - g.all[root].t)})
			}
		}
	})
}
