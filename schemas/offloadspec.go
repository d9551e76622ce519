package schemas

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// The cache levels that the simulation has; a configuration that asks for another one is refused as
// unsupported, once everything else about it has been checked.
const (
	simulatesHostOffload = true
	simulatesG3Offload   = true
)

// HostOffloadSpec is the host cache behind a rank's KV pool (spec 10 section 1). The zero value has
// none. Bandwidths are decimal GB/s, 0 is unlimited.
type HostOffloadSpec struct {
	Enabled bool
	// Shared says that the cache is the one pool of the deployment, not the rank's own.
	Shared bool
	// Blocks is the capacity, of a rank's cache or of the shared pool as a whole. It says nothing
	// about how many blocks there ever are: it may be far more than memory holds.
	Blocks int64
	// BytesPerToken is what a cached token takes, BlockBytes the size of a block. Both are 0 while they
	// are left to the model (DeploymentSpec.CacheBytes).
	BytesPerToken, BlockBytes int64
	// D2HGBps and H2DGBps are the link of a rank, the other two that of the shared pool as a whole,
	// unused by a rank's own cache.
	D2HGBps, H2DGBps, SharedD2HGBps, SharedH2DGBps float64
	// LatencyMS passes before the first byte of a transfer moves.
	LatencyMS float64
	// LayoutID identifies the layout of a block of a shared pool. LayoutDerived says that the document
	// has no word for it: it then follows from the worker's timing.
	LayoutID      string
	LayoutDerived bool
}

// String is "none" without a host cache.
func (h HostOffloadSpec) String() string {
	if !h.Enabled {
		return "none"
	}
	type plain HostOffloadSpec
	return fmt.Sprintf("%+v", plain(h))
}

// G3OffloadSpec is the storage behind the host cache (spec 10 section 12). The zero value has none.
// Bandwidths are decimal GB/s, 0 is unlimited.
type G3OffloadSpec struct {
	Enabled bool
	// Shared says that there is one store for all workers, not one a worker.
	Shared bool
	// Blocks is the capacity of a store; as HostOffloadSpec.Blocks it may be huge.
	Blocks int64
	// ReadGBps and WriteGBps are the link of a worker, the other two that of the shared store.
	ReadGBps, WriteGBps, SharedReadGBps, SharedWriteGBps float64
	// LatencyMS passes before the first byte of a transfer moves.
	LatencyMS float64
}

// String is "none" without storage.
func (g G3OffloadSpec) String() string {
	if !g.Enabled {
		return "none"
	}
	type plain G3OffloadSpec
	return fmt.Sprintf("%+v", plain(g))
}

// HostOffload reports whether any rank has a host cache.
func (s *RunSpec) HostOffload() bool {
	for i := range s.Pools {
		if s.Pools[i].Engine.Host.Enabled {
			return true
		}
	}
	return false
}

// G3Offload reports whether any worker has storage behind the host cache.
func (s *RunSpec) G3Offload() bool {
	for i := range s.Pools {
		if s.Pools[i].Engine.G3.Enabled {
			return true
		}
	}
	return false
}

// spec is the host cache as the run specification has it, for blocks of so many tokens; nil is none.
func (h *HostOffload) spec(blockTokens, bytesPerToken int64) HostOffloadSpec {
	if h == nil {
		return HostOffloadSpec{}
	}
	out := HostOffloadSpec{
		Enabled: true, Shared: h.Scope == ScopeCluster, Blocks: h.HostBlocks,
		BytesPerToken: bytesPerToken, BlockBytes: blockTokens * bytesPerToken,
		D2HGBps: h.D2HBandwidthGBps, H2DGBps: h.H2DBandwidthGBps,
		SharedD2HGBps: h.SharedD2HBandwidthGBps, SharedH2DGBps: h.SharedH2DBandwidthGBps,
		LatencyMS: h.LatencyToFirstByteMS,
	}
	if h.LayoutID != nil {
		out.LayoutID = *h.LayoutID
	}
	return out
}

