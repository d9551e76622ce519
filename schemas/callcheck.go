package schemas

import (
	"math"
	"strconv"
	"strings"

	"github.com/dynosim/dynosim/schemas/strict"
)

// check reports what is wrong across fields, what the reference finds only when the run
// starts included (spec 01 section 9, spec 05 section 12).
func (c *Call) check(r *strict.Report) {
	if !r.OK("kind") {
		return
	}
	c.checkNative(r)
	if c.Kind == CallSpec {
		c.checkSpec(r)
	}
	c.checkPools(r)
	c.checkLoad(r)
	c.checkCommon(r)
	switch {
	case c.Kind == CallTrace:
		c.checkTrace(r)
	case c.Kind == CallSpec:
		// Its requests were checked with the topology.
	case !r.Has("args"):
		r.Fail("args", "required key is missing with kind: synthetic; want a mapping")
	default:
		c.checkSynthetic(r)
	}
	if c.Router != nil && r.OK("router_config") {
		c.Router.check(r)
		c.checkRouter(r)
	}
}

// disaggregated reports whether the call has separate prefill and decode workers.
func (c *Call) disaggregated() bool {
	return c.Args.PrefillEngineArgs != nil || c.Args.DecodeEngineArgs != nil
}

// checkPools is the rules between the engine arguments and the numbers of workers.
func (c *Call) checkPools(r *strict.Report) {
	a := &c.Args
	for _, e := range []struct {
		key  string
		args *EngineArgs
		role WorkerType
	}{
		{"extra_engine_args", a.ExtraEngineArgs, WorkerAggregated},
		{"prefill_engine_args", a.PrefillEngineArgs, WorkerPrefill},
		{"decode_engine_args", a.DecodeEngineArgs, WorkerDecode},
	} {
		if e.args != nil {
			e.args.check(r, "args."+e.key, e.role)
		}
	}
	if !c.disaggregated() {
		const other = "is for prefill_engine_args and decode_engine_args; aggregated workers are num_workers"
		if r.OK("args.num_prefill_workers") && a.NumPrefillWorkers != 1 {
			r.Fail("args.num_prefill_workers", other)
		}
		if r.OK("args.num_decode_workers") && a.NumDecodeWorkers != 1 {
			r.Fail("args.num_decode_workers", other)
		}
		return
	}
	switch {
	case a.PrefillEngineArgs == nil:
		r.Fail("args.prefill_engine_args", "required with decode_engine_args; want a mapping")
	case a.DecodeEngineArgs == nil:
		r.Fail("args.decode_engine_args", "required with prefill_engine_args; want a mapping")
	}
	if a.ExtraEngineArgs != nil {
		r.Fail("args.extra_engine_args", "excludes prefill_engine_args and decode_engine_args")
	}
	if r.OK("args.num_workers") && a.NumWorkers != 1 {
		r.Fail("args.num_workers", "is for aggregated workers; use num_prefill_workers and num_decode_workers")
	}
	if a.PrefillEngineArgs == nil || a.DecodeEngineArgs == nil || !r.OK("args.prefill_engine_args", "args.decode_engine_args") {
		return
	}
	p, d := &a.PrefillEngineArgs.Engine, &a.DecodeEngineArgs.Engine
	if p.Backend != d.Backend {
		r.Fail("args.decode_engine_args.engine.backend", "both roles need the same backend, got %s for prefill and %s for decode", p.Backend, d.Backend)
	}
	if x, y := p.blockTokens(), d.blockTokens(); x != y {
		r.Fail("args.decode_engine_args.engine.block_size", "both roles need the same block_size, got %d for prefill and %d for decode", x, y)
	}
}

// checkLoad is the rules of arrivals (spec 01 section 9). The speed-up is not looked at
// under concurrency.
func (c *Call) checkLoad(r *strict.Report) {
	a := &c.Args
	if a.ReplayConcurrency == nil && r.OK("args.replay_concurrency", "args.arrival_speedup_ratio") && !(a.ArrivalSpeedupRatio > 0) {
		r.Fail("args.arrival_speedup_ratio", "got %g, want a number above 0", a.ArrivalSpeedupRatio)
	}
	if c.Kind != CallSynthetic || !r.OK("args.replay_concurrency", "args.request_rate", "args.arrival_interval_ms") {
		return
	}
	given := 0
	for _, set := range []bool{a.ReplayConcurrency != nil, a.RequestRate != nil, a.ArrivalIntervalMS != nil} {
		if set {
			given++
		}
	}
	if given != 1 && r.Has("args") {
		r.Fail("args", "a synthetic call needs exactly one of replay_concurrency, request_rate and arrival_interval_ms, got %d of them", given)
	}
}

