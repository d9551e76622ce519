package schemas

// Lifecycle holds what became of every worker: when it started, became ready, was drained and was
// removed (spec 05 section 9.4).
var Lifecycle = Table{Name: "lifecycle", Version: 1, Stage: "simulate", Doc: "one change of the state of one worker; the changes of one cause are one operation", Columns: []Column{
	{"operation", tInt32, true, "number of the operation over all pools, from 0; null for the workers that are there from the start"},
	{"position", tInt32, false, "position in the operation, from 0"},
	{"at_ms", tFloat64, false, "time of the change"},
	{"pool", tString, false, "agg, prefill or decode"},
	{"cause", tString, false, "start, planner_scale (a decision of the scaling policy), worker_ready_event or drain_settlement (a draining worker became empty)"},
	{"tick_ordinal", tInt32, true, "the scaling tick whose decision it is; null for other causes"},
	{"origin_operation", tInt32, true, "the one operation that the whole of this one goes back to; null when there is none or more than one"},
	{"released_requests", tInt32, false, "requests that a router's queue released because of the operation"},
	{"worker", tInt32, false, "worker id in its pool"},
	{"transition", tString, false, "worker_starting, worker_ready, worker_draining or worker_removed"},
	{"prior_state", tString, true, "state before: starting, active or draining; null for a new worker"},
	{"state", tString, false, "state after: starting, active, draining or removed"},
	{"reason", tString, true, "startup_cancelled where a worker was removed before it was ready"},
	{"transition_origin_operation", tInt32, true, "the operation that this change of the worker goes back to"},
}}

// Ticks holds the telemetry samples and the ticks of the scaling policy, with the traffic since the one
// before of the same sort (spec 05 sections 9.3 and 10).
var Ticks = Table{Name: "ticks", Version: 1, Stage: "simulate", Doc: "one telemetry sample, or one tick of the scaling policy", Columns: []Column{
	{"tick", tInt32, false, "dense id in order of time, from 0"},
	{"kind", tString, false, "baseline, periodic or final for a telemetry sample; scaling for a tick of the scaling policy"},
	{"ordinal", tInt32, false, "number among the telemetry samples, or among the scaling ticks, from 0"},
	{"at_ms", tFloat64, false, "time"},
	{"start_ms", tFloat64, false, "time from which the figures below count"},
	{"arriving_requests", tInt64, false, "requests that arrived"},
	{"completed_requests", tInt64, false, "requests that ended, rejected, failed and cancelled ones left out"},
	{"input_tokens", tInt64, false, "sum of their prompt lengths"},
	{"output_tokens", tInt64, false, "sum of the tokens they emitted"},
	{"ttft_requests", tInt64, false, "those with a time to first token above 0"},
	{"ttft_sum_ms", tFloat64, false, "sum of these times, in order of completion"},
	{"itl_requests", tInt64, false, "those with more than one token"},
	{"itl_sum_ms", tFloat64, false, "sum of their mean gaps between tokens, in order of completion"},
	{"routed_requests", tInt64, false, "placements by a cache-aware router of prompts with at least one block, on the aggregated or prefill pool"},
	{"overlap_share_sum", tFloat64, false, "sum over these of the cached share of the prompt's blocks"},
	{"decode_forwards", tInt64, false, "decode steps of single requests"},
	{"accepted_tokens", tInt64, false, "tokens that these yielded before cuts"},
	{"prefill_preemptions", tInt64, false, "preemptions on prefill workers, 0 for sglang; telemetry only, as are the next seven"},
	{"prefill_cache_hit_tokens", tInt64, false, "reused tokens of fresh admissions on prefill workers; sglang only"},
	{"prefill_cache_total_tokens", tInt64, false, "those and the tokens computed"},
	{"decode_preemptions", tInt64, false, "preemptions on decode or aggregated workers, 0 for sglang"},
	{"decode_cache_hit_tokens", tInt64, false, "reused tokens of fresh admissions on decode or aggregated workers; sglang only"},
	{"decode_cache_total_tokens", tInt64, false, "those and the tokens computed"},
	{"prefill_queued_requests", tInt32, false, "requests in the queue of the prefill router"},
	{"decode_queued_requests", tInt32, false, "requests in the queue of the decode or aggregated router"},
	{"target_prefill", tInt32, true, "prefill workers that the scaling policy wants; null leaves the pool alone"},
	{"target_decode", tInt32, true, "decode or aggregated workers that it wants; null leaves the pool alone"},
	{"next_tick_ms", tFloat64, true, "when it wants to be asked next; null is never"},
}}

// TickWorkers holds what each rank showed at a tick (spec 05 section 10).
var TickWorkers = Table{Name: "tick_workers", Version: 1, Stage: "simulate", Doc: "one rank of a worker that exists at a tick, before the decision of a scaling tick; its gauges are those after the last pass or command", Columns: []Column{
	{"tick", tInt32, false, "row of ticks"},
	{"pool", tString, false, "agg, prefill or decode"},
	{"worker", tInt32, false, "worker id in its pool"},
	{"rank", tInt32, false, "attention data-parallel rank in the worker"},
	{"state", tString, false, "starting, active or draining"},
	{"active_blocks", tInt64, false, "KV blocks in use"},
	{"idle_blocks", tInt64, false, "KV blocks that hold reusable content nobody uses; sglang 0"},
	{"total_blocks", tInt64, false, "KV blocks of the rank"},
	{"running", tInt32, false, "running requests"},
	{"waiting", tInt32, false, "waiting requests, pending and reserved destinations included"},
}}

// TickPasses holds the forward-pass metrics that a scaling policy sees (spec 05 section 9.3).
var TickPasses = Table{Name: "tick_passes", Version: 1, Stage: "simulate", Doc: "the latest forward-pass metrics of one rank of an active worker at a scaling tick; all zero for a rank that was idle for a second", Columns: []Column{
	{"tick", tInt32, false, "row of ticks"},
	{"pool", tString, false, "agg, prefill or decode"},
	{"worker", tInt32, false, "worker id in its pool"},
	{"rank", tInt32, false, "attention data-parallel rank in the worker"},
	{"duration_ms", tFloat64, false, "duration of the worker's pass"},
	{"prefill_requests", tInt64, false, "requests that computed prompt tokens"},
	{"prefill_tokens", tInt64, false, "tokens those requests computed"},
	{"prefill_length_variance", tFloat64, false, "population variance of their prompt lengths"},
	{"prefill_kv_tokens", tInt64, false, "their tokens that were already in cache"},
	{"decode_requests", tInt64, false, "requests that computed generated tokens only"},
	{"decode_kv_tokens", tInt64, false, "sum of their lengths"},
	{"decode_kv_variance", tFloat64, false, "population variance of their lengths"},
	{"queued_prefill_requests", tInt64, false, "requests waiting for their first admission once the pass was decided"},
	{"queued_prefill_tokens", tInt64, false, "sum of their prompt lengths"},
	{"queued_prefill_variance", tFloat64, false, "population variance of their prompt lengths"},
	{"queued_decode_requests", tInt64, false, "other waiting requests: preempted ones, and on decode workers those handed over or about to be"},
	{"queued_decode_kv_tokens", tInt64, false, "sum of their lengths"},
	{"queued_decode_kv_variance", tFloat64, false, "population variance of their lengths"},
}}
