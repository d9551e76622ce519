package differential

import "math"

// Document is the configuration of predict that says the same as the call. ok is false when
// the document has no words for something in the call.
func (c *Case) Document() (document map[string]any, ok bool) {
	source, ok := c.source()
	if !ok || c.Source == sourceListed || c.Scaling != nil {
		return nil, false
	}
	switch c.Source {
	case sourceGraph, sourceLegacy, sourceWeka, sourceAgents:
		// A document always names a model.
		if c.Args["execution_model"] == nil {
			return nil, false
		}
	}
	load, ok := c.load()
	if !ok {
		return nil, false
	}
	mode, workers, ok := c.workers()
	if !ok {
		return nil, false
	}
	router, ok := c.router()
	if !ok {
		return nil, false
	}
	traffic := map[string]any{"source": source, "load": load}
	if stop := c.stop(); stop != nil {
		traffic["stop"] = stop
	}
	engine := map[string]any{
		"mode": mode, "backend": orElse(c.Engine["backend"], "vllm"), "model": orElse(c.Args["execution_model"], "any/model"), "hardware": "any-hardware",
		// The call has no limit by default, the document none that is unlimited.
		"context_length": orElse(c.Engine["max_model_len"], math.MaxInt32),
		"workers":        workers,
	}
	if c.Measured != nil {
		c.measureDocument(engine)
	}
	document = map[string]any{"traffic": traffic, "engine": engine}
	if router != nil {
		document["router"] = router
	}
	sla := map[string]any{}
	for _, key := range []string{"ttft_ms", "itl_ms", "e2e_ms"} {
		if v, set := c.Args["sla_"+key]; set {
			sla[key] = v
		}
	}
	if len(sla) > 0 {
		if sla["e2e_ms"] != nil && len(sla) > 1 {
			return nil, false
		}
		document["evaluation"] = map[string]any{"sla": sla}
	}
	return document, true
}

func orElse(v, otherwise any) any {
	if v == nil {
		return otherwise
	}
	return v
}

func (c *Case) source() (map[string]any, bool) {
	switch c.Source {
	case sourceList:
		return map[string]any{"type": "synthetic", "input_tokens": c.Args["input_tokens"], "output_tokens": c.Args["output_tokens"]}, true
	case sourceSessions:
		turns, _ := c.Args["turns_per_session"].(int)
		ratio, _ := c.Args["shared_prefix_ratio"].(float64)
		groups, _ := c.Args["num_prefix_groups"].(int)
		if turns < 2 || ratio > 0 && groups == 0 {
			return nil, false
		}
		return map[string]any{
			"type": "synthetic-session", "new_input_tokens_per_turn": c.Args["input_tokens"], "output_tokens_per_turn": c.Args["output_tokens"],
			"session": map[string]any{
				"turns": turns, "shared_prefix_ratio": ratio, "prefix_groups": groups,
				"inter_turn_delay_ms": orElse(c.Args["inter_turn_delay_ms"], 0),
			},
		}, true
	}
	if c.Args["trace_shared_prefix_ratio"] != nil {
		return nil, false
	}
	source := map[string]any{"type": "trace", "format": orElse(c.Args["trace_format"], "mooncake"), "paths": []string{"trace.jsonl"}}
	if v := c.Args["trace_block_size"]; v != nil {
		source["block_size"] = v
	}
	if v := c.Args["weka_nested_timestamp_basis"]; v != nil {
		source["nested_timestamp_basis"] = v
	}
	return source, true
}

