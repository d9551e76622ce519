package lower

import "github.com/dynosim/dynosim/schemas"

// Graph is what the nodes of an agentic source have beyond those of a flat one (spec 02 section 6). Nodes are
// numbered in byte order of their request names, plays in the order in which lanes take them.
type Graph struct {
	Source schemas.GraphSource
	// Digest identifies nodes, edges and blocks (spec 02 section 6.3).
	Digest string
	// BlockTokens is the tokens of a hash id, also where no prompt has one.
	BlockTokens int64
	// Models are the distinct recorded models, sorted; Model is an index into them.
	Models []string
	Plays  []Play
	// PlayNodes has the nodes of all plays back to back, each play's in ascending order: play p owns
	// PlayNodes[PlayFirst[p]:PlayFirst[p+1]].
	PlayNodes, PlayFirst []int32

	// One element a node. NotBeforeMS is the earliest start, scaled unless snapshots are cut.
	Play, Session, Model []int32
	NotBeforeMS          []float64
	// Recorded times are as the source says, NaN when unknown.
	RecordedStartMS, RecordedEndMS, RecordedAPITimeMS []float64
	Priority                                          []int32
	StrictPriority                                    []uint32
	// PolicyClass is an index into PolicyClasses, -1 for none.
	PolicyClass   []int32
	PolicyClasses []string
	// Parent is the spawn predecessor of the lowest number, -1 for none; Turn the position in the
	// session by recorded start.
	Parent, Turn []int32
	// Sessions are the names of conversations, Session is an index into them.
	Sessions []string

	// Edges by target: node i waits for those from EdgeFirst[i] up to EdgeFirst[i+1].
	EdgeFirst   []int32
	Predecessor []int32
	Trigger     []schemas.Trigger
	Relation    []schemas.Relation
	DelayMS     []float64
	// Edges by predecessor and trigger: those of node i are Out[OutFirst[2*i+trigger]:OutFirst[2*i+trigger+1]],
	// numbers of edges, targets ascending.
	OutFirst, Out []int32
	// Target is the node that waits, for each edge.
	Target []int32

	ids  []byte
	idAt []int64
}

// Play is one play of a graph.
type Play struct {
	ID, Source string
	// Ordinal is the place that the source gave it, -1 without one.
	Ordinal int64
	// Nodes counts its nodes, Roots those without predecessors; Root is the only one, -1 when it has several.
	Nodes, Root, Roots int32
	// Sessions and Edges count, InputTokens and OutputTokens add up over its nodes.
	Sessions, Edges           int32
	InputTokens, OutputTokens int64
	// FirstMS and LastMS are the smallest and the largest recorded start.
	FirstMS, LastMS float64
}

// Nodes lists the nodes of a play, ascending.
func (g *Graph) Nodes(play int32) []int32 { return g.PlayNodes[g.PlayFirst[play]:g.PlayFirst[play+1]] }

// RequestID is the name of a node's request; it is copied by every call.
func (g *Graph) RequestID(node int) string { return string(g.requestID(node)) }

// AppendRequestID appends the name of a node's request to dst.
func (g *Graph) AppendRequestID(dst []byte, node int) []byte {
	return append(dst, g.requestID(node)...)
}

func (g *Graph) requestID(node int) []byte { return g.ids[g.idAt[node]:g.idAt[node+1]] }

// Edges counts the edges.
func (g *Graph) Edges() int { return len(g.Predecessor) }

// InDegree is the number of edges that a node waits for.
func (g *Graph) InDegree(node int32) int32 { return g.EdgeFirst[node+1] - g.EdgeFirst[node] }
