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

// drawPlays makes the run one of plays: a corpus, rows of a graph with a header, rows that wait for others, or request
// traces with agent contexts, with lanes, snapshots, warm-ups and profiles.
func drawPlays(rt *rapid.T, spec *schemas.RunSpec, kind, dir string) {
	block := rapid.SampledFrom([]int64{1, 2, 5, 8}).Draw(rt, "trace block")
	spec.TargetModel = "target/model"
	spec.Load.Kind = schemas.LoadTraceTimestamps
	spec.Source = schemas.SourceSpec{Kind: schemas.SourceTrace, Format: schemas.FormatAgenticMooncake, BlockTokens: block}
	switch kind {
	case "weka":
		spec.Source.Format, spec.Source.BlockTokens = schemas.FormatWeka, 0
		spec.Source.Paths = []string{drawCorpus(rt, block, dir)}
	case "graph":
		spec.Source.Paths = writeRows(rt, dir, graphRows(rt, block))
	case "waits":
		spec.Source.Paths = writeRows(rt, dir, waitingRows(rt, block))
	case "agents":
		spec.Source.Format, spec.Source.BlockTokens = schemas.FormatDynamo, 0
		spec.Source.Paths = writeRows(rt, dir, agentRows(rt, block))
	}
	a := &spec.Load.Agentic
	a.Lanes = rapid.Int64Range(0, 3).Draw(rt, "lanes")
	if rapid.Bool().Draw(rt, "snapshot") {
		a.Lanes, a.Snapshot, a.Seed = max(1, a.Lanes), true, rapid.Uint64().Draw(rt, "snapshot seed")
		a.Warmup = rapid.Bool().Draw(rt, "warmup")
		if rapid.Bool().Draw(rt, "profile") {
			a.Profile, a.DurationSeconds, a.ResponseGraceSeconds, a.CancelDrainSeconds = true, 0.15, 0.02, 1
			a.TreeIdleCapSeconds, a.GlobalIdleCapSeconds = 0.1, 0.05
			spec.TimeLimitMS = math.Inf(1)
		}
	}
}

func writeRows(rt *rapid.T, dir string, rows []map[string]any) []string {
	path := filepath.Join(dir, "plays.jsonl")
	writeLines(rt, path, rows)
	return []string{path}
}

func writeLines(rt *rapid.T, path string, rows []map[string]any) {
	var text strings.Builder
	for _, row := range rows {
		line, err := json.Marshal(row)
		if err != nil {
			rt.Fatal(err)
		}
		text.Write(append(line, '\n'))
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o666); err != nil {
		rt.Fatal(err)
	}
}

// drawCorpus writes a folder of objects, several in a file, whose conversations grow, with subagents.
func drawCorpus(rt *rapid.T, block int64, dir string) string {
	corpus := filepath.Join(dir, "corpus")
	if err := os.MkdirAll(corpus, 0o777); err != nil {
		rt.Fatal(err)
	}
	for f := range rapid.IntRange(1, 3).Draw(rt, "files") {
		var objects []map[string]any
		for i := range rapid.IntRange(1, 2).Draw(rt, "objects") {
			clock := 0.0
			var ids []int
			request := func() map[string]any {
				ids = ids[:rapid.IntRange(0, len(ids)).Draw(rt, "kept")]
				for range rapid.IntRange(0, 3).Draw(rt, "more blocks") {
					ids = append(ids, rapid.IntRange(0, 9).Draw(rt, "id"))
				}
				r := map[string]any{
					"type": "n", "t": clock, "model": rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "model"), "out": rapid.IntRange(0, 12).Draw(rt, "out"),
					"in": rapid.Int64Range(1, 40).Draw(rt, "in"), "hash_ids": append([]int{}, ids...),
				}
				if rapid.Bool().Draw(rt, "timed") {
					r["api_time"] = rapid.Float64Range(0, 0.05).Draw(rt, "api time")
				}
				clock += rapid.Float64Range(0, 0.1).Draw(rt, "gap")
				return r
			}
			entries := []any{request()}
			for k := range rapid.IntRange(0, 5).Draw(rt, "entries") {
				if rapid.IntRange(0, 2).Draw(rt, "subagent") > 0 {
					entries = append(entries, request())
					continue
				}
				marker, nested := clock, []any{}
				for range rapid.IntRange(1, 3).Draw(rt, "nested") {
					nested = append(nested, request())
				}
				entries = append(entries, map[string]any{
					"type": "subagent", "t": marker, "agent_id": fmt.Sprint("ag", k), "subagent_type": "x", "requests": nested,
					"status": rapid.SampledFrom([]string{"completed", "async_launched"}).Draw(rt, "status"),
				})
			}
			objects = append(objects, map[string]any{"id": fmt.Sprint("t", i), "block_size": block, "hash_id_scope": "local", "requests": entries})
		}
		writeLines(rt, filepath.Join(corpus, fmt.Sprintf("f%d.jsonl", f)), objects)
	}
	return corpus
}