// checkCommon is the rules of the other arguments of both kinds.
func (c *Call) checkCommon(r *strict.Report) {
	a := &c.Args
	for _, bound := range []struct {
		key   string
		value *float64
	}{{"sla_ttft_ms", a.SLATTFTMS}, {"sla_itl_ms", a.SLAITLMS}, {"sla_e2e_ms", a.SLAE2EMS}} {
		if bound.value != nil && *bound.value <= 0 {
			r.Fail("args."+bound.key, "got %g, want a number above 0", *bound.value)
		}
	}
	if a.SLAE2EMS != nil && (a.SLATTFTMS != nil || a.SLAITLMS != nil) {
		r.Fail("args.sla_e2e_ms", "excludes sla_ttft_ms and sla_itl_ms; give the one form or the other")
	}
	if r.OK("args.router_mode") && a.RouterMode == PolicyRoundRobin && a.KVEventLagMS != nil {
		r.Fail("args.kv_event_lag_ms", "needs router_mode: kv_router")
	}
	if a.CaptureTelemetry && r.OK("args.telemetry_sample_interval_ms") && a.TelemetrySampleIntervalMS <= 0 {
		r.Fail("args.telemetry_sample_interval_ms", "got %g, want a number above 0", a.TelemetrySampleIntervalMS)
	}
}

// checkSynthetic is the rules of session mode; without it its settings are not looked at
// (spec 01 section 9).
func (c *Call) checkSynthetic(r *strict.Report) {
	a := &c.Args
	source := c.source()
	if !r.OK("args.turns_per_session", "args.shared_prefix_ratio", "args.num_prefix_groups", "args.inter_turn_delay_ms") || !source.SessionMode() {
		return
	}
	if a.TurnsPerSession < 1 {
		r.Fail("args.turns_per_session", "got %d, want a positive integer", a.TurnsPerSession)
	}
	if a.InterTurnDelayMS < 0 {
		r.Fail("args.inter_turn_delay_ms", "got %g, want a number of at least 0", a.InterTurnDelayMS)
	}
	checkRatio(r, "args.shared_prefix_ratio", a.SharedPrefixRatio)
}

func checkRatio(r *strict.Report, path string, v float64) {
	if !(v >= 0 && v <= 1) {
		r.Fail(path, "got %g, want a number from 0 to 1", v)
	}
}

// checkTrace is the rules of trace calls (spec 01 section 9, spec 02 section 11).
func (c *Call) checkTrace(r *strict.Report) {
	a := &c.Args
	if !r.OK("args.trace_format") {
		return
	}
	if r.OK("trace_files") && len(c.TraceFiles) != 1 && a.TraceFormat != FormatDynamo {
		r.Fail("trace_files", "format %s takes exactly one file, got %d", a.TraceFormat, len(c.TraceFiles))
	}
	if a.TraceFormat == FormatAppliedCompute {
		if r.OK("args.replay_concurrency") && a.ReplayConcurrency == nil {
			r.Fail("args.replay_concurrency", "required with trace_format: %s, whose traces have no timestamps", a.TraceFormat)
		}
		if r.OK("args.trace_shared_prefix_ratio") {
			checkRatio(r, "args.trace_shared_prefix_ratio", a.TraceSharedPrefixRatio)
		}
	}
	agentic := agenticFormat(a.TraceFormat)
	if a.AgenticLanes != nil && !agentic && a.TraceFormat != FormatDynamo {
		r.Fail("args.agentic_lanes", "needs trace_format agentic_mooncake, weka or an agentic dynamo trace")
	}
	if a.WekaNestedTimestampBasis != "" && a.TraceFormat != FormatWeka {
		r.Fail("args.weka_nested_timestamp_basis", "is for trace_format weka only, got %s", a.TraceFormat)
	}
	if agentic && strings.TrimSpace(a.ExecutionModel) == "" && a.ModelName == "" && r.OK("args.execution_model") {
		r.Fail("args.execution_model", "required with trace_format: %s", a.TraceFormat)
	}
	if agentic && a.ReplayConcurrency != nil {
		r.Fail("args.replay_concurrency", "is not for trace_format: %s", a.TraceFormat)
	}
	c.checkPhases(r)
}

// checkPhases is the rules of snapshots, warm-ups and profiles.
func (c *Call) checkPhases(r *strict.Report) {
	a := &c.Args
	if a.AgenticSnapshot != nil && a.AgenticLanes == nil {
		r.Fail("args.agentic_snapshot", "needs agentic_lanes")
	}
	if a.AgenticWarmup && a.AgenticSnapshot == nil {
		r.Fail("args.agentic_warmup", "needs agentic_snapshot")
	}
	if a.AgenticProfile != nil && a.AgenticSnapshot == nil {
		r.Fail("args.agentic_profile", "needs agentic_snapshot")
	}
	if a.AgenticProfile != nil && a.MaxSimTimeMS != nil {
		r.Fail("args.max_sim_time_ms", "is excluded by agentic_profile")
	}
}