// spec is the storage as the run specification has it; nil is none.
func (g *G3Offload) spec() G3OffloadSpec {
	if g == nil {
		return G3OffloadSpec{}
	}
	return G3OffloadSpec{
		Enabled: true, Shared: g.Scope == ScopeCluster, Blocks: g.Blocks, LatencyMS: g.LatencyToFirstByteMS,
		ReadGBps: g.ReadBandwidthGBps, WriteGBps: g.WriteBandwidthGBps,
		SharedReadGBps: g.SharedReadBandwidthGBps, SharedWriteGBps: g.SharedWriteBandwidthGBps,
	}
}

// OffloadProblem is what is wrong with the host cache of a pool.
type OffloadProblem struct {
	Pool Pool
	// Field is a key of the mapping of the host cache, "" for the mapping itself.
	Field   string
	Message string
}

// Error is the message.
func (p *OffloadProblem) Error() string { return p.Message }

// At is the problem of a document: paths are those of the mappings of the host cache by pool.
func (p *OffloadProblem) At(file string, paths [3]string) Problems {
	path := paths[p.Pool]
	if p.Field != "" {
		path += "." + p.Field
	}
	return Problems{{File: file, Path: path, Message: p.Message}}
}

// DocumentOffloadPaths and CallOffloadPaths are the paths of the mappings of the host cache, by pool.
var (
	DocumentOffloadPaths = [3]string{
		"engine.workers.aggregated.kv_cache.host_offload", "engine.workers.prefill.kv_cache.host_offload", "engine.workers.decode.kv_cache.host_offload",
	}
	CallOffloadPaths = [3]string{
		"args.extra_engine_args.engine.native_host_offload", "args.prefill_engine_args.engine.native_host_offload", "args.decode_engine_args.engine.native_host_offload",
	}
)

// Simulated refuses cache levels that this release checks but does not simulate, with an *Unsupported. The
// paths are those of OffloadProblem.At.
func (s *RunSpec) Simulated(file string, paths [3]string) error {
	var f features
	for i := range s.Pools {
		p := &s.Pools[i]
		f.need(!simulatesHostOffload && p.Engine.Host.Enabled, paths[p.Pool])
		f.need(!simulatesG3Offload && p.Engine.G3.Enabled, "g3_offload behind "+paths[p.Pool])
	}
	return f.err(file)
}

// checkAgenticOffload is CheckAgenticOffload for the document of a source that is known to be a graph
// of plays before it is read. The error is Problems.
func (s *RunSpec) checkAgenticOffload(file string, paths [3]string) error {
	if !s.Source.Format.Agentic() && s.Load.Agentic.Lanes == 0 {
		return nil
	}
	if problem := s.agenticOffload(); problem != nil {
		return problem.At(file, paths)
	}
	return nil
}

// CheckOffload refuses host caches whose sizes have no number, and roles that cannot share the one
// pool that they name (spec 10 section 1.1). It looks at what the model says about the size of a
// block, so the specification must be resolved. The error is an *OffloadProblem.
func (s *RunSpec) CheckOffload() error {
	var first *PoolSpec
	for i := range s.Pools {
		p := &s.Pools[i]
		if !p.Engine.Host.Enabled {
			continue
		}
		if problem := p.Engine.offloadSizes(); problem != nil {
			problem.Pool = p.Pool
			return problem
		}
		switch {
		case !p.Engine.Host.Shared:
		case first == nil:
			first = p
		default:
			if problem := sharesPool(&first.Engine, &p.Engine); problem != nil {
				problem.Pool = p.Pool
				return problem
			}
		}
	}
	return nil
}

// offloadSizes checks that sizes and durations are numbers.
func (e *EngineSpec) offloadSizes() *OffloadProblem {
	h := &e.Host
	over, block := bits.Mul64(uint64(e.BlockTokens), uint64(h.BytesPerToken))
	if over != 0 || block > math.MaxInt64 {
		return &OffloadProblem{Message: fmt.Sprintf("a block of %d tokens with %d bytes each has more bytes than 63 bits hold", e.BlockTokens, h.BytesPerToken)}
	}
	over, capacity := bits.Mul64(uint64(h.Blocks), block)
	if over != 0 {
		return &OffloadProblem{Field: "num_host_blocks", Message: fmt.Sprintf("got %d, which with blocks of %d bytes is more than 64 bits hold", h.Blocks, block)}
	}
	for _, link := range []struct {
		key  string
		gbps float64
	}{
		{"d2h_bandwidth_gbps", h.D2HGBps}, {"h2d_bandwidth_gbps", h.H2DGBps},
		{"shared_d2h_bandwidth_gbps", h.SharedD2HGBps}, {"shared_h2d_bandwidth_gbps", h.SharedH2DGBps},
	} {
		rate := link.gbps * 1e6
		if math.IsInf(rate, 0) || link.gbps > 0 && math.IsInf(float64(capacity)/rate, 0) {
			return &OffloadProblem{Field: link.key, Message: fmt.Sprintf("got %g, with which the time of a transfer of %d bytes is no number", link.gbps, capacity)}
		}
	}
	return nil
}

