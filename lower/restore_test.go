package lower

import (
	"math"
	"strings"
	"testing"
)

// TestCheck breaks a workload in one place each: the message says where.
func TestCheck(t *testing.T) {
	nan := math.NaN()
	whole := func(sessions bool) *Workload {
		w := &Workload{
			BlockTokens: 4,
			Nodes: Nodes{
				ReleaseMS: []float64{0, 1, 1}, InputTokens: []int32{8, 5, 3}, OutputTokens: []int32{2, 0, 1},
				Chain: []int32{1, 2, -1}, ChainTokens: []int32{8, 4, 0}, RequestIndex: []int32{0, 1, 2},
			},
			Chains:   Chains{Parent: []int32{-1, 0, -1}, Block: []uint32{0, 1, 2}},
			Authored: []uint32{7, 8}, AuthoredStart: []int64{0, 2, 2, 2},
		}
		if sessions {
			w.Sessions = NewSessions()
			w.Sessions.Append("a", 2)
			w.Sessions.Append("request_9", 1)
			w.Nodes.ReleaseMS, w.Nodes.DelayMS = []float64{0, nan, 1}, []float64{0, 2.5, 0}
		}
		if err := w.Chains.SetDepth(); err != nil {
			t.Fatal(err)
		}
		return w
	}
	for _, c := range []struct {
		want     string
		sessions bool
		damage   func(w *Workload)
	}{
		{"", false, func(*Workload) {}},
		{"", true, func(*Workload) {}},
		{"there are no nodes", false, func(w *Workload) { w.Nodes = Nodes{} }},
		{"node 2: -1 input and 1 output tokens", false, func(w *Workload) { w.Nodes.InputTokens[2] = -1 }},
		{"node 0: chain 3 of 3", false, func(w *Workload) { w.Nodes.Chain[0] = 3 }},
		{"node 2: no chain for 1 tokens", false, func(w *Workload) { w.Nodes.ChainTokens[2] = 1 }},
		{"node 0: chain 1 has 2 blocks of 4 tokens, which cannot be 4 tokens of 8", false, func(w *Workload) { w.Nodes.ChainTokens[0] = 4 }},
		{"node 1: chain 2 has 1 blocks of 0 tokens", false, func(w *Workload) { w.Nodes.Chain[0], w.Nodes.ChainTokens[0], w.BlockTokens = -1, 0, 0 }},
		{"node 0: 1 prescribed tokens for an output of 2", false, func(w *Workload) { w.AuthoredStart[1] = 1 }},
		{"node 2 is released at 0.5 ms, the node before at 1", false, func(w *Workload) { w.Nodes.ReleaseMS[2] = 0.5 }},
		{"node 1 is released at NaN ms", false, func(w *Workload) { w.Nodes.ReleaseMS[1] = nan }},
		{"", false, func(w *Workload) { w.Concurrency, w.Nodes.ReleaseMS[1] = 3, nan }},
		{"node 1: a delay of -1 ms", true, func(w *Workload) { w.Nodes.DelayMS[1] = -1 }},
		{"node 2: the first turn of a session has a delay", true, func(w *Workload) { w.Nodes.DelayMS[2] = 1 }},
		{"node 2: the first turn of a session has no release time", true, func(w *Workload) { w.Nodes.ReleaseMS[2] = nan }},
		{"sessions have 4 nodes of 3", true, func(w *Workload) { w.Sessions.Append("b", 1) }},
	} {
		w := whole(c.sessions)
		c.damage(w)
		err := w.Check()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
			t.Errorf("error is %v, want %q", err, c.want)
		}
	}
}

func TestSetDepth(t *testing.T) {
	for _, c := range []struct {
		parent []int32
		want   string
	}{{[]int32{0}, "chain 0 has the parent 0"}, {[]int32{-1, 5}, "chain 1 has the parent 5"}, {[]int32{-2}, "chain 0 has the parent -2"}} {
		chains := Chains{Parent: c.parent}
		if err := chains.SetDepth(); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%v: error is %v", c.parent, err)
		}
	}
	chains := Chains{Parent: []int32{-1, 0, 0, 2}}
	if err := chains.SetDepth(); err != nil || chains.Depth[0] != 0 || chains.Depth[1] != 1 || chains.Depth[2] != 1 || chains.Depth[3] != 2 {
		t.Errorf("depths %v, %v", chains.Depth, err)
	}
}

// TestSessionNamesComeBack checks that what is told of a name survives.
func TestSessionNamesComeBack(t *testing.T) {
	s := NewSessions()
	for i, c := range []struct {
		name      string
		generated bool
	}{{"", false}, {"request_7", true}, {"request_07", false}, {"request_", false}, {"ünï", false}} {
		s.Append(c.name, int32(i))
		if s.Name(i) != c.name || s.Generated(i) != c.generated {
			t.Errorf("%q comes back as %q, generated %v", c.name, s.Name(i), s.Generated(i))
		}
	}
	if got := s.First[s.Len()]; got != 10 {
		t.Errorf("%d nodes", got)
	}
}
