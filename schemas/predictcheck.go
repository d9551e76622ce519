package schemas

import (
	"github.com/dynosim/dynosim/schemas/strict"
)

// check reports what is wrong across fields (spec 07 sections 1 to 6). Each rule looks
// only at values that were read without a problem.
func (p *Prediction) check(r *strict.Report) {
	if p.Stack == StackEngine {
		for _, section := range []string{"router", "planner"} {
			if r.Given(section) {
				r.Fail(section, "--stack engine has no %s; leave the section out or use --stack dynamo", section)
			}
		}
	}
	if p.Traffic != nil && r.OK("traffic.source.type", "traffic.load.type") && r.Has("traffic.source") && r.Has("traffic.load") {
		p.Traffic.check(r)
		p.checkFormat(r)
	}
	p.Engine.check(r)
	if p.Stack == StackDynamo {
		p.Engine.checkQuantModes(r)
	}
	if p.Router != nil && r.OK("router") && p.Router.Policy == PolicyRoundRobin && p.Router.PrefillLoadModel.Type != loadModelNone {
		r.Fail("router.prefill_load_model.type", "aic needs policy: kv_router; round_robin allows none only")
	}
	if p.Planner != nil && r.OK("planner") {
		p.checkPlanner(r)
	}
	if sla := p.sla(); sla != nil && sla.E2EMS != nil && (sla.TTFTMS != nil || sla.ITLMS != nil) {
		r.Fail("evaluation.sla.e2e_ms", "excludes ttft_ms and itl_ms; give the one form or the other")
	}
}

// check is the rules between source, load and stop.
func (t *Traffic) check(r *strict.Report) {
	trace := t.Source.Type == SourceTypeTrace
	switch {
	case trace && (t.Load.Type == LoadTypePoisson || t.Load.Type == LoadTypeConstantRate):
		r.Fail("traffic.load.type", "a trace needs trace_timestamps or concurrency, got %s", t.Load.Type)
	case !trace && t.Load.Type == LoadTypeTraceTimestamps:
		r.Fail("traffic.load.type", "a %s source has no timestamps; use concurrency, poisson or constant_rate", t.Source.Type)
	case !trace:
		t.checkRate(r)
	}
	t.Source.check(r)
	t.checkAgentic(r)
	if t.Stop != nil && !r.OK("traffic.stop") {
		return
	}
	if trace {
		t.checkTraceStop(r)
	} else {
		t.checkCount(r)
	}
}

// units are the words of a synthetic source's rates and stops.
func (t *Traffic) units() (unit, other string) {
	if t.Source.Type == SourceTypeSession {
		return "sessions", "requests"
	}
	return "requests", "sessions"
}

// checkRate wants the rate that matches a synthetic source, and no other.
func (t *Traffic) checkRate(r *strict.Report) {
	if t.Load.Type == LoadTypeConcurrency {
		return
	}
	unit, other := t.units()
	path := "traffic.load."
	if r.Has(path + other + "_per_second") {
		r.Fail(path+other+"_per_second", "does not fit a %s source; give %s_per_second", t.Source.Type, unit)
	}
	if !r.Has(path + unit + "_per_second") {
		r.Fail(path+unit+"_per_second", "required key is missing with type: %s; want a number above 0", t.Load.Type)
	}
}

// check is the rules within the source.
func (s *Source) check(r *strict.Report) {
	switch s.Type {
	case SourceTypeSession:
		if r.OK("traffic.source.session") && s.Session.SharedPrefixRatio > 0 && s.Session.PrefixGroups == 0 {
			r.Fail("traffic.source.session.prefix_groups", "must be positive when shared_prefix_ratio is")
		}
	case SourceTypeTrace:
		if !r.OK("traffic.source.format") {
			return
		}
		if r.OK("traffic.source.paths") && len(s.Paths) != 1 && s.Format != FormatDynamo {
			r.Fail("traffic.source.paths", "format %s takes exactly one path, got %d", s.Format, len(s.Paths))
		}
		if r.Has("traffic.source.nested_timestamp_basis") && s.Format != FormatWeka {
			r.Fail("traffic.source.nested_timestamp_basis", "is for format weka only, got format %s", s.Format)
		}
	}
}

// agenticFormat reports whether every trace of the format is agentic.
func agenticFormat(f TraceFormat) bool { return f == FormatWeka || f == FormatAgenticMooncake }

// checkAgentic is the rules of the agentic options (spec 07 section 2.2).
func (t *Traffic) checkAgentic(r *strict.Report) {
	const load = "traffic.load."
	if t.Load.Type != LoadTypeTraceTimestamps {
		return
	}
	lanes, snapshot := r.Has(load+"agentic_lanes"), r.Has(load+"agentic_snapshot")
	if lanes && r.OK("traffic.source.format") && !agenticFormat(t.Source.Format) && t.Source.Format != FormatDynamo {
		r.Fail(load+"agentic_lanes", "needs format weka, agentic_mooncake or an agentic dynamo trace")
	}
	if snapshot && !lanes {
		r.Fail(load+"agentic_snapshot", "needs agentic_lanes")
	}
	if t.Load.AgenticWarmup && !snapshot {
		r.Fail(load+"agentic_warmup", "needs agentic_snapshot")
	}
	if r.Has(load+"agentic_profile") && !snapshot {
		r.Fail(load+"agentic_profile", "needs agentic_snapshot")
	}
}

