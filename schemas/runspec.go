package schemas

import "math"

// RunSpec is the one typed description of a run. Both ways in, the YAML document
// of predict and the call form of replay, lower to it, and nothing below the
// command line knows which of the two it was. Times are milliseconds of virtual
// time, lengths are tokens.
type RunSpec struct {
	Source SourceSpec
	Load   LoadSpec
	// Pools are the workers by role: one aggregated pool, or the prefill and the decode pool
	// in this order. They share the backend and the block size (spec 05 section 7.1).
	Pools []PoolSpec
	// Router places requests on the workers of the pools.
	Router RouterSpec
	// LoadData names measured data for the router's load model, without a model where that uses the
	// data of the workers.
	LoadData LoadDataSpec
	// Transfer is how long hand-offs between two pools take.
	Transfer TransferSpec
	// TimeLimitMS ends the run before the first instant after it; +Inf is no limit
	// (spec 05 section 8.2).
	TimeLimitMS float64
	SLA         SLA
	// Scaling changes the pools during the run.
	Scaling ScalingSpec
	// TelemetryIntervalMS is the time between telemetry samples (spec 05 section 10), 0 for none.
	TelemetryIntervalMS float64
	// TargetModel is the model that every request of an agentic source runs on.
	TargetModel string
	// CapturePerRequest asks for requests.jsonl and per_request records.
	CapturePerRequest bool
	// CaptureRouting asks for the table routing_candidates: every target of every decision of
	// the KV router with its costs.
	CaptureRouting bool
	// Stack is the reference stack whose rules apply.
	Stack Stack
	// Resources bounds the process that simulates; it changes no result.
	Resources Resources
}

// PoolSpec is the workers of one role; all of them are equal.
type PoolSpec struct {
	Pool Pool
	// Engine is one worker.
	Engine EngineSpec
	// Workers is the number of workers at the start, at least 1.
	Workers int
}

// AggregatedPool is the pools of a run whose workers serve both phases.
func AggregatedPool(e EngineSpec, workers int) []PoolSpec {
	return []PoolSpec{{Pool: PoolAggregated, Engine: e, Workers: workers}}
}

// Disaggregated reports whether prefill and decode have workers of their own.
func (s *RunSpec) Disaggregated() bool { return len(s.Pools) == 2 }

// BlockTokens is the size of a KV block, the same in all pools; 0 where the stages before the
// simulation run without a configuration.
func (s *RunSpec) BlockTokens() int64 {
	if len(s.Pools) == 0 {
		return 0
	}
	return s.Pools[0].Engine.BlockTokens
}

// TransferSpec is the delay of a hand-off (spec 05 section 7.4), the prefill role's settings.
type TransferSpec struct {
	// BandwidthGBPerSecond is decimal GB/s; 0 is no bandwidth given.
	BandwidthGBPerSecond float64
	// BytesPerToken is 0 when not given.
	BytesPerToken int64
	// Timing says which part of a prompt counts.
	Timing TransferTiming
	// FallbackMS is the delay where bandwidth or bytes are not given.
	FallbackMS float64
}

// Stack names the reference stack whose rules a run follows (spec 07 section 1).
type Stack string

// The two stacks of the reference.
const (
	StackDynamo Stack = "dynamo"
	StackEngine Stack = "engine"
)

// SourceKind tells where requests come from.
type SourceKind string

// The kinds of source (spec 01 section 2).
const (
	// SourceSynthetic makes independent requests, or sessions when any session
	// setting is active (spec 01 section 1, "session mode").
	SourceSynthetic SourceKind = "synthetic"
	// SourceTrace reads trace files.
	SourceTrace SourceKind = "trace"
	// SourceRequests has its requests in the specification.
	SourceRequests SourceKind = "requests"
)

// TraceFormat names a trace format, spelled with hyphens and underscores as in the documents.
type TraceFormat string

// Trace formats (spec 01 section 3, spec 02).
const (
	FormatMooncake        TraceFormat = "mooncake"
	FormatMooncakeDelta   TraceFormat = "mooncake-delta"
	FormatAgenticMooncake TraceFormat = "agentic_mooncake"
	FormatWeka            TraceFormat = "weka"
	FormatAppliedCompute  TraceFormat = "applied_compute_agentic"
	FormatDynamo          TraceFormat = "dynamo"
)

