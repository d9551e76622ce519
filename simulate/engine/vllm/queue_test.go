package vllm

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestQueue runs random operations on the queue and on a slice.
func TestQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q queue
		var want []int32
		next := int32(0)
		t.Repeat(map[string]func(*rapid.T){
			"push back":  func(*rapid.T) { q.pushBack(next); want = append(want, next); next++ },
			"push front": func(*rapid.T) { q.pushFront(next); want = slices.Insert(want, 0, next); next++ },
			"pop front": func(t *rapid.T) {
				if len(want) == 0 {
					t.Skip("empty")
				}
				if got := q.popFront(); got != want[0] {
					t.Fatalf("popped %d, want %d", got, want[0])
				}
				want = want[1:]
			},
			"remove": func(t *rapid.T) {
				if len(want) == 0 {
					t.Skip("empty")
				}
				i := rapid.IntRange(0, len(want)-1).Draw(t, "i")
				q.removeAt(i)
				want = slices.Delete(want, i, i+1)
			},
			"": func(t *rapid.T) {
				var got []int32
				for i := range q.len() {
					got = append(got, q.at(i))
				}
				if !slices.Equal(got, want) {
					t.Fatalf("queue %v, want %v", got, want)
				}
			},
		})
	})
}

// TestFinishes checks that finishes come out by step, then by place in the running list.
func TestFinishes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h finishHeap
		var want []finish
		for i := range rapid.IntRange(0, 50).Draw(t, "n") {
			f := finish{step: rapid.Int64Range(0, 9).Draw(t, "step"), join: int64(i), slot: int32(i)}
			want = append(want, f)
		}
		for _, i := range rapid.Permutation(want).Draw(t, "order") {
			h.push(i)
		}
		slices.SortStableFunc(want, func(a, b finish) int { return cmp.Compare(a.step, b.step) })
		for i, w := range want {
			if got := h.pop(); got != w {
				t.Fatalf("finish %d is %+v, want %+v", i, got, w)
			}
		}
	})
}

// TestPhases compares the count of requests that begin a block with one over all requests,
// for dense and sparse block sizes.
func TestPhases(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		block := rapid.SampledFrom([]int64{1, 2, 7, 64, denseBlock, denseBlock + 1, 1 << 40}).Draw(t, "block")
		p := newPhases(block)
		type request struct{ computed, since int64 }
		var live []request
		step := int64(0)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 2).Draw(t, "what") {
			case 0:
				r := request{rapid.OneOf(rapid.Int64Range(0, 200), rapid.Just(block), rapid.Just(3*block-1)).Draw(t, "computed"), step}
				p.add(r.computed, r.since, 1)
				live = append(live, r)
			case 1:
				if len(live) > 0 {
					r := live[0]
					p.add(r.computed+step-r.since, step, -1)
					live = live[1:]
				}
			}
			want := int64(0)
			for _, r := range live {
				if (r.computed+step-r.since)%block == 0 {
					want++
				}
			}
			if got := p.at(step); got != want {
				t.Fatalf("block %d, step %d: %d requests begin a block, want %d", block, step, got, want)
			}
			step++
		}
	})
}
