package differential

import (
	"cmp"
	"maps"
	"math/rand/v2"
)

// split makes the case a disaggregated one: the engine becomes that of the prefill workers, and decode
// workers get one of the same backend and block size with limits of their own.
func (r *random) split(c *Case) {
	delete(c.Args, "num_workers")
	c.Args["num_prefill_workers"], c.Args["num_decode_workers"] = r.between(1, 3), r.between(1, 3)
	c.Decode = maps.Clone(c.Engine)
	if r.chance(0.6) {
		other := r.engine()
		for other["backend"] != c.Engine["backend"] {
			other = r.engine()
		}
		keys := []string{"num_gpu_blocks", "timing_model", "enable_prefix_caching", "max_num_seqs", "max_num_batched_tokens", "max_model_len"}
		for _, key := range keys[:pick(r, 3, 3, len(keys))] {
			if _, speculates := c.Decode["aic_nextn"]; speculates && key == "num_gpu_blocks" {
				continue // see speculation
			}
			delete(c.Decode, key)
			if v, ok := other[key]; ok {
				c.Decode[key] = v
			}
		}
	}
	if r.chance(0.25) {
		c.Engine["kv_transfer_bandwidth"] = pick[any](r, 0, 1, 2.5, float64(1+r.IntN(999))/1000) // few digits: the reference reads some long ones a bit off
		c.Engine["kv_transfer_bytes_per_token"] = pick(r, 1, 100000, 500000)
		if r.chance(0.5) {
			c.Engine["kv_transfer_timing_mode"] = pick(r, "full_prompt", "destination_missing")
		}
	}
}

// DrawRoutedPools draws disaggregated cases of the KV router: few requests close to each other on few
// workers, because targets of equal cost leave the reference a choice (spec 06 section 5.1), and idle
// ones are equal.
func DrawRoutedPools(seed uint64, index int) *Case {
	r := &random{rand.New(rand.NewPCG(seed^0x9001, uint64(index)))}
	c := &Case{Kind: "trace", Args: map[string]any{"trace_format": "mooncake"}, Engine: r.engine()}
	c.Source = pick(r, sourceMooncake, sourceMooncake, sourceTurns)
	block := pick(r, 1, 2, 3, 4, 8, 16)
	c.Args["trace_block_size"] = block
	r.mooncake(c, block, r.between(2, 12))
	if c.Source == sourceTurns && r.chance(0.3) {
		c.Args["replay_concurrency"] = r.between(2, 6)
	}
	if r.chance(0.15) {
		c.Args["max_sim_time_ms"] = r.Float64() * 200
	}
	if r.chance(0.25) {
		c.Ranks = 2
	}
	r.router(c)
	if r.chance(0.7) {
		c.Router["decode_active_request_weight"] = 0.5 + r.Float64()
	}
	r.split(c)
	targets := pick(r, [2]int{1, 2}, [2]int{2, 1}, [2]int{2, 2}, [2]int{3, 1}, [2]int{1, 3})
	c.Args["num_prefill_workers"], c.Args["num_decode_workers"] = targets[0], targets[1]
	return c
}

// launches adds the engines of the call to its arguments.
func (c *Case) launches(args map[string]any) {
	launch := func(engine map[string]any, role string) map[string]any {
		if role != "" {
			engine = maps.Clone(engine)
			engine["worker_type"] = role
		}
		out := map[string]any{"engine": engine}
		if c.Ranks > 1 {
			out["dp_size"] = c.Ranks
		}
		if c.Startup > 0 {
			out["startup_time"] = c.Startup
		}
		if c.Measured != nil {
			c.measure(out, cmp.Or(role, "aggregated"))
		}
		return out
	}
	if c.Decode == nil {
		args["extra_engine_args"] = launch(c.Engine, "")
		return
	}
	args["prefill_engine_args"], args["decode_engine_args"] = launch(c.Engine, "prefill"), launch(c.Decode, "decode")
}
