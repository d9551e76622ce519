package schemas

import (
	"math"
	"strconv"
	"strings"
)

// RunSpec lowers a parsed call to the run specification, the rules of the dynamo stack
// included. What is valid but not simulated by this release gives an *Unsupported that
// names all of it.
func (c *Call) RunSpec() (*RunSpec, error) {
	if err := c.missing().err(c.File); err != nil {
		return nil, err
	}
	a := &c.Args
	pools, transfer := c.pools()
	spec := &RunSpec{
		Router:            c.router(),
		LoadData:          c.loadData(),
		Source:            c.source(),
		Load:              c.load(),
		Pools:             pools,
		Transfer:          transfer,
		TimeLimitMS:       math.Inf(1),
		SLA:               (&EvaluationSLA{TTFTMS: a.SLATTFTMS, ITLMS: a.SLAITLMS, E2EMS: a.SLAE2EMS}).spec(),
		Scaling:           c.ScalingPlan.spec(),
		Resources:         DefaultResources(),
		CapturePerRequest: a.CapturePerRequest,
		Stack:             StackDynamo,
	}
	if a.CaptureTelemetry {
		spec.TelemetryIntervalMS = a.TelemetrySampleIntervalMS
	}
	if spec.TargetModel = a.ExecutionModel; strings.TrimSpace(spec.TargetModel) == "" {
		spec.TargetModel = a.ModelName
	}
	if a.MaxSimTimeMS != nil {
		spec.TimeLimitMS = *a.MaxSimTimeMS
	}
	if err := spec.checkAgenticOffload(c.File, CallOffloadPaths); err != nil {
		return nil, err
	}
	return spec, nil
}

// launch is the engine of aggregated workers, defaults without one.
func (c *Call) launch() *EngineArgs {
	if c.Args.ExtraEngineArgs != nil {
		return c.Args.ExtraEngineArgs
	}
	out := new(EngineArgs)
	out.fields().Reset()
	return out
}

// source is the source of requests.
func (c *Call) source() SourceSpec {
	a := &c.Args
	if c.Kind == CallSynthetic {
		return SourceSpec{
			Kind: SourceSynthetic, InputTokens: a.InputTokens, OutputTokens: a.OutputTokens, Count: a.RequestCount,
			Turns: a.TurnsPerSession, InterTurnDelayMS: a.InterTurnDelayMS,
			SharedPrefixRatio: a.SharedPrefixRatio, PrefixGroups: a.NumPrefixGroups,
		}
	}
	if c.Kind == CallSpec {
		return SourceSpec{Kind: SourceRequests, Requests: c.requests}
	}
	out := SourceSpec{Kind: SourceTrace, Format: a.TraceFormat, Paths: c.TraceFiles}
	switch {
	case a.TraceBlockSize != nil:
		out.BlockTokens = *a.TraceBlockSize
	case a.TraceFormat != FormatDynamo && a.TraceFormat != FormatWeka:
		out.BlockTokens = defaultTraceBlockTokens
	}
	out.NestedBasis = a.WekaNestedTimestampBasis
	if a.TraceFormat == FormatAppliedCompute {
		out.SharedPrefixRatio, out.PrefixGroups = a.TraceSharedPrefixRatio, a.TraceNumPrefixGroups
	}
	return out
}

// load is when requests arrive.
func (c *Call) load() LoadSpec {
	a := &c.Args
	switch {
	case a.ReplayConcurrency != nil:
		return LoadSpec{Kind: LoadConcurrency, Concurrency: *a.ReplayConcurrency, Speedup: 1}
	case a.RequestRate != nil:
		return LoadSpec{Kind: LoadPoisson, RatePerSecond: *a.RequestRate, Seed: a.ArrivalSeed, Speedup: a.ArrivalSpeedupRatio}
	case a.ArrivalIntervalMS != nil:
		return LoadSpec{Kind: LoadConstantInterval, IntervalMS: *a.ArrivalIntervalMS, Speedup: a.ArrivalSpeedupRatio}
	}
	if c.Kind == CallSpec {
		return LoadSpec{Kind: LoadTraceTimestamps, Speedup: 1}
	}
	return LoadSpec{Kind: LoadTraceTimestamps, Speedup: a.ArrivalSpeedupRatio, Agentic: agenticLoad(a.AgenticLanes, a.AgenticSnapshot, a.AgenticWarmup, a.AgenticProfile)}
}