// SourceSpec describes the source of requests.
type SourceSpec struct {
	Kind SourceKind

	// Synthetic: lengths of every request (or of every turn) and how many requests
	// (or sessions) to make.
	InputTokens, OutputTokens int64
	Count                     int64
	// Turns, PrefixGroups and InterTurnDelayMS shape synthetic sessions.
	Turns            int64
	InterTurnDelayMS float64
	// SharedPrefixRatio and PrefixGroups shape synthetic sessions and, for the
	// format applied_compute_agentic, the shared start of its prompts.
	SharedPrefixRatio float64
	PrefixGroups      int64

	// Trace: the format, its files in order, and the tokens one hash id stands for.
	// BlockTokens 0 means "take it from the file" (dynamo); for dynamo a positive
	// value is an assertion.
	Format      TraceFormat
	Paths       []string
	BlockTokens int64
	// NestedBasis is what nested timestamps of a weka corpus count from: auto ("" is the same),
	// absolute or relative. ResolvedBasis, when it is not empty, is what an earlier reading of the corpus
	// found out.
	NestedBasis, ResolvedBasis string

	// Requests are those of SourceRequests.
	Requests []ListedRequest
}

// SessionMode reports whether a synthetic source makes sessions instead of a plain
// list of requests (spec 01 section 1). A NaN ratio or delay selects the list.
func (s *SourceSpec) SessionMode() bool {
	return s.Turns > 1 || s.SharedPrefixRatio > 0 || s.PrefixGroups > 0 || s.InterTurnDelayMS > 0
}

// LoadKind tells what decides when a request arrives.
type LoadKind string

// The kinds of load (spec 01 section 5).
const (
	LoadConcurrency      LoadKind = "concurrency"
	LoadConstantInterval LoadKind = "constant_interval"
	LoadPoisson          LoadKind = "poisson"
	LoadTraceTimestamps  LoadKind = "trace_timestamps"
)

// LoadSpec describes when requests arrive.
type LoadSpec struct {
	Kind LoadKind
	// Concurrency is the closed-loop limit: requests in the system for a list of
	// requests, active sessions otherwise.
	Concurrency int64
	// IntervalMS is the gap of LoadConstantInterval; 0 is a burst.
	IntervalMS float64
	// RatePerSecond and Seed drive LoadPoisson.
	RatePerSecond float64
	Seed          uint64
	// Speedup divides arrival times and delays of open loops; ignored under
	// concurrency.
	Speedup float64
	// Agentic says how the plays of an agentic source run.
	Agentic AgenticLoad
}

// AgenticLoad says how plays run (spec 02 sections 7.2 and 8 to 10).
type AgenticLoad struct {
	// Lanes is how many plays run at a time, 0 for all.
	Lanes int64
	// Snapshot cuts the plays at times drawn with Seed.
	Snapshot bool
	Seed     uint64
	// Warmup prepares the caches before a snapshot starts.
	Warmup bool
	// Profile measures for a fixed time, whose settings the others are, seconds.
	Profile                                                   bool
	DurationSeconds, ResponseGraceSeconds, CancelDrainSeconds float64
	TreeIdleCapSeconds, GlobalIdleCapSeconds                  float64
}

// Backend names an engine.
type Backend string

// Engines of the reference.
const (
	BackendVLLM   Backend = "vllm"
	BackendSGLang Backend = "sglang"
	BackendTRTLLM Backend = "trtllm"
)

// PreemptionMode tells which running request a vLLM rank gives up when blocks run out.
type PreemptionMode string

// Preemption modes (spec 03 section 5.6).
const (
	PreemptLIFO PreemptionMode = "lifo"
	PreemptFIFO PreemptionMode = "fifo"
)

// TimingKind names a forward-pass timing model.
type TimingKind string

// Timing models (spec 03 section 6).
const (
	TimingFixed      TimingKind = "fixed"
	TimingPolynomial TimingKind = "polynomial"
	// TimingDefault is measured data of the model on the GPU system (spec 09).
	TimingDefault TimingKind = "default"
)

