package schemas

// The tables below exist for agentic sources only (spec 02): plays, made of requests that wait for one
// another. Ingest leaves the graph as the source says it, one play after the other; lower numbers,
// checks and scales it.

// SourcePlays holds the plays of an agentic source.
var SourcePlays = Table{Name: "source_plays", Version: 1, Stage: "ingest", Agentic: true, Doc: "one play of an agentic source", Columns: []Column{
	{"source_play", tInt32, false, "position in the source, from 0"},
	{"play_id", tString, false, "name of the play, unique in the source"},
	{"source_name", tString, false, "where it was read: the file, with #object in a corpus of several objects a file"},
	{"source_ordinal", tInt64, true, "place that the source gives it; null without one"},
	{"request_count", tInt32, false, "rows of requests that belong to it; they follow each other"},
}}

// SourceNodes holds what a request of an agentic source has beyond a row of requests. Block lists grow out of
// each other: a list begins with prefix_blocks blocks of the list of prefix_request, and the rows
// of blocks follow those.
var SourceNodes = Table{Name: "source_nodes", Version: 1, Stage: "ingest", Agentic: true, Doc: "one request of an agentic source, beside its row of requests, whose timestamp_ms is the earliest start", Columns: []Column{
	{"request_index", tInt64, false, "the request"},
	{"source_play", tInt32, false, "the play"},
	{"model", tString, false, "the model that was recorded"},
	{"recorded_start_ms", tFloat64, false, "recorded start"},
	{"recorded_end_ms", tFloat64, true, "recorded end; null when unknown"},
	{"recorded_api_time_ms", tFloat64, true, "recorded service time; null when unknown"},
	{"prefix_request", tInt64, true, "earlier request whose block list this one's begins with; null when it shares no block"},
	{"prefix_blocks", tInt32, false, "blocks taken from that list"},
	{"edge_count", tInt32, false, "rows of source_edges that belong to this request"},
}}

// SourceEdges holds the dependencies of an agentic source.
var SourceEdges = Table{Name: "source_edges", Version: 1, Stage: "ingest", Agentic: true, Doc: "one dependency of one request of an agentic source", Columns: []Column{
	{"request_index", tInt64, false, "the request that waits"},
	{"predecessor", tInt64, false, "the request that it waits for"},
	{"trigger", tString, false, "what of the predecessor counts: dispatch or completion"},
	{"delay_ms", tFloat64, false, "recorded time between the trigger and the start"},
	{"relation", tString, false, "why: sequence, spawn, join or replay_barrier"},
}}

// Plays holds the plays in the order in which lanes take them (spec 02 section 6.1).
var Plays = Table{Name: "plays", Version: 1, Stage: "lower", Agentic: true, Doc: "one play: the requests of one user task", Columns: []Column{
	{"play", tInt32, false, "dense id in the order in which lanes take them, from 0"},
	{"play_id", tString, false, "name of the play"},
	{"source_name", tString, false, "where it was read"},
	{"source_ordinal", tInt64, true, "place that the source gives it; null without one"},
	{"node_count", tInt32, false, "nodes of the play"},
	{"root_count", tInt32, false, "nodes without predecessors"},
	{"edge_count", tInt32, false, "dependencies between its nodes"},
	{"session_count", tInt32, false, "conversations: the main one, its workers and its subagents"},
	{"recorded_start_ms", tFloat64, false, "smallest recorded start of its nodes"},
	{"recorded_last_start_ms", tFloat64, false, "largest recorded start of its nodes"},
	{"input_tokens", tInt64, false, "prompt tokens of its nodes together"},
	{"output_tokens", tInt64, false, "output tokens of its nodes together"},
}}

// PlayNodes holds what a node of a play has beyond a row of nodes. Nodes are numbered in byte order of
// their request names (spec 02 section 6.1).
var PlayNodes = Table{Name: "play_nodes", Version: 1, Stage: "lower", Agentic: true, Doc: "one node of a play, beside its row of nodes", Columns: []Column{
	{"node", tInt32, false, "the node"},
	{"play", tInt32, false, "the play"},
	{"request_id", tString, false, "name of the request, unique in the source"},
	{"model", tString, false, "the model that was recorded; every node runs on the configured one"},
	{"not_before_ms", tFloat64, false, "earliest start, after origin and speed-up; as recorded when snapshots are cut"},
	{"recorded_start_ms", tFloat64, false, "recorded start"},
	{"recorded_end_ms", tFloat64, true, "recorded end; null when unknown"},
	{"recorded_api_time_ms", tFloat64, true, "recorded service time; null when unknown"},
	{"priority", tInt32, false, "authored priority, 0 by default"},
	{"strict_priority", tUint32, false, "authored strict priority, 0 by default"},
	{"policy_class", tString, true, "authored policy class"},
	{"parent_node", tInt32, true, "spawn predecessor of the lowest number; null without one"},
	{"root_node", tInt32, true, "the root of its play; null when the play has several"},
	{"turn", tInt32, false, "position in its conversation by recorded start, from 0"},
}}
