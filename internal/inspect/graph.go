package inspect

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/dynosim/dynosim/lower"
	"github.com/dynosim/dynosim/schemas"
)

// Graph describes the plays of an agentic source (spec 02), as they are lowered for a replay at their recorded pace. Recorded times
// are in whole milliseconds.
type Graph struct {
	Format schemas.TraceFormat `json:"format"`
	// Guessed says that the format was found from the first rows.
	Guessed bool `json:"guessed"`
	// Source and SourceDigest are the format and the digest that a report shows, GraphDigest identifies nodes, edges and blocks.
	Source       string `json:"source"`
	SourceDigest string `json:"source_digest"`
	GraphDigest  string `json:"graph_digest"`
	// NestedTimestampBasis is that of a weka corpus.
	NestedTimestampBasis string `json:"nested_timestamp_basis,omitempty"`
	BlockTokens          int64  `json:"block_tokens"`
	Plays                int64  `json:"plays"`
	Requests             int64  `json:"requests"`
	// Roots are requests that wait for nobody.
	Roots int64        `json:"roots"`
	Edges []EdgeKind   `json:"edges"`
	Model []ModelCount `json:"models"`
	// Conversations are counted by play. Spawned ones were started by a request of another one, joined ones are waited for as
	// well; Subagents are the spawned ones that are not workers, of which only weka corpora have any.
	Conversations int64 `json:"conversations"`
	Spawned       int64 `json:"spawned_conversations"`
	Joined        int64 `json:"joined_conversations"`
	Subagents     int64 `json:"subagents"`
	// PlayRequests and PlayConversations are those of a play. Depth is the number of requests on its longest path of
	// edges, FanOut the number of edges that a request starts.
	PlayRequests      Lengths `json:"play_requests"`
	PlayConversations Lengths `json:"play_conversations"`
	Depth             Lengths `json:"depth"`
	FanOut            Lengths `json:"fan_out"`
	Turns             Lengths `json:"turns"`
	// TrajectoryMS is the recorded time of a play, from its first start to its last known end or start.
	TrajectoryMS Lengths `json:"trajectory_ms"`
	// ServiceMS is the recorded time of a request, of which UnknownService have none. ToolMS is the time between the end of a
	// request and the next one of its conversation: tools, people, and whatever else happened there.
	ServiceMS      Lengths `json:"service_ms"`
	UnknownService int64   `json:"unknown_service"`
	ToolMS         Lengths `json:"tool_ms"`
	InputTokens    Lengths `json:"input_tokens"`
	OutputTokens   Lengths `json:"output_tokens"`
	// PromptBlocks are the blocks of a prompt, NewBlocks those behind the longest beginning that it shares with an earlier request of
	// the source: their sum is the number of distinct prefixes.
	PromptBlocks Lengths `json:"prompt_blocks"`
	NewBlocks    Lengths `json:"new_blocks"`
	// Compactions counts turns whose prompt is shorter than that of the turn before.
	Compactions int64 `json:"compactions"`
	// Growth tells how prompts grow over the turns of a conversation.
	Growth []Growth `json:"growth"`
}

// EdgeKind counts the edges of a relation and a trigger.
type EdgeKind struct {
	Relation string  `json:"relation"`
	Trigger  string  `json:"trigger"`
	Count    int64   `json:"count"`
	DelayMS  Lengths `json:"delay_ms"`
}

// ModelCount counts the requests of a recorded model.
type ModelCount struct {
	Model    string `json:"model"`
	Requests int64  `json:"requests"`
}

// Growth describes the turns from FromTurn to ToTurn, counted from 1, of all conversations.
type Growth struct {
	FromTurn    int64   `json:"from_turn"`
	ToTurn      int64   `json:"to_turn"`
	Requests    int64   `json:"requests"`
	InputTokens float64 `json:"mean_input_tokens"`
	// KnownShare is the share of prompt tokens in blocks that begin the prompt of an earlier request of the source.
	KnownShare float64 `json:"known_share"`
}

