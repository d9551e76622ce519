package schemas

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// document is a generated document: the tree as it is written, and what it must lower to.
type document struct {
	tree map[string]any
	want RunSpec
}

// generate draws a valid document of what this release simulates.
func generate(t *rapid.T) document {
	d := document{want: RunSpec{Stack: StackDynamo, SLA: NoSLA(), TimeLimitMS: math.Inf(1), Router: RouterSpec{Policy: PolicyRoundRobin}, TargetModel: "org/model", Resources: DefaultResources()}}
	tokens := rapid.Int64Range(1, maxCount)
	positive := rapid.Float64Range(1e-3, 1e6)
	traffic := map[string]any{}
	switch rapid.SampledFrom([]string{"synthetic", "session", "trace"}).Draw(t, "source") {
	case "synthetic":
		in, out := tokens.Draw(t, "in"), tokens.Draw(t, "out")
		traffic["source"] = map[string]any{"type": "synthetic", "input_tokens": in, "output_tokens": out}
		d.want.Source = SourceSpec{Kind: SourceSynthetic, InputTokens: in, OutputTokens: out, Turns: 1}
		d.load(t, traffic, "requests")
	case "session":
		in, out, turns := tokens.Draw(t, "in"), tokens.Draw(t, "out"), rapid.Int64Range(2, 100).Draw(t, "turns")
		ratio, groups, delay := rapid.Float64Range(0, 1).Draw(t, "ratio"), rapid.Int64Range(1, 100).Draw(t, "groups"), positive.Draw(t, "delay")
		traffic["source"] = map[string]any{
			"type": "synthetic-session", "new_input_tokens_per_turn": in, "output_tokens_per_turn": out,
			"session": map[string]any{"turns": turns, "shared_prefix_ratio": ratio, "prefix_groups": groups, "inter_turn_delay_ms": delay},
		}
		d.want.Source = SourceSpec{
			Kind: SourceSynthetic, InputTokens: in, OutputTokens: out, Turns: turns,
			SharedPrefixRatio: ratio, PrefixGroups: groups, InterTurnDelayMS: delay,
		}
		d.load(t, traffic, "sessions")
	case "trace":
		d.trace(t, traffic)
	}
	d.tree = map[string]any{"traffic": traffic, "engine": d.engine(t)}
	if rapid.Bool().Draw(t, "sla") {
		d.want.SLA.E2EMS = positive.Draw(t, "e2e")
		d.tree["evaluation"] = map[string]any{"sla": map[string]any{"e2e_ms": d.want.SLA.E2EMS}}
	}
	return d
}

// load draws the load and the stop of a synthetic source.
func (d *document) load(t *rapid.T, traffic map[string]any, unit string) {
	n := rapid.Int64Range(1, 1000).Draw(t, "count")
	traffic["stop"] = map[string]any{unit: n}
	d.want.Source.Count = n
	rate := rapid.Float64Range(1e-3, 1e3).Draw(t, "rate")
	switch rapid.SampledFrom([]string{"concurrency", "poisson", "constant_rate"}).Draw(t, "load") {
	case "concurrency":
		c := rapid.Int64Range(1, 1e6).Draw(t, "concurrency")
		traffic["load"] = map[string]any{"type": "concurrency", "concurrency": c}
		d.want.Load = LoadSpec{Kind: LoadConcurrency, Concurrency: c, Speedup: 1}
	case "poisson":
		seed := rapid.Uint64().Draw(t, "seed")
		traffic["load"] = map[string]any{"type": "poisson", unit + "_per_second": rate, "seed": seed}
		d.want.Load = LoadSpec{Kind: LoadPoisson, RatePerSecond: rate, Seed: seed, Speedup: 1}
	case "constant_rate":
		traffic["load"] = map[string]any{"type": "constant_rate", unit + "_per_second": rate}
		d.want.Load = LoadSpec{Kind: LoadConstantInterval, IntervalMS: 1000.0 / rate, Speedup: 1}
	}
}

func (d *document) trace(t *rapid.T, traffic map[string]any) {
	block := rapid.Int64Range(1, 4096).Draw(t, "block")
	path := rapid.StringMatching(`[a-z "'#:{}\[\]*&!é-]{1,12}`).Draw(t, "path")
	traffic["source"] = map[string]any{"type": "trace", "format": "mooncake-delta", "paths": []any{path}, "block_size": block}
	d.want.Source = SourceSpec{Kind: SourceTrace, Format: FormatMooncakeDelta, Paths: []string{path}, BlockTokens: block}
	speedup, limit := rapid.Float64Range(1e-3, 1e3).Draw(t, "speedup"), rapid.Float64Range(1e-3, 1e6).Draw(t, "limit")
	traffic["load"] = map[string]any{"type": "trace_timestamps", "speedup": speedup}
	traffic["stop"] = map[string]any{"max_virtual_time_seconds": limit}
	d.want.Load = LoadSpec{Kind: LoadTraceTimestamps, Speedup: speedup}
	d.want.TimeLimitMS = 1000.0 * limit
}