// agenticLoad says how plays run; a nil profile or snapshot is none.
func agenticLoad(lanes *int64, snapshot *AgenticSnapshot, warmup bool, profile *AgenticProfile) AgenticLoad {
	out := AgenticLoad{Warmup: warmup}
	if lanes != nil {
		out.Lanes = *lanes
	}
	if snapshot != nil {
		out.Snapshot, out.Seed = true, snapshot.Seed
	}
	if p := profile; p != nil {
		out.Profile = true
		out.DurationSeconds, out.ResponseGraceSeconds, out.CancelDrainSeconds = p.DurationSeconds, p.ResponseGraceSeconds, p.CancelDrainSeconds
		out.TreeIdleCapSeconds, out.GlobalIdleCapSeconds = p.TreeIdleCapSeconds, p.GlobalIdleCapSeconds
	}
	return out
}

// spec is the engine of one worker.
func (a *EngineArgs) spec() EngineSpec {
	e := &a.Engine
	out := EngineSpec{
		Backend:                 e.Backend,
		BlockTokens:             e.blockTokens(),
		NumBlocks:               e.NumBlocks,
		MaxSequences:            e.MaxSequences,
		MaxBatchedTokens:        e.MaxBatchedTokens,
		MaxModelLen:             e.MaxModelLen,
		PrefixCaching:           e.PrefixCaching,
		ChunkedPrefill:          e.ChunkedPrefill,
		PrefillScheduleInterval: e.PrefillScheduleInterval,
		Preemption:              e.Preemption,
		SpeedupRatio:            e.SpeedupRatio,
		DecodeSpeedupRatio:      e.DecodeSpeedupRatio,
		Timing:                  TimingSpec{Kind: e.Timing.Type, PrefillMS: e.Timing.PrefillMS, DecodeMS: e.Timing.DecodeMS},
		DataParallelRanks:       a.DPSize,
		TensorParallel:          a.TensorParallelSize,
		PipelineParallel:        1,
		PrefillContextParallel:  a.PrefillContextParallelSize,
		G3:                      e.G3Offload.spec(),
		Deployment:              a.deployment(),
	}
	if e.NativeHostOffload != nil {
		out.Host = e.NativeHostOffload.spec(e.blockTokens(), *e.KVCacheBytesPerToken)
	}
	if e.Timing.Type == TimingExternal {
		out.Timing.Kind = TimingDefault
	}
	if e.Backend == BackendSGLang {
		out.SGLang = e.sglang()
	}
	if a.StartupSeconds != nil {
		out.StartupMS = *a.StartupSeconds * 1000
	}
	if n := a.nextN(); n > 0 {
		out.Speculation = Speculation{DraftTokens: n, AcceptRates: acceptRates(e.NextNAcceptRates, n), Seed: e.MTPSeed}
	}
	return out
}

// acceptRates is the list of rates cut or padded with 0 to n entries; without a list the
// default of spec 03 section 8. The list was checked before.
func acceptRates(list *string, n int64) []float64 {
	rates := []float64{0.85, 0.3, 0, 0, 0}
	if list != nil && strings.TrimSpace(*list) != "" {
		rates = nil
		for part := range strings.SplitSeq(*list, ",") {
			rate, _ := strconv.ParseFloat(strings.TrimSpace(part), 64)
			rates = append(rates, rate)
		}
	}
	for int64(len(rates)) < n {
		rates = append(rates, 0)
	}
	return rates[:n]
}

// sglang is the settings of sglang.
func (e *EngineConfig) sglang() SGLangSpec {
	s := &e.SGLang
	return SGLangSpec{
		LongestPrefixFirst:    s.SchedulePolicy == "lpm",
		MaxPrefillTokens:      s.MaxPrefillTokens,
		ChunkTokens:           s.ChunkedPrefillTokens,
		ClipNewTokens:         s.ClipMaxNewTokens,
		Conservativeness:      s.ScheduleConservativeness,
		PrefillDecodeInterval: e.PrefillDecodeInterval,
	}
}

// missing lists what the call asks for that this release does not have.
func (c *Call) missing() features {
	var f features
	a := &c.Args
	if c.disaggregated() {
		a.PrefillEngineArgs.missing(&f, "args.prefill_engine_args")
		a.DecodeEngineArgs.missing(&f, "args.decode_engine_args")
	} else {
		c.launch().missing(&f, "args.extra_engine_args")
	}
	f.need(c.PlannerConfig != nil, "planner_config")
	return f
}

// missing adds what the engine asks for that this release does not have.
func (a *EngineArgs) missing(f *features, path string) {
	e := &a.Engine
	f.need(a.EvictionPolicy == evictBelady, path+".kv_eviction_policy: belady")
	f.need(e.Timing.Type == TimingExternal && strings.TrimSpace(e.Timing.Provider) == providerProfile, path+".engine.timing_model.provider: dynamo_profile")
	f.need(e.StateCache != nil, path+".engine.state_cache")
	f.need(e.KVCacheGroups != nil, path+".engine.kv_cache_groups")
}
