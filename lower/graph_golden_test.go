package lower_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dynosim/dynosim/ingest"
	"github.com/dynosim/dynosim/lower"
	"github.com/dynosim/dynosim/schemas"
)

// buildGraph runs an agentic source through both stages, again when its basis was found out on the way.
func buildGraph(spec *schemas.RunSpec) (*lower.Workload, error) {
	for {
		w, err := build(spec)
		var basis *ingest.BasisError
		if !errors.As(err, &basis) {
			return w, err
		}
		spec.Source.ResolvedBasis = basis.Basis
	}
}

// agenticCall is what of a golden call the lowering depends on.
type agenticCall struct {
	Kind       string   `json:"kind"`
	TraceFiles []string `json:"trace_files"`
	Args       struct {
		Format  schemas.TraceFormat `json:"trace_format"`
		Block   int64               `json:"trace_block_size"`
		Basis   string              `json:"weka_nested_timestamp_basis"`
		Speedup float64             `json:"arrival_speedup_ratio"`
	} `json:"args"`
	Payload struct {
		Traffic struct {
			Format   schemas.TraceFormat `json:"trace_format"`
			Path     string              `json:"trace_path"`
			Paths    []string            `json:"trace_paths"`
			Block    int64               `json:"trace_block_size"`
			Basis    string              `json:"weka_nested_timestamp_basis"`
			Speedup  float64             `json:"arrival_speedup_ratio"`
			Snapshot *struct{}           `json:"agentic_snapshot"`
		} `json:"traffic"`
	} `json:"payload"`
}

func (c *agenticCall) spec() *schemas.RunSpec {
	spec := &schemas.RunSpec{
		Source: schemas.SourceSpec{Kind: schemas.SourceTrace, Format: c.Args.Format, Paths: c.TraceFiles, BlockTokens: c.Args.Block, NestedBasis: c.Args.Basis},
		Load:   schemas.LoadSpec{Kind: schemas.LoadTraceTimestamps, Speedup: c.Args.Speedup},
	}
	if t := &c.Payload.Traffic; c.Kind == "spec" {
		paths := t.Paths
		if paths == nil {
			paths = []string{t.Path}
		}
		spec.Source = schemas.SourceSpec{Kind: schemas.SourceTrace, Format: t.Format, Paths: paths, BlockTokens: t.Block, NestedBasis: t.Basis}
		spec.Load.Speedup, spec.Load.Agentic.Snapshot = t.Speedup, t.Snapshot != nil
	}
	if spec.Load.Speedup == 0 {
		spec.Load.Speedup = 1
	}
	if spec.Source.Format == schemas.FormatAgenticMooncake && spec.Source.BlockTokens == 0 {
		spec.Source.BlockTokens = 512
	}
	return spec
}

// agenticSummary is what a report says about the graph.
type agenticSummary struct {
	Graph struct {
		BlockTokens int64    `json:"block_size"`
		Digest      string   `json:"graph_digest"`
		Nodes       int      `json:"node_count"`
		Plays       int      `json:"play_count"`
		Models      []string `json:"source_models"`
		Source      struct {
			Format string `json:"format"`
			Digest string `json:"digest"`
		} `json:"source"`
	} `json:"agentic_graph"`
	Basis string `json:"weka_nested_timestamp_basis"`
}

// TestGoldenGraphs lowers the agentic golden cases: the digests of source and graph are those of the
// reference. DYNOSIM_GOLDEN names a folder with more cases than the project has.
func TestGoldenGraphs(t *testing.T) {
	root := os.Getenv("DYNOSIM_GOLDEN")
	if root == "" {
		root = filepath.Join("..", "testdata", "golden")
	}
	cases, err := filepath.Glob(filepath.Join(root, "agentic", "*", "call.json"))
	if err != nil || len(cases) == 0 {
		t.Fatalf("no cases in %s: %v", root, err)
	}
	for _, path := range cases {
		folder := filepath.Dir(path)
		t.Run(filepath.Base(folder), func(t *testing.T) { goldenGraph(t, folder) })
	}
}

func goldenGraph(t *testing.T, folder string) {
	t.Chdir(folder)
	var call agenticCall
	var expected struct {
		Error   string         `json:"error"`
		Summary agenticSummary `json:"summary"`
	}
	readJSON(t, "call.json", &call)
	readJSON(t, "expected.json", &expected)
	w, err := buildGraph(call.spec())
	if err != nil {
		if expected.Error == "" {
			t.Fatal(err)
		}
		t.Logf("%v\nthe reference says: %s", err, expected.Error)
		return
	}
	if expected.Error != "" {
		t.Logf("lowered; the reference refuses the run: %s", expected.Error)
		return
	}
	g := w.Graph
	got := agenticSummary{Basis: g.Source.NestedTimestampBasis}
	got.Graph.BlockTokens, got.Graph.Digest, got.Graph.Nodes, got.Graph.Plays = g.BlockTokens, g.Digest, w.Nodes.Len(), len(g.Plays)
	got.Graph.Models, got.Graph.Source.Format, got.Graph.Source.Digest = g.Models, g.Source.Format, g.Source.Digest
	if d := cmp.Diff(expected.Summary, got); d != "" {
		t.Errorf("want -, got +:\n%s", d)
	}
}

func readJSON(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}