// sharesPool checks that two roles agree on the pool that both use; links and latencies may differ.
func sharesPool(a, b *EngineSpec) *OffloadProblem {
	x, y := &a.Host, &b.Host
	differ := func(field, what string, first, second any) *OffloadProblem {
		return &OffloadProblem{Field: field, Message: fmt.Sprintf("roles that share one pool need the same %s, got %v for prefill and %v for decode", what, first, second)}
	}
	switch {
	case x.Blocks != y.Blocks:
		return differ("num_host_blocks", "num_host_blocks", x.Blocks, y.Blocks)
	case a.TensorParallel != b.TensorParallel:
		return differ("", "tensor parallel size", a.TensorParallel, b.TensorParallel)
	case a.BlockTokens != b.BlockTokens:
		return differ("", "block size", a.BlockTokens, b.BlockTokens)
	case x.BytesPerToken != y.BytesPerToken:
		return differ("", "bytes of a cached token", x.BytesPerToken, y.BytesPerToken)
	case x.SharedD2HGBps != y.SharedD2HGBps:
		return differ("shared_d2h_bandwidth_gbps", "shared_d2h_bandwidth_gbps", x.SharedD2HGBps, y.SharedD2HGBps)
	case x.SharedH2DGBps != y.SharedH2DGBps:
		return differ("shared_h2d_bandwidth_gbps", "shared_h2d_bandwidth_gbps", x.SharedH2DGBps, y.SharedH2DGBps)
	case x.LayoutID == y.LayoutID:
		return nil
	case x.LayoutDerived:
		return differ("", "layout of blocks", layoutName(x.LayoutID), layoutName(y.LayoutID))
	}
	return differ("kv_layout_id", "kv_layout_id", fmt.Sprintf("%q", x.LayoutID), fmt.Sprintf("%q", y.LayoutID))
}

// layoutName is a derived layout in a message.
func layoutName(id string) string {
	if id == "" {
		return "one without measured data"
	}
	return "one for " + id
}

// CheckAgenticOffload refuses deployments with a host cache that plays cannot run on (spec 10 section
// 1.2). Call it for sources that are graphs of plays. The error is an *OffloadProblem of the first
// pool with a host cache.
func (s *RunSpec) CheckAgenticOffload() error {
	if problem := s.agenticOffload(); problem != nil {
		return problem
	}
	return nil
}

func (s *RunSpec) agenticOffload() *OffloadProblem {
	with := slices.IndexFunc(s.Pools, func(p PoolSpec) bool { return p.Engine.Host.Enabled })
	if with < 0 {
		return nil
	}
	for i := range s.Pools {
		p := &s.Pools[i]
		refuse := func(format string, args ...any) *OffloadProblem {
			return &OffloadProblem{Pool: s.Pools[with].Pool, Message: "with an agentic trace a host cache needs " + fmt.Sprintf(format, args...)}
		}
		switch {
		case p.Engine.G3.Enabled:
			return refuse("no g3_offload behind it")
		case p.Workers != 1:
			return refuse("one aggregated worker, or one prefill and one decode worker, got %d of the %s pool", p.Workers, PoolNames[p.Pool])
		case p.Engine.DataParallelRanks != 1:
			return refuse("one attention data-parallel rank a worker in every role, got %d in the %s pool", p.Engine.DataParallelRanks, PoolNames[p.Pool])
		case p.Engine.Backend != BackendVLLM:
			return refuse("backend vllm in every role, got %s", p.Engine.Backend)
		case p.Engine.Speculation.DraftTokens > 0:
			return refuse("every role without speculative decoding")
		case s.Scaling.Enabled:
			return refuse("pools of a fixed size, without a scaling policy")
		}
	}
	return nil
}