// checkRouter is the rules between router_config and the arguments; under round robin the
// settings are valid but not used.
func (c *Call) checkRouter(r *strict.Report) {
	if !r.OK("args") || c.Args.RouterMode != PolicyKVRouter {
		return
	}
	if c.Router.PrefillLoadModel != loadModelNone && c.Args.AISPerfConfig == nil {
		r.Fail("router_config.router_prefill_load_model", "%s needs args.ais_perf_config", c.Router.PrefillLoadModel)
	}
	if p := c.Args.AISPerfConfig; p != nil {
		p.checkComplete(r, "args.ais_perf_config")
	}
	checkCustomPolicy(r, "router_config.router_prefill_policy", c.Router.PrefillPolicy)
	checkCustomPolicy(r, "router_config.router_decode_policy", c.Router.DecodePolicy)
}

func checkCustomPolicy(r *strict.Report, path string, policy *string) {
	if policy != nil && *policy != "" && *policy != "default" {
		r.Fail(path, "the custom policy %q is not simulated", *policy)
	}
}

// check is the rules within an engine launch (spec 03 section 2).
func (a *EngineArgs) check(r *strict.Report, path string, role WorkerType) {
	e := &a.Engine
	at := func(key string) string { return path + ".engine." + key }
	e.BlocksGiven = r.Has(at("num_gpu_blocks"))
	if !r.OK(at("backend")) {
		return
	}
	if r.OK(at("worker_type")) && e.WorkerType != role {
		r.Fail(at("worker_type"), "got %s, want %s in %s", e.WorkerType, role, strings.TrimPrefix(path, "args."))
	}
	if r.OK(at("block_size")) && e.Backend != BackendSGLang && e.blockTokens() < 2 {
		r.Fail(at("block_size"), "%s needs at least 2 tokens a block, got %d", e.Backend, e.blockTokens())
	}
	if e.Backend != BackendVLLM && r.OK(at("prefill_schedule_interval")) && e.PrefillScheduleInterval > 1 {
		r.Fail(at("prefill_schedule_interval"), "must be 1 for backend %s", e.Backend)
	}
	if e.Backend != BackendSGLang && r.OK(at("prefill_decode_interval")) && e.PrefillDecodeInterval != 0 {
		r.Fail(at("prefill_decode_interval"), "must be 0 for backend %s", e.Backend)
	}
	if e.Backend == BackendSGLang {
		e.checkSGLang(r, at)
		if chunk := at("sglang.chunked_prefill_size"); r.OK(chunk, path+".dp_size") && 0 < e.SGLang.ChunkedPrefillTokens && e.SGLang.ChunkedPrefillTokens < a.DPSize {
			r.Fail(chunk, "the dp_size of %d ranks leaves none of its %d tokens to each", a.DPSize, e.SGLang.ChunkedPrefillTokens)
		}
	}
	e.checkSpeculation(r, at)
	if e.EmitKVTokenIDs && !e.EmitKVEvents {
		r.Fail(at("emit_kv_token_ids"), "needs emit_kv_events: true")
	}
	if e.KVTransferBytesPerToken != nil && e.KVBytesPerToken != nil {
		r.Fail(at("kv_bytes_per_token"), "is the old name of kv_transfer_bytes_per_token, which is given too")
	}
	a.checkMeasured(r, at, role)
	e.checkStates(r, at)
	a.checkOffload(r, at)
}

// blockTokens is the block size after defaulting.
func (e *EngineConfig) blockTokens() int64 {
	if e.BlockTokens != nil {
		return *e.BlockTokens
	}
	return defaultBlockTokens(e.Backend)
}

// checkSGLang is the rules of sglang, whose settings do not matter elsewhere (spec 04 section 2).
func (e *EngineConfig) checkSGLang(r *strict.Report, at func(string) string) {
	if !e.ChunkedPrefill {
		r.Fail(at("enable_chunked_prefill"), "must be true for backend sglang")
	}
	if !r.OK(at("sglang")) {
		return
	}
	s := &e.SGLang
	if s.MaxPrefillTokens < 1 {
		r.Fail(at("sglang.max_prefill_tokens"), "got %d, want a positive integer", s.MaxPrefillTokens)
	}
	if s.ChunkedPrefillTokens < 1 || r.OK(at("block_size")) && s.ChunkedPrefillTokens%e.blockTokens() != 0 {
		r.Fail(at("sglang.chunked_prefill_size"), "got %d, want a positive multiple of block_size (%d)", s.ChunkedPrefillTokens, e.blockTokens())
	}
	if s.ScheduleConservativeness < 0 {
		r.Fail(at("sglang.schedule_conservativeness"), "got %g, want a number of at least 0", s.ScheduleConservativeness)
	}
}

