package schemas

import (
	"github.com/dynosim/dynosim/schemas/strict"
)

// EngineArgs is an engine launch mapping: the fields of the launch beside the engine's own
// (spec 03 section 2). A nil pointer is not given.
type EngineArgs struct {
	Engine                                                         EngineConfig
	DPSize, TensorParallelSize                                     int64
	StartupSeconds                                                 *float64
	NumGPUBlocksIsExplicit                                         *bool
	GPUMemoryUtilization, MemFractionStatic, FreeGPUMemoryFraction *float64
	CUDAGraphReservedBytes                                         *uint64
	// PrefillContextParallelSize multiplies the GPUs of a worker, EvictionPolicy is the order in which
	// cached blocks go; only calls of kind spec have them.
	PrefillContextParallelSize int64
	EvictionPolicy             string
	Dynamo                     RuntimeOptions
}

func (a *EngineArgs) fields() *strict.Object {
	const estimate = "Input of the capacity estimate."
	return &strict.Object{
		Doc: "An engine launch.",
		Fields: []*strict.Field{
			strict.Group("engine", &a.Engine, (*EngineConfig).fields, "The engine."),
			strict.DefaultInt("dp_size", &a.DPSize, 1, "Data-parallel ranks of a worker.").Positive().Limit(maxSize),
			strict.DefaultInt("tensor_parallel_size", &a.TensorParallelSize, 1, "Tensor parallel size.").Positive().Limit(maxSize),
			strict.OptionalFloat("startup_time", &a.StartupSeconds, "Time until a worker that is added is ready, seconds.").Min(0),
			strict.OptionalFlag("num_gpu_blocks_is_explicit", &a.NumGPUBlocksIsExplicit, "Whether engine.num_gpu_blocks is meant, or to be estimated. Left out: true when it is given."),
			strict.OptionalFloat("gpu_memory_utilization", &a.GPUMemoryUtilization, estimate).Min(0).Max(1),
			strict.OptionalFloat("mem_fraction_static", &a.MemFractionStatic, estimate).Min(0).Max(1),
			strict.OptionalFloat("free_gpu_memory_fraction", &a.FreeGPUMemoryFraction, estimate).Min(0).Max(1),
			strict.OptionalInt("cuda_graph_reserved_bytes", &a.CUDAGraphReservedBytes, estimate).Min(0),
			strict.DefaultInt("prefill_context_parallel_size", &a.PrefillContextParallelSize, 1, "Context parallel size of prefills.").Positive().Limit(maxSize),
			strict.Choice("kv_eviction_policy", &a.EvictionPolicy, "lru", []string{"lru", evictBelady}, "Which cached blocks go first."),
			strict.Group("dynamo", &a.Dynamo, (*RuntimeOptions).fields, "Options of the serving runtime; accepted and ignored."),
		},
	}
}

// evictBelady gives up the blocks that are needed again last.
const evictBelady = "belady"

// RuntimeOptions are options of the serving runtime, which mean nothing in a simulation.
type RuntimeOptions struct {
	EnableLocalIndexer, BootstrapPort, HandoffSessionTimeoutMS, Reasoning *strict.Node
	ResponseReplayTracePath, ZMQKVEventsPort, ZMQReplayPort               *strict.Node
	// RouterQueuePolicy replaces the router's, "" does not (spec 06 section 1.2).
	RouterQueuePolicy string
}

