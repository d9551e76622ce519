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

// PlayRuns holds the plays that were executed.
var PlayRuns = Table{Name: "play_runs", Version: 1, Stage: "simulate", Agentic: true, Doc: "one executed play; plays that never started included", Columns: []Column{
	{"play_run", tInt32, false, "dense id: plays in their order, or the initial lanes of a snapshot and then what replaced them"},
	{"play", tInt32, false, "row of plays"},
	{"lane", tInt32, true, "the lane it ran on; null without lanes and for one that never started"},
	{"lane_ordinal", tInt64, false, "number over the plays of a lane of a snapshot, from 0"},
	{"play_id", tString, false, "name of the executed play"},
	{"t_star_ms", tFloat64, true, "recorded time at which a snapshot cut it; null without one"},
	{"origin_ms", tFloat64, true, "where its trajectory starts: its first dispatched root, or the begin of a snapshot"},
	{"terminal_ms", tFloat64, true, "first failure, or else the latest end of a node"},
	{"settled_ms", tFloat64, true, "when it was over and nothing of it was left on the servers"},
	{"status", tString, false, "completed, failed or incomplete"},
	{"failed_node", tInt32, true, "node that failed first, as request_results numbers it"},
	{"failed_status", tString, true, "how it failed"},
	{"node_count", tInt32, false, "nodes to execute"},
	{"completed_count", tInt32, false, "nodes that completed"},
	{"started", tInt32, false, "1 when it started"},
	{"over", tInt32, false, "1 when it was over for the client"},
	{"censored", tInt32, false, "1 when the end of a profile kept nodes of it from being issued"},
}}

// NodeRuns holds the executed nodes; request_results has those that arrived.
var NodeRuns = Table{Name: "node_runs", Version: 1, Stage: "simulate", Agentic: true, Doc: "one executed node, beside its row of request_results", Columns: []Column{
	{"node", tInt32, false, "the executed node, as request_results, routing and admissions number it"},
	{"source_node", tInt32, false, "row of nodes"},
	{"play_run", tInt32, false, "the executed play"},
	{"state", tString, false, "completed, failed, emitted, ready, blocked, skipped, censored, or preparation"},
	{"dispatched_ms", tFloat64, true, "when it was dispatched; null for one that was not"},
}}

// SnapshotNodes holds what snapshots say about the nodes of their plays.
var SnapshotNodes = Table{Name: "snapshot_nodes", Version: 1, Stage: "simulate", Agentic: true, Doc: "one node of a play that a snapshot cut", Columns: []Column{
	{"play_run", tInt32, false, "the executed play"},
	{"source_node", tInt32, false, "row of nodes"},
	{"historical", tInt32, false, "1 when it had started before the cut: it is not executed"},
	{"remaining_delay_ms", tFloat64, false, "time from the cut to its earliest start, before the speed-up; 0 for a historical one"},
	{"primer", tInt32, true, "place among the requests that warm the caches of the play up; null for others"},
}}

// Preparations holds the requests that warmed caches up before the measurement.
var Preparations = Table{Name: "preparations", Version: 2, Stage: "simulate", Agentic: true, Doc: "one request that prepared a cache before the measurement", Columns: []Column{
	{"play_run", tInt32, false, "the executed play, and so the lane"},
	{"ordinal", tInt32, false, "number over the requests of the lane, from 0"},
	{"node", tInt32, false, "the executed node"},
	{"source_node", tInt32, false, "row of nodes"},
	{"phase", tString, false, "primer or warmup"},
	{"dispatched_ms", tFloat64, true, "when it was dispatched"},
	{"first_admit_ms", tFloat64, true, "start of the pass that first admitted it"},
	{"terminal_ms", tFloat64, true, "when it left the system"},
	{"settled_ms", tFloat64, true, "when the servers were done with it"},
	{"status", tString, true, "how it ended; null when it did not"},
	{"reused_input_tokens", tInt32, true, "cached tokens at its first admission; null when it was not admitted"},
	{"output_tokens", tInt32, false, "tokens emitted"},
}}

// IdleShifts holds the idle times that a profile skipped.
var IdleShifts = Table{Name: "idle_shifts", Version: 1, Stage: "simulate", Agentic: true, Doc: "one idle time that a profile skipped", Columns: []Column{
	{"shift", tInt32, false, "number in order, from 0"},
	{"at_ms", tFloat64, false, "when"},
	{"play_run", tInt32, true, "the play that was idle; null when all were"},
	{"shifted_ms", tFloat64, false, "time skipped"},
	{"timers", tInt32, false, "timers moved"},
}}

// AgenticRun holds the scalars of a run of plays: one row, none for a flat source.
var AgenticRun = Table{Name: "agentic_run", Version: 2, Stage: "simulate", Agentic: true, Doc: "a run of plays itself: one row, none for a flat trace", Columns: []Column{
	{"source_format", tString, false, "format of the source as the report shows it"},
	{"source_digest", tString, false, "digest of the source"},
	{"nested_timestamp_basis", tString, true, "what nested timestamps of a weka corpus count from"},
	{"graph_digest", tString, false, "digest of nodes, edges and blocks"},
	{"block_tokens", tInt64, false, "tokens of a block id"},
	{"input_format", tString, false, "configured format"},
	{"target_model", tString, false, "the model that every request runs on"},
	{"engine_block_tokens", tInt64, false, "tokens of a KV block of the engines"},
	{"estimator", tString, false, "timing model of the engines, of the prefill workers where these have their own pool"},
	{"decode_estimator", tString, true, "timing model of the decode workers; null without a pool of their own"},
	{"edge_speedup", tFloat64, false, "what divides the delays of the table edges when they apply: the speed-up of a snapshot, else 1, since they are sped up already"},
	{"lanes", tInt64, true, "plays at a time; null for all"},
	{"snapshot_seed", tString, true, "seed of the snapshots, in decimal; null without"},
	{"lifecycle_digest", tString, false, "digest of the events of plays in the order in which they happened"},
	{"lifecycle_events", tInt64, false, "number of those events"},
	{"preparation", tString, true, "profile when caches were prepared, aborted when that failed; null without"},
	{"preparation_end_ms", tFloat64, true, "when the preparation ended"},
	{"measured_from_ms", tFloat64, true, "when the measurement began behind a preparation; the times of the report count from there, those of the tables from the start of the run"},
	{"duration_seconds", tFloat64, true, "time of a profile in which requests are issued; null without a profile, as are the columns behind it"},
	{"response_grace_seconds", tFloat64, true, "time that responses have afterwards"},
	{"cancel_drain_seconds", tFloat64, true, "time for canceled requests"},
	{"tree_idle_cap_seconds", tFloat64, true, "longest idle time of one play"},
	{"global_idle_cap_seconds", tFloat64, true, "longest idle time of all"},
	{"profile_start_ms", tFloat64, true, "when the profile began"},
	{"cutoff_ms", tFloat64, true, "end of the admission"},
	{"grace_ms", tFloat64, true, "deadline of responses"},
	{"drain_ms", tFloat64, true, "deadline of canceled requests"},
	{"finished_ms", tFloat64, true, "when the run was over"},
	{"closed", tInt32, true, "1 when the admission was closed"},
	{"cursor", tInt64, true, "plays taken from the corpus"},
	{"unsettled", tInt64, true, "canceled requests inside a pass that was running"},
	{"last_response_ms", tFloat64, true, "end of the last request that completed"},
}}