// graphSurvey collects the figures of a graph play by play.
type graphSurvey struct {
	builder *lower.Builder
	graph   Graph

	playRequests, playConversations, depth, fanOut, turns, trajectory, service, tools lengths
	input, output, prompt, fresh                                                      lengths
	edges                                                                             [2 * 4]lengths // by relation, then trigger
	counts                                                                            [2 * 4]int64
	models                                                                            []int64
	growth                                                                            []growthSum
}

// growthSum adds up over turns.
type growthSum struct{ requests, tokens, known int64 }

// newGraphSurvey prepares for the source of a builder's specification.
func newGraphSurvey(source *schemas.SourceSpec) *graphSurvey {
	spec := schemas.RunSpec{Source: *source, Load: schemas.LoadSpec{Kind: schemas.LoadTraceTimestamps, Speedup: 1}}
	return &graphSurvey{builder: lower.NewBuilder(&spec)}
}

// finish describes what the builder was given.
func (s *graphSurvey) finish(source schemas.GraphSource, format schemas.TraceFormat, guessed bool) (*Graph, error) {
	defer s.builder.Close()
	s.builder.SetGraphSource(source)
	whole, err := s.builder.FinishPlays(s.add)
	if err != nil {
		return nil, err
	}
	g := &s.graph
	g.Format, g.Guessed = format, guessed
	g.Source, g.SourceDigest, g.NestedTimestampBasis = source.Format, source.Digest, source.NestedTimestampBasis
	g.GraphDigest, g.BlockTokens = whole.Digest, whole.BlockTokens
	g.subagents(whole)
	for i, n := range s.models {
		g.Model = append(g.Model, ModelCount{whole.Models[i], n})
	}
	slices.SortStableFunc(g.Model, func(a, b ModelCount) int { return cmp.Compare(b.Requests, a.Requests) })
	for i := range s.edges {
		if s.counts[i] > 0 {
			g.Edges = append(g.Edges, EdgeKind{schemas.RelationNames[i/2], schemas.TriggerNames[i%2], s.counts[i], s.edges[i].figures()})
		}
	}
	g.PlayRequests, g.PlayConversations, g.Depth, g.FanOut = s.playRequests.figures(), s.playConversations.figures(), s.depth.figures(), s.fanOut.figures()
	g.Turns, g.TrajectoryMS, g.ServiceMS, g.ToolMS = s.turns.figures(), s.trajectory.figures(), s.service.figures(), s.tools.figures()
	g.InputTokens, g.OutputTokens, g.PromptBlocks, g.NewBlocks = s.input.figures(), s.output.figures(), s.prompt.figures(), s.fresh.figures()
	for i, sum := range s.growth {
		if sum.requests > 0 {
			g.Growth = append(g.Growth, Growth{
				FromTurn: 1 << i, ToTurn: 2<<i - 1, Requests: sum.requests,
				InputTokens: float64(sum.tokens) / float64(sum.requests), KnownShare: float64(sum.known) / float64(sum.tokens),
			})
		}
	}
	return g, nil
}

// subagents counts those that the names of conversations of a corpus tell (spec 02 section 2.4).
func (g *Graph) subagents(whole *lower.Graph) {
	if g.Format != schemas.FormatWeka {
		return
	}
	for _, name := range whole.Sessions {
		if strings.Contains(name, ":session:subagent:") && !strings.Contains(name, ":worker:") {
			g.Subagents++
		}
	}
}

// add adds a play.
func (s *graphSurvey) add(v *lower.PlayView) error {
	lg, g := v.Graph, &s.graph
	n := len(lg.Play)
	g.Plays++
	g.Requests += int64(n)
	play := &lg.Plays[0]
	g.Roots += int64(play.Roots)
	s.playRequests.add(int64(n), 1)
	s.playConversations.add(int64(play.Sessions), 1)
	s.depth.add(int64(depth(lg)), 1)
	last := play.LastMS
	for i := range n {
		if end := lg.RecordedEndMS[i]; !math.IsNaN(end) {
			last = max(last, end)
		}
		s.node(v, i)
	}
	s.trajectory.add(wholeMS(last-play.FirstMS), 1)
	s.conversations(v)
	return nil
}

