package lower_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/dynosim/dynosim/lower"
	"github.com/dynosim/dynosim/schemas"
)

// request is a row before it is put into a batch.
type request struct {
	line             int64
	session          *string
	input, output    int64
	timestamp, delay *float64
	blocks           []uint64
	authored         []uint32
}

// batchOf puts rows into one batch.
func batchOf(blockTokens int64, rows []request) *schemas.RequestBatch {
	b := &schemas.RequestBatch{BlockTokens: blockTokens}
	for _, r := range rows {
		b.N++
		b.Line = append(b.Line, r.line)
		b.HasSession = append(b.HasSession, r.session != nil)
		b.SessionID = append(b.SessionID, deref(r.session))
		b.InputTokens, b.OutputTokens = append(b.InputTokens, r.input), append(b.OutputTokens, r.output)
		b.HasTimestamp, b.TimestampMS = append(b.HasTimestamp, r.timestamp != nil), append(b.TimestampMS, deref(r.timestamp))
		b.HasDelay, b.DelayMS = append(b.HasDelay, r.delay != nil), append(b.DelayMS, deref(r.delay))
		b.Blocks = append(b.Blocks, r.blocks...)
		b.BlockEnd = append(b.BlockEnd, len(b.Blocks))
		b.Authored = append(b.Authored, r.authored...)
		b.AuthoredEnd = append(b.AuthoredEnd, len(b.Authored))
		b.HasAuthored = append(b.HasAuthored, r.authored != nil)
	}
	return b
}

func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// lowerRows lowers rows in batches of a size.
func lowerRows(spec *schemas.RunSpec, blockTokens int64, rows []request, size int) (*lower.Workload, error) {
	b := lower.NewBuilder(spec)
	for part := range slices.Chunk(rows, size) {
		if err := b.Add(batchOf(blockTokens, part)); err != nil {
			return nil, err
		}
	}
	return b.Finish()
}

func drawSpec(t *rapid.T) *schemas.RunSpec {
	spec := &schemas.RunSpec{
		Source: schemas.SourceSpec{Kind: schemas.SourceTrace, Paths: []string{"trace.jsonl"},
			Format: rapid.SampledFrom([]schemas.TraceFormat{schemas.FormatMooncake, schemas.FormatMooncakeDelta, schemas.FormatDynamo}).Draw(t, "format")},
		Load: schemas.LoadSpec{Kind: schemas.LoadTraceTimestamps, Speedup: rapid.SampledFrom([]float64{1, 3, 0.25}).Draw(t, "speed-up")},
	}
	if rapid.Bool().Draw(t, "closed loop") {
		spec.Load.Kind, spec.Load.Concurrency = schemas.LoadConcurrency, 2
	}
	return spec
}

// drawRows draws valid rows with prompts that share prefixes.
func drawRows(t *rapid.T, blockTokens int64, sessions bool) []request {
	ids := rapid.SliceOfN(rapid.Uint64(), 1, 12).Draw(t, "ids")
	var rows []request
	line := int64(0)
	for range rapid.IntRange(1, 40).Draw(t, "rows") {
		line += rapid.Int64Range(1, 2).Draw(t, "blank lines")
		r := request{line: line, blocks: rapid.SliceOfN(rapid.SampledFrom(ids), 1, 6).Draw(t, "blocks")}
		r.input = rapid.Int64Range(1, int64(len(r.blocks))*blockTokens).Draw(t, "input")
		r.output = rapid.Int64Range(0, 3).Draw(t, "output")
		at := float64(line) * 3.5
		r.timestamp = &at
		if sessions && rapid.Bool().Draw(t, "named") {
			name := rapid.SampledFrom([]string{"", "a", "b", "request_1", "request_3", "request_03", "request_5"}).Draw(t, "session")
			r.session = &name
		}
		if rapid.IntRange(0, 9).Draw(t, "authored") == 0 {
			r.authored = make([]uint32, r.output)
			for i := range r.authored {
				r.authored[i] = rapid.Uint32Max(5).Draw(t, "token")
			}
		}
		rows = append(rows, r)
	}
	return rows
}

// sameWorkload compares all that a workload says.
func sameWorkload(a, b *lower.Workload) string {
	opts := cmp.Options{cmpopts.EquateNaNs(), cmpopts.IgnoreFields(lower.Workload{}, "Sessions")}
	return cmp.Diff(a, b, opts) + cmp.Diff(sessionsOf(a), sessionsOf(b))
}

