package engine

import (
	"maps"
	"slices"
)

// Audit knows the requests that a rank has in any form, for the checks of builds with the tag
// invariants; others do not fill it. The zero value is empty.
type Audit struct {
	slots map[int32]struct{}
	// emitted counts the tokens that passes say they emitted, ended those of requests that left.
	emitted, ended int64
}

// Enter notes a request that the rank gets.
func (a *Audit) Enter(slot int32) {
	if a.slots == nil {
		a.slots = map[int32]struct{}{}
	}
	a.slots[slot] = struct{}{}
}

// Leave notes a request that the rank has no more, with its output.
func (a *Audit) Leave(slot int32, output int64) {
	delete(a.slots, slot)
	a.ended += output
}

// Passed notes the tokens that a pass emitted.
func (a *Audit) Passed(tokens int64) { a.emitted += tokens }

// Slots lists the requests in ascending order.
func (a *Audit) Slots() []int32 { return slices.Sorted(maps.Keys(a.slots)) }

// Missing is how many tokens were emitted that no request has, given those of the present ones.
func (a *Audit) Missing(present int64) int64 { return a.emitted - a.ended - present }