// TimingSpec describes the forward-pass timing model. PrefillMS and DecodeMS belong
// to TimingFixed, the other fields to TimingDefault.
type TimingSpec struct {
	Kind                TimingKind
	PrefillMS, DecodeMS float64
	// Passes prices the passes; it is nil until the specification is resolved.
	Passes PassTimes
	// KVOffset is added to the mean length of decoding requests, and DecodeFloorMS is the
	// least time of a decode pass (spec 09 section 8).
	KVOffset      int64
	DecodeFloorMS float64
}

// Unlimited stands for "no limit" in the count fields of EngineSpec.
const Unlimited = math.MaxInt64

// EngineSpec is one worker: the engine parameters of spec 03 section 2 after defaulting.
type EngineSpec struct {
	Backend Backend
	// BlockTokens (B) is the KV block size in tokens, NumBlocks (N) the pool size of a rank.
	BlockTokens, NumBlocks int64
	// MaxSequences and MaxBatchedTokens are Unlimited when not limited.
	MaxSequences, MaxBatchedTokens int64
	// MaxModelLen is the longest sequence in tokens, Unlimited when not limited.
	MaxModelLen             int64
	PrefixCaching           bool
	ChunkedPrefill          bool
	PrefillScheduleInterval int64
	Preemption              PreemptionMode
	// SpeedupRatio divides prefill durations, SpeedupRatio*DecodeSpeedupRatio decode
	// durations; 0 means no scaling (spec 03 section 6.1).
	SpeedupRatio, DecodeSpeedupRatio float64
	Timing                           TimingSpec
	Speculation                      Speculation
	// DataParallelRanks is the number of ranks of a worker, TensorParallel multiplies its
	// GPUs; PipelineParallel is for the data-driven timing model.
	DataParallelRanks, TensorParallel, PipelineParallel int64
	// PrefillContextParallel multiplies the GPUs of a worker too; 0 is 1.
	PrefillContextParallel int64
	// StartupMS delays workers that are added during a run.
	StartupMS float64
	// SGLang has the settings that only BackendSGLang reads.
	SGLang SGLangSpec
	// Host and G3 are the cache levels behind a rank's KV pool.
	Host HostOffloadSpec
	G3   G3OffloadSpec
	// Deployment is what measured data is looked up by.
	Deployment DeploymentSpec
}

// SGLangSpec is the settings of an SGLang rank before attention data parallelism changes
// them (spec 04 section 2). The page is EngineSpec.BlockTokens.
type SGLangSpec struct {
	// LongestPrefixFirst is the schedule policy lpm, otherwise fifo.
	LongestPrefixFirst bool
	// MaxPrefillTokens bounds the tokens of a prefill batch, ChunkTokens those of a chunk and
	// of the batch.
	MaxPrefillTokens, ChunkTokens int64
	// ClipNewTokens bounds the output tokens that admission reserves for a request.
	ClipNewTokens int64
	// Conservativeness scales the share of these that is reserved for running requests.
	Conservativeness float64
	// PrefillDecodeInterval is the number of passes after a prefill that may not prefill.
	PrefillDecodeInterval int64
}

// Speculation is speculative decoding (spec 03 section 8).
type Speculation struct {
	// DraftTokens is the number of tokens proposed in a pass, 0 for none.
	DraftTokens int64
	// AcceptRates has, for each of them, the chance that it is accepted given that all
	// before it were.
	AcceptRates []float64
	// Seed and the number of the rank start the rank's random numbers.
	Seed uint64
}

// GPUsPerWorker is the number of GPUs one worker occupies (spec 05 section 9.5). Pipeline
// parallelism does not count: the reference reports tensor × ranks on both stacks.
func (e *EngineSpec) GPUsPerWorker() int64 {
	return e.TensorParallel * max(1, e.PrefillContextParallel) * e.DataParallelRanks
}

// SLA holds the bounds that make a request count as good; a NaN bound is not set
// (spec 11 section 3). All are milliseconds.
type SLA struct {
	TTFTMS, ITLMS, E2EMS float64
}

// NoSLA has no bound set.
func NoSLA() SLA { return SLA{math.NaN(), math.NaN(), math.NaN()} }

// Set reports whether any bound is set.
func (s SLA) Set() bool {
	return !math.IsNaN(s.TTFTMS) || !math.IsNaN(s.ITLMS) || !math.IsNaN(s.E2EMS)
}
