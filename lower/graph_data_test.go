package lower_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/dynosim/dynosim/lower"
	"github.com/dynosim/dynosim/schemas"
)

// TestGraphs lowers the agentic sources of the files in testdata/graphs and shows plays, nodes, edges and chains, or the
// error.
//
//	file NAME                                the input is a file of the source
//	lower PATH format=F block=T speedup=X snapshot basis=B
func TestGraphs(t *testing.T) {
	datadriven.Walk(t, filepath.Join("testdata", "graphs"), func(t *testing.T, path string) {
		t.Chdir(t.TempDir())
		datadriven.RunTest(t, filepath.Join(home, path), func(t *testing.T, d *datadriven.TestData) string {
			name := d.CmdArgs[0].Key
			switch d.Cmd {
			case "file":
				if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(name, []byte(d.Input), 0o666); err != nil {
					t.Fatal(err)
				}
				return ""
			case "lower":
				spec := &schemas.RunSpec{
					Source: schemas.SourceSpec{Kind: schemas.SourceTrace, Format: schemas.FormatWeka, Paths: []string{name}},
					Load:   schemas.LoadSpec{Kind: schemas.LoadTraceTimestamps, Speedup: 1, Agentic: schemas.AgenticLoad{Snapshot: d.HasArg("snapshot")}},
				}
				var format string
				d.MaybeScanArgs(t, "format", &format)
				if format != "" {
					spec.Source.Format = schemas.TraceFormat(format)
				}
				d.MaybeScanArgs(t, "block", &spec.Source.BlockTokens)
				d.MaybeScanArgs(t, "basis", &spec.Source.NestedBasis)
				var speedup int
				if d.MaybeScanArgs(t, "speedup", &speedup); speedup > 0 {
					spec.Load.Speedup = float64(speedup)
				}
				lowered := func() string {
					w, err := buildGraph(spec)
					if err != nil {
						return "error: " + err.Error()
					}
					return showGraph(w)
				}
				inMemory := lowered()
				defer lower.StoreInMemory(1)()
				if inFile := lowered(); inFile != inMemory {
					t.Errorf("through a file:\n%s\nin memory:\n%s", inFile, inMemory)
				}
				return inMemory
			}
			t.Fatalf("unknown command %s", d.Cmd)
			return ""
		})
	})
}

// showGraph writes a graph: a line a play, a node, and the edges that it waits for.
func showGraph(w *lower.Workload) string {
	var out strings.Builder
	g := w.Graph
	fmt.Fprintf(&out, "source %s %s %s\ndigest %s\n", g.Source.Format, g.Source.Digest, g.Source.NestedTimestampBasis, g.Digest)
	for i := range g.Plays {
		p := &g.Plays[i]
		fmt.Fprintf(&out, "play %d %s of %s", i, p.ID, p.Source)
		if p.Ordinal >= 0 {
			fmt.Fprintf(&out, ", ordinal %d", p.Ordinal)
		}
		fmt.Fprintf(&out, ": nodes %v, %d roots, %d edges, %d conversations, %d in, %d out, recorded %v to %v\n",
			g.Nodes(int32(i)), p.Roots, p.Edges, p.Sessions, p.InputTokens, p.OutputTokens, p.FirstMS, p.LastMS)
	}
	n := &w.Nodes
	for i := range n.Len() {
		fmt.Fprintf(&out, "%d %s in %s, turn %d, %s: row %d, not before %v, recorded %s to %s, %d in, %d out", i, g.RequestID(i), g.Sessions[g.Session[i]], g.Turn[i],
			g.Models[g.Model[i]], n.RequestIndex[i], g.NotBeforeMS[i], time(g.RecordedStartMS[i]), time(g.RecordedEndMS[i]), n.InputTokens[i], n.OutputTokens[i])
		if n.Chain[i] >= 0 {
			fmt.Fprintf(&out, ", blocks %v for %d", blocksOf(w, n.Chain[i]), n.ChainTokens[i])
		}
		if w.AuthoredStart != nil {
			fmt.Fprintf(&out, ", authored %d", w.Authored[w.AuthoredStart[i]:w.AuthoredStart[i+1]])
		}
		if g.Priority[i] != 0 || g.StrictPriority[i] != 0 || g.PolicyClass[i] >= 0 {
			fmt.Fprintf(&out, ", priority %d %d", g.Priority[i], g.StrictPriority[i])
			if class := g.PolicyClass[i]; class >= 0 {
				fmt.Fprintf(&out, " %s", g.PolicyClasses[class])
			}
		}
		if g.Parent[i] >= 0 {
			fmt.Fprintf(&out, ", parent %d", g.Parent[i])
		}
		fmt.Fprintln(&out)
		for e := g.EdgeFirst[i]; e < g.EdgeFirst[i+1]; e++ {
			fmt.Fprintf(&out, "    after %d: %s, %s, %v ms\n", g.Predecessor[e], schemas.RelationNames[g.Relation[e]], schemas.TriggerNames[g.Trigger[e]], g.DelayMS[e])
		}
	}
	return out.String()
}

// time shows a recorded time.
func time(ms float64) string {
	if math.IsNaN(ms) {
		return "unknown"
	}
	return fmt.Sprint(ms)
}

// blocksOf lists the block numbers of a prompt.
func blocksOf(w *lower.Workload, chain int32) (blocks []uint32) {
	for ; chain >= 0; chain = w.Chains.Parent[chain] {
		blocks = append([]uint32{w.Chains.Block[chain]}, blocks...)
	}
	return blocks
}
