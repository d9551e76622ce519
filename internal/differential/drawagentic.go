package differential

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
)

// The kinds of agentic source that are drawn.
const (
	sourceGraph  = "agentic-mooncake"
	sourceLegacy = "agentic-mooncake-rows"
	sourceWeka   = "weka"
	sourceAgents = "dynamo-agents"
)

// kindSpec is the reference's second entry: it alone knows snapshots, warm-ups and profiles.
const kindSpec = "spec"

// DrawAgentic makes the case of a seed and an index whose source is a graph of plays.
func DrawAgentic(seed uint64, index int) *Case {
	r := &random{rand.New(rand.NewPCG(seed, uint64(index)))}
	c := &Case{Kind: "trace", Args: map[string]any{"execution_model": "target/model"}, Engine: r.engine()}
	c.Source = pick(r, sourceGraph, sourceGraph, sourceGraph, sourceLegacy, sourceWeka, sourceWeka, sourceWeka, sourceAgents, sourceAgents)
	block := pick(r, 1, 2, 3, 4, 4, 8, 16)
	switch c.Source {
	case sourceGraph:
		c.Args["trace_format"] = "agentic_mooncake"
		c.Rows = r.graph(block)
	case sourceLegacy:
		c.Args["trace_format"], c.Args["trace_block_size"] = "agentic_mooncake", block
		c.Rows = r.legacyRows(block)
	case sourceWeka:
		c.Args["trace_format"] = "weka"
		if r.chance(0.2) {
			c.Args["trace_block_size"] = block
		}
		c.Rows = r.corpus(c, block)
	default:
		c.Args["trace_format"] = "dynamo"
		c.Rows = r.agents(block)
	}
	if r.chance(0.5) {
		c.Args["num_workers"] = r.between(1, 3)
	}
	if r.chance(0.6) {
		c.Args["agentic_lanes"] = r.between(1, 4)
	}
	if r.chance(0.3) {
		c.Args["arrival_speedup_ratio"] = pick(r, 0.5, 2, 3, 3.7, 20)
	}
	_, bursts := c.Engine["aic_nextn"]
	second := c.Source == sourceLegacy || r.chance(0.45)
	if second && (bursts || c.Engine["backend"] == "trtllm") {
		c.plain(c.Engine)
	}
	if second {
		c.Kind = kindSpec
		r.snapshot(c)
		if r.chance(0.25) {
			r.split(c)
			c.plain(c.Decode)
		}
		return c
	}
	if r.chance(0.3) {
		r.split(c)
	}
	if r.chance(0.35) {
		r.router(c)
		if c.Decode != nil {
			delete(c.Args, "num_workers")
		}
	}
	if r.chance(0.25) {
		c.Ranks = r.between(1, 3)
	}
	if r.chance(0.2) {
		c.Args["max_sim_time_ms"] = pick(r, 0, 10, 50, float64(r.between(0, 2000))/2, r.Float64()*900)
	}
	return c
}

// plain takes out of an engine what the second entry does not have.
func (c *Case) plain(engine map[string]any) {
	for _, key := range []string{"aic_nextn", "aic_nextn_accept_rates", "aic_mtp_seed"} {
		delete(engine, key)
	}
	if engine["backend"] == "trtllm" {
		engine["backend"] = "vllm"
	}
}

// snapshot draws snapshots, warm-ups and profiles.
func (r *random) snapshot(c *Case) {
	if !r.chance(0.75) {
		return
	}
	c.Args["agentic_lanes"] = r.between(1, 5)
	c.Args["agentic_snapshot"] = map[string]any{"seed": pick(r, 0, 42, r.Uint64())}
	if r.chance(0.5) {
		c.Args["agentic_warmup"] = true
	}
	if !r.chance(0.6) {
		return
	}
	profile := map[string]any{"duration_seconds": pick(r, 0.05, 0.2, 0.5, 1, float64(r.between(1, 400))/100)}
	if r.chance(0.8) {
		profile["response_grace_seconds"] = pick(r, 0, 0.01, 0.0335, 0.1, r.Float64()/10)
	}
	if r.chance(0.5) {
		profile["tree_idle_cap_seconds"] = pick(r, 0.01, 0.05, 0.3, 2)
	}
	if r.chance(0.5) {
		profile["global_idle_cap_seconds"] = pick(r, 0.005, 0.02, 0.1, 1)
	}
	if r.chance(0.1) {
		profile["cancel_drain_seconds"] = pick(r, 0, 1)
	}
	c.Args["agentic_profile"] = profile
}

// play draws what each of the sources needs: how many nodes the plays have.
func (r *random) playSizes() []int {
	sizes := make([]int, r.between(1, 5))
	for i := range sizes {
		sizes[i] = r.between(1, 9)
		if r.chance(0.3) {
			sizes[i] = 1
		}
	}
	return sizes
}

