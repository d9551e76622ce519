package differential

// storage is what is behind host caches of blocks of about a megabyte.
func (r *random) storage() map[string]any {
	g := map[string]any{"scope": pick(r, "worker_local", "cluster_shared"), "num_g3_blocks": pick(r, r.between(2, 12), r.between(10, 90), 400)}
	if r.chance(0.8) {
		g["latency_to_first_byte_ms"] = pick(r, 0, 0, 0.25, 1.5)
		g["read_bandwidth_gbps"], g["write_bandwidth_gbps"] = pick(r, 0, 0.3, 0.5, 1, 2), pick(r, 0, 0.3, 0.5, 1, 2)
	}
	if r.chance(0.5) {
		g["shared_read_bandwidth_gbps"], g["shared_write_bandwidth_gbps"] = pick(r, 0, 0.4, 1, 1.5), pick(r, 0, 0.4, 1, 1.5)
	}
	return g
}

// returning draws the rows of a trace whose prompts begin like earlier ones and fit into the pool of a rank.
func (r *random) returning(c *Case) {
	block := pick(r, 1, 1, 1, 2) * c.Engine["block_size"].(int)
	c.Args["trace_format"], c.Args["trace_block_size"] = "mooncake", block
	room := c.Engine["num_gpu_blocks"].(int) * c.Engine["block_size"].(int)
	families := r.between(2, 6)
	clock, fresh := 0.0, 100_000
	for range r.between(3, 40) {
		output := pick(r, 1, 1, 1, 2, 3, 5, 9, 0)
		most := max(2, min(room-output, 12*block))
		if r.chance(0.02) {
			most += 2 * block
		}
		tokens := r.between(1, most)
		if r.chance(0.3) {
			tokens = max(1, tokens/block) * block
		}
		family, hashes, common := r.IntN(families), []int{}, r.between(0, 16)
		for i := range (tokens + block - 1) / block {
			if i < common {
				hashes = append(hashes, 1000*family+i)
			} else {
				fresh++
				hashes = append(hashes, fresh)
			}
		}
		c.Rows = append(c.Rows, map[string]any{"timestamp": clock, "input_length": tokens, "output_length": output, "hash_ids": hashes})
		switch r.IntN(4) {
		case 0: // the same instant
		case 1:
			clock += float64(r.between(10, 80))
		default:
			clock += float64(r.between(1, 20)) / 2
		}
	}
	if r.chance(0.15) {
		c.Args["replay_concurrency"] = r.between(1, 4)
	}
	if r.chance(0.1) {
		c.Args["max_sim_time_ms"] = float64(r.between(1, 200)) / 2
	}
}
