// Package heap is a binary heap of plain values: no interface values, no allocation per
// item once the slice has grown.
package heap

// Heap holds values of T, the one that comes before all others at index 0. The zero value
// is empty. P is *T; its Before must be a strict order.
type Heap[T any, P interface {
	*T
	Before(*T) bool
}] []T

// Values are compared where they stand in the slice: the address of a local value would make
// it escape, an allocation for every call.

// Push adds a value.
func (h *Heap[T, P]) Push(v T) {
	s := append(*h, v)
	*h = s
	for i := len(s) - 1; i > 0; {
		up := (i - 1) / 2
		if !P(&s[i]).Before(&s[up]) {
			return
		}
		s[i], s[up] = s[up], s[i]
		i = up
	}
}

// Pop takes out the first value. The heap must not be empty.
func (h *Heap[T, P]) Pop() T {
	s := *h
	first := s[0]
	n := len(s) - 1
	s[0] = s[n]
	s = s[:n]
	*h = s
	for i := 0; ; {
		c := 2*i + 1
		if c >= n {
			return first
		}
		if c+1 < n && P(&s[c+1]).Before(&s[c]) {
			c++
		}
		if !P(&s[c]).Before(&s[i]) {
			return first
		}
		s[i], s[c] = s[c], s[i]
		i = c
	}
}