// clock is a time in milliseconds, often one that others have too.
func (r *random) clock(span int) float64 {
	if r.chance(0.7) {
		return float64(r.between(0, span/10) * 10)
	}
	return float64(r.between(0, span*1000)) / 1000
}

// exact is a prompt whose blocks are as many as its tokens need.
func (p *prompts) exact() (tokens int, hashes []uint64) {
	tokens, hashes = p.draw()
	n := (tokens + p.block - 1) / p.block
	return tokens, hashes[:n]
}

// graph draws rows of the format with a header.
func (r *random) graph(block int) []map[string]any {
	rows := []map[string]any{{
		"schema": "dynamo.agentic_mooncake", "version": 2, "block_size": block, "hash_id_scope": "local",
		"source": map[string]any{"format": "drawn", "digest": fmt.Sprint("d", r.IntN(1000))},
	}}
	p := newPrompts(r, block)
	ordinals := r.chance(0.3)
	sizes := r.playSizes()
	order := r.Perm(len(sizes))
	authored := r.chance(0.15)
	for play, size := range sizes {
		names := make([]string, size)
		for i := range names {
			names[i] = fmt.Sprintf("%s%d-p%d", pick(r, "a", "b", "r"), i, play)
		}
		times := make([]float64, size)
		for i := range size {
			tokens, hashes := p.exact()
			times[i] = r.clock(600)
			row := map[string]any{
				"request_id": names[i], "play_id": fmt.Sprintf("play%d", play), "session_id": fmt.Sprintf("s%d-%d", play, r.IntN(3)),
				"model": pick(r, "m1", "m2"), "input_length": tokens, "output_length": r.outputs(), "hash_ids": hashes, "not_before_ms": times[i],
			}
			if ordinals {
				row["source_play_ordinal"] = order[play]
			}
			if r.chance(0.5) {
				row["recorded_api_time_ms"] = pick(r, 0, 5, 20.5, r.Float64()*50)
			}
			if authored && r.chance(0.5) {
				tokens := make([]int, row["output_length"].(int))
				for j := range tokens {
					tokens[j] = r.IntN(8)
				}
				row["output_token_ids"] = tokens
			}
			var edges []any
			for k := 0; i > 0 && k < r.IntN(4); k++ {
				j := r.IntN(i)
				relation := pick(r, "sequence", "spawn", "spawn", "join", "replay_barrier")
				trigger := "completion"
				if relation == "spawn" && r.chance(0.6) {
					trigger = "dispatch"
				}
				if r.chance(0.9) { // else the cut may fall between
					times[i] = max(times[i], times[j])
					row["not_before_ms"] = times[i]
				}
				edges = append(edges, map[string]any{"request_id": names[j], "trigger": trigger, "delay_ms": r.delay(), "relation": relation})
			}
			if edges != nil {
				row["dependencies"] = edges
			}
			rows = append(rows, row)
		}
	}
	body := rows[1:]
	r.Shuffle(len(body), func(i, j int) { body[i], body[j] = body[j], body[i] })
	return rows
}

