package playgraph

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"path/filepath"
	"testing"

	"github.com/dynosim/dynosim/internal/golden"
)

// example is a conversation with a subagent that it waits for, and a worker that runs beside.
func example() *Play {
	nan := math.NaN()
	return &Play{
		Title: `a "small" play & its <subagent>`, Sessions: []string{"root", "subagent:1:ag", "root:worker:0"},
		Nodes: []Node{
			{Name: "play:request:outer:0", Short: "0", Session: 0, StartMS: 0, EndMS: 1000, InputTokens: 10, OutputTokens: 3, Model: "large"},
			{Name: "play:request:outer:1:inner:0", Short: "1.0", Session: 1, StartMS: 1600, EndMS: 2100, InputTokens: 8, OutputTokens: 2, Model: "small"},
			{Name: "play:request:outer:1:inner:1", Short: "1.1", Session: 1, StartMS: 2500, EndMS: nan, InputTokens: 12, Model: "small"},
			{Name: "play:request:outer:2", Short: "2", Session: 0, StartMS: 4000, EndMS: 5000, InputTokens: 14, OutputTokens: 2, Model: "large"},
			{Name: "play:request:outer:3", Short: "3", Session: 2, StartMS: 900, EndMS: 400_000, InputTokens: 30, OutputTokens: 2, Model: "large"},
		},
		Edges: []Edge{
			{From: 0, To: 1, Relation: "spawn", DelayMS: 600},
			{From: 1, To: 2, Relation: "sequence", DelayMS: 400},
			{From: 0, To: 3, Relation: "sequence", DelayMS: 3000},
			{From: 2, To: 3, Relation: "join", DelayMS: 1500},
			{From: 0, To: 4, Dispatch: true, Relation: "spawn", DelayMS: 900},
			{From: 0, To: 3, Relation: "replay_barrier"},
		},
	}
}

// TestDrawings compares both forms with testdata; -rewrite writes it anew, and a person looks at it.
func TestDrawings(t *testing.T) {
	for name, draw := range map[string]func(io.Writer, *Play) error{"example.svg": SVG, "example.dot": DOT} {
		var got bytes.Buffer
		if err := draw(&got, example()); err != nil {
			t.Fatal(err)
		}
		golden.File(t, filepath.Join("testdata", name), got.String())
	}
}

// TestDrawingIsXML: the image is well formed whatever names hold.
func TestDrawingIsXML(t *testing.T) {
	p := example()
	p.Sessions[1], p.Nodes[0].Name, p.Nodes[1].Model = `<&">`, `"<>&'`, `<b>`
	var got bytes.Buffer
	if err := SVG(&got, p); err != nil {
		t.Fatal(err)
	}
	d := xml.NewDecoder(&got)
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// TestConversationsFollowTheirOwners: rows are a tree.
func TestConversationsFollowTheirOwners(t *testing.T) {
	order, depth := example().tree()
	for i, want := range []int{0, 2, 1} {
		if order[i] != want {
			t.Fatalf("order %v, want the worker, which starts first, before the subagent", order)
		}
	}
	if depth[0] != 0 || depth[1] != 1 || depth[2] != 1 {
		t.Errorf("depths %v", depth)
	}
}

func TestDurations(t *testing.T) {
	for ms, want := range map[float64]string{0: "0", 0.25: "0.2 ms", 40: "40 ms", 1500: "1.5 s", 130_000: "2.2 min", 9e6: "2.5 h"} {
		if got := duration(ms); got != want {
			t.Errorf("%v ms: %q, want %q", ms, got, want)
		}
	}
}
