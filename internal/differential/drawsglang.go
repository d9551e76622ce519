package differential

// sglang draws an engine of the backend sglang.
func (r *random) sglang() map[string]any {
	block := pick(r, 1, 1, 1, 2, 3, 4, 5, 8, 16, 32)
	settings := map[string]any{}
	e := map[string]any{"backend": "sglang", "block_size": block}
	switch r.IntN(4) {
	case 0: // hardly room for one request
		e["num_gpu_blocks"] = r.between(2, 6) + 60/block
	case 1, 2: // room for a few: retraction and eviction
		e["num_gpu_blocks"] = r.between(4, 30) + r.between(80, 300)/block
	default:
		e["num_gpu_blocks"] = pick(r, 100, 300, 1000, 16384)
	}
	if r.chance(0.4) {
		// The reference never ends when a lone request outgrows the pool, which it can if
		// admission did not count on its whole output.
		settings["clip_max_new_tokens"] = pick(r, 0, 1, 3, 10, 40, 500)
		if r.chance(0.95) {
			e["num_gpu_blocks"] = (r.between(420, 600) + block - 1) / block
		}
	}
	if r.chance(0.5) {
		settings["chunked_prefill_size"] = block * pick(r, 1, 2, 3, 4, 8, 20)
	} else if r.chance(0.6) || 8192%block != 0 {
		settings["chunked_prefill_size"] = block * 100
	}
	if r.chance(0.4) {
		settings["max_prefill_tokens"] = pick(r, 16, 33, 64, 128, 400)
	}
	if r.chance(0.5) {
		settings["schedule_conservativeness"] = pick(r, 0, 0.1, 0.3, 0.8, 1, 1.4, 3, r.Float64()*2)
	}
	if r.chance(0.5) {
		settings["schedule_policy"] = pick(r, "lpm", "lpm", "fifo")
	}
	if len(settings) > 0 {
		e["sglang"] = settings
	}
	if r.chance(0.4) {
		e["prefill_decode_interval"] = r.between(0, 6)
	}
	if r.chance(0.4) {
		e["max_num_seqs"] = pick[any](r, 1, 2, 3, 5, 9, nil)
	}
	if r.chance(0.2) {
		e["max_num_batched_tokens"] = pick[any](r, 1, 16, nil)
	}
	if r.chance(0.25) {
		e["max_model_len"] = pick(r, 1, 10, 20, 40, 80, 150)
	}
	if r.chance(0.15) {
		e["enable_prefix_caching"] = false
	}
	r.pace(e)
	return e
}
