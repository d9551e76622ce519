package schemas

import (
	"cmp"
	"math"
)

// RunSpec lowers a parsed document to the run specification. What is valid but not
// simulated by this release gives an *Unsupported that names all of it.
func (p *Prediction) RunSpec() (*RunSpec, error) {
	t := p.Traffic
	if t == nil {
		t = DefaultTraffic()
	}
	if err := p.missing(t).err(p.File); err != nil {
		return nil, err
	}
	pools, transfer := p.pools()
	spec := &RunSpec{
		Source:      t.Source.spec(),
		Load:        t.Load.spec(),
		Pools:       pools,
		Transfer:    transfer,
		Router:      p.Router.spec(),
		TimeLimitMS: math.Inf(1),
		SLA:         p.sla().spec(),
		Resources:   DefaultResources(),
		TargetModel: p.Engine.Model,
		Stack:       p.Stack,
	}
	if n, ok := t.Stop.count(&t.Load); ok {
		spec.Source.Count = int64(n)
	}
	if t.Stop != nil && t.Stop.MaxVirtualTimeSeconds != nil {
		spec.TimeLimitMS = 1000.0 * *t.Stop.MaxVirtualTimeSeconds
	}
	if p.Execution != nil {
		spec.Resources = p.Execution.Resources
	}
	if err := spec.checkAgenticOffload(p.File, DocumentOffloadPaths); err != nil {
		return nil, err
	}
	return spec, nil
}

// missing lists what the document asks for that this release does not have.
func (p *Prediction) missing(t *Traffic) features {
	var f features
	e := &p.Engine
	if first := e.roles()[0]; p.Router != nil && p.Router.PrefillLoadModel.Type != loadModelNone {
		f.need(first.Timing.Type != typeDefault, "router.prefill_load_model.type: aic without "+first.path+".timing.type: default")
	}
	f.need(p.Planner.enabled(), "planner.policy: enabled")
	return f
}

// spec is the source without its count.
func (s *Source) spec() SourceSpec {
	switch s.Type {
	case SourceTypeSession:
		return SourceSpec{
			Kind: SourceSynthetic, InputTokens: s.NewInputTokensPerTurn, OutputTokens: s.OutputTokensPerTurn,
			Turns: s.Session.Turns, InterTurnDelayMS: s.Session.InterTurnDelayMS,
			SharedPrefixRatio: s.Session.SharedPrefixRatio, PrefixGroups: s.Session.PrefixGroups,
		}
	case SourceTypeTrace:
		out := SourceSpec{Kind: SourceTrace, Format: s.Format, Paths: s.Paths, NestedBasis: s.NestedTimestampBasis}
		switch {
		case s.BlockTokens != nil:
			out.BlockTokens = *s.BlockTokens
		case s.Format != FormatDynamo && s.Format != FormatWeka:
			out.BlockTokens = defaultTraceBlockTokens
		}
		return out
	}
	return SourceSpec{Kind: SourceSynthetic, InputTokens: s.InputTokens, OutputTokens: s.OutputTokens, Turns: 1}
}

// defaultTraceBlockTokens is the tokens of a hash id where the trace does not say (spec 07 section 2.1).
const defaultTraceBlockTokens = 512

// spec is the load of the run.
func (l *Load) spec() LoadSpec {
	switch l.Type {
	case LoadTypePoisson:
		return LoadSpec{Kind: LoadPoisson, RatePerSecond: l.rate(), Seed: l.Seed, Speedup: 1}
	case LoadTypeConstantRate:
		return LoadSpec{Kind: LoadConstantInterval, IntervalMS: 1000.0 / l.rate(), Speedup: 1}
	case LoadTypeTraceTimestamps:
		return LoadSpec{Kind: LoadTraceTimestamps, Speedup: l.Speedup, Agentic: agenticLoad(l.AgenticLanes, l.AgenticSnapshot, l.AgenticWarmup, l.AgenticProfile)}
	}
	return LoadSpec{Kind: LoadConcurrency, Concurrency: l.Concurrency, Speedup: 1}
}

// spec is the engine of one worker of the role (spec 07 section 3.1).
func (e *Engine) spec(w *WorkerRole) EngineSpec {
	out := EngineSpec{
		Backend:                 e.Backend,
		BlockTokens:             w.KVCache.blockTokens(e.Backend),
		NumBlocks:               w.KVCache.Capacity.Blocks,
		MaxSequences:            w.Scheduler.MaxSequences,
		MaxBatchedTokens:        w.Scheduler.MaxBatchedTokens,
		MaxModelLen:             e.ContextTokens,
		PrefixCaching:           w.KVCache.PrefixCaching,
		ChunkedPrefill:          true,
		PrefillScheduleInterval: w.Scheduler.PrefillScheduleInterval,
		Preemption:              PreemptLIFO,
		SpeedupRatio:            1,
		DecodeSpeedupRatio:      1,
		Timing:                  TimingSpec{Kind: TimingKind(w.Timing.Type), PrefillMS: w.Timing.PrefillMS, DecodeMS: w.Timing.DecodeMS},
		DataParallelRanks:       w.Parallelism.AttentionData,
		TensorParallel:          w.Parallelism.Tensor,
		PipelineParallel:        w.Parallelism.Pipeline,
		StartupMS:               w.StartupSeconds * 1000,
		Host:                    w.KVCache.HostOffload.spec(w.KVCache.blockTokens(e.Backend), w.KVCache.BytesPerToken),
		G3:                      w.KVCache.G3Offload.spec(),
		Deployment:              e.deployment(w),
	}
	out.Host.LayoutDerived = out.Host.Shared
	if e.ContextTokens == 0 {
		out.MaxModelLen = Unlimited
	}
	if !out.NeedsModel() {
		out.Deployment = DeploymentSpec{}
	}
	if e.Backend == BackendSGLang {
		out.SGLang = defaultSGLang()
	}
	return out
}

// deployment is what a worker's measured data is looked up by (spec 09 section 9.5).
func (e *Engine) deployment(w *WorkerRole) DeploymentSpec {
	out := DeploymentSpec{
		Model: e.Model, Hardware: cmp.Or(w.Hardware, e.Hardware), Version: e.BackendVersion,
		MoETensor: w.Parallelism.MoETensor, MoEExpert: w.Parallelism.MoEExpert,
		GEMMQuant: w.Timing.GEMMQuantMode, MoEQuant: w.Timing.MoEQuantMode, FMHAQuant: w.Timing.FMHAQuantMode, KVQuant: w.Timing.KVCacheQuantMode,
		EstimateBlocks: w.KVCache.Capacity.Type == typeDefault, ModelContext: e.ContextTokens == 0 && e.Backend == BackendVLLM,
		CacheBytes: w.KVCache.HostOffload != nil && w.KVCache.BytesPerToken == 0,
	}
	if f := w.KVCache.Capacity.MemoryFraction; f != nil {
		out.MemoryFraction = *f
	}
	return out
}

// defaultSGLang is the settings of sglang, for which the document has no words (spec 04 section 2).
func defaultSGLang() SGLangSpec {
	var e EngineConfig
	e.fields().Reset()
	return e.sglang()
}
