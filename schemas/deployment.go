package schemas

// PassTimes prices forward passes from measured data (spec 09 section 4). It keeps what it has
// computed and is for one goroutine. Times are milliseconds.
type PassTimes interface {
	// PrefillMS is the time of requests requests with newTokens new tokens each, which come
	// after cachedTokens each.
	PrefillMS(requests, newTokens, cachedTokens int64) (float64, error)
	// DecodeMS is the time of requests requests with kvTokens tokens in the cache each.
	DecodeMS(requests, kvTokens int64) (float64, error)
	// MinDecodeMS is a lower bound on DecodeMS of at least one request, above 0.
	MinDecodeMS() float64
	// Private is the same prices for another goroutine.
	Private() PassTimes
	// String identifies the prices: equal texts have equal prices.
	String() string
}

// DeploymentSpec names what the measured data of a worker is looked up by (spec 09). Nothing below
// the command line reads it; what follows from it stands in the fields of EngineSpec.
type DeploymentSpec struct {
	// Model is a known name or a folder with a config.json, Hardware a GPU system, Version the
	// version of the backend's data or "" for the current one.
	Model, Hardware, Version string
	// Backend is the one whose data is used, "" for the engine's own.
	Backend Backend
	// MoETensor and MoEExpert are how experts are split; 1 and 1 for not at all.
	MoETensor, MoEExpert int64
	// GEMMQuant, MoEQuant, FMHAQuant and KVQuant replace the quantisation of the checkpoint; ""
	// leaves it.
	GEMMQuant, MoEQuant, FMHAQuant, KVQuant string
	// EstimateBlocks asks for NumBlocks from the memory of the GPU, of which MemoryFraction, 0
	// for the backend's default, may be used and GraphBytes is set aside.
	EstimateBlocks bool
	MemoryFraction float64
	GraphBytes     uint64
	// ModelContext asks for MaxModelLen from the model's configuration.
	ModelContext bool
	// TransferBytes asks for the bytes of a token in hand-offs from the model's configuration,
	// CacheBytes for those in the cache levels behind the GPU's.
	TransferBytes, CacheBytes bool
	// DraftTokens is the speculative depth that decode passes are priced for.
	DraftTokens int64
}

// LoadDataSpec is a deployment whose measured data the router's load model aic estimates prompts by (spec
// 06 section 6.1). It need not be that of the workers.
type LoadDataSpec struct {
	Deployment DeploymentSpec
	// Worker is the role that the data is for.
	Worker WorkerType
	// Tensor, Pipeline and AttentionData are the parallel sizes.
	Tensor, Pipeline, AttentionData int64
	// Passes prices the prompts; package perfmodel fills it in.
	Passes PassTimes
}

// Given reports whether the load model has data of its own.
func (s *LoadDataSpec) Given() bool { return s.Deployment.Model != "" }

// NeedsModel reports whether anything of the worker follows from the model's configuration.
func (e *EngineSpec) NeedsModel() bool {
	d := &e.Deployment
	return e.Timing.Kind == TimingDefault || d.EstimateBlocks || d.ModelContext || d.TransferBytes || d.CacheBytes
}

// NeedsData reports whether anything of the worker follows from the measured data of the GPU system.
func (e *EngineSpec) NeedsData() bool {
	return e.Timing.Kind == TimingDefault || e.Deployment.EstimateBlocks
}
