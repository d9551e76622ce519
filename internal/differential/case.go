package differential

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"github.com/dynosim/dynosim/internal/parity"
)

// Case is one call with its trace.
type Case struct {
	// Source names the kind of source, for statistics.
	Source string
	// Kind is trace, synthetic or spec; Args holds the arguments of the call, the engine's apart.
	Kind         string
	Args, Engine map[string]any
	// Decode is the engine of the decode workers of a disaggregated case, whose prefill workers
	// have Engine; nil in an aggregated one.
	Decode map[string]any
	// Ranks is the number of attention data-parallel ranks of a worker; 0 is one. DecodeRanks is that of
	// decode workers in a case that lists its requests.
	Ranks, DecodeRanks int
	// Startup is how long a new worker starts, in seconds; Scaling is the plan of scripted scaling, nil
	// for none.
	Startup float64
	Scaling map[string]any
	// Measured is the data that times the passes; nil for the engine's own model.
	Measured *Measured
	// Rows are the lines of the trace.
	Rows []map[string]any
	// Router holds the settings of the KV router, nil for round robin; Policy is its file with
	// policy classes, nil for none.
	Router, Policy map[string]any
}

// Draw makes the case of a seed and an index.
func Draw(seed uint64, index int) *Case {
	return draw(&random{rand.New(rand.NewPCG(seed, uint64(index)))})
}

// Call is the call form of the case.
func (c *Case) Call() map[string]any {
	if c.Source == sourceListed {
		return c.listed()
	}
	if c.Kind == kindSpec {
		return c.spec()
	}
	args := maps.Clone(c.Args)
	c.launches(args)
	args["capture_per_request"] = true
	call := map[string]any{"kind": c.Kind, "args": args}
	if c.Router != nil {
		call["router_config"] = c.Router
	}
	if c.Kind == "trace" {
		call["trace_files"] = []string{"trace.jsonl"}
	}
	if c.Scaling != nil {
		call["scaling_plan"] = c.Scaling
	}
	return call
}

// spec is the call of the reference's second entry.
func (c *Case) spec() map[string]any {
	traffic := maps.Clone(c.Args)
	counted := func(key string) map[string]any {
		n := orElse(c.Args[key], 1)
		delete(traffic, key)
		return map[string]any{"initial_workers": n}
	}
	topology := map[string]any{"kind": "aggregated", "workers": counted("num_workers")}
	engine := map[string]any{"rank": c.Engine}
	if c.Decode != nil {
		topology = map[string]any{"kind": "disaggregated", "prefill": counted("num_prefill_workers"), "decode": counted("num_decode_workers")}
		engine = map[string]any{"prefill": map[string]any{"rank": c.Engine}, "decode": map[string]any{"rank": c.Decode}}
	}
	traffic["source_type"], traffic["load_type"], traffic["trace_path"] = "trace", "trace_timestamps", "trace.jsonl"
	return map[string]any{"kind": kindSpec, "payload": map[string]any{
		"spec":    map[string]any{"version": 1, "topology": topology, "engine": engine, "requests": []any{}},
		"traffic": traffic,
	}}
}

// Write writes the case folder: call.json, the trace, and config.yaml where the document of
// predict can express the case.
func (c *Case) Write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := writeJSON(filepath.Join(dir, "call.json"), c.Call()); err != nil {
		return err
	}
	if c.Policy != nil {
		text, err := c.policyText()
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, policyFile), append(text, '\n'), 0o644); err != nil {
			return err
		}
	}
	if document, ok := c.Document(); ok {
		// JSON is YAML.
		if err := writeJSON(filepath.Join(dir, "config.yaml"), document); err != nil {
			return err
		}
	}
	if len(c.Rows) == 0 || c.Source == sourceListed {
		return nil
	}
	var lines bytes.Buffer
	encoder := json.NewEncoder(&lines)
	for _, row := range c.Rows {
		if err := encoder.Encode(row); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "trace.jsonl"), lines.Bytes(), 0o644)
}

func writeJSON(path string, v any) error {
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// Save writes the case folder with the report of the reference.
func (c *Case) Save(dir string, expected map[string]any) error {
	if err := c.Write(dir); err != nil {
		return err
	}
	return writeJSON(filepath.Join(dir, "expected.json"), expected)
}

// Ways are the ways in that can express the case.
func (c *Case) Ways() []parity.Way {
	if _, ok := c.Document(); ok {
		return []parity.Way{parity.Replay, parity.Predict}
	}
	return []parity.Way{parity.Replay}
}

// String is a short description.
func (c *Case) String() string {
	if len(c.Rows) > 0 {
		return fmt.Sprintf("%s, %d rows", c.Source, len(c.Rows))
	}
	return fmt.Sprintf("%s, %v requests", c.Source, c.Args["request_count"])
}

// clone copies the case, rows and mappings included.
func (c *Case) clone() *Case {
	d := *c
	d.Decode = maps.Clone(c.Decode)
	d.Args, d.Engine, d.Router, d.Scaling = maps.Clone(c.Args), maps.Clone(c.Engine), maps.Clone(c.Router), maps.Clone(c.Scaling)
	d.Rows = slices.Clone(c.Rows)
	return &d
}
