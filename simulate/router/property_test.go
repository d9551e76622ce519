package router

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/dynosim/dynosim/schemas"
	"github.com/dynosim/dynosim/simulate/kv"
)

// prompt is a request of the model: path elements are numbers of a small tree, so that prompts
// share prefixes; blocks are named by element and position.
type prompt struct {
	path   []int32
	tokens int64
	shared int64
}

// drawPrompt draws a prompt over a binary tree of chains.
func drawPrompt(t *rapid.T, s shape) prompt {
	depth := rapid.IntRange(0, 4).Draw(t, "depth")
	p := prompt{}
	at := int32(0)
	for range depth {
		at = 2*at + rapid.Int32Range(1, 2).Draw(t, "branch")
		p.path = append(p.path, at)
	}
	covered := int64(depth) * s.element
	if depth > 0 {
		covered -= rapid.Int64Range(0, s.element-1).Draw(t, "cut")
	}
	p.shared = covered / s.block
	p.tokens = covered + rapid.Int64Range(0, 3*s.block).Draw(t, "tail")
	return p
}

// blocks lists the shared blocks of a prompt as events store them.
func (p *prompt) blocks(s shape) (out []kv.Event) {
	for i := range p.shared {
		e := ((i+1)*s.block - 1) / s.element
		out = append(out, kv.Stored(p.path[e], int32(i-s.before(e))))
	}
	return out
}

// model is the router's state as sets and sums.
type model struct {
	held    []map[kv.Event]bool
	running []map[int32]prompt
	loads   []map[int32]int64
}

func (m *model) overlap(target int, blocks []kv.Event) (n int) {
	for n < len(blocks) && m.held[target][blocks[n]] {
		n++
	}
	return n
}

// active is A and Sh of the specification.
func (m *model) active(s shape, target int, blocks []kv.Event) (count, shared int) {
	distinct := map[kv.Event]bool{}
	for _, p := range m.running[target] {
		for _, b := range p.blocks(s) {
			distinct[b] = true
		}
		count += int(p.tokens/s.block - p.shared)
	}
	for shared < len(blocks) && distinct[blocks[shared]] {
		shared++
	}
	return count + len(distinct), shared
}

// TestAgainstModel drives a router with random requests and events and compares what every decision
// sees with sets and sums. Blocks are stored and removed as prefixes, as engines do.
func TestAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := shape{rapid.Int64Range(1, 5).Draw(t, "block"), rapid.Int64Range(1, 12).Draw(t, "element")}
		workers, ranks := rapid.IntRange(1, 40).Draw(t, "workers"), rapid.IntRange(1, 4).Draw(t, "ranks")
		r := New(Config{Spec: schemas.DefaultRouter(), BlockTokens: s.block, PathTokens: s.element, Ranks: ranks, MaxBatchedTokens: 100})
		n := workers * ranks
		m := model{make([]map[kv.Event]bool, n), make([]map[int32]prompt, n), make([]map[int32]int64, n)}
		for i := range n {
			m.held[i], m.running[i], m.loads[i] = map[kv.Event]bool{}, map[int32]prompt{}, map[int32]int64{}
			if i%ranks == 0 {
				r.AddWorker(int32(i / ranks))
			}
		}
		placed := map[int32]int{}
		next := int32(0)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			p := drawPrompt(t, s)
			blocks := p.blocks(s)
			target := rapid.IntRange(0, min(n, 5)-1).Draw(t, "target")
			if rapid.Bool().Draw(t, "far") {
				target = n - 1 - target
			}
			switch rapid.SampledFrom([]string{"store", "remove", "arrive", "arrive", "first", "end"}).Draw(t, "step") {
			case "store":
				var events []kv.Event
				for _, b := range blocks {
					if !m.held[target][b] {
						m.held[target][b] = true
						events = append(events, b)
					}
				}
				r.Observe(int32(target/ranks), int32(target%ranks), events, 0)
			case "remove":
				// A prefix stays; what lies behind goes, in all branches.
				keep := rapid.IntRange(0, len(blocks)).Draw(t, "keep")
				kept := map[kv.Event]bool{}
				for _, b := range blocks[:keep] {
					kept[b] = m.held[target][b]
				}
				var events []kv.Event
				for b, held := range m.held[target] {
					if held && !kept[b] {
						events = append(events, kv.Removed(b.Element, b.Position))
						delete(m.held[target], b)
					}
				}
				r.Observe(int32(target/ranks), int32(target%ranks), events, 0)
			case "arrive":
				slot := next
				next++
				d, ok, err := r.Arrive(&Request{Slot: slot, Tokens: p.tokens, Path: p.path, Shared: p.shared, PolicyClass: -1}, 0)
				if err != nil || !ok {
					t.Fatalf("not placed: %v", err)
				}
				m.check(t, r, s, &p)
				chosen := int(d.Worker)*ranks + int(d.Rank)
				placed[slot] = chosen
				m.running[chosen][slot] = p
				m.loads[chosen][slot] = p.tokens - int64(m.overlap(chosen, blocks))*s.block
			case "first", "end":
				if len(placed) == 0 {
					continue
				}
				slots := []int32{}
				for slot := range placed {
					slots = append(slots, slot)
				}
				slices.Sort(slots)
				slot := rapid.SampledFrom(slots).Draw(t, "slot")
				delete(m.loads[placed[slot]], slot)
				r.Prefilled(slot, 0)
				if rapid.Bool().Draw(t, "over") {
					r.Ended(slot, 0)
					delete(m.running[placed[slot]], slot)
					delete(placed, slot)
				}
			}
		}
		for slot := range placed {
			r.Ended(slot, 0)
		}
		for i := range r.targets {
			if x := &r.targets[i]; x.loads.sum != 0 || x.blocks != 0 || x.requests != 0 {
				t.Fatalf("target %d keeps %d tokens, %d blocks and %d requests of ended ones", i, x.loads.sum, x.blocks, x.requests)
			}
		}
	})
}

