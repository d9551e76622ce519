package differential

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
)

// The kinds of source that are drawn.
const (
	sourceList     = "synthetic"
	sourceSessions = "synthetic-session"
	sourceMooncake = "mooncake"
	sourceTurns    = "mooncake-sessions"
	sourceDelta    = "mooncake-delta"
	sourceAgentic  = "applied_compute_agentic"
	sourceDynamo   = "dynamo"
)

// random draws values.
type random struct{ *rand.Rand }

// chance is true with the probability p.
func (r *random) chance(p float64) bool { return r.Float64() < p }

// between is an integer from low to high, both included.
func (r *random) between(low, high int) int { return low + r.IntN(high-low+1) }

// pick is one of the values.
func pick[T any](r *random, values ...T) T { return values[r.IntN(len(values))] }

// length is a token count, mostly small.
func (r *random) length() int {
	switch r.IntN(8) {
	case 0:
		return 1
	case 1:
		return r.between(1, 200)
	}
	return r.between(1, 40)
}

// delay is a duration in milliseconds on a coarse grid, so that times coincide, or an odd one.
func (r *random) delay() any {
	switch r.IntN(8) {
	case 0, 1:
		return 0
	case 2:
		return r.Float64() * 40
	case 3:
		// A literal that no float64 has exactly.
		return json.Number(fmt.Sprintf("%d.%d%d", r.IntN(50), r.IntN(1e9), r.Uint64()))
	case 4:
		return float64(r.IntN(80)) / 4
	}
	return 5 * r.IntN(8)
}

func draw(r *random) *Case {
	c := &Case{Kind: "trace", Args: map[string]any{}}
	c.Engine = r.engine()
	c.Source = pick(r, sourceList, sourceSessions, sourceMooncake, sourceMooncake, sourceTurns, sourceTurns, sourceTurns,
		sourceDelta, sourceDelta, sourceAgentic, sourceDynamo)
	switch c.Source {
	case sourceList, sourceSessions:
		c.Kind = "synthetic"
		r.synthetic(c)
	default:
		r.trace(c)
	}
	if r.chance(0.6) {
		c.Args["num_workers"] = r.between(1, 4)
	}
	if r.chance(0.3) {
		c.Ranks = r.between(1, 4)
		if c.Engine["backend"] == "vllm" && r.chance(0.5) {
			c.Engine["prefill_schedule_interval"] = r.between(1, 4)
		}
	}
	if r.chance(0.1) {
		c.Args["router_mode"] = "round_robin"
	}
	if r.chance(0.3) {
		bound := func() float64 { return float64(r.between(1, 400)) / 2 }
		if r.chance(0.3) {
			c.Args["sla_e2e_ms"] = bound()
		} else {
			c.Args["sla_ttft_ms"] = bound()
			if r.chance(0.6) {
				c.Args["sla_itl_ms"] = pick(r, 1.0, 1.7, 5, 5.5, 8, 20)
			}
		}
	}
	if r.chance(0.4) {
		return c
	}
	if r.chance(0.5) {
		r.router(c)
	}
	r.watched(c)
	if c.Kind != kindSpec && c.Source != sourceDelta && r.chance(0.2) {
		r.split(c)
	}
	if c.Router != nil && c.Scaling != nil && r.chance(0.8) {
		r.untie(c)
	}
	return c
}

func (r *random) engine() map[string]any {
	if r.chance(0.4) {
		return r.sglang()
	}
	block := pick(r, 2, 2, 3, 4, 4, 5, 7, 8, 16, 64)
	e := map[string]any{"backend": pick(r, "vllm", "vllm", "vllm", "trtllm"), "block_size": block}
	switch r.IntN(4) {
	case 0: // hardly room for one request
		e["num_gpu_blocks"] = r.between(2, 6) + 40/block
	case 1, 2: // room for a few: preemption
		e["num_gpu_blocks"] = r.between(4, 30) + 80/block
	default:
		e["num_gpu_blocks"] = pick(r, 100, 300, 1000, 16384)
	}
	if r.chance(0.75) {
		e["max_num_batched_tokens"] = pick[any](r, 1, 2, 3, 8, 16, 33, 64, 256, 8192, nil)
	}
	if r.chance(0.5) {
		e["max_num_seqs"] = pick[any](r, 1, 2, 3, 5, 9, nil)
	}
	if r.chance(0.3) {
		e["max_model_len"] = pick(r, 1, 10, 20, 40, 80, 150)
	}
	if r.chance(0.25) {
		e["enable_prefix_caching"] = false
	}
	if r.chance(0.25) {
		e["enable_chunked_prefill"] = false
		if r.chance(0.8) { // a longer prompt than the budget would stop its worker for ever
			e["max_num_batched_tokens"] = pick[any](r, 256, 8192, nil)
		}
	}
	if r.chance(0.3) {
		e["preemption_mode"] = pick(r, "fifo", "fifo", "lifo")
	}
	r.pace(e)
	return e
}