// legacyRows draws rows of the format without a header.
func (r *random) legacyRows(block int) []map[string]any {
	p := newPrompts(r, block)
	var rows []map[string]any
	for play, size := range r.playSizes() {
		for i := range size {
			tokens, hashes := p.exact()
			row := map[string]any{"request_id": fmt.Sprintf("r%d-%d", play, i), "input_length": tokens, "output_length": r.outputs(), "hash_ids": hashes}
			if r.chance(0.8) {
				row["timestamp"] = r.clock(400)
			}
			if r.chance(0.5) {
				row["session_id"] = fmt.Sprint("s", r.IntN(3))
			}
			var waits []string
			for k := 0; i > 0 && k < r.IntN(3); k++ {
				waits = append(waits, fmt.Sprintf("r%d-%d", play, r.IntN(i)))
			}
			if waits != nil {
				row["wait_for"] = waits
				if r.chance(0.7) {
					row[pick(r, "delay", "delay_ms")] = r.delay()
				}
				if r.chance(0.5) {
					row["tool_wait_ms"] = r.delay()
				}
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// seconds is a duration on a grid of milliseconds, or an odd one.
func (r *random) seconds(span float64) any {
	switch r.IntN(6) {
	case 0:
		return json.Number(fmt.Sprintf("%d.%d%d", r.IntN(int(span)+1), r.IntN(1e9), r.Uint64()))
	case 1:
		return r.Float64() * span
	}
	return float64(r.IntN(int(span*50)+1)) / 50
}

// corpus draws the objects of a Weka corpus: conversations that grow, fork and are compacted, and
// subagents.
func (r *random) corpus(c *Case, block int) []map[string]any {
	if r.chance(0.3) {
		c.Args["weka_nested_timestamp_basis"] = pick(r, "auto", "absolute", "relative")
	}
	relative := c.Args["weka_nested_timestamp_basis"] == "relative"
	var rows []map[string]any
	for i := range r.between(1, 3) {
		w := &wekaTrace{random: r, block: block, clock: float64(r.IntN(3)) / 2, relative: relative}
		rows = append(rows, w.draw(i))
	}
	return rows
}

// wekaTrace draws one object of a corpus.
type wekaTrace struct {
	*random
	block int
	// clock is the time in seconds, next the next fresh id.
	clock    float64
	next     int
	relative bool
	tails    [][]int
}

func (w *wekaTrace) draw(i int) map[string]any {
	var entries []any
	for range w.between(1, 9) {
		if len(entries) > 0 && w.chance(0.25) {
			entries = append(entries, w.subagent())
			continue
		}
		entries = append(entries, w.request(w.clock))
		w.step()
	}
	return map[string]any{"id": fmt.Sprint("t", i), "block_size": w.block, "hash_id_scope": "local", "models": []string{}, "requests": entries}
}

func (w *wekaTrace) step() {
	w.clock += pick(w.random, 0, 0.01, 0.02, 0.1, 0.1, 0.5, 0.123456, w.Float64()/5)
}

// request draws a request at a time: its blocks continue a conversation, fork from one, or are new.
func (w *wekaTrace) request(at float64) map[string]any {
	ids := []int{}
	if len(w.tails) > 0 && w.chance(0.8) {
		tail := w.tails[w.IntN(len(w.tails))]
		keep := len(tail)
		if w.chance(0.3) {
			keep = w.between(0, keep)
		}
		ids = append(ids, tail[:keep]...)
	}
	for range w.between(0, 3) {
		w.next++
		ids = append(ids, w.next)
	}
	w.tails = append(w.tails, ids)
	tokens := max(1, len(ids)*w.block-w.IntN(w.block+1))
	if w.chance(0.1) {
		tokens += w.between(0, 3*w.block)
	}
	q := map[string]any{"t": at, "type": pick(w.random, "n", "s"), "model": pick(w.random, "m1", "m1", "m1", "m2"), "in": tokens, "out": w.outputs(), "hash_ids": ids}
	if w.chance(0.8) {
		q["api_time"] = pick[any](w.random, nil, 0, 0.01, 0.02, 0.1, w.seconds(0.4))
	}
	return q
}

func (w *wekaTrace) subagent() map[string]any {
	marker := w.clock
	own := &wekaTrace{random: w.random, block: w.block, next: w.next + 1000, tails: w.tails[:min(len(w.tails), w.IntN(2))]}
	var nested []any
	at := marker
	if w.relative {
		at = 0
	}
	for range w.between(1, 4) {
		nested = append(nested, own.request(at))
		at += pick(w.random, 0, 0.01, 0.03, 0.1)
	}
	w.next = own.next
	a := map[string]any{"type": "subagent", "t": marker, "agent_id": fmt.Sprint("ag", w.IntN(3)), "subagent_type": "x",
		"status": pick(w.random, "completed", "completed", "async_launched"), "requests": nested}
	if w.chance(0.5) {
		a["duration_ms"] = w.between(0, 400)
	}
	w.step()
	return a
}

// agents draws a Dynamo trace whose requests have agent contexts.
func (r *random) agents(block int) []map[string]any {
	p := newPrompts(r, block)
	const base = 1_700_000_000_000
	var rows []map[string]any
	type span struct {
		id         string
		start, end int
	}
	var ids []span
	number := 0
	var add func(session, parent string, clock, depth int)
	add = func(session, parent string, clock, depth int) {
		for range r.between(1, 4) {
			tokens, hashes := p.exact()
			took := pick(r, 0, 5, 10, 20, r.IntN(60))
			number++
			id := fmt.Sprintf("q%d", number*7%31*100+number)
			agent := map[string]any{"session_id": session}
			if parent != "" {
				agent["parent_session_id"] = parent
			}
			request := map[string]any{
				"request_id": id, "output_tokens": r.outputs(), "request_received_ms": base + clock, "total_time_ms": took,
				"replay": map[string]any{"trace_block_size": block, "input_length": tokens, "input_sequence_hashes": hashes},
			}
			if r.chance(0.1) && len(ids) > 0 {
				if before := ids[r.IntN(len(ids))]; before.start <= clock {
					request["replay"].(map[string]any)["dependencies"] = []any{map[string]any{
						"request_id": before.id, "relation": pick(r, "sequence", "join"), "trigger": "completion",
					}}
				}
			}
			rows = append(rows, map[string]any{
				"schema": "dynamo.request.trace.v1", "event_type": "request_end", "event_time_unix_ms": base + clock + took,
				"agent_context": agent, "request": request,
			})
			ids = append(ids, span{id, clock, clock + took})
			if depth < 2 && r.chance(0.3) {
				add(fmt.Sprintf("%s.%d", session, number), session, clock+r.IntN(took+10), depth+1)
			}
			clock += took + 5*r.IntN(12)
		}
	}
	for i := range r.between(1, 4) {
		add(fmt.Sprint("s", i), "", 10*r.IntN(20), 0)
	}
	return rows
}