// check compares the candidates of the last decision with the model.
func (m *model) check(t *rapid.T, r *Router, s shape, p *prompt) {
	blocks := p.blocks(s)
	cheapest := math.Inf(1)
	for i, c := range r.Candidates() {
		var load int64
		for _, x := range m.loads[i] {
			load += x
		}
		count, shared := m.active(s, i, blocks)
		overlap := m.overlap(i, blocks)
		if int(c.Overlap) != overlap || int(c.Shared) != shared || c.PrefillTokens != load || int(c.ActiveBlocks) != count || int(c.ActiveRequests) != len(m.running[i]) {
			t.Fatalf("target %d: %+v, want overlap %d, shared %d, %d tokens, %d blocks, %d requests", i, c, overlap, shared, load, count, len(m.running[i]))
		}
		cost := max(float64(load+p.tokens)/float64(s.block)-float64(overlap), 0) + float64(int64(count)+p.tokens/s.block-int64(shared))
		if c.Cost != cost {
			t.Fatalf("target %d costs %v, want %v", i, c.Cost, cost)
		}
		cheapest = min(cheapest, cost)
	}
	if len(r.Candidates()) == 0 || math.IsInf(cheapest, 1) {
		t.Fatal("a decision without candidates")
	}
}

// TestTemperature compares the frequencies of draws with the weights of the specification, and checks that
// a seed repeats its draws.
func TestTemperature(t *testing.T) {
	spec := schemas.DefaultRouter()
	spec.Temperature = 0.5
	draws := func(seed uint64) [3]int {
		spec.Seed = seed
		r := New(Config{Spec: spec, BlockTokens: 64, PathTokens: 64, Ranks: 1, MaxBatchedTokens: 8192})
		for worker := range int32(3) {
			r.AddWorker(worker)
		}
		// Costs 2, 4 and 10 for a prompt of one block.
		for _, q := range []struct{ worker, blocks int64 }{{1, 1}, {2, 4}} {
			r.targets[q.worker].blocks, r.targets[q.worker].loads.sum = q.blocks, q.blocks*64
		}
		var counts [3]int
		for slot := range int32(4000) {
			d, _, err := r.Arrive(&Request{Slot: slot, Tokens: 64, PolicyClass: -1}, 0)
			if err != nil {
				t.Fatal(err)
			}
			counts[d.Worker]++
			r.Ended(slot, 0)
		}
		return counts
	}
	got := draws(1)
	if again := draws(1); again != got {
		t.Errorf("the same seed draws %v, then %v", got, again)
	}
	if other := draws(2); other == got {
		t.Errorf("two seeds draw the same %v", got)
	}
	// exp(-(cost-2)/((10-2)*0.5)) over their sum.
	weights := [3]float64{1, math.Exp(-0.5), math.Exp(-2)}
	sum := weights[0] + weights[1] + weights[2]
	for i, n := range got {
		want := 4000 * weights[i] / sum
		if math.Abs(float64(n)-want) > 4*math.Sqrt(want) {
			t.Errorf("target %d drawn %d times, want about %.0f", i, n, want)
		}
	}
}
