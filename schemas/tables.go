package schemas

import "github.com/apache/arrow-go/v18/arrow"

var (
	tInt32   = arrow.PrimitiveTypes.Int32
	tInt64   = arrow.PrimitiveTypes.Int64
	tUint32  = arrow.PrimitiveTypes.Uint32
	tUint64  = arrow.PrimitiveTypes.Uint64
	tFloat64 = arrow.PrimitiveTypes.Float64
	tString  = arrow.BinaryTypes.String
)

// Requests is what the source says: one row a source request.
var Requests = Table{Name: "requests", Version: 1, Stage: "ingest", Doc: "one source request", Columns: []Column{
	{"request_index", tInt64, false, "position in the source, from 0"},
	{"line", tInt64, false, "1-based physical line of the file; for sorted formats and synthetic sources the position from 1"},
	{"session_id", tString, true, "authored session name"},
	{"request_id", tString, true, "authored request name"},
	{"input_tokens", tInt64, false, "prompt length; the new input for mooncake-delta"},
	{"output_tokens", tInt64, false, "output length asked for"},
	{"timestamp_ms", tFloat64, true, "authored arrival time, before origin and speed-up"},
	{"delay_ms", tFloat64, true, "authored delay after the previous turn"},
	{"priority", tInt32, false, "authored priority, 0 by default"},
	{"strict_priority", tUint32, false, "authored strict priority, 0 by default"},
	{"policy_class", tString, true, "authored policy class"},
	{"block_count", tInt32, false, "rows of blocks that belong to this request"},
	{"authored_count", tInt32, true, "rows of authored_outputs that belong to this request; null when the source does not say which tokens it emits"},
}}

// Blocks holds the block ids of all requests.
var Blocks = Table{Name: "blocks", Version: 1, Stage: "ingest", Doc: "one block id of one request", Columns: []Column{
	{"request_index", tInt64, false, "the request"},
	{"position", tInt32, false, "position in the request's list, from 0"},
	{"block_id", tUint64, false, "the id in the source; the hash of a block's identity for format weka"},
}}

// AuthoredOutputs holds the output tokens that the source prescribes.
var AuthoredOutputs = Table{Name: "authored_outputs", Version: 1, Stage: "ingest", Doc: "one output token that the source prescribes", Columns: []Column{
	{"request_index", tInt64, false, "the request"},
	{"position", tInt32, false, "position in the request's output, from 0"},
	{"token", tUint32, false, "the token in the source"},
}}

// Nodes is the lowered form: one row a request to run.
var Nodes = Table{Name: "nodes", Version: 2, Stage: "lower", Doc: "one request to run", Columns: []Column{
	{"node", tInt32, false, "dense id, from 0"},
	{"request_index", tInt32, false, "row of requests"},
	{"session_id", tString, true, "session name, generated ones included; null for a plain list of requests"},
	{"session", tInt32, true, "session index; null for a plain list of requests"},
	{"turn", tInt32, true, "turn of the session, from 0; what a request listed in a call says; null for other plain lists of requests"},
	{"release_ms", tFloat64, true, "arrival time; null when a predecessor or the concurrency limit decides; in a graph of plays the earliest start of the node"},
	{"input_tokens", tInt32, false, "prompt length; the new input for mooncake-delta"},
	{"output_tokens", tInt32, false, "output length asked for"},
	{"chain", tInt32, true, "last row of chains of the prompt; null when the prompt matches nothing"},
	{"chain_tokens", tInt32, false, "prompt tokens that the chain covers; tokens beyond it match nothing"},
	{"priority", tInt32, false, "authored priority, 0 by default; for the router's queue"},
	{"strict_priority", tUint32, false, "authored strict priority, 0 by default; for the router's queue"},
	{"policy_class", tString, true, "authored policy class; for the router's queue"},
}}

// Edges holds the dependencies between nodes.
var Edges = Table{Name: "edges", Version: 1, Stage: "lower", Doc: "one dependency between two nodes", Columns: []Column{
	{"predecessor", tInt32, false, "node that must happen first"},
	{"successor", tInt32, false, "node that waits"},
	{"trigger", tString, false, "what of the predecessor counts: completion, or dispatch in a graph of plays"},
	{"delay_ms", tFloat64, false, "time between the trigger and the release of the successor"},
	{"relation", tString, false, "why: sequence (next turn of a session); in a graph of plays also spawn, join and replay_barrier"},
}}