func (c *Case) load() (map[string]any, bool) {
	if v := c.Args["replay_concurrency"]; v != nil {
		return map[string]any{"type": "concurrency", "concurrency": v}, c.Args["arrival_speedup_ratio"] == nil
	}
	if len(c.Rows) > 0 {
		load := map[string]any{"type": "trace_timestamps", "speedup": orElse(c.Args["arrival_speedup_ratio"], 1)}
		for _, key := range []string{"agentic_lanes", "agentic_snapshot", "agentic_warmup", "agentic_profile"} {
			if v := c.Args[key]; v != nil {
				load[key] = v
			}
		}
		return load, true
	}
	rate, ok := c.Args["request_rate"]
	// An interval is not the exact inverse of a rate.
	if !ok || c.Args["arrival_speedup_ratio"] != nil {
		return nil, false
	}
	unit := "requests_per_second"
	if c.Source == sourceSessions {
		unit = "sessions_per_second"
	}
	return map[string]any{"type": "poisson", unit: rate, "seed": orElse(c.Args["arrival_seed"], 42)}, true
}

func (c *Case) stop() map[string]any {
	switch c.Source {
	case sourceList:
		return map[string]any{"requests": c.Args["request_count"]}
	case sourceSessions:
		return map[string]any{"sessions": c.Args["request_count"]}
	}
	if v, ok := c.Args["max_sim_time_ms"].(float64); ok {
		return map[string]any{"max_virtual_time_seconds": v / 1000}
	}
	return nil
}

// workers is the mode and the roles of the document.
func (c *Case) workers() (mode string, roles map[string]any, ok bool) {
	if c.Decode == nil {
		worker, ok := c.worker(c.Engine, "num_workers")
		return "aggregated", map[string]any{"aggregated": worker}, ok
	}
	prefill, ok := c.worker(c.Engine, "num_prefill_workers")
	decode, also := c.worker(c.Decode, "num_decode_workers")
	same := c.Engine["max_model_len"] == c.Decode["max_model_len"] && c.Engine["backend"] != "trtllm"
	return "disaggregated", map[string]any{"prefill": prefill, "decode": decode}, ok && also && same
}

func (c *Case) worker(e map[string]any, replicas string) (map[string]any, bool) {
	for _, key := range []string{"preemption_mode", "enable_chunked_prefill", "speedup_ratio", "decode_speedup_ratio", "aic_nextn", "sglang", "prefill_decode_interval",
		"kv_transfer_bandwidth"} {
		if _, set := e[key]; set {
			return nil, false
		}
	}
	// The prefill role of a document has another default than an engine of a call.
	scheduler := map[string]any{"max_sequences": 256}
	for ours, theirs := range map[string]string{
		"max_batched_tokens": "max_num_batched_tokens", "max_sequences": "max_num_seqs", "prefill_schedule_interval": "prefill_schedule_interval",
	} {
		v, set := e[theirs]
		if set && v == nil {
			return nil, false // unlimited
		}
		if set {
			scheduler[ours] = v
		}
	}
	if _, set := scheduler["max_sequences"]; !set && replicas == "num_prefill_workers" && e["backend"] != "sglang" {
		scheduler["max_sequences"] = 256 // the document has 1
	}
	if limit, ok := c.Args["max_sim_time_ms"].(float64); ok && (limit == 0 || 1000*(limit/1000) != limit) {
		return nil, false
	}
	cache := map[string]any{
		"block_size": orElse(e["block_size"], map[any]int{"sglang": 1, "trtllm": 32, "vllm": 64, nil: 64}[e["backend"]]), "prefix_caching": orElse(e["enable_prefix_caching"], true),
		"capacity": map[string]any{"type": "fixed", "blocks": orElse(e["num_gpu_blocks"], 16384)},
	}
	if v, set := e["kv_cache_bytes_per_token"]; set {
		cache["bytes_per_token"] = v
	}
	if host := hostSection(e); host != nil {
		cache["host_offload"] = host
	}
	if v := e["g3_offload"]; v != nil {
		cache["g3_offload"] = v
	}
	return map[string]any{
		"parallelism": map[string]any{"replicas": orElse(c.Args[replicas], 1), "attention_data": max(c.Ranks, 1)},
		"scheduler":   scheduler,
		"kv_cache":    cache,
		"timing":      orElse(e["timing_model"], map[string]any{"type": "polynomial"}),
	}, true
}