// pace draws what the length of passes depends on: ratios, speculation and timing.
func (r *random) pace(e map[string]any) {
	if r.chance(0.15) {
		e["speedup_ratio"] = pick(r, 0, 0.3, 1, 2, 3.3)
	}
	if r.chance(0.15) {
		e["decode_speedup_ratio"] = pick(r, 0, 0.7, 1, 1.7)
	}
	if r.chance(0.15) {
		r.speculation(e)
	}
	r.timing(e)
}

// timing draws how long passes take.
func (r *random) timing(e map[string]any) {
	if r.chance(0.7) {
		fixed := func(prefill, decode float64) map[string]any {
			return map[string]any{"type": "fixed", "prefill_ms": prefill, "decode_ms": decode}
		}
		e["timing_model"] = pick(r, fixed(10, 5), fixed(10, 5), fixed(3.3, 1.7), fixed(5, 5), fixed(0, 1), fixed(3.3, 0), fixed(0, 0),
			fixed(float64(r.between(0, 40))/2, float64(r.between(0, 20))/2))
	} else if r.chance(0.8) {
		e["timing_model"] = map[string]any{"type": "polynomial"}
	}
}

// speculation draws speculative decoding on a pool with room for everything: the reference
// never ends when a request cannot have its longest burst (spec 03 section 5.7).
func (r *random) speculation(e map[string]any) {
	n := r.between(1, 5)
	e["aic_nextn"] = n
	e["num_gpu_blocks"] = pick(r, 300, 1000, 16384)
	delete(e, "decode_speedup_ratio")
	if r.chance(0.7) {
		e["aic_nextn_accept_rates"] = pick(r, "1,1", "0.5", "0,1", "0.9,0.7,0.5,0.3", "", "0.99,0.99,0.99,0.99,0.99,0.1")
	}
	if r.chance(0.7) {
		e["aic_mtp_seed"] = pick(r, 0, 7, r.Uint64())
	}
}

func (r *random) synthetic(c *Case) {
	c.Args["input_tokens"] = r.length()
	c.Args["output_tokens"] = r.between(1, 30)
	c.Args["request_count"] = r.between(1, 30)
	if c.Source == sourceSessions {
		c.Args["turns_per_session"] = r.between(1, 5)
		c.Args["request_count"] = r.between(1, 12)
		if r.chance(0.7) {
			c.Args["shared_prefix_ratio"] = pick(r, 0.25, 0.5, 0.77, 1, r.Float64())
			c.Args["num_prefix_groups"] = r.between(0, 5)
		}
		if r.chance(0.7) || c.Args["turns_per_session"] == 1 && c.Args["shared_prefix_ratio"] == nil {
			c.Args["inter_turn_delay_ms"] = pick(r, 0.5, 1, 5, 10, r.Float64()*30)
		}
	}
	switch r.IntN(3) {
	case 0:
		c.Args["replay_concurrency"] = r.between(1, 12)
	case 1:
		c.Args["request_rate"] = pick(r, 1, 8, 50, 333.3, 2000, r.Float64()*500+0.1)
		if r.chance(0.6) {
			c.Args["arrival_seed"] = r.Uint64()
		}
	default:
		c.Args["arrival_interval_ms"] = pick(r, 0, 1, 5, 10, 7.3, r.Float64()*20)
	}
	if r.chance(0.2) && c.Args["replay_concurrency"] == nil {
		c.Args["arrival_speedup_ratio"] = pick(r, 0.5, 2, 3.7)
	}
}

func (r *random) trace(c *Case) {
	block := pick(r, 1, 2, 3, 4, 6, 8, 16)
	c.Args["trace_block_size"] = block
	count := r.between(1, 25)
	if r.chance(0.05) {
		count = r.between(50, 200)
	}
	closed := r.chance(0.4)
	switch c.Source {
	case sourceAgentic:
		c.Args["trace_format"] = "applied_compute_agentic"
		closed = true
		for range (count + 2) / 3 {
			c.Rows = append(c.Rows, r.agenticRow())
		}
		if r.chance(0.5) {
			c.Args["trace_shared_prefix_ratio"] = pick(r, 0.25, 0.5, 1, r.Float64())
			c.Args["trace_num_prefix_groups"] = r.between(0, 3)
		}
	case sourceDynamo:
		c.Args["trace_format"] = "dynamo"
		if r.chance(0.7) {
			delete(c.Args, "trace_block_size")
		}
		prompts := newPrompts(r, block)
		for i := range count {
			c.Rows = append(c.Rows, r.dynamoRow(prompts, i))
		}
	default:
		c.Args["trace_format"] = "mooncake"
		if c.Source == sourceDelta {
			c.Args["trace_format"] = "mooncake-delta"
		}
		r.mooncake(c, block, count)
	}
	if closed {
		c.Args["replay_concurrency"] = r.between(1, 8)
	} else if r.chance(0.4) {
		c.Args["arrival_speedup_ratio"] = pick(r, 0.5, 2, 3, 3.7)
	}
	if r.chance(0.2) {
		c.Args["max_sim_time_ms"] = pick(r, 0, 5, 10, 50, float64(r.between(0, 600))/2, r.Float64()*300)
	}
}

// prompts makes hash lists that share prefixes.
type prompts struct {
	*random
	block    int
	families [][]uint64
	fresh    uint64
}