// checkSpeculation is the rules of speculative tokens.
func (e *EngineConfig) checkSpeculation(r *strict.Report, at func(string) string) {
	if e.NextN != nil && r.OK(at("decode_speedup_ratio")) && e.DecodeSpeedupRatio != 1 {
		r.Fail(at("decode_speedup_ratio"), "must be 1.0 with aic_nextn, got %g", e.DecodeSpeedupRatio)
	}
	if e.NextNAcceptRates == nil {
		return
	}
	if e.NextN == nil && r.OK(at("aic_nextn")) {
		r.Fail(at("aic_nextn_accept_rates"), "needs aic_nextn")
	}
	if strings.TrimSpace(*e.NextNAcceptRates) == "" {
		return
	}
	for part := range strings.SplitSeq(*e.NextNAcceptRates, ",") {
		v, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil || math.IsNaN(v) || v < 0 || v > 1 {
			r.Fail(at("aic_nextn_accept_rates"), "got the rate %q, want numbers from 0 to 1, separated by commas", part)
			return
		}
	}
}

// checkStates is the rules of the pools of spec 03 section 12.
func (e *EngineConfig) checkStates(r *strict.Report, at func(string) string) {
	if e.KVCacheCapacityBytes != nil && e.KVCacheGroups == nil {
		r.Fail(at("kv_cache_capacity_bytes"), "needs kv_cache_groups")
	}
	if e.KVCacheGroups != nil && e.KVCacheCapacityBytes == nil && r.OK(at("kv_cache_capacity_bytes")) {
		r.Fail(at("kv_cache_groups"), "needs kv_cache_capacity_bytes")
	}
	if (e.KVCacheGroups != nil || e.StateCache != nil) && e.Backend != BackendVLLM {
		r.Fail(at("backend"), "kv_cache_groups and state_cache are for vllm only, got %s", e.Backend)
	}
	if u := e.PrefixMatchUnit; u != nil && r.OK(at("block_size"), at("prefix_match_unit")) {
		switch {
		case e.blockTokens()%*u != 0:
			r.Fail(at("prefix_match_unit"), "got %d, want a divisor of block_size (%d)", *u, e.blockTokens())
		case e.StateCache == nil:
			r.Fail(at("prefix_match_unit"), "needs state_cache")
		}
	}
	if e.StateCache != nil {
		for _, key := range []string{"num_gpu_blocks", "block_size", "kv_cache_bytes_per_token"} {
			if !r.Has(at(key)) {
				r.Fail(at(key), "required with state_cache; want a positive integer")
			}
		}
	}
}

// checkOffload is the rules of the cache levels behind the GPU's (spec 10 sections 1.1 and 12).
func (a *EngineArgs) checkOffload(r *strict.Report, at func(string) string) {
	e := &a.Engine
	if h := e.NativeHostOffload; h != nil && r.OK(at("native_host_offload")) {
		switch {
		case e.Backend != BackendVLLM:
			r.Fail(at("native_host_offload"), "is for backend vllm only, got %s", e.Backend)
		case !e.PrefixCaching:
			r.Fail(at("native_host_offload"), "needs enable_prefix_caching: true")
		case e.NextN != nil || a.nextN() > 0:
			r.Fail(at("native_host_offload"), "excludes speculative decoding (aic_nextn)")
		case e.StateCache != nil || e.KVCacheGroups != nil:
			r.Fail(at("native_host_offload"), "excludes state_cache and kv_cache_groups")
		case e.KVCacheBytesPerToken == nil && r.OK(at("kv_cache_bytes_per_token")):
			r.Fail(at("native_host_offload"), "needs kv_cache_bytes_per_token, the size of a cached token")
		case h.Scope == ScopeCluster && (h.LayoutID == nil || strings.TrimSpace(*h.LayoutID) == ""):
			r.Fail(at("native_host_offload.kv_layout_id"), "required with scope: cluster_shared; want text that is not blank")
		}
	}
	if e.G3Offload != nil && r.OK(at("g3_offload")) {
		switch {
		case e.NativeHostOffload == nil:
			r.Fail(at("g3_offload"), "needs native_host_offload")
		case e.WorkerType != WorkerAggregated:
			r.Fail(at("g3_offload"), "is for worker_type: aggregated only")
		case a.DPSize > 1:
			r.Fail(at("g3_offload"), "needs dp_size: 1")
		}
	}
}