// wholeMS rounds a time that is not negative to whole milliseconds.
func wholeMS(ms float64) int64 { return int64(math.Round(min(max(ms, 0), 1<<53))) }

// node adds a request with the edges that it waits for.
func (s *graphSurvey) node(v *lower.PlayView, i int) {
	lg := v.Graph
	s.fanOut.add(int64(lg.OutFirst[2*i+2]-lg.OutFirst[2*i]), 1)
	took := lg.RecordedAPITimeMS[i]
	if math.IsNaN(took) {
		took = lg.RecordedEndMS[i] - lg.RecordedStartMS[i]
	}
	if math.IsNaN(took) {
		s.graph.UnknownService++
	} else {
		s.service.add(wholeMS(took), 1)
	}
	for e := lg.EdgeFirst[i]; e < lg.EdgeFirst[i+1]; e++ {
		kind := 2*int(lg.Relation[e]) + int(lg.Trigger[e])
		s.counts[kind]++
		s.edges[kind].add(wholeMS(lg.DelayMS[e]), 1)
		if lg.Relation[e] == schemas.RelationSequence {
			s.tools.add(wholeMS(lg.DelayMS[e]), 1)
		}
	}
	m := int(lg.Model[i])
	for m >= len(s.models) {
		s.models = append(s.models, 0)
	}
	s.models[m]++
	tokens := int64(v.InputTokens[i])
	s.input.add(tokens, 1)
	s.output.add(int64(v.OutputTokens[i]), 1)
	s.prompt.add(int64(v.PromptBlocks[i]), 1)
	s.fresh.add(int64(v.PromptBlocks[i]-v.KnownBlocks[i]), 1)
	turns := bits.Len32(uint32(lg.Turn[i]+1)) - 1
	for turns >= len(s.growth) {
		s.growth = append(s.growth, growthSum{})
	}
	at := &s.growth[turns]
	at.requests++
	at.tokens += tokens
	at.known += min(tokens, int64(v.KnownBlocks[i])*s.builder.BlockTokens())
}

// conversations adds the conversations of a play.
func (s *graphSurvey) conversations(v *lower.PlayView) {
	lg := v.Graph
	order := slices.Clone(lg.PlayNodes)
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(lg.Session[a], lg.Session[b]), cmp.Compare(lg.Turn[a], lg.Turn[b]))
	})
	joined := map[int32]bool{}
	for e, from := range lg.Predecessor {
		if to := lg.Target[e]; lg.Relation[e] == schemas.RelationJoin && lg.Session[from] != lg.Session[to] {
			joined[lg.Session[from]] = true
		}
	}
	for k := 0; k < len(order); {
		first, to := order[k], k+1
		for ; to < len(order) && lg.Session[order[to]] == lg.Session[first]; to++ {
			if v.InputTokens[order[to]] < v.InputTokens[order[to-1]] {
				s.graph.Compactions++
			}
		}
		s.graph.Conversations++
		s.turns.add(int64(to-k), 1)
		if parent := lg.Parent[first]; parent >= 0 && lg.Session[parent] != lg.Session[first] {
			s.graph.Spawned++
			if joined[lg.Session[first]] {
				s.graph.Joined++
			}
		}
		k = to
	}
}

// depth is the number of nodes on the longest path of the graph of a play.
func depth(g *lower.Graph) int32 {
	n := len(g.Play)
	at, left := make([]int32, n), make([]int32, n)
	var ready []int32
	for i := range n {
		if left[i] = g.InDegree(int32(i)); left[i] == 0 {
			ready = append(ready, int32(i))
		}
	}
	longest := int32(0)
	for len(ready) > 0 {
		i := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		longest = max(longest, at[i]+1)
		for _, e := range g.Out[g.OutFirst[2*i]:g.OutFirst[2*i+2]] {
			t := g.Target[e]
			at[t] = max(at[t], at[i]+1)
			if left[t]--; left[t] == 0 {
				ready = append(ready, t)
			}
		}
	}
	return longest
}
