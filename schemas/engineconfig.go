package schemas

import (
	"github.com/dynosim/dynosim/schemas/strict"
)

// EngineMode says whether one pool of workers serves both phases.
type EngineMode string

// Modes (spec 07 section 3).
const (
	ModeAggregated    EngineMode = "aggregated"
	ModeDisaggregated EngineMode = "disaggregated"
)

// Engine is the section engine (spec 07 section 3).
type Engine struct {
	Mode            EngineMode
	Model, Hardware string
	Backend         Backend
	// BackendVersion is empty for the newest version with data.
	BackendVersion string
	// ContextTokens is context_length; 0 is "max", from the model's own configuration.
	ContextTokens int64
	Workers       WorkerRoles
	KVTransfer    *KVTransfer
}

func (e *Engine) fields() *strict.Object {
	whole := func() { e.ContextTokens = 0 }
	return &strict.Object{
		Doc: "The simulated workers.",
		Fields: []*strict.Field{
			strict.Choice("mode", &e.Mode, ModeAggregated, []EngineMode{ModeAggregated, ModeDisaggregated}, "One pool of workers for both phases, or one each for prefill and decode."),
			strict.String("model", &e.Model, "The model's name.").Required(),
			strict.String("hardware", &e.Hardware, "The GPU system's name.").Required(),
			strict.Choice("backend", &e.Backend, BackendVLLM, []Backend{BackendVLLM, BackendSGLang, BackendTRTLLM}, "The serving engine; trtllm is aggregated only."),
			strict.String("backend_version", &e.BackendVersion, "The version of the performance data. Left out: the newest.").Nullable(),
			strict.Int("context_length", &e.ContextTokens, "Longest sequence in tokens; max: what the model's configuration says.").
				Positive().Or("max", whole).Default("max", whole),
			strict.Group("workers", &e.Workers, (*WorkerRoles).fields, "The workers of each role.").Required(),
			strict.Section("kv_transfer", &e.KVTransfer, (*KVTransfer).fields, "How KV blocks move from prefill to decode workers; disaggregated mode only.").Nullable(),
		},
	}
}

// WorkerRoles holds the workers by role; nil is not given.
type WorkerRoles struct {
	Aggregated, Prefill, Decode *WorkerRole
}

func (w *WorkerRoles) fields() *strict.Object {
	return &strict.Object{
		Doc: "The workers of each role: aggregated, or prefill and decode.",
		Fields: []*strict.Field{
			strict.Section("aggregated", &w.Aggregated, (*WorkerRole).fields, "Workers that serve both phases.").Nullable(),
			strict.Section("prefill", &w.Prefill, (*WorkerRole).prefillFields, "Workers that only compute prompts.").Nullable(),
			strict.Section("decode", &w.Decode, (*WorkerRole).fields, "Workers that only generate.").Nullable(),
		},
	}
}

// WorkerRole describes the workers of one role; they are all equal.
type WorkerRole struct {
	// Hardware replaces the engine's unless it is empty.
	Hardware       string
	Parallelism    Parallelism
	Scheduler      Scheduler
	KVCache        KVCache
	Timing         Timing
	StartupSeconds float64
}

func (w *WorkerRole) fields() *strict.Object        { return w.role((*Scheduler).fields) }
func (w *WorkerRole) prefillFields() *strict.Object { return w.role((*Scheduler).prefillFields) }

func (w *WorkerRole) role(scheduler func(*Scheduler) *strict.Object) *strict.Object {
	return &strict.Object{
		Doc: "The workers of one role; they are all equal.",
		Fields: []*strict.Field{
			strict.String("hardware", &w.Hardware, "The GPU system of these workers. Left out: the engine's.").Nullable(),
			strict.Group("parallelism", &w.Parallelism, (*Parallelism).fields, "Number and size of the workers."),
			strict.Group("scheduler", &w.Scheduler, scheduler, "Limits of a pass."),
			strict.Group("kv_cache", &w.KVCache, (*KVCache).fields, "The KV block pool of a rank."),
			strict.Group("timing", &w.Timing, (*Timing).fields, "How long passes take."),
			strict.DefaultFloat("startup_seconds", &w.StartupSeconds, 0, "Time until a worker that the planner adds is ready, seconds.").Min(0),
		},
	}
}