func sessionsOf(w *lower.Workload) (names []string) {
	if w.Sessions == nil {
		return nil
	}
	for s := range w.Sessions.Len() {
		names = append(names, fmt.Sprintf("%d %q %v", w.Sessions.First[s], w.Sessions.Name(s), w.Sessions.Generated(s)))
	}
	return names
}

// Renaming block ids, and cutting the source into other batches, changes nothing.
func TestRenamingAndBatches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec, blockTokens := drawSpec(t), rapid.Int64Range(1, 5).Draw(t, "block tokens")
		rows := drawRows(t, blockTokens, true)
		want, err := lowerRows(spec, blockTokens, rows, len(rows))
		if err != nil {
			t.Fatal(err)
		}
		renamed := slices.Clone(rows)
		odd, offset := rapid.Uint64().Draw(t, "factor")|1, rapid.Uint64().Draw(t, "offset")
		for i := range renamed {
			renamed[i].blocks = slices.Clone(renamed[i].blocks)
			for j := range renamed[i].blocks {
				renamed[i].blocks[j] = renamed[i].blocks[j]*odd + offset
			}
		}
		got, err := lowerRows(spec, blockTokens, renamed, rapid.IntRange(1, 7).Draw(t, "batch"))
		if err != nil {
			t.Fatal(err)
		}
		if diff := sameWorkload(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

// path lists the chains of a node from the first block on.
func path(w *lower.Workload, node int) (chains []int32) {
	for c := w.Nodes.Chain[node]; c >= 0; c = w.Chains.Parent[c] {
		chains = append(chains, c)
	}
	slices.Reverse(chains)
	return chains
}

// Two prompts have a chain in common exactly where all their block ids up to there agree, and
// block numbers count ids in order of first occurrence, surplus ones included.
func TestChainsAreSharedPrefixes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec, blockTokens := drawSpec(t), rapid.Int64Range(1, 5).Draw(t, "block tokens")
		rows := drawRows(t, blockTokens, false)
		w, err := lowerRows(spec, blockTokens, rows, 3)
		if err != nil {
			t.Fatal(err)
		}
		numbers := map[uint64]uint32{}
		for _, r := range rows {
			for _, id := range r.blocks {
				if _, known := numbers[id]; !known {
					numbers[id] = uint32(len(numbers))
				}
			}
		}
		used := func(i int) []uint64 {
			r := rows[w.Nodes.RequestIndex[i]]
			return r.blocks[:(r.input+blockTokens-1)/blockTokens]
		}
		for i := range rows {
			mine, ids := path(w, i), used(i)
			if len(mine) != len(ids) || int64(w.Nodes.ChainTokens[i]) != rows[w.Nodes.RequestIndex[i]].input {
				t.Fatalf("node %d: %d chains for %d blocks", i, len(mine), len(ids))
			}
			for j, c := range mine {
				if w.Chains.Block[c] != numbers[ids[j]] || w.Chains.Depth[c] != int32(j) {
					t.Fatalf("node %d: chain %d has block %d at depth %d", i, c, w.Chains.Block[c], w.Chains.Depth[c])
				}
			}
			for k := range i {
				theirs, other := path(w, k), used(k)
				for j := range min(len(mine), len(theirs)) {
					if (mine[j] == theirs[j]) != slices.Equal(ids[:j+1], other[:j+1]) {
						t.Fatalf("nodes %d and %d: %v and %v for %v and %v", i, k, mine, theirs, ids, other)
					}
				}
			}
		}
	})
}