func (d *document) engine(t *rapid.T) map[string]any {
	d.want.Pools = AggregatedPool(EngineSpec{}, rapid.IntRange(1, 1000).Draw(t, "replicas"))
	e := &d.want.Pools[0].Engine
	*e = EngineSpec{
		Backend: BackendVLLM, BlockTokens: rapid.Int64Range(2, 1024).Draw(t, "block_size"), NumBlocks: rapid.Int64Range(1, maxCount).Draw(t, "blocks"),
		MaxSequences: rapid.Int64Min(1).Draw(t, "sequences"), MaxBatchedTokens: rapid.Int64Min(1).Draw(t, "batched"), MaxModelLen: rapid.Int64Min(1).Draw(t, "length"),
		PrefixCaching: rapid.Bool().Draw(t, "caching"), ChunkedPrefill: true, PrefillScheduleInterval: 1, Preemption: PreemptLIFO,
		SpeedupRatio: 1, DecodeSpeedupRatio: 1, DataParallelRanks: 1, TensorParallel: rapid.Int64Range(1, 16).Draw(t, "tensor"), PipelineParallel: 1,
		Timing: TimingSpec{Kind: TimingFixed, PrefillMS: rapid.Float64Range(0, 1e9).Draw(t, "prefill"), DecodeMS: rapid.Float64Range(0, 1e9).Draw(t, "decode")},
	}
	return map[string]any{
		"mode": "aggregated", "model": "org/model", "hardware": "h200_sxm", "backend": "vllm", "context_length": e.MaxModelLen,
		"workers": map[string]any{"aggregated": map[string]any{
			"parallelism": map[string]any{"replicas": d.want.Pools[0].Workers, "tensor": e.TensorParallel},
			"scheduler":   map[string]any{"max_batched_tokens": e.MaxBatchedTokens, "max_sequences": e.MaxSequences},
			"kv_cache":    map[string]any{"block_size": e.BlockTokens, "prefix_caching": e.PrefixCaching, "capacity": map[string]any{"type": "fixed", "blocks": e.NumBlocks}},
			"timing":      map[string]any{"type": "fixed", "prefill_ms": e.Timing.PrefillMS, "decode_ms": e.Timing.DecodeMS},
		}},
	}
}

// text writes a tree as JSON, which is YAML too.
func text(t *rapid.T, tree any) []byte {
	out, err := json.MarshalIndent(tree, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestRoundTrip: what a valid document says is what the run specification holds, and its
// JSON Schema takes it.
func TestRoundTrip(t *testing.T) {
	schema := compiled(t)
	rapid.Check(t, func(t *rapid.T) {
		d := generate(t)
		data := text(t, d.tree)
		p, err := ParsePrediction("config.yaml", data, StackDynamo)
		if err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		spec, err := p.RunSpec()
		if err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		if fmt.Sprintf("%+v", *spec) != fmt.Sprintf("%+v", d.want) {
			t.Fatalf("%s\n%s", cmp.Diff(d.want, *spec), data)
		}
		value, err := jsonValue(string(data))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(value); err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
	})
}

// paths lists the paths of a tree, leaves and mappings.
func paths(tree map[string]any, prefix string) []string {
	var out []string
	for key, value := range tree {
		path := strings.TrimPrefix(prefix+"."+key, ".")
		out = append(out, path)
		if inner, ok := value.(map[string]any); ok {
			out = append(out, paths(inner, path)...)
		}
	}
	slices.Sort(out)
	return out
}

// TestMutation: a key that is misspelled, or a value of a wrong kind, is reported with its
// path, wherever it is.
func TestMutation(t *testing.T) {
	schema := compiled(t)
	rapid.Check(t, func(t *rapid.T) {
		d := generate(t)
		path := rapid.SampledFrom(paths(d.tree, "")).Draw(t, "path")
		keys := strings.Split(path, ".")
		in := d.tree
		for _, key := range keys[:len(keys)-1] {
			in = in[key].(map[string]any)
		}
		last := keys[len(keys)-1]
		if rapid.Bool().Draw(t, "rename") {
			in["zz_"+last] = in[last]
			delete(in, last)
			path = strings.Join(append(keys[:len(keys)-1], "zz_"+last), ".")
		} else {
			in[last] = []any{map[string]any{}}
			if last == "paths" {
				path += "[0]"
			}
		}
		data := text(t, d.tree)
		_, err := ParsePrediction("config.yaml", data, StackDynamo)
		problems, ok := errors.AsType[Problems](err)
		if !ok || !slices.ContainsFunc(problems, func(p Problem) bool { return p.Path == path && p.Line > 0 && p.File == "config.yaml" }) {
			t.Fatalf("no problem at %s: %v\n%s", path, err, data)
		}
		value, err := jsonValue(string(data))
		if err != nil {
			t.Fatal(err)
		}
		if schema.Validate(value) == nil {
			t.Fatalf("the JSON Schema takes it\n%s", data)
		}
	})
}

// TestOverrideEqualsDocument: setting a leaf by an override is the same as writing it.
func TestOverrideEqualsDocument(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from, to := generate(t), generate(t)
		if from.want.Source.Kind != to.want.Source.Kind || from.want.Source.SessionMode() != to.want.Source.SessionMode() {
			return
		}
		data := text(t, from.tree)
		var overrides []string
		for _, key := range []string{"traffic", "engine", "evaluation"} {
			value := "null"
			if to.tree[key] != nil {
				value = string(text(t, to.tree[key]))
			}
			overrides = append(overrides, key+"="+value)
		}
		p, err := ParsePrediction("config.yaml", data, StackDynamo, overrides...)
		if err != nil {
			t.Fatalf("%v\n%s", err, overrides)
		}
		spec, err := p.RunSpec()
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprintf("%+v", *spec) != fmt.Sprintf("%+v", to.want) {
			t.Fatalf("%s\n%s", cmp.Diff(to.want, *spec), overrides)
		}
	})
}