// Chains holds the distinct prefixes of trace blocks.
var Chains = Table{Name: "chains", Version: 1, Stage: "lower", Doc: "one distinct prefix of trace blocks", Columns: []Column{
	{"chain", tInt32, false, "dense id, from 0"},
	{"parent", tInt32, true, "the prefix one block shorter; null for a first block"},
	{"block", tInt32, false, "dense number of the last block, in order of first occurrence"},
}}

// NodeOutputs holds the prescribed output tokens in the order of the nodes.
var NodeOutputs = Table{Name: "node_outputs", Version: 1, Stage: "lower", Doc: "one prescribed output token of one node", Columns: []Column{
	{"node", tInt32, false, "the node"},
	{"position", tInt32, false, "position in the node's output, from 0"},
	{"token", tUint32, false, "the token, in the numbers of chains.block"},
}}

// RequestResults is what became of each request that arrived.
var RequestResults = Table{Name: "request_results", Version: 1, Stage: "simulate", Doc: "one simulated request", Columns: []Column{
	{"node", tInt32, false, "row of nodes"},
	{"creation_ordinal", tInt32, false, "order of arrival, from 0"},
	{"arrival_ms", tFloat64, false, "time the request entered the system"},
	{"first_admit_ms", tFloat64, true, "start of the pass that first admitted it"},
	{"first_token_ms", tFloat64, true, "end of the pass that emitted its first token"},
	{"second_token_ms", tFloat64, true, "end of the pass that emitted its second token"},
	{"last_token_ms", tFloat64, true, "end of the pass that emitted its last token"},
	{"terminal_ms", tFloat64, true, "time it left the system; null when the time limit cut it off"},
	{"status", tString, false, "completed, rejected, failed, canceled or unfinished"},
	{"input_tokens", tInt32, false, "prompt length"},
	{"requested_output_tokens", tInt32, false, "output length asked for"},
	{"output_tokens", tInt32, false, "tokens emitted"},
	{"reused_input_tokens", tInt32, false, "largest number of cached tokens over its admissions; in the prefill pool where there is one"},
	{"first_admission_reused_input_tokens", tInt32, false, "cached tokens at its first admission"},
	{"worker", tInt32, true, "scheduler id of the aggregated or decode rank that served it"},
	{"prefill_worker", tInt32, true, "scheduler id of the prefill rank; null with an aggregated pool, as are the columns up to decode_route_overlap_tokens"},
	{"prefill_admit_ms", tFloat64, true, "start of the pass that first admitted it in the prefill pool"},
	{"source_held_ms", tFloat64, true, "end of its prefill; the prefill rank then holds its KV blocks"},
	{"destination_reserved_ms", tFloat64, true, "time its blocks were reserved on the decode rank"},
	{"destination_activated_ms", tFloat64, true, "time its KV was complete on the decode rank"},
	{"decode_admit_ms", tFloat64, true, "start of the pass that first admitted it in the decode pool"},
	{"source_released_ms", tFloat64, true, "time the prefill rank gave its blocks up; may follow terminal_ms"},
	{"decode_reused_input_tokens", tInt32, true, "largest number of cached tokens over its admissions in the decode pool"},
	{"prefill_route_overlap_tokens", tInt32, true, "cached prompt tokens that the placement in the prefill pool reported"},
	{"decode_route_overlap_tokens", tInt32, true, "cached prompt tokens that the placement in the decode pool reported"},
	{"admission_count", tInt32, false, "admissions, readmissions included"},
	{"readmission_count", tInt32, false, "admissions after a preemption"},
	{"first_admission_g1_reused_input_tokens", tInt32, true, "of the cached tokens at its first admission, those that were on the GPU; null where its workers have no host cache"},
	{"first_admission_host_reused_input_tokens", tInt32, true, "those that came back from the host cache"},
}}