func (o *RuntimeOptions) fields() *strict.Object {
	ignored := func(name string, dst **strict.Node) *strict.Field {
		return strict.Raw(name, dst, "any value", "Accepted and ignored.")
	}
	return &strict.Object{
		Doc: "Options of the serving runtime.",
		Fields: []*strict.Field{
			ignored("enable_local_indexer", &o.EnableLocalIndexer),
			ignored("bootstrap_port", &o.BootstrapPort),
			ignored("handoff_session_timeout_ms", &o.HandoffSessionTimeoutMS),
			ignored("reasoning", &o.Reasoning),
			ignored("response_replay_trace_path", &o.ResponseReplayTracePath),
			ignored("zmq_kv_events_port", &o.ZMQKVEventsPort),
			ignored("zmq_replay_port", &o.ZMQReplayPort),
			strict.Choice("router_queue_policy", &o.RouterQueuePolicy, "", []string{"fcfs", "lcfs", "wspt"}, "Replaces the router's queue policy.").Nullable(),
		},
	}
}

// WorkerType is the role of an engine.
type WorkerType string

// Roles (spec 03 section 2).
const (
	WorkerAggregated WorkerType = "aggregated"
	WorkerPrefill    WorkerType = "prefill"
	WorkerDecode     WorkerType = "decode"
)

// EngineConfig is the canonical engine mapping (spec 03 section 2). A nil pointer is not
// given; MaxSequences, MaxBatchedTokens and MaxModelLen are Unlimited for null.
type EngineConfig struct {
	Backend     Backend
	BlockTokens *int64
	NumBlocks   int64
	// BlocksGiven says that num_gpu_blocks is in the document.
	BlocksGiven                                    bool
	MaxSequences, MaxBatchedTokens, MaxModelLen    int64
	PrefixCaching, ChunkedPrefill                  bool
	PrefillScheduleInterval, PrefillDecodeInterval int64
	SpeedupRatio, DecodeSpeedupRatio               float64
	Preemption                                     PreemptionMode
	NextN                                          *int64
	NextNAcceptRates                               *string
	MTPSeed                                        uint64
	WorkerType                                     WorkerType
	KVTransferBytesPerToken, KVBytesPerToken       *int64
	KVTransferBandwidth                            *float64
	KVTransferTiming                               TransferTiming
	Timing                                         EngineTiming
	SGLang                                         SGLangConfig
	TRTLLM                                         TRTLLMConfig
	KVCacheBytesPerToken, KVCacheCapacityBytes     *int64
	EmitKVEvents, EmitKVTokenIDs                   bool
	KVCacheGroups                                  *strict.Node
	StateCache                                     *StateCache
	PrefixMatchUnit                                *int64
	NativeHostOffload                              *HostOffload
	G3Offload                                      *G3Offload
}

// defaultNumBlocks is the pool of a rank where nothing else says (spec 03 section 2).
const defaultNumBlocks = 16384

func (e *EngineConfig) fields() *strict.Object {
	return &strict.Object{Doc: "The engine.", Fields: append(e.scheduleFields(), e.memoryFields()...)}
}

