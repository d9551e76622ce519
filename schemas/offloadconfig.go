package schemas

import "github.com/dynosim/dynosim/schemas/strict"

// OffloadScope says who shares a cache level behind the GPU's.
type OffloadScope string

// Scopes (spec 10 sections 1 and 12).
const (
	ScopeRank    OffloadScope = "dp_rank_local"
	ScopeWorker  OffloadScope = "worker_local"
	ScopeCluster OffloadScope = "cluster_shared"
)

// HostOffload is a second cache level in host memory (spec 10 section 1). Bandwidths are
// decimal GB/s, 0 is unlimited.
type HostOffload struct {
	Scope                              OffloadScope
	HostBlocks                         int64
	D2HBandwidthGBps, H2DBandwidthGBps float64
	SharedD2HBandwidthGBps             float64
	SharedH2DBandwidthGBps             float64
	LatencyToFirstByteMS               float64
	// LayoutID exists in the engine mapping only; nil is not given.
	LayoutID *string
}

func (h *HostOffload) fields() *strict.Object {
	return &strict.Object{
		Doc: "A second cache level in host memory.",
		Fields: []*strict.Field{
			strict.Choice("scope", &h.Scope, ScopeRank, []OffloadScope{ScopeRank, ScopeCluster}, "One cache a rank, or one for the whole deployment.").
				Refuse(string(ScopeWorker), "worker_local is a scope of g3_offload"),
			strict.Int("num_host_blocks", &h.HostBlocks, "Blocks of the cache: of a rank, or of the one shared pool.").Positive().Required(),
			strict.DefaultFloat("d2h_bandwidth_gbps", &h.D2HBandwidthGBps, 32, "GPU to host, decimal GB/s of a rank; 0 is unlimited.").Min(0),
			strict.DefaultFloat("h2d_bandwidth_gbps", &h.H2DBandwidthGBps, 32, "Host to GPU, decimal GB/s of a rank; 0 is unlimited.").Min(0),
			strict.DefaultFloat("shared_d2h_bandwidth_gbps", &h.SharedD2HBandwidthGBps, 80, "GPU to host, of the shared pool as a whole.").Min(0),
			strict.DefaultFloat("shared_h2d_bandwidth_gbps", &h.SharedH2DBandwidthGBps, 80, "Host to GPU, of the shared pool as a whole.").Min(0),
			strict.DefaultFloat("latency_to_first_byte_ms", &h.LatencyToFirstByteMS, 0, "Time before a transfer starts, ms.").Min(0),
		},
	}
}

// nativeFields is fields with the key that only the engine mapping has.
func (h *HostOffload) nativeFields() *strict.Object {
	out := h.fields()
	out.Fields = append(out.Fields, strict.OptionalString("kv_layout_id", &h.LayoutID, "Identity of the block layout; required for cluster_shared."))
	return out
}

// G3Offload is a third cache level on storage (spec 10 section 12).
type G3Offload struct {
	Scope                                             OffloadScope
	Blocks                                            int64
	LatencyToFirstByteMS                              float64
	ReadBandwidthGBps, WriteBandwidthGBps             float64
	SharedReadBandwidthGBps, SharedWriteBandwidthGBps float64
}

func (g *G3Offload) fields() *strict.Object {
	return &strict.Object{
		Doc: "A third cache level on storage.",
		Fields: []*strict.Field{
			strict.Choice("scope", &g.Scope, "", []OffloadScope{ScopeWorker, ScopeCluster}, "One store a worker, or one for all.").Required(),
			strict.Int("num_g3_blocks", &g.Blocks, "Blocks of a store.").Positive().Required(),
			strict.DefaultFloat("latency_to_first_byte_ms", &g.LatencyToFirstByteMS, 0.1, "Time before a transfer starts, ms.").Min(0),
			strict.DefaultFloat("read_bandwidth_gbps", &g.ReadBandwidthGBps, 10, "Decimal GB/s of a worker.").Min(0),
			strict.DefaultFloat("write_bandwidth_gbps", &g.WriteBandwidthGBps, 10, "Decimal GB/s of a worker.").Min(0),
			strict.DefaultFloat("shared_read_bandwidth_gbps", &g.SharedReadBandwidthGBps, 80, "Decimal GB/s of the shared store.").Min(0),
			strict.DefaultFloat("shared_write_bandwidth_gbps", &g.SharedWriteBandwidthGBps, 80, "Decimal GB/s of the shared store.").Min(0),
		},
	}
}
