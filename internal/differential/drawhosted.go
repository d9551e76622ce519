package differential

import (
	"maps"
	"math/rand/v2"
)

// DrawHosted makes the case of a seed and an index whose ranks have host caches.
func DrawHosted(seed uint64, index int) *Case {
	r := &random{rand.New(rand.NewPCG(seed^0x6057, uint64(index)))}
	if r.chance(0.25) {
		return r.hostedAgentic()
	}
	c := &Case{Kind: "trace", Args: map[string]any{}}
	c.Engine = r.hostedEngine()
	c.Source = pick(r, sourceMooncake, sourceMooncake, sourceMooncake, sourceTurns, sourceTurns, sourceList, sourceSessions)
	switch {
	case c.Source == sourceList || c.Source == sourceSessions:
		c.Kind = "synthetic"
		r.synthetic(c)
	case c.Source == sourceMooncake && r.chance(0.6):
		r.returning(c)
	default:
		r.trace(c)
	}
	c.Args["num_workers"] = r.between(1, 3)
	if r.chance(0.25) {
		c.Ranks = 2
		if r.chance(0.3) {
			c.Engine["prefill_schedule_interval"] = r.between(1, 3)
		}
	}
	host := r.hostCache()
	c.Engine["native_host_offload"] = host
	shared := host["scope"] == "cluster_shared"
	if r.chance(0.3) && !shared || r.chance(0.1) {
		r.router(c)
	}
	if c.Decode == nil && r.chance(0.25) {
		r.watched(c)
	}
	if r.chance(0.3) && c.Scaling == nil {
		r.split(c)
		r.hostedDecode(c)
	} else if c.Ranks == 0 && r.chance(0.5) {
		c.Engine["g3_offload"] = r.storage()
	}
	return c
}

// hostedDecode gives the ranks of both pools of a case a host cache, or those of one.
func (r *random) hostedDecode(c *Case) {
	host := c.Engine["native_host_offload"].(map[string]any)
	shared := host["scope"] == "cluster_shared"
	for _, e := range []map[string]any{c.Engine, c.Decode} {
		e["enable_prefix_caching"] = true
		delete(e, "max_model_len")
	}
	switch r.IntN(4) {
	case 0:
		delete(c.Decode, "native_host_offload")
	case 1:
		delete(c.Engine, "native_host_offload")
	case 2:
		other := r.hostCache()
		if shared && other["scope"] == host["scope"] {
			for _, key := range []string{"num_host_blocks", "shared_d2h_bandwidth_gbps", "shared_h2d_bandwidth_gbps"} {
				other[key] = host[key]
			}
		}
		c.Decode["native_host_offload"] = other
	}
}

// hostedAgentic is a graph of plays on one worker, or one of each pool.
func (r *random) hostedAgentic() *Case {
	for {
		c := DrawAgentic(r.Uint64(), 0)
		if c.Engine["backend"] == "trtllm" {
			continue
		}
		c.Engine, c.Ranks = r.hostedEngine(), 0
		c.Engine["native_host_offload"] = r.hostCache()
		delete(c.Args, "num_workers")
		if c.Decode != nil {
			r.split(c)
			r.hostedDecode(c)
			c.Args["num_prefill_workers"], c.Args["num_decode_workers"] = 1, 1
		}
		return c
	}
}

// hostedEngine is an engine that may have a host cache, with little room on the GPU.
func (r *random) hostedEngine() map[string]any {
	for {
		e := r.engine()
		if e["backend"] != "vllm" || e["aic_nextn"] != nil {
			continue
		}
		block := e["block_size"].(int)
		delete(e, "enable_prefix_caching")
		e["num_gpu_blocks"] = pick(r, r.between(2, 12), r.between(4, 30))*8/min(block, 8) + 40/block
		e["kv_cache_bytes_per_token"] = pick(r, 1000000/block, 1000, 250000)
		return e
	}
}

// hostCache is a host cache whose blocks take around a millisecond.
func (r *random) hostCache() map[string]any {
	bandwidth := func() float64 { return pick(r, 0, 0.05, 0.1, 0.5, 1, 1, 2, 4, 32, float64(r.between(1, 4000))/1000) }
	h := map[string]any{"num_host_blocks": pick(r, r.between(1, 10), r.between(5, 60), 400)}
	for _, key := range []string{"d2h_bandwidth_gbps", "h2d_bandwidth_gbps"} {
		if r.chance(0.9) {
			h[key] = bandwidth()
		}
	}
	if r.chance(0.3) {
		h["latency_to_first_byte_ms"] = pick(r, 0.25, 1, 0.1, r.Float64()*3)
	}
	if r.chance(0.45) {
		h["scope"], h["kv_layout_id"] = "cluster_shared", "layout"
		h["shared_d2h_bandwidth_gbps"], h["shared_h2d_bandwidth_gbps"] = pick(r, 80, bandwidth()), pick(r, 80, bandwidth())
	}
	return h
}

// hostSection is the host cache of an engine as the document has it, nil without one.
func hostSection(e map[string]any) map[string]any {
	h, ok := e["native_host_offload"].(map[string]any)
	if !ok {
		return nil
	}
	section := maps.Clone(h)
	delete(section, "kv_layout_id")
	return section
}
