package engine

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/dynosim/dynosim/lower"
)

// workloadOf lowers prompts of whole chains by hand: each is a list of blocks of 4 tokens and a length.
func workloadOf(blockTokens int64, prompts [][]uint32, lengths []int32) *lower.Workload {
	w := &lower.Workload{BlockTokens: blockTokens}
	type child struct {
		parent int32
		block  uint32
	}
	chains := map[child]int32{}
	for i, blocks := range prompts {
		leaf := int32(-1)
		for depth, block := range blocks {
			at := child{leaf, block}
			chain, known := chains[at]
			if !known {
				chain = int32(len(w.Chains.Parent))
				chains[at] = chain
				w.Chains.Parent, w.Chains.Block, w.Chains.Depth = append(w.Chains.Parent, leaf), append(w.Chains.Block, block), append(w.Chains.Depth, int32(depth))
			}
			leaf = chain
		}
		w.Nodes.Chain = append(w.Nodes.Chain, leaf)
		w.Nodes.ChainTokens = append(w.Nodes.ChainTokens, min(lengths[i], int32(len(blocks))*int32(blockTokens)))
		w.Nodes.InputTokens, w.Nodes.OutputTokens = append(w.Nodes.InputTokens, lengths[i]), append(w.Nodes.OutputTokens, 1)
	}
	return w
}

// keysOf are the keys of all prompts, where they are identified by chains or numbered.
func keysOf(w *lower.Workload, block int64, numbered bool) (all [][]uint64) {
	c := NewContent(w, block)
	if numbered && !c.interned {
		c.interned, c.numbers = true, map[string]int32{}
	}
	c.UseKeys(w)
	table := &Table{}
	for i, tokens := range w.Nodes.InputTokens {
		slot := table.New(int32(i), int64(tokens), 1, 0)
		all = append(all, c.AppendKeys(&table.Slots[slot], nil))
	}
	return all
}

// TestKeysVector checks the vector of spec 10 section 3.
func TestKeysVector(t *testing.T) {
	w := workloadOf(4, [][]uint32{{0, 1, 2}}, []int32{12})
	want := []uint64{13277122834585657784, 960476856703368838, 9323102142534520437}
	for _, numbered := range []bool{false, true} {
		if got := keysOf(w, 4, numbered)[0]; !slices.Equal(got, want) {
			t.Errorf("numbered %v: %d, want %d", numbered, got, want)
		}
	}
}

// TestKeysAgree wants the same keys from chains and from numbers, whatever the sizes of blocks.
func TestKeysAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trace := rapid.Int64Range(1, 9).Draw(t, "trace block")
		block := rapid.Int64Range(1, 9).Draw(t, "engine block")
		var prompts [][]uint32
		var lengths []int32
		for range rapid.IntRange(1, 5).Draw(t, "prompts") {
			blocks := rapid.SliceOfN(rapid.Uint32Range(0, 2), 1, 6).Draw(t, "blocks")
			prompts = append(prompts, blocks)
			lengths = append(lengths, rapid.Int32Range(1, int32(len(blocks))*int32(trace)).Draw(t, "length"))
		}
		w := workloadOf(trace, prompts, lengths)
		chains, numbers := keysOf(w, block, false), keysOf(w, block, true)
		for i := range chains {
			if !slices.Equal(chains[i], numbers[i]) || int64(len(chains[i])) != int64(lengths[i])/block {
				t.Fatalf("prompt %d of %d tokens: %d by chains, %d by numbers", i, lengths[i], chains[i], numbers[i])
			}
		}
	})
}

// TestKeysBeyondChains gives blocks that no chain covers keys of their own.
func TestKeysBeyondChains(t *testing.T) {
	w := workloadOf(4, [][]uint32{{0}, {0}}, []int32{12, 12})
	keys := keysOf(w, 4, false)
	if keys[0][0] != keys[1][0] {
		t.Error("the covered block has two keys")
	}
	seen := map[uint64]bool{keys[0][0]: true}
	for _, k := range append(keys[0][1:], keys[1][1:]...) {
		if seen[k] {
			t.Errorf("key %d occurs twice", k)
		}
		seen[k] = true
	}
}

// TestDrawnTokens checks the values of spec 01 section 4.1.
func TestDrawnTokens(t *testing.T) {
	if a, b := drawnToken(0), drawnToken(1); a != 2065550767 || b != 2298633409 {
		t.Errorf("the first tokens are %d and %d", a, b)
	}
}

// TestKeysOfSessions gives blocks behind a shared start the numbers that they have in the order in which they
// occur: as if chains covered them.
func TestKeysOfSessions(t *testing.T) {
	short := workloadOf(4, [][]uint32{{0}, {0}, {}}, []int32{9, 13, 8})
	short.Sessions = &lower.Sessions{First: []int32{0, 2, 3}}
	whole := workloadOf(4, [][]uint32{{0, 1, 2}, {0, 3, 4, 5}, {6, 7}}, []int32{9, 13, 8})
	got, want := keysOf(short, 4, false), keysOf(whole, 4, false)
	for i := range want {
		if !slices.Equal(got[i], want[i]) {
			t.Errorf("prompt %d has the keys %d, want %d", i, got[i], want[i])
		}
	}
}
