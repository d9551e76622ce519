package pipeline

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"pgregory.net/rapid"

	"github.com/dynosim/dynosim/schemas"
)

// drawSpec draws a run of any kind of source and load, small enough to take no time, with pools
// that evict and preempt. Trace files go into dir.
func drawSpec(rt *rapid.T, dir string) *schemas.RunSpec {
	spec := &schemas.RunSpec{
		Pools: schemas.AggregatedPool(drawEngine(rt), rapid.IntRange(1, 3).Draw(rt, "workers")), TimeLimitMS: math.Inf(1),
		SLA: schemas.NoSLA(), Stack: rapid.SampledFrom([]schemas.Stack{schemas.StackDynamo, schemas.StackEngine}).Draw(rt, "stack"),
		CapturePerRequest: rapid.Bool().Draw(rt, "capture"),
	}
	spec.Load.Speedup = 1
	if rapid.Bool().Draw(rt, "SLA") {
		spec.SLA.TTFTMS = 20
	}
	if rapid.IntRange(0, 3).Draw(rt, "limited") == 0 {
		spec.TimeLimitMS = rapid.Float64Range(0, 300).Draw(rt, "time limit")
	}
	closed := rapid.Bool().Draw(rt, "closed loop")
	switch kind := rapid.SampledFrom([]string{"list", "sessions", "mooncake", "turns", "delta", "applied", "dynamo", "weka", "graph", "waits", "agents"}).Draw(rt, "source"); kind {
	case "list", "sessions":
		drawSynthetic(rt, spec, kind == "sessions")
	case "weka", "graph", "waits", "agents":
		drawPlays(rt, spec, kind, dir)
		closed = false
	default:
		closed = drawTrace(rt, spec, kind, dir) || closed
	}
	if closed {
		spec.Load.Kind, spec.Load.Concurrency = schemas.LoadConcurrency, rapid.Int64Range(1, 6).Draw(rt, "concurrency")
	} else if rapid.Bool().Draw(rt, "speed") {
		spec.Load.Speedup = rapid.SampledFrom([]float64{0.5, 2, 3.7}).Draw(rt, "speed-up")
	}
	return spec
}

func drawEngine(rt *rapid.T) schemas.EngineSpec {
	e := schemas.EngineSpec{
		Backend: schemas.BackendVLLM, BlockTokens: rapid.SampledFrom([]int64{2, 3, 4, 7, 16}).Draw(rt, "engine block"),
		MaxSequences: rapid.Int64Range(1, 8).Draw(rt, "sequences"), MaxBatchedTokens: rapid.SampledFrom([]int64{8, 33, 256}).Draw(rt, "budget"),
		MaxModelLen: schemas.Unlimited, PrefixCaching: rapid.IntRange(0, 3).Draw(rt, "caching") > 0, ChunkedPrefill: true, PrefillScheduleInterval: 1,
		Preemption: schemas.PreemptLIFO, SpeedupRatio: 1, DecodeSpeedupRatio: 1, DataParallelRanks: 1, TensorParallel: 1, PipelineParallel: 1,
		Timing: schemas.TimingSpec{Kind: schemas.TimingPolynomial},
	}
	if rapid.Bool().Draw(rt, "fixed") {
		e.Timing = schemas.TimingSpec{Kind: schemas.TimingFixed, PrefillMS: 3.3, DecodeMS: 1.7}
	}
	e.NumBlocks = 120/e.BlockTokens + rapid.Int64Range(2, 40).Draw(rt, "room")
	return e
}

func drawSynthetic(rt *rapid.T, spec *schemas.RunSpec, sessions bool) {
	spec.Source = schemas.SourceSpec{
		Kind: schemas.SourceSynthetic, InputTokens: rapid.Int64Range(1, 40).Draw(rt, "input"), OutputTokens: rapid.Int64Range(1, 20).Draw(rt, "output"),
		Count: rapid.Int64Range(1, 12).Draw(rt, "count"), Turns: 1,
	}
	if sessions {
		spec.Source.Turns, spec.Source.InterTurnDelayMS = rapid.Int64Range(1, 3).Draw(rt, "turns"), 2.5
		spec.Source.SharedPrefixRatio, spec.Source.PrefixGroups = rapid.Float64Range(0, 1).Draw(rt, "ratio"), rapid.Int64Range(0, 3).Draw(rt, "groups")
	}
	spec.Load.Kind, spec.Load.IntervalMS = schemas.LoadConstantInterval, 3
	if rapid.Bool().Draw(rt, "poisson") {
		spec.Load.Kind, spec.Load.IntervalMS, spec.Load.RatePerSecond, spec.Load.Seed = schemas.LoadPoisson, 0, 200, rapid.Uint64().Draw(rt, "seed")
	}
}

