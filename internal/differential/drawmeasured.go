package differential

import (
	"maps"
	"math/rand/v2"
)

// Measured is a model on a GPU system whose measured data times the passes of a case.
type Measured struct {
	Model, System                string
	Tensor, MoETensor, MoEExpert int
}

// DrawMeasured is Draw with timing from measured data in place of the drawn one, and often with the
// KV pool that the memory of the GPUs has room for.
func DrawMeasured(seed uint64, index int) *Case {
	c := Draw(seed, index)
	r := &random{rand.New(rand.NewPCG(^seed, uint64(index)))}
	m := &Measured{System: pick(r, "h100_sxm", "h200_sxm", "b200_sxm"), Tensor: pick(r, 1, 1, 2, 4), MoETensor: 1, MoEExpert: 1}
	ranks := max(c.Ranks, 1)
	if r.chance(0.6) || ranks == 3 {
		m.Model = pick(r, "Qwen/Qwen3-0.6B", "Qwen/Qwen3-8B", "Qwen/Qwen3-32B", "meta-llama/Meta-Llama-3.1-8B", "Qwen/Qwen3-32B-FP8")
	} else {
		m.Model, m.MoEExpert = pick(r, "Qwen/Qwen3-30B-A3B", "openai/gpt-oss-20b"), m.Tensor*ranks
	}
	// The reference wants none of these beside its data.
	for _, key := range []string{"aic_nextn", "aic_nextn_accept_rates", "aic_mtp_seed", "decode_speedup_ratio"} {
		delete(c.Engine, key)
		delete(c.Decode, key)
	}
	if r.chance(0.4) {
		delete(c.Engine, "num_gpu_blocks")
	}
	c.Measured = m
	return c
}

// measure puts the data into the launch of a role.
func (c *Case) measure(launch map[string]any, role string) {
	m := c.Measured
	engine := maps.Clone(launch["engine"].(map[string]any))
	config := map[string]any{
		"model": m.Model, "system": m.System, "backend": orElse(engine["backend"], "vllm"), "worker_type": role, "tp": m.Tensor, "attention_dp": max(c.Ranks, 1),
	}
	if m.MoEExpert > 1 {
		config["moe_tp_size"], config["moe_ep_size"] = m.MoETensor, m.MoEExpert
	}
	engine["timing_model"] = map[string]any{"type": "external", "provider": "ais", "config": config}
	launch["engine"], launch["tensor_parallel_size"] = engine, m.Tensor
}

// measureDocument is the same in the words of a document.
func (c *Case) measureDocument(engine map[string]any) {
	m := c.Measured
	engine["model"], engine["hardware"] = m.Model, m.System
	for role, settings := range engine["workers"].(map[string]any) {
		worker := settings.(map[string]any)
		worker["timing"] = map[string]any{"type": "default"}
		parallelism := worker["parallelism"].(map[string]any)
		parallelism["tensor"], parallelism["moe_tensor"], parallelism["moe_expert"] = m.Tensor, m.MoETensor, m.MoEExpert
		from := c.Engine
		if role == "decode" {
			from = c.Decode
		}
		if from["num_gpu_blocks"] == nil {
			worker["kv_cache"].(map[string]any)["capacity"] = map[string]any{"type": "default"}
		}
	}
}
