// Package lower turns source requests into a dependency graph with dense ids: it
// numbers blocks and interns their prefixes as chains, joins rows into sessions, and
// applies the load and stop policies (spec 01 sections 3.4 and 5 to 7).
package lower

// Workload is the lowered form of a source: what the simulator runs.
//
// Nodes of a plain request list stand in order of arrival (ties in source order), or in
// source order under concurrency load. Nodes of sessions stand session by session in
// order of the session index, turns in order.
type Workload struct {
	// Sessions is nil for a plain request list (spec 01 section 1).
	Sessions *Sessions
	// Concurrency is the closed-loop limit, 0 for an open loop: requests in the system
	// for a list, active sessions otherwise.
	Concurrency int64
	// BlockTokens is the number of tokens one chain row stands for; 0 without chains.
	BlockTokens int64
	// Delta says that InputTokens and Chain of a node describe only the new input of
	// its turn (mooncake-delta, spec 01 section 7.5).
	Delta  bool
	Nodes  Nodes
	Chains Chains
	// Authored holds authored output tokens of all nodes back to back, in the number
	// space of Chains.Block; node i owns Authored[AuthoredStart[i]:AuthoredStart[i+1]].
	// Both are nil when no node has any; an empty authored list is the same as none,
	// since the output length is then 0.
	Authored      []uint32
	AuthoredStart []int64
	// Graph is nil unless the source is agentic. Nodes then stand in order of their request names, and
	// Nodes.ReleaseMS is Graph.NotBeforeMS.
	Graph *Graph
}

// Nodes holds the columns of the table nodes.
type Nodes struct {
	// ReleaseMS is the arrival time of a list's request or of a session's first turn;
	// NaN where a predecessor or the concurrency limit decides.
	ReleaseMS []float64
	// DelayMS is the time between the end of the previous turn and the release of this one,
	// 0 for a first turn. It is nil for a plain request list.
	DelayMS                   []float64
	InputTokens, OutputTokens []int32
	// Chain is the last chain of the prompt, -1 for none; it covers the first
	// ChainTokens tokens, tokens beyond match nothing.
	Chain, ChainTokens []int32
	// RequestIndex is the row of the table requests.
	RequestIndex []int32
	// Priority, StrictPriority and PolicyClass are what the requests tell a router, nil when
	// none says anything. PolicyClass is an index of PolicyClasses, -1 for none.
	Priority       []int32
	StrictPriority []uint32
	PolicyClass    []int32
	PolicyClasses  []string
}

// Len is the number of nodes.
func (n *Nodes) Len() int { return len(n.InputTokens) }

// Chains holds the columns of the table chains.
type Chains struct {
	// Parent is the chain one block shorter, -1 for a first block.
	Parent []int32
	// Block is the dense number of the last block, in order of first occurrence over
	// the whole source.
	Block []uint32
	// Depth is the number of blocks before the last one.
	Depth []int32
}

// Sessions holds one row a session.
type Sessions struct {
	// First is the node of the first turn; session s owns the nodes First[s] up to, not
	// including, First[s+1] (one more entry than sessions).
	First []int32
	names names
}

// Len is the number of sessions.
func (s *Sessions) Len() int { return len(s.First) - 1 }

// Name is the authored name of a session, or the generated one, request_<line>. It is
// formatted or copied anew by every call.
func (s *Sessions) Name(session int) string { return string(s.AppendName(nil, session)) }

// AppendName appends the name of a session to dst.
func (s *Sessions) AppendName(dst []byte, session int) []byte {
	return s.names.append(dst, s.names.refs.at(session))
}

// Generated reports whether the name of a session is of the form of generated ones,
// request_<line>. A router is not told such names (spec 01 section 8).
func (s *Sessions) Generated(session int) bool { return s.names.refs.at(session) >= 0 }
