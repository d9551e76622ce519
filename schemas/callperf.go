package schemas

import (
	"strings"

	"github.com/dynosim/dynosim/schemas/strict"
)

// PerfConfig names the measured data of an engine, timing_model.config of the providers ais and
// aic (spec 09 section 9.5). A nil pointer is not given.
type PerfConfig struct {
	Model, System, BackendVersion                                string
	Backend                                                      Backend
	WorkerType                                                   WorkerType
	Tensor, Pipeline, AttentionData                              int64
	MoETensor, MoEExpert                                         *int64
	NextN                                                        *int64
	GEMMQuantMode, MoEQuantMode, FMHAQuantMode, KVCacheQuantMode string
	EstimationMode                                               string
	// Path is the file of the provider dynamo_profile.
	Path string
}

func (c *PerfConfig) fields() *strict.Object {
	return &strict.Object{
		Doc: "What the measured data is looked up by.",
		Fields: []*strict.Field{
			strict.String("model", &c.Model, "A known model, or a folder with a config.json."),
			strict.String("system", &c.System, "The GPU system."),
			strict.Choice("backend", &c.Backend, "", []Backend{BackendVLLM, BackendSGLang, BackendTRTLLM}, "The serving engine whose data is used."),
			strict.String("backend_version", &c.BackendVersion, "The version of the data. Left out: the current one.").Nullable(),
			strict.Choice("worker_type", &c.WorkerType, "", []WorkerType{WorkerAggregated, WorkerPrefill, WorkerDecode}, "The role; must be the engine's."),
			strict.DefaultInt("tp", &c.Tensor, 1, "Tensor parallel size.").Positive().Limit(maxSize),
			strict.DefaultInt("pp", &c.Pipeline, 1, "Pipeline parallel size.").Positive().Limit(maxSize),
			strict.DefaultInt("attention_dp", &c.AttentionData, 1, "Data-parallel ranks of a worker.").Positive().Limit(maxSize),
			strict.OptionalInt("moe_tp_size", &c.MoETensor, "Tensor parallel size of the experts.").Positive().Limit(maxSize),
			strict.OptionalInt("moe_ep_size", &c.MoEExpert, "Expert parallel size.").Positive().Limit(maxSize),
			strict.OptionalInt("nextn", &c.NextN, "Speculative tokens of a pass.").Min(0).Max(5),
			strict.String("gemm_quant_mode", &c.GEMMQuantMode, "Quantisation of matrix products. Left out: the model's.").Nullable(),
			strict.String("moe_quant_mode", &c.MoEQuantMode, "Quantisation of the experts. Left out: the model's.").Nullable(),
			strict.String("fmha_quant_mode", &c.FMHAQuantMode, "Quantisation of attention. Left out: the model's.").Nullable(),
			strict.String("kvcache_quant_mode", &c.KVCacheQuantMode, "Quantisation of the KV cache. Left out: the model's.").Nullable(),
			strict.Choice("estimation_mode", &c.EstimationMode, "op_level", []string{"op_level"}, "How passes are estimated: from measured operators.").Nullable(),
			strict.String("path", &c.Path, "For the provider dynamo_profile.").Nullable(),
		},
	}
}

// checkMeasured is the rules between an engine launch and the data of its timing model.
func (a *EngineArgs) checkMeasured(r *strict.Report, at func(string) string, role WorkerType) {
	e := &a.Engine
	if !r.OK(at("timing_model")) || e.Timing.Type != TimingExternal {
		return
	}
	path := at("timing_model.config")
	switch provider := strings.TrimSpace(e.Timing.Provider); provider {
	case "ais", "aic":
	case providerProfile:
		return
	default:
		r.Fail(at("timing_model.provider"), "got %q, want one of ais, aic, dynamo_profile", provider)
		return
	}
	c := e.Timing.Config
	if c == nil {
		r.Fail(path, "required key is missing with provider: %s; want a mapping", e.Timing.Provider)
		return
	}
	c.checkComplete(r, path)
	if c.WorkerType != "" && c.WorkerType != role {
		r.Fail(path+".worker_type", "got %s, want %s, the engine's role", c.WorkerType, role)
	}
	launch := strings.TrimSuffix(path, ".engine.timing_model.config")
	if r.OK(path+".tp", launch+".tensor_parallel_size") && c.Tensor != a.TensorParallelSize {
		r.Fail(path+".tp", "got %d, but tensor_parallel_size is %d", c.Tensor, a.TensorParallelSize)
	}
	if r.OK(path+".attention_dp", launch+".dp_size") && c.AttentionData != a.DPSize {
		r.Fail(path+".attention_dp", "got %d, but dp_size is %d", c.AttentionData, a.DPSize)
	}
	if r.OK(path+".pp") && c.Pipeline != 1 {
		r.Fail(path+".pp", "got %d, want 1: measured timing has no pipeline on the dynamo stack", c.Pipeline)
	}
	if e.NextN != nil && r.OK(path+".nextn") && (c.NextN == nil || *c.NextN != *e.NextN) {
		r.Fail(path+".nextn", "must be %d like aic_nextn", *e.NextN)
	}
}