func newPrompts(r *random, block int) *prompts {
	p := &prompts{random: r, block: block, fresh: pick[uint64](r, 0, 1000, 1<<53, 1<<63)}
	for range r.between(1, 4) {
		family := make([]uint64, r.between(1, 60))
		for i := range family {
			family[i] = p.next()
		}
		p.families = append(p.families, family)
	}
	return p
}

func (p *prompts) next() uint64 {
	if p.chance(0.1) {
		return uint64(p.IntN(6)) // ids that occur in many places
	}
	p.fresh++
	return p.fresh
}

// draw is a prompt: its length, and hashes that cover it or more.
func (p *prompts) draw() (tokens int, hashes []uint64) {
	tokens = p.length()
	blocks := (tokens + p.block - 1) / p.block
	if p.chance(0.1) {
		blocks += p.between(1, 3)
	}
	if p.chance(0.7) {
		family := p.families[p.IntN(len(p.families))]
		hashes = append(hashes, family[:min(blocks, p.between(0, len(family)))]...)
	}
	for len(hashes) < blocks {
		hashes = append(hashes, p.next())
	}
	if p.chance(0.3) {
		tokens = min(len(hashes), blocks) * p.block // a whole number of blocks
	}
	return tokens, hashes
}

func (r *random) outputs() int {
	if r.chance(0.08) {
		return 0
	}
	if r.chance(0.05) {
		return r.between(60, 200)
	}
	return r.between(1, 30)
}

func (r *random) mooncake(c *Case, block, count int) {
	prompts := newPrompts(r, block)
	sessions := 0
	if c.Source != sourceMooncake {
		sessions = r.between(1, max(1, count/2))
	}
	clock := float64(r.IntN(3)) * 1000
	if r.chance(0.1) {
		clock = -50
	}
	began := map[string]bool{}
	for i := range count {
		tokens, hashes := prompts.draw()
		row := map[string]any{"hash_ids": hashes, "output_length": r.outputs()}
		if !r.chance(0.1) || tokens != len(hashes)*block {
			row["input_length"] = tokens
		}
		if r.chance(0.6) { // else it comes at the same time
			clock += float64(r.IntN(30)) / pick[float64](r, 1, 1, 2, 3)
		}
		row["timestamp"] = clock
		if r.chance(0.05) {
			row["timestamp"] = json.Number(strconv.FormatFloat(clock, 'f', 3, 64) + strconv.FormatUint(r.Uint64(), 10))
		}
		if sessions > 0 && r.chance(0.85) {
			r.turn(row, began, sessions)
		}
		if r.chance(0.15) {
			authored := make([]int, row["output_length"].(int))
			for j := range authored {
				authored[j] = r.IntN(8)
			}
			row["output_token_ids"] = authored
		}
		if r.chance(0.05) {
			row["priority"] = r.between(-2, 5)
			row["policy_class"] = "batch"
		}
		if r.chance(0.02) {
			row["request_id"] = fmt.Sprint("id-", i)
		}
		c.Rows = append(c.Rows, row)
	}
}

// turn makes the row a turn of a session.
func (r *random) turn(row map[string]any, began map[string]bool, sessions int) {
	name := fmt.Sprint("session-", r.IntN(sessions))
	if r.chance(0.02) {
		name = "request_2" // the name that an anonymous second row gets
	}
	row["session_id"] = name
	if !began[name] {
		began[name] = true
		return
	}
	switch r.IntN(3) {
	case 0:
		row["delay"] = r.delay()
	case 1:
		delete(row, "timestamp")
		row["delay"] = r.delay()
	}
}

func (r *random) agenticRow() map[string]any {
	turns := r.between(0, 4)
	responses, tools := make([]int, turns), make([]int, turns)
	latencies := make([]any, turns)
	for i := range turns {
		responses[i], tools[i] = r.outputs(), r.between(0, 20)
		latencies[i] = pick[any](r, 0, 0.001, 0.005, 0.02, r.Float64()/20)
	}
	return map[string]any{
		"num_turns": turns, "input_prompt_length": r.length(), "assistant_response_length": responses,
		"tool_call_output_length": tools, "tool_call_latency": latencies, "final_assistant_response_length": r.outputs(),
	}
}

func (r *random) dynamoRow(p *prompts, i int) map[string]any {
	tokens, hashes := p.draw()
	received := 1_700_000_000_000 + 5*r.IntN(40)
	request := map[string]any{
		"request_id": fmt.Sprintf("r%d", i*7%23*100+i), "output_tokens": r.outputs(),
		"replay": map[string]any{"trace_block_size": p.block, "input_length": tokens, "input_sequence_hashes": hashes},
	}
	event := received + r.IntN(100)
	if r.chance(0.8) {
		request["request_received_ms"] = received
	}
	if r.chance(0.8) {
		request["total_time_ms"] = pick(r, 0, 10, 10.5, r.Float64()*100)
	}
	return map[string]any{"schema": "dynamo.request.trace.v1", "event_type": "request_end", "event_time_unix_ms": event, "request": request}
}