// Parallelism is the number and size of a role's workers.
type Parallelism struct {
	Replicas, Tensor, Pipeline, AttentionData, MoETensor, MoEExpert int64
}

// maxSize bounds each parallelism number, so that products of them stay exact.
const maxSize = 1 << 16

func (p *Parallelism) fields() *strict.Object {
	return &strict.Object{
		Doc: "Number and size of the workers. GPUs of the role = replicas × tensor × pipeline × attention_data.",
		Fields: []*strict.Field{
			strict.DefaultInt("replicas", &p.Replicas, 1, "Number of workers.").Positive().Limit(maxWorkers),
			strict.DefaultInt("tensor", &p.Tensor, 1, "Tensor parallel size.").Positive().Limit(maxSize),
			strict.DefaultInt("pipeline", &p.Pipeline, 1, "Pipeline parallel size.").Positive().Limit(maxSize),
			strict.DefaultInt("attention_data", &p.AttentionData, 1, "Data-parallel ranks of a worker, each with its own scheduler and pool.").Positive().Limit(maxSize),
			strict.DefaultInt("moe_tensor", &p.MoETensor, 1, "Tensor parallel size of the experts.").Positive().Limit(maxSize),
			strict.DefaultInt("moe_expert", &p.MoEExpert, 1, "Expert parallel size.").Positive().Limit(maxSize),
		},
	}
}

// Scheduler limits a pass.
type Scheduler struct {
	MaxBatchedTokens, MaxSequences, PrefillScheduleInterval int64
}

func (s *Scheduler) fields() *strict.Object        { return s.limits(256) }
func (s *Scheduler) prefillFields() *strict.Object { return s.limits(1) }

func (s *Scheduler) limits(sequences int64) *strict.Object {
	return &strict.Object{
		Doc: "Limits of a pass.",
		Fields: []*strict.Field{
			strict.DefaultInt("max_batched_tokens", &s.MaxBatchedTokens, 8192, "Tokens of a pass.").Positive(),
			strict.DefaultInt("max_sequences", &s.MaxSequences, sequences, "Running requests of a rank.").Positive(),
			strict.DefaultInt("prefill_schedule_interval", &s.PrefillScheduleInterval, 1, "Passes between those that may start prefills; matters with several vllm ranks only.").Positive(),
		},
	}
}

// KVCache is the KV block pool of a rank.
type KVCache struct {
	// BlockTokens is block_size; nil is the backend's default.
	BlockTokens   *int64
	PrefixCaching bool
	// BytesPerToken is 0 for "auto".
	BytesPerToken int64
	Capacity      Capacity
	HostOffload   *HostOffload
	G3Offload     *G3Offload
}

func (k *KVCache) fields() *strict.Object {
	auto := func() { k.BytesPerToken = 0 }
	return &strict.Object{
		Doc: "The KV block pool of a rank.",
		Fields: []*strict.Field{
			strict.OptionalInt("block_size", &k.BlockTokens, "Tokens of a KV block: 64 for vllm, 1 for sglang, 32 for trtllm.").Positive().Limit(maxCount),
			strict.Flag("prefix_caching", &k.PrefixCaching, true, "Reuse blocks of equal prefixes."),
			strict.Int("bytes_per_token", &k.BytesPerToken, "Bytes that a cached token takes; auto: from the model.").Positive().Or("auto", auto).Default("auto", auto),
			strict.Group("capacity", &k.Capacity, (*Capacity).fields, "The number of blocks."),
			strict.Section("host_offload", &k.HostOffload, (*HostOffload).fields, "A second cache level in host memory.").Nullable(),
			strict.Section("g3_offload", &k.G3Offload, (*G3Offload).fields, "A third cache level on storage.").Nullable(),
		},
	}
}