// checkCount wants exactly one count that matches a synthetic source (spec 07 section 2.3).
func (t *Traffic) checkCount(r *strict.Report) {
	const stop = "traffic.stop"
	unit, other := t.units()
	if r.Has(stop + ".max_virtual_time_seconds") {
		r.Fail(stop+".max_virtual_time_seconds", "is for traces only; give %s or %s_per_load_unit", unit, unit)
	}
	misfit := false
	for _, key := range []string{other, other + "_per_load_unit"} {
		if r.Has(stop + "." + key) {
			misfit = true
			r.Fail(stop+"."+key, "does not fit a %s source; give %s or %s_per_load_unit", t.Source.Type, unit, unit)
		}
	}
	count, perUnit := r.Has(stop+"."+unit), r.Has(stop+"."+unit+"_per_load_unit")
	switch {
	case count && perUnit:
		r.Fail(stop+"."+unit+"_per_load_unit", "excludes %s; give exactly one count", unit)
	case !count && !perUnit && !misfit:
		r.Fail(stop, "a %s source needs %s or %s_per_load_unit", t.Source.Type, unit, unit)
	case perUnit && r.OK("traffic.load"):
		if n, _ := t.Stop.count(&t.Load); n > maxCount {
			r.Fail(stop+"."+unit+"_per_load_unit", "comes to %.0f %s; at most %d are possible", n, unit, maxCount)
		}
	}
}

// checkTraceStop allows a time limit only, where the format has one (spec 07 sections 2.3 and 2.4).
func (t *Traffic) checkTraceStop(r *strict.Report) {
	const stop = "traffic.stop."
	for _, key := range []string{"requests", "requests_per_load_unit", "sessions", "sessions_per_load_unit"} {
		if r.Has(stop + key) {
			r.Fail(stop+key, "a trace has no count; it takes max_virtual_time_seconds only")
		}
	}
	if r.Has(stop+"max_virtual_time_seconds") && r.Has("traffic.load.agentic_profile") {
		r.Fail(stop+"max_virtual_time_seconds", "is excluded by agentic_profile")
	}
}

// checkFormat is the rules between a trace format and the rest of the document (spec 07 section 2.4).
func (p *Prediction) checkFormat(r *strict.Report) {
	t := p.Traffic
	if t.Source.Type != SourceTypeTrace || !r.OK("traffic.source.format") {
		return
	}
	format := t.Source.Format
	switch {
	case format == FormatAppliedCompute && t.Load.Type != LoadTypeConcurrency:
		r.Fail("traffic.load.type", "format %s has no timestamps; it needs concurrency", format)
	case agenticFormat(format) && t.Load.Type == LoadTypeConcurrency:
		r.Fail("traffic.load.type", "format %s needs trace_timestamps", format)
	}
	if format == FormatMooncakeDelta && r.OK("engine.mode") && p.Engine.Mode != ModeAggregated {
		r.Fail("engine.mode", "format %s needs mode: aggregated", format)
	}
	agentic := agenticFormat(format) || r.Has("traffic.load.agentic_lanes")
	if (agentic || format == FormatMooncakeDelta) && p.Planner.enabled() {
		r.Fail("planner.policy", "the planner cannot be enabled with format %s", format)
	}
}

// check is the rules within the engine (spec 07 section 3).
func (e *Engine) check(r *strict.Report) {
	if r.OK("engine.hardware") && e.Hardware == "auto" {
		r.Fail("engine.hardware", "auto belongs to recommend; predict needs a name")
	}
	if !r.OK("engine.mode") || !r.OK("engine.backend") || !r.Has("engine.workers") {
		return
	}
	if e.Mode == ModeAggregated {
		e.checkAggregated(r)
	} else {
		e.checkDisaggregated(r)
	}
	for _, role := range e.roles() {
		role.check(r, e.Backend)
		if e.Mode == ModeAggregated && role.Hardware != "" {
			r.Fail(role.path+".hardware", "is for mode: disaggregated only; set engine.hardware")
		}
	}
}

// namedRole is a worker role with its path.
type namedRole struct {
	*WorkerRole
	path string
}

// roles lists the roles that the document gives.
func (e *Engine) roles() []namedRole {
	var out []namedRole
	for _, role := range []namedRole{
		{e.Workers.Aggregated, "engine.workers.aggregated"},
		{e.Workers.Prefill, "engine.workers.prefill"},
		{e.Workers.Decode, "engine.workers.decode"},
	} {
		if role.WorkerRole != nil {
			out = append(out, role)
		}
	}
	return out
}

