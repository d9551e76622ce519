package differential

import (
	"fmt"
	"math/rand/v2"
)

// sourceListed is the source of calls that list their requests.
const sourceListed = "requests"

// DrawListed makes the case of a seed and an index whose call lists its requests.
func DrawListed(seed uint64, index int) *Case {
	r := &random{rand.New(rand.NewPCG(seed, uint64(index)))}
	c := &Case{Kind: kindSpec, Source: sourceListed, Args: map[string]any{}, Engine: r.engine(), Ranks: r.between(1, 3), DecodeRanks: r.between(1, 3)}
	if r.chance(0.6) {
		r.split(c)
		c.Args["handoff_latency_ms"] = pick(r, 0, 0, 1, 2.5, 7.5)
	} else {
		c.Args["num_workers"] = r.between(1, 4)
	}
	ranks := c.Ranks
	if c.Decode != nil {
		ranks = min(c.Ranks, c.DecodeRanks)
	}
	if r.chance(0.02) {
		ranks++ // out of range for some worker
	}
	common := make([]int, 60)
	for i := range common {
		common[i] = r.IntN(50)
	}
	clock := 0.0
	for i := range r.between(0, 20) {
		if r.chance(0.6) {
			clock += float64(r.IntN(30)) / pick[float64](r, 1, 2, 4)
		}
		tokens := r.length()
		if r.chance(0.05) {
			tokens = 0
		}
		row := map[string]any{"id": fmt.Sprint("r", i), "arrival_time_ms": clock, "input_tokens": tokens, "output_tokens": r.outputs()}
		if r.chance(0.1) {
			row["arrival_time_ms"] = float64(r.IntN(80)) / 2
		}
		if r.chance(0.5) {
			row["input_token_ids"] = r.tokens(common, tokens)
		}
		if r.chance(0.2) {
			row["output_token_ids"] = r.tokens(nil, r.between(0, 20))
		}
		optional := func(p float64, key string, value any) {
			if r.chance(p) {
				row[key] = value
			}
		}
		optional(0.2, "session_id", fmt.Sprint("s", r.IntN(3)))
		optional(0.2, "turn_index", r.IntN(5))
		optional(0.4, "dp_rank", r.IntN(ranks))
		if c.Decode != nil {
			optional(0.3, "prefill_dp_rank", r.IntN(c.Ranks))
		}
		c.Rows = append(c.Rows, row)
	}
	if r.chance(0.2) {
		c.Args["max_in_flight"] = r.between(1, 6)
	}
	if r.chance(0.2) {
		c.Args["max_sim_time_ms"] = pick(r, 0, 5, 33.3, float64(r.between(0, 600))/2)
	}
	return c
}

// tokens is n token ids that begin like others.
func (r *random) tokens(common []int, n int) []int {
	out := append([]int{}, common[:min(n, r.IntN(len(common)+1))]...)
	for len(out) < n {
		out = append(out, r.IntN(60))
	}
	return out
}

// listed is the payload of a call that lists its requests.
func (c *Case) listed() map[string]any {
	requests := c.Rows
	if requests == nil {
		requests = []map[string]any{}
	}
	payload := map[string]any{"version": 1, "requests": requests}
	pool := func(workers string) map[string]any {
		return map[string]any{"initial_workers": orElse(c.Args[workers], 1)}
	}
	if c.Decode == nil {
		payload["topology"] = map[string]any{"kind": "aggregated", "workers": pool("num_workers")}
		payload["engine"] = map[string]any{"dp_size": max(1, c.Ranks), "rank": c.Engine}
	} else {
		payload["topology"] = map[string]any{
			"kind": "disaggregated", "prefill": pool("num_prefill_workers"), "decode": pool("num_decode_workers"),
			"handoff_latency_ms": orElse(c.Args["handoff_latency_ms"], 0),
		}
		payload["engine"] = map[string]any{
			"rank":    map[string]any{},
			"prefill": map[string]any{"dp_size": max(1, c.Ranks), "rank": c.Engine},
			"decode":  map[string]any{"dp_size": max(1, c.DecodeRanks), "rank": c.Decode},
		}
	}
	for _, key := range []string{"max_in_flight", "max_sim_time_ms"} {
		if v, ok := c.Args[key]; ok {
			payload[key] = v
		}
	}
	return map[string]any{"kind": kindSpec, "payload": payload}
}