// Capacity is the size of the KV pool: a number of blocks, or a share of the memory.
type Capacity struct {
	Type   string
	Blocks int64
	// MemoryFraction is nil for the backend's default.
	MemoryFraction *float64
}

// Types of capacity and of timing that need the model's data.
const typeDefault = "default"

func (c *Capacity) fields() *strict.Object {
	return &strict.Object{
		Doc: "The number of KV blocks of a rank.",
		Tag: "type",
		Fields: []*strict.Field{
			strict.Choice("type", &c.Type, typeDefault, []string{typeDefault, "fixed"}, "A number of blocks, or what fits into the GPU's memory."),
			strict.Int("blocks", &c.Blocks, "Number of blocks.").Positive().Limit(maxCount).Required().For("fixed"),
			strict.OptionalFloat("memory_fraction", &c.MemoryFraction, "Share of the GPU's memory: 0.9, for sglang 0.88.").Above(0).Max(1).For(typeDefault),
		},
	}
}

// Timing is how long passes take.
type Timing struct {
	Type                string
	PrefillMS, DecodeMS float64
	// Quantisations that replace the model's own, "" for none (spec 09 section 2.3).
	GEMMQuantMode, MoEQuantMode, FMHAQuantMode, KVCacheQuantMode string
}

func (t *Timing) fields() *strict.Object {
	return &strict.Object{
		Doc: "How long passes take.",
		Tag: "type",
		Fields: []*strict.Field{
			strict.Choice("type", &t.Type, typeDefault, []string{typeDefault, string(TimingPolynomial), string(TimingFixed)}, "Measured data of the model, a built-in curve, or constants."),
			strict.Float("prefill_ms", &t.PrefillMS, "Time of the prefill part of a pass, ms.").Min(0).Required().For(string(TimingFixed)),
			strict.Float("decode_ms", &t.DecodeMS, "Time of the decode part of a pass, ms.").Min(0).Required().For(string(TimingFixed)),
			strict.String("gemm_quant_mode", &t.GEMMQuantMode, "Quantisation of matrix products; left out: the model's.").Nullable().For(typeDefault),
			strict.String("moe_quant_mode", &t.MoEQuantMode, "Quantisation of the experts; left out: the model's.").Nullable().For(typeDefault),
			strict.String("fmha_quant_mode", &t.FMHAQuantMode, "Quantisation of attention; left out: the model's.").Nullable().For(typeDefault),
			strict.String("kvcache_quant_mode", &t.KVCacheQuantMode, "Quantisation of the KV cache; left out: the model's.").Nullable().For(typeDefault),
		},
	}
}

// TransferTiming says which part of a prompt a hand-off moves.
type TransferTiming string

// Transfer timings (spec 03 section 2).
const (
	TransferMissing TransferTiming = "destination_missing"
	TransferFull    TransferTiming = "full_prompt"
)

// KVTransfer is how KV blocks move from prefill to decode workers.
type KVTransfer struct {
	// BytesPerToken is 0 for "auto".
	BytesPerToken int64
	// BandwidthGBPerSecond is nil for no transfer delay.
	BandwidthGBPerSecond *float64
	Timing               TransferTiming
}

func (k *KVTransfer) fields() *strict.Object {
	auto := func() { k.BytesPerToken = 0 }
	return &strict.Object{
		Doc: "How KV blocks move from prefill to decode workers.",
		Fields: []*strict.Field{
			strict.Int("bytes_per_token", &k.BytesPerToken, "Bytes that a token's KV takes; auto: those of the prefill role.").Positive().Or("auto", auto).Default("auto", auto),
			strict.OptionalFloat("bandwidth_gb_per_second", &k.BandwidthGBPerSecond, "Decimal GB/s. Left out: transfers take no time.").Above(0),
			strict.Choice("timing_mode", &k.Timing, TransferMissing, []TransferTiming{TransferMissing, TransferFull}, "Move what the destination lacks, or the whole prompt."),
		},
	}
}
