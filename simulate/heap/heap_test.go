package heap

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

type item struct{ key, serial int }

func (a *item) Before(b *item) bool {
	return a.key < b.key || a.key == b.key && a.serial < b.serial
}

// TestHeap runs random operations on the heap and on a sorted slice.
func TestHeap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h Heap[item, *item]
		var want []item
		serial := 0
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				v := item{rapid.IntRange(0, 9).Draw(t, "key"), serial}
				serial++
				h.Push(v)
				want = append(want, v)
				slices.SortStableFunc(want, func(a, b item) int { return cmp.Compare(a.key, b.key) })
			},
			"pop": func(t *rapid.T) {
				if len(want) == 0 {
					t.Skip("empty")
				}
				if got := h.Pop(); got != want[0] {
					t.Fatalf("popped %v, want %v", got, want[0])
				}
				want = want[1:]
			},
			"": func(t *rapid.T) {
				if len(h) != len(want) || len(h) > 0 && h[0] != want[0] {
					t.Fatalf("the heap begins %v, want %v", h, want)
				}
			},
		})
	})
}