// exactBlocks are as many ids as tokens need.
func exactBlocks(rt *rapid.T, tokens, block int64) []uint64 {
	return blockIDs(rt, tokens, block)[:(tokens+block-1)/block]
}

// graphRows draws rows of plays that are mixed in the file and whose names are mixed in their order.
func graphRows(rt *rapid.T, block int64) []map[string]any {
	rows := []map[string]any{{
		"schema": "dynamo.agentic_mooncake", "version": 2, "block_size": block, "hash_id_scope": "local",
		"source": map[string]any{"format": "drawn", "digest": "d"},
	}}
	plays := rapid.IntRange(1, 4).Draw(rt, "plays")
	var names [4][]string
	for i := range rapid.IntRange(plays, 14).Draw(rt, "rows") {
		play := i
		if i >= plays {
			play = rapid.IntRange(0, plays-1).Draw(rt, "play")
		}
		tokens := rapid.Int64Range(1, 40).Draw(rt, "input")
		output := rapid.IntRange(0, 12).Draw(rt, "output")
		row := map[string]any{
			"request_id": fmt.Sprintf("%c%d", 'a'+rapid.IntRange(0, 5).Draw(rt, "letter"), i), "play_id": fmt.Sprint("p", play),
			"session_id": fmt.Sprint("s", rapid.IntRange(0, 2).Draw(rt, "session")), "model": "m", "input_length": tokens, "output_length": output,
			"hash_ids": exactBlocks(rt, tokens, block), "not_before_ms": rapid.Float64Range(0, 90).Draw(rt, "not before"),
		}
		if rapid.IntRange(0, 3).Draw(rt, "authored") == 0 {
			row["output_token_ids"] = rapid.SliceOfN(rapid.Uint32Range(0, 5), output, output).Draw(rt, "tokens")
		}
		if rapid.IntRange(0, 4).Draw(rt, "labels") == 0 {
			row["priority"], row["strict_priority"], row["policy_class"], row["recorded_api_time_ms"] = -2, 7, "batch", 12.5
		}
		var edges []any
		for range rapid.IntRange(0, 2).Draw(rt, "edges") {
			if len(names[play]) == 0 {
				break
			}
			relation, trigger := rapid.SampledFrom([]string{"sequence", "spawn", "join", "replay_barrier"}).Draw(rt, "relation"), "completion"
			if relation == "spawn" {
				trigger = "dispatch"
			}
			edges = append(edges, map[string]any{
				"request_id": rapid.SampledFrom(names[play]).Draw(rt, "predecessor"), "trigger": trigger, "relation": relation,
				"delay_ms": rapid.Float64Range(0, 20).Draw(rt, "delay"),
			})
		}
		if edges != nil {
			row["dependencies"] = edges
		}
		names[play] = append(names[play], row["request_id"].(string))
		rows = append(rows, row)
	}
	return rows
}

func waitingRows(rt *rapid.T, block int64) []map[string]any {
	var rows []map[string]any
	for i := range rapid.IntRange(1, 12).Draw(rt, "rows") {
		tokens := rapid.Int64Range(1, 40).Draw(rt, "input")
		row := map[string]any{
			"request_id": fmt.Sprint("r", i), "input_length": tokens, "output_length": rapid.IntRange(0, 12).Draw(rt, "output"),
			"hash_ids": exactBlocks(rt, tokens, block), "timestamp": rapid.Float64Range(0, 90).Draw(rt, "timestamp"),
		}
		if i > 0 && rapid.Bool().Draw(rt, "waits") {
			row["wait_for"] = []string{fmt.Sprint("r", rapid.IntRange(0, i-1).Draw(rt, "predecessor"))}
			row["tool_wait_ms"] = rapid.Float64Range(0, 20).Draw(rt, "tool wait")
		}
		rows = append(rows, row)
	}
	return rows
}

func agentRows(rt *rapid.T, block int64) []map[string]any {
	var rows []map[string]any
	clocks := map[string]int{}
	for i := range rapid.IntRange(1, 12).Draw(rt, "rows") {
		session := rapid.SampledFrom([]string{"a", "b", "a.c"}).Draw(rt, "session")
		if clocks["a"] == 0 {
			session = "a"
		}
		row := dynamoRow(rt, i, block)
		request := row["request"].(map[string]any)
		replay := request["replay"].(map[string]any)
		tokens := replay["input_length"].(int64)
		replay["input_sequence_hashes"] = replay["input_sequence_hashes"].([]uint64)[:(tokens+block-1)/block]
		start := max(clocks[session], 1_700_000_000_000) + rapid.IntRange(0, 40).Draw(rt, "pause")
		request["request_received_ms"], row["event_time_unix_ms"] = start, start+10
		clocks[session] = start + 10
		agent := map[string]any{"session_id": session}
		if session == "a.c" {
			agent["parent_session_id"] = "a"
		}
		row["agent_context"] = agent
		rows = append(rows, row)
	}
	return rows
}