func (e *EngineConfig) scheduleFields() []*strict.Field {
	unlimited := func(dst *int64) func() { return func() { *dst = Unlimited } }
	return []*strict.Field{
		strict.Choice("backend", &e.Backend, BackendVLLM, []Backend{BackendVLLM, BackendSGLang, BackendTRTLLM}, "The serving engine."),
		strict.DefaultInt("max_num_seqs", &e.MaxSequences, 256, "Running requests of a rank; null is no limit.").Positive().NullAs(unlimited(&e.MaxSequences)),
		strict.DefaultInt("max_num_batched_tokens", &e.MaxBatchedTokens, 8192, "Tokens of a pass; null is no limit.").Positive().NullAs(unlimited(&e.MaxBatchedTokens)),
		strict.Int("max_model_len", &e.MaxModelLen, "Longest sequence in tokens; left out or null: no limit.").Positive().
			NullAs(unlimited(&e.MaxModelLen)).Default(nil, unlimited(&e.MaxModelLen)),
		strict.Flag("enable_chunked_prefill", &e.ChunkedPrefill, true, "Compute long prompts over several passes."),
		strict.DefaultInt("prefill_schedule_interval", &e.PrefillScheduleInterval, 1, "Passes between those that may start prefills.").Positive(),
		strict.DefaultInt("prefill_decode_interval", &e.PrefillDecodeInterval, 0, "sglang: decode passes between prefills.").Min(0),
		strict.DefaultFloat("speedup_ratio", &e.SpeedupRatio, 1, "Divides the time of passes; 0 is no scaling.").Min(0),
		strict.DefaultFloat("decode_speedup_ratio", &e.DecodeSpeedupRatio, 1, "Divides the time of decoding as well; 0 is no scaling.").Min(0),
		strict.Choice("preemption_mode", &e.Preemption, PreemptLIFO, []PreemptionMode{PreemptLIFO, PreemptFIFO}, "Which running request gives way when blocks run out."),
		strict.OptionalInt("aic_nextn", &e.NextN, "Speculative tokens of a pass.").Min(1).Max(5),
		strict.OptionalString("aic_nextn_accept_rates", &e.NextNAcceptRates, "Chance that each speculative token is accepted, a list with commas."),
		strict.DefaultInt("aic_mtp_seed", &e.MTPSeed, 42, "Seed of the acceptance of speculative tokens.").Min(0),
		strict.Choice("worker_type", &e.WorkerType, WorkerAggregated, []WorkerType{WorkerAggregated, WorkerPrefill, WorkerDecode}, "The role; must fit the argument that the engine is given in."),
		strict.Group("timing_model", &e.Timing, (*EngineTiming).fields, "How long passes take."),
		strict.Group("sglang", &e.SGLang, (*SGLangConfig).fields, "Settings of sglang; ignored for other backends."),
		strict.Group("trtllm", &e.TRTLLM, (*TRTLLMConfig).fields, "Settings of TensorRT-LLM; ignored for other backends."),
	}
}

func (e *EngineConfig) memoryFields() []*strict.Field {
	return []*strict.Field{
		strict.OptionalInt("block_size", &e.BlockTokens, "Tokens of a KV block: 64 for vllm, 1 for sglang, 32 for trtllm.").Positive().Limit(maxCount),
		strict.DefaultInt("num_gpu_blocks", &e.NumBlocks, defaultNumBlocks, "KV blocks of a rank.").Positive().Limit(maxCount),
		strict.Flag("enable_prefix_caching", &e.PrefixCaching, true, "Reuse blocks of equal prefixes."),
		strict.OptionalInt("kv_transfer_bytes_per_token", &e.KVTransferBytesPerToken, "Bytes of a token in a hand-off.").Positive(),
		strict.OptionalInt("kv_bytes_per_token", &e.KVBytesPerToken, "The old name of kv_transfer_bytes_per_token.").Positive(),
		strict.OptionalFloat("kv_transfer_bandwidth", &e.KVTransferBandwidth, "Bandwidth of hand-offs, decimal GB/s.").Min(0),
		strict.Choice("kv_transfer_timing_mode", &e.KVTransferTiming, TransferFull, []TransferTiming{TransferFull, TransferMissing}, "Move the whole prompt, or what the destination lacks."),
		strict.OptionalInt("kv_cache_bytes_per_token", &e.KVCacheBytesPerToken, "Bytes that a cached token takes.").Positive(),
		strict.OptionalInt("kv_cache_capacity_bytes", &e.KVCacheCapacityBytes, "Bytes of the pool, with kv_cache_groups.").Positive(),
		strict.Flag("emit_kv_events", &e.EmitKVEvents, false, "Tell the router what is cached; a replay decides that itself."),
		strict.Flag("emit_kv_token_ids", &e.EmitKVTokenIDs, false, "With the tokens; needs emit_kv_events."),
		strict.Raw("kv_cache_groups", &e.KVCacheGroups, "a list", "Pools by attention type.").Nullable(),
		strict.Section("state_cache", &e.StateCache, (*StateCache).fields, "Recurrent states in the pool.").Nullable(),
		strict.OptionalInt("prefix_match_unit", &e.PrefixMatchUnit, "Tokens of which prefixes are matched, with state_cache.").Positive(),
		strict.Section("native_host_offload", &e.NativeHostOffload, (*HostOffload).nativeFields, "A second cache level in host memory.").Nullable(),
		strict.Section("g3_offload", &e.G3Offload, (*G3Offload).fields, "A third cache level on storage.").Nullable(),
	}
}