// Passes holds the completed forward passes.
var Passes = Table{Name: "passes", Version: 1, Stage: "simulate", Doc: "one completed forward pass of one rank", Columns: []Column{
	{"pool", tString, false, "agg, prefill or decode"},
	{"worker", tInt32, false, "worker id in its pool"},
	{"rank", tInt32, false, "attention data-parallel rank in the worker"},
	{"pass", tInt64, false, "number of the pass in its worker, from 0"},
	{"start_ms", tFloat64, false, "start"},
	{"prefill_ms", tFloat64, false, "prefill part of the duration"},
	{"decode_ms", tFloat64, false, "decode part of the duration"},
	{"end_ms", tFloat64, false, "end of the worker's pass: every output has this time"},
	{"prefill_requests", tInt32, false, "requests that computed prompt tokens"},
	{"prefill_tokens", tInt64, false, "tokens those requests computed, recomputed output included"},
	{"prefill_kv_tokens", tInt64, false, "prompt tokens of those requests that were already in cache"},
	{"decode_requests", tInt32, false, "requests charged to the decode part"},
	{"decode_kv_tokens", tInt64, false, "sum of their lengths"},
	{"output_tokens", tInt32, false, "tokens emitted"},
	{"admitted", tInt32, false, "requests admitted at the start"},
	{"preempted", tInt32, false, "requests preempted"},
	{"completed", tInt32, false, "requests that ended with this pass"},
	{"rejected", tInt32, false, "requests refused by this pass"},
	{"running", tInt32, false, "running requests once the pass was decided"},
	{"waiting", tInt32, false, "waiting requests once the pass was decided"},
	{"active_blocks", tInt32, false, "KV blocks in use after the pass"},
	{"idle_blocks", tInt32, false, "KV blocks that hold reusable content nobody uses after the pass"},
}}

// TokenGaps holds the inter-token gaps of all requests.
var TokenGaps = Table{Name: "token_gaps", Version: 1, Stage: "simulate", Doc: "one inter-token gap and how often it occurred; sum count over equal gaps, a gap may have several rows", Columns: []Column{
	{"gap_ms", tFloat64, false, "time between two adjacent tokens of one request"},
	{"count", tInt64, false, "how often"},
}}

// Admissions holds every admission of a request to a running batch.
var Admissions = Table{Name: "admissions", Version: 1, Stage: "simulate", Doc: "one admission of a request", Columns: []Column{
	{"node", tInt32, false, "the request"},
	{"admission_ordinal", tInt32, false, "number over the request's admissions, from 0"},
	{"pool", tString, false, "agg, prefill or decode"},
	{"pool_admission_ordinal", tInt32, false, "number over its admissions in this pool, from 0; above 0 is a readmission"},
	{"worker", tInt32, false, "scheduler id of the rank"},
	{"at_ms", tFloat64, false, "start of the pass"},
	{"reused_input_tokens", tInt32, false, "tokens found in cache"},
	{"g1_reused_input_tokens", tInt32, true, "of these the tokens that were on the GPU; first admissions of workers with a host cache only"},
	{"host_reused_input_tokens", tInt32, true, "those that came back from the host cache"},
}}

// Routing holds every placement decision.
var Routing = Table{Name: "routing", Version: 2, Stage: "simulate", Doc: "one placement of a request", Columns: []Column{
	{"node", tInt32, false, "the request"},
	{"routing_ordinal", tInt32, false, "number over the request's placements, from 0"},
	{"pool", tString, false, "agg, prefill or decode"},
	{"queued_ms", tFloat64, true, "time it entered the router's queue; null when placed at once"},
	{"released_ms", tFloat64, true, "time it left the router's queue; null when placed at once"},
	{"queue_wait_ms", tFloat64, true, "time in the router's queue; null when the run stopped before"},
	{"worker", tInt32, true, "worker id; null when the run stopped before the request was placed, as in the columns behind"},
	{"scheduler", tInt32, true, "scheduler id of the rank"},
	{"rank", tInt32, true, "attention data-parallel rank in the worker"},
	{"overlap_tokens", tInt32, true, "cached prompt tokens that the policy reported"},
	{"selected_overlap_blocks", tInt32, true, "cached blocks on the chosen worker; null when the policy does not look"},
	{"best_overlap_blocks", tInt32, true, "most cached blocks on any worker; null when the policy does not look"},
	{"overlap_regret_blocks", tInt32, true, "their difference; null when the policy does not look"},
}}