// checkQuantModes refuses explicit quantisations, which are for the engine stack (spec 09
// section 2.4).
func (e *Engine) checkQuantModes(r *strict.Report) {
	for _, role := range e.roles() {
		for _, key := range []string{"gemm_quant_mode", "moe_quant_mode", "fmha_quant_mode", "kvcache_quant_mode"} {
			if path := role.path + ".timing." + key; r.Has(path) {
				r.Fail(path, "is for --stack engine only")
			}
		}
	}
}

func (e *Engine) checkAggregated(r *strict.Report) {
	if !r.Has("engine.workers.aggregated") {
		r.Fail("engine.workers.aggregated", "required key is missing with mode: aggregated; want a mapping")
	}
	for _, path := range []string{"engine.workers.prefill", "engine.workers.decode", "engine.kv_transfer"} {
		if r.Has(path) {
			r.Fail(path, "is for mode: disaggregated only")
		}
	}
}

func (e *Engine) checkDisaggregated(r *strict.Report) {
	for _, path := range []string{"engine.workers.prefill", "engine.workers.decode"} {
		if !r.Has(path) {
			r.Fail(path, "required key is missing with mode: disaggregated; want a mapping")
		}
	}
	if r.Has("engine.workers.aggregated") {
		r.Fail("engine.workers.aggregated", "is for mode: aggregated only")
	}
	if e.Backend == BackendTRTLLM {
		r.Fail("engine.backend", "trtllm is for mode: aggregated only")
	}
	p, d := e.Workers.Prefill, e.Workers.Decode
	if p == nil || d == nil || !r.OK("engine.workers.prefill.kv_cache.block_size", "engine.workers.decode.kv_cache.block_size") {
		return
	}
	if x, y := p.KVCache.blockTokens(e.Backend), d.KVCache.blockTokens(e.Backend); x != y {
		r.Fail("engine.workers.decode.kv_cache.block_size", "both roles need the same block_size, got %d for prefill and %d for decode", x, y)
	}
}

// blockTokens is the block size after defaulting (spec 07 section 3).
func (k *KVCache) blockTokens(b Backend) int64 {
	if k.BlockTokens != nil {
		return *k.BlockTokens
	}
	return defaultBlockTokens(b)
}

func defaultBlockTokens(b Backend) int64 {
	switch b {
	case BackendSGLang:
		return 1
	case BackendTRTLLM:
		return 32
	}
	return 64
}

// check is the rules within a role.
func (w namedRole) check(r *strict.Report, backend Backend) {
	cache := w.path + ".kv_cache"
	if r.OK(cache+".block_size") && backend != BackendSGLang && w.KVCache.blockTokens(backend) < 2 {
		r.Fail(cache+".block_size", "%s needs at least 2 tokens a block, got %d", backend, w.KVCache.blockTokens(backend))
	}
	if backend == BackendSGLang {
		w.checkChunk(r)
	}
	if interval := w.path + ".scheduler.prefill_schedule_interval"; r.OK(interval) && backend != BackendVLLM && w.Scheduler.PrefillScheduleInterval > 1 {
		r.Fail(interval, "must be 1 for backend %s", backend)
	}
	if w.KVCache.HostOffload != nil && r.OK(cache+".host_offload") {
		switch {
		case backend != BackendVLLM:
			r.Fail(cache+".host_offload", "is for backend vllm only, got %s", backend)
		case r.OK(cache+".prefix_caching") && !w.KVCache.PrefixCaching:
			r.Fail(cache+".host_offload", "needs prefix_caching: true")
		}
	}
	if w.KVCache.G3Offload != nil && r.OK(cache+".g3_offload") {
		switch {
		case w.KVCache.HostOffload == nil:
			r.Fail(cache+".g3_offload", "needs host_offload")
		case w.path != "engine.workers.aggregated":
			r.Fail(cache+".g3_offload", "is for mode: aggregated only")
		case w.Parallelism.AttentionData > 1:
			r.Fail(cache+".g3_offload", "needs attention_data: 1")
		}
	}
}

// checkChunk is the rules of the size of prompt chunks, which the document cannot set (spec
// 04 section 2).
func (w namedRole) checkChunk(r *strict.Report) {
	chunk := defaultSGLang().ChunkTokens
	if path := w.path + ".kv_cache.block_size"; r.OK(path) && chunk%w.KVCache.blockTokens(BackendSGLang) != 0 {
		r.Fail(path, "must divide %d, the size of prompt chunks of sglang, got %d", chunk, w.KVCache.blockTokens(BackendSGLang))
	}
	if path := w.path + ".parallelism.attention_data"; r.OK(path) && w.Parallelism.AttentionData > chunk {
		r.Fail(path, "must be at most %d, the size of prompt chunks of sglang, got %d", chunk, w.Parallelism.AttentionData)
	}
}