// Sessions, their order, first arrivals and delays are those of a naive reading of spec 01
// sections 3.4 and 5.
func TestSessionsAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := drawSpec(t)
		rows := drawRows(t, 2, true)
		w, err := lowerRows(spec, 2, rows, 4)
		if err != nil {
			t.Fatal(err)
		}
		turns := map[string][]int{}
		var order []string
		for i, r := range rows {
			name := fmt.Sprintf("request_%d", r.line)
			if r.session != nil {
				name = *r.session
			}
			if turns[name] == nil {
				order = append(order, name)
			}
			turns[name] = append(turns[name], i)
		}
		single := len(order) == len(rows)
		if list := single && spec.Load.Concurrency == 0; list != (w.Sessions == nil) {
			t.Fatalf("list %v, sessions %v", list, w.Sessions)
		}
		if delta := !single && spec.Source.Format == schemas.FormatMooncakeDelta; delta != w.Delta {
			t.Fatalf("delta %v, want %v", w.Delta, delta)
		}
		node, speedup := 0, spec.Load.Speedup
		if spec.Load.Concurrency > 0 {
			speedup = 1
		}
		for s, name := range order {
			if w.Sessions != nil && (w.Sessions.Name(s) != name || int(w.Sessions.First[s]) != node) {
				t.Fatalf("session %d is %q from %d, want %q from %d", s, w.Sessions.Name(s), w.Sessions.First[s], name, node)
			}
			for turn, row := range turns[name] {
				release, delay := math.NaN(), 0.0
				if turn > 0 {
					delay = (*rows[row].timestamp - *rows[turns[name][turn-1]].timestamp) / speedup
				} else if spec.Load.Concurrency == 0 {
					release = (*rows[row].timestamp - *rows[0].timestamp) / speedup
				}
				n := &w.Nodes
				if int(n.RequestIndex[node]) != row || !same(n.ReleaseMS[node], release) || w.Sessions != nil && n.DelayMS[node] != delay ||
					int64(n.OutputTokens[node]) != rows[row].output {
					t.Fatalf("node %d: row %d released at %v, want row %d at %v", node, n.RequestIndex[node], n.ReleaseMS[node], row, release)
				}
				if w.AuthoredStart != nil && !slices.Equal(w.Authored[w.AuthoredStart[node]:w.AuthoredStart[node+1]], rows[row].authored) {
					t.Fatalf("node %d: other authored outputs", node)
				}
				node++
			}
		}
	})
}

func same(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

// A list whose timestamps are out of order is sorted, ties in source order.
func TestListIsSorted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := &schemas.RunSpec{Source: schemas.SourceSpec{Kind: schemas.SourceTrace, Format: schemas.FormatMooncake},
			Load: schemas.LoadSpec{Kind: schemas.LoadTraceTimestamps, Speedup: 1}}
		rows := drawRows(t, 2, false)
		for i := range rows {
			at := float64(rapid.IntRange(-5, 5).Draw(t, "timestamp"))
			rows[i].timestamp = &at
		}
		w, err := lowerRows(spec, 2, rows, 4)
		if err != nil {
			t.Fatal(err)
		}
		if w.Nodes.ReleaseMS[0] != 0 {
			t.Fatalf("the first arrival is %v", w.Nodes.ReleaseMS[0])
		}
		for i := range rows {
			r := rows[w.Nodes.RequestIndex[i]]
			if w.Nodes.InputTokens[i] != int32(r.input) || w.Nodes.ReleaseMS[i] != *r.timestamp-*rows[w.Nodes.RequestIndex[0]].timestamp {
				t.Fatalf("node %d is not row %d", i, w.Nodes.RequestIndex[i])
			}
			if i > 0 && (w.Nodes.ReleaseMS[i] < w.Nodes.ReleaseMS[i-1] || w.Nodes.ReleaseMS[i] == w.Nodes.ReleaseMS[i-1] && w.Nodes.RequestIndex[i] < w.Nodes.RequestIndex[i-1]) {
				t.Fatalf("nodes %d and %d are out of order", i-1, i)
			}
		}
	})
}

// A workload of more rows and blocks than a chunk of a column holds.
func TestManyRows(t *testing.T) {
	spec := &schemas.RunSpec{Source: schemas.SourceSpec{Kind: schemas.SourceTrace, Format: schemas.FormatMooncake},
		Load: schemas.LoadSpec{Kind: schemas.LoadTraceTimestamps, Speedup: 1}}
	const n = 200_000
	for name, factor := range map[string]uint64{"numbered": 1, "hashed": 0x9E3779B97F4A7C15} {
		t.Run(name, func(t *testing.T) {
			rows := make([]request, n)
			zero := 0.0
			for i := range rows {
				rows[i] = request{line: int64(i) + 1, input: 3, timestamp: &zero, blocks: []uint64{0, uint64(i/2+1) * factor, uint64(n+i) * factor}}
				if factor == 1 {
					rows[i].blocks[2] = uint64(i/2 + 2)
				}
			}
			w, err := lowerRows(spec, 1, rows, 1000)
			if err != nil {
				t.Fatal(err)
			}
			if w.Nodes.Len() != n {
				t.Fatalf("%d nodes", w.Nodes.Len())
			}
			for i := range rows {
				chains := path(w, i)
				if len(chains) != 3 || chains[0] != 0 || i%2 == 1 && chains[1] != path(w, i-1)[1] {
					t.Fatalf("node %d has chains %v", i, chains)
				}
			}
		})
	}
}
