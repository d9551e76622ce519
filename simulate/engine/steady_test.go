package engine

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestQueue runs random operations on the queue and on a slice.
func TestQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q Queue
		var want []int32
		next := int32(0)
		t.Repeat(map[string]func(*rapid.T){
			"push back":  func(*rapid.T) { q.PushBack(next); want = append(want, next); next++ },
			"push front": func(*rapid.T) { q.PushFront(next); want = slices.Insert(want, 0, next); next++ },
			"pop front": func(t *rapid.T) {
				if len(want) == 0 {
					t.Skip("empty")
				}
				if got := q.PopFront(); got != want[0] {
					t.Fatalf("popped %d, want %d", got, want[0])
				}
				want = want[1:]
			},
			"remove": func(t *rapid.T) {
				if len(want) == 0 {
					t.Skip("empty")
				}
				i := rapid.IntRange(0, len(want)-1).Draw(t, "i")
				q.RemoveAt(i)
				want = slices.Delete(want, i, i+1)
			},
			"set": func(t *rapid.T) {
				if len(want) == 0 {
					t.Skip("empty")
				}
				i := rapid.IntRange(0, len(want)-1).Draw(t, "i")
				q.Set(i, next)
				want[i] = next
				next++
			},
			"": func(t *rapid.T) {
				var got []int32
				for i := range q.Len() {
					got = append(got, q.At(i))
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
		var h Finishes
		var want []Finish
		for i := range rapid.IntRange(0, 50).Draw(t, "n") {
			f := Finish{Step: rapid.Int64Range(0, 9).Draw(t, "step"), Join: int64(i), Slot: int32(i)}
			want = append(want, f)
		}
		for _, i := range rapid.Permutation(want).Draw(t, "order") {
			h.Push(i)
		}
		slices.SortStableFunc(want, func(a, b Finish) int { return cmp.Compare(a.Step, b.Step) })
		for i, w := range want {
			if got := h.Pop(); got != w {
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
		p := NewPhases(block, make([]int32, 4))
		type request struct{ computed, since int64 }
		var live []request
		step := int64(0)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 2).Draw(t, "what") {
			case 0:
				r := request{rapid.OneOf(rapid.Int64Range(0, 200), rapid.Just(block), rapid.Just(3*block-1)).Draw(t, "computed"), step}
				p.Add(r.computed, r.since, 1)
				live = append(live, r)
			case 1:
				if len(live) > 0 {
					r := live[0]
					p.Add(r.computed+step-r.since, step, -1)
					live = live[1:]
				}
			}
			want := int64(0)
			for _, r := range live {
				if (r.computed+step-r.since)%block == 0 {
					want++
				}
			}
			if got := p.At(step); got != want {
				t.Fatalf("block %d, step %d: %d requests begin a block, want %d", block, step, got, want)
			}
			step++
		}
	})
}