// checkComplete wants the keys that have no default.
func (c *PerfConfig) checkComplete(r *strict.Report, path string) {
	for _, need := range []struct {
		key   string
		given bool
	}{{"model", c.Model != ""}, {"system", c.System != ""}, {"backend", c.Backend != ""}, {"worker_type", c.WorkerType != ""}} {
		if !need.given && r.OK(path+"."+need.key) {
			r.Fail(path+"."+need.key, "required key is missing")
		}
	}
}

const providerProfile = "dynamo_profile"

// deployment is what the launch's measured data is looked up by.
func (a *EngineArgs) deployment() DeploymentSpec {
	e := &a.Engine
	c := e.Timing.Config
	if e.Timing.Type != TimingExternal || c == nil {
		return DeploymentSpec{}
	}
	out := c.deployment()
	out.EstimateBlocks = !a.blocksExplicit()
	fractions := map[Backend]*float64{BackendVLLM: a.GPUMemoryUtilization, BackendSGLang: a.MemFractionStatic, BackendTRTLLM: a.FreeGPUMemoryFraction}
	if f := fractions[e.Backend]; f != nil {
		out.MemoryFraction = *f
	}
	if a.CUDAGraphReservedBytes != nil {
		out.GraphBytes = *a.CUDAGraphReservedBytes
	}
	if n := a.nextN(); n > 0 {
		out.DraftTokens = n
	}
	return out
}

// deployment is what the data is looked up by.
func (c *PerfConfig) deployment() DeploymentSpec {
	return DeploymentSpec{
		Model: c.Model, Hardware: c.System, Version: c.BackendVersion, Backend: c.Backend, MoETensor: orInt(c.MoETensor, 1), MoEExpert: orInt(c.MoEExpert, 1),
		GEMMQuant: c.GEMMQuantMode, MoEQuant: c.MoEQuantMode, FMHAQuant: c.FMHAQuantMode, KVQuant: c.KVCacheQuantMode,
	}
}

// loadData is what the router's load model is looked up by: ais_perf_config, which names an engine of its
// own (spec 06 section 6.1).
func (c *Call) loadData() LoadDataSpec {
	p := c.Args.AISPerfConfig
	if p == nil || !c.router().EstimatePrefill {
		return LoadDataSpec{}
	}
	d := p.deployment()
	d.DraftTokens = orInt(p.NextN, 0)
	return LoadDataSpec{Deployment: d, Worker: p.WorkerType, Tensor: p.Tensor, Pipeline: p.Pipeline, AttentionData: p.AttentionData}
}

// nextN is the speculative depth, 0 for none. The timing model's stands for the engine's.
func (a *EngineArgs) nextN() int64 {
	switch e := &a.Engine; {
	case e.NextN != nil:
		return *e.NextN
	case e.Timing.Type == TimingExternal && e.Timing.Config != nil && e.Timing.Config.NextN != nil:
		return *e.Timing.Config.NextN
	}
	return 0
}

// blocksExplicit reports whether num_gpu_blocks is meant, not to be estimated.
func (a *EngineArgs) blocksExplicit() bool {
	if a.NumGPUBlocksIsExplicit != nil {
		return *a.NumGPUBlocksIsExplicit
	}
	return a.Engine.BlocksGiven
}