// drawTrace writes a trace and reports whether its format needs a concurrency.
func drawTrace(rt *rapid.T, spec *schemas.RunSpec, kind, dir string) (closed bool) {
	block := rapid.SampledFrom([]int64{1, 2, 5, 8}).Draw(rt, "trace block")
	spec.Source = schemas.SourceSpec{Kind: schemas.SourceTrace, Format: schemas.FormatMooncake, BlockTokens: block}
	spec.Load.Kind = schemas.LoadTraceTimestamps
	n := rapid.IntRange(1, 16).Draw(rt, "rows")
	files := 1
	row := func(int) map[string]any { return nil }
	switch kind {
	case "delta":
		spec.Source.Format = schemas.FormatMooncakeDelta
		fallthrough
	case "mooncake", "turns":
		row = mooncakeRows(rt, block, kind != "mooncake")
	case "applied":
		spec.Source.Format = schemas.FormatAppliedCompute
		spec.Source.SharedPrefixRatio, spec.Source.PrefixGroups = rapid.SampledFrom([]float64{0, 0.5, 1}).Draw(rt, "ratio"), rapid.Int64Range(0, 2).Draw(rt, "groups")
		closed, row = true, func(int) map[string]any { return appliedRow(rt) }
	case "dynamo":
		spec.Source.Format, files = schemas.FormatDynamo, rapid.IntRange(1, 2).Draw(rt, "shards")
		if rapid.Bool().Draw(rt, "no assertion") {
			spec.Source.BlockTokens = 0
		}
		row = func(i int) map[string]any { return dynamoRow(rt, i, block) }
	}
	text := make([]strings.Builder, files)
	for i := range n {
		line, err := json.Marshal(row(i))
		if err != nil {
			rt.Fatal(err)
		}
		text[i%files].Write(append(line, '\n'))
	}
	for i := range files {
		path := filepath.Join(dir, fmt.Sprintf("trace%d.jsonl", i))
		if err := os.WriteFile(path, []byte(text[i].String()), 0o666); err != nil {
			rt.Fatal(err)
		}
		spec.Source.Paths = append(spec.Source.Paths, path)
	}
	return closed
}

// blockIDs draws the blocks of a prompt from few ids, so that prompts share starts.
func blockIDs(rt *rapid.T, tokens, block int64) []uint64 {
	n := int((tokens + block - 1) / block)
	base := rapid.SampledFrom([]uint64{0, 100, 1 << 63}).Draw(rt, "family")
	ids := make([]uint64, n+rapid.IntRange(0, 1).Draw(rt, "surplus"))
	for i := range ids {
		ids[i] = base + uint64(i)
	}
	if rapid.Bool().Draw(rt, "own end") {
		ids[n-1] = rapid.Uint64().Draw(rt, "id")
	}
	return ids
}

func mooncakeRows(rt *rapid.T, block int64, sessions bool) func(int) map[string]any {
	clock, began := 1000.0, map[string]bool{}
	return func(i int) map[string]any {
		input, output := rapid.Int64Range(1, 40).Draw(rt, "input"), rapid.IntRange(0, 20).Draw(rt, "output")
		clock += rapid.Float64Range(0, 9).Draw(rt, "gap")
		row := map[string]any{"hash_ids": blockIDs(rt, input, block), "input_length": input, "output_length": output, "timestamp": clock}
		if rapid.IntRange(0, 3).Draw(rt, "authored") == 0 {
			row["output_token_ids"] = rapid.SliceOfN(rapid.Uint32Range(0, 5), output, output).Draw(rt, "tokens")
		}
		if sessions && rapid.IntRange(0, 4).Draw(rt, "in a session") > 0 {
			name := rapid.SampledFrom([]string{"a", "b", "", "ünïcode", "request_2"}).Draw(rt, "session")
			row["session_id"] = name
			if began[name] && rapid.Bool().Draw(rt, "has delay") {
				delete(row, "timestamp")
				row["delay"] = rapid.Float64Range(0, 20).Draw(rt, "delay")
			}
			began[name] = true
		}
		if rapid.IntRange(0, 9).Draw(rt, "labels") == 0 {
			row["priority"], row["strict_priority"], row["policy_class"], row["request_id"] = -2, 7, "batch", fmt.Sprint("id-", i)
		}
		return row
	}
}

func appliedRow(rt *rapid.T) map[string]any {
	turns := rapid.IntRange(0, 3).Draw(rt, "turns")
	counts := func(name string) []int { return rapid.SliceOfN(rapid.IntRange(0, 9), turns, turns).Draw(rt, name) }
	return map[string]any{
		"num_turns": turns, "input_prompt_length": rapid.IntRange(1, 30).Draw(rt, "prompt"), "assistant_response_length": counts("responses"),
		"tool_call_output_length": counts("tools"), "tool_call_latency": rapid.SliceOfN(rapid.Float64Range(0, 0.02), turns, turns).Draw(rt, "latencies"),
		"final_assistant_response_length": rapid.IntRange(0, 9).Draw(rt, "final"),
	}
}

func dynamoRow(rt *rapid.T, i int, block int64) map[string]any {
	input := rapid.Int64Range(1, 40).Draw(rt, "input")
	received := 1_700_000_000_000 + rapid.IntRange(0, 50).Draw(rt, "received")
	return map[string]any{
		"schema": "dynamo.request.trace.v1", "event_type": "request_end", "event_time_unix_ms": received + 30,
		"request": map[string]any{
			"request_id": fmt.Sprintf("r%d", i), "output_tokens": rapid.IntRange(0, 20).Draw(rt, "output"), "request_received_ms": received, "total_time_ms": 10,
			"replay": map[string]any{"trace_block_size": block, "input_length": input, "input_sequence_hashes": blockIDs(rt, input, block)},
		},
	}
}