// StateCache keeps recurrent states in the KV pool (spec 03 section 12).
type StateCache struct {
	BytesPerRequest int64
}

func (s *StateCache) fields() *strict.Object {
	return &strict.Object{
		Doc:    "Recurrent states in the pool.",
		Fields: []*strict.Field{strict.Int("bytes_per_request", &s.BytesPerRequest, "Bytes of a state.").Positive().Required()},
	}
}

// TimingExternal is a timing model of the caller or of measured data.
const TimingExternal TimingKind = "external"

// EngineTiming is timing_model; keys that the table does not have are ignored.
type EngineTiming struct {
	Type                TimingKind
	PrefillMS, DecodeMS float64
	Provider            string
	Config              *PerfConfig
}

func (t *EngineTiming) fields() *strict.Object {
	return &strict.Object{
		Doc:  "How long passes take.",
		Tag:  "type",
		Open: true,
		Fields: []*strict.Field{
			strict.Choice("type", &t.Type, TimingPolynomial, []TimingKind{TimingPolynomial, TimingFixed, TimingExternal}, "A built-in curve, constants, or measured data.").Required(),
			strict.Float("prefill_ms", &t.PrefillMS, "Time of the prefill part of a pass, ms.").Min(0).Required().For(string(TimingFixed)),
			strict.Float("decode_ms", &t.DecodeMS, "Time of the decode part of a pass, ms.").Min(0).Required().For(string(TimingFixed)),
			strict.String("provider", &t.Provider, "Where measured data comes from.").Required().For(string(TimingExternal)),
			strict.Section("config", &t.Config, (*PerfConfig).fields, "Settings of the provider.").Nullable().For(string(TimingExternal)),
		},
	}
}

// SGLangConfig is the sub-mapping sglang (spec 04 section 2).
type SGLangConfig struct {
	SchedulePolicy                         string
	MaxPrefillTokens, ChunkedPrefillTokens int64
	ClipMaxNewTokens                       int64
	ScheduleConservativeness               float64
}

func (s *SGLangConfig) fields() *strict.Object {
	return &strict.Object{
		Doc: "Settings of sglang.",
		Fields: []*strict.Field{
			strict.Choice("schedule_policy", &s.SchedulePolicy, "fifo", []string{"fifo", "lpm"}, "Order of the waiting queue."),
			strict.DefaultInt("max_prefill_tokens", &s.MaxPrefillTokens, 16384, "Prompt tokens of a prefill pass.").Min(0),
			strict.DefaultInt("chunked_prefill_size", &s.ChunkedPrefillTokens, 8192, "Tokens of a prompt chunk, a multiple of block_size.").Min(0),
			strict.DefaultInt("clip_max_new_tokens", &s.ClipMaxNewTokens, 4096, "Output tokens that admission counts on at most.").Min(0),
			strict.DefaultFloat("schedule_conservativeness", &s.ScheduleConservativeness, 1, "How much memory admission keeps for running requests."),
		},
	}
}

// TRTLLMConfig is the sub-mapping trtllm.
type TRTLLMConfig struct {
	CapacitySchedulerPolicy string
}

func (t *TRTLLMConfig) fields() *strict.Object {
	return &strict.Object{
		Doc:    "Settings of TensorRT-LLM.",
		Fields: []*strict.Field{strict.Choice("capacity_scheduler_policy", &t.CapacitySchedulerPolicy, "guaranteed_no_evict", []string{"guaranteed_no_evict"}, "The only policy.")},
	}
}