// RoutingCandidates holds what each decision of the KV router chose from (spec 06 section 4).
var RoutingCandidates = Table{Name: "routing_candidates", Version: 1, Stage: "simulate", Doc: "one target that a decision of the KV router looked at; with --capture routing=full only", Columns: []Column{
	{"node", tInt32, false, "the request"},
	{"routing_ordinal", tInt32, false, "the placement, as in routing"},
	{"pool", tString, false, "agg, prefill or decode"},
	{"decided_ms", tFloat64, false, "time of the decision"},
	{"worker", tInt32, false, "worker id"},
	{"scheduler", tInt32, false, "scheduler id of the rank"},
	{"rank", tInt32, false, "attention data-parallel rank in the worker"},
	{"chosen", tInt32, false, "1 for the target that was chosen, else 0"},
	{"overlap_blocks", tInt32, false, "leading prompt blocks that the target has cached"},
	{"shared_blocks", tInt32, false, "leading prompt blocks that requests on the target have in use"},
	{"prefill_tokens", tInt64, false, "prompt tokens that the target still had to compute"},
	{"active_blocks", tInt64, false, "distinct blocks of the requests on the target"},
	{"active_requests", tInt64, false, "requests on the target"},
	{"prefill_cost", tFloat64, false, "prefill term of the cost, in blocks"},
	{"decode_blocks", tFloat64, false, "decode term of the cost, in blocks"},
	{"cost", tFloat64, false, "cost of the target, in blocks"},
}}

// Transfers holds the movements of KV from prefill to decode workers.
var Transfers = Table{Name: "transfers", Version: 1, Stage: "simulate", Doc: "one transfer of a prompt's KV from a prefill to a decode rank", Columns: []Column{
	{"node", tInt32, false, "the request"},
	{"handoff", tInt64, false, "ordinal of the hand-off, from 1, in order of arrival"},
	{"prefill_scheduler", tInt32, false, "scheduler id of the source rank"},
	{"decode_scheduler", tInt32, false, "scheduler id of the destination rank"},
	{"tokens", tInt64, false, "tokens that the delay counts: the prompt, or the blocks that the destination lacked"},
	{"bytes", tInt64, true, "tokens times the bytes of a token; null when these are not known"},
	{"start_ms", tFloat64, false, "time at which the source was held and the destination reserved"},
	{"end_ms", tFloat64, false, "start and delay together; beyond the end of the run when the time limit cut the transfer off"},
}}

// Run holds the scalars of a run that no other table gives: one row.
var Run = Table{Name: "run", Version: 2, Stage: "simulate", Doc: "the run itself: one row", Columns: []Column{
	{"stack", tString, false, "reference stack whose rules applied"},
	{"source", tString, false, "kind of source: synthetic, trace or requests"},
	{"last_instant_ms", tFloat64, false, "last instant the clock visited"},
	{"prefill_worker_seconds", tFloat64, false, "provisioned prefill workers over time"},
	{"decode_worker_seconds", tFloat64, false, "provisioned decode or aggregated workers over time"},
	{"prefill_gpus_per_worker", tInt64, false, "0 without a prefill pool"},
	{"decode_gpus_per_worker", tInt64, false, "GPUs of one decode or aggregated worker"},
	{"sla_ttft_ms", tFloat64, true, "bound on TTFT"},
	{"sla_itl_ms", tFloat64, true, "bound on the mean gap of a request"},
	{"sla_e2e_ms", tFloat64, true, "bound on the end-to-end latency"},
	{"telemetry_interval_ms", tFloat64, true, "time between telemetry samples; null without telemetry"},
	{"prefill_estimator", tString, true, "timing model of prefill workers; null without a prefill pool"},
	{"decode_estimator", tString, true, "timing model of decode or aggregated workers"},
	{"scaling_policy", tString, true, "what changed the number of workers: script; null when nothing did"},
}}

// AllTables lists every table in the order of the stages.
var AllTables = []*Table{&Requests, &Blocks, &AuthoredOutputs, &SourcePlays, &SourceNodes, &SourceEdges, &Nodes, &Edges, &Chains, &NodeOutputs, &Plays, &PlayNodes, &RequestResults, &Passes, &TokenGaps, &Admissions, &Routing, &RoutingCandidates, &Transfers, &Lifecycle, &Ticks, &TickWorkers, &TickPasses, &Run, &HostDomains, &HostTransfers, &HostEvictions, &HostFences, &G3Transfers, &G3Run, &PlayRuns, &NodeRuns, &SnapshotNodes, &Preparations, &IdleShifts, &AgenticRun}
