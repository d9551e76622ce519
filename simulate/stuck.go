package simulate

import (
	"fmt"
	"slices"

	"github.com/dynosim/dynosim/schemas"
)

// shownWaits is how many requests a diagnosis names.
const shownWaits = 20

// stuck decides what it means that no instant is left: the end, or an error that says who waits
// for what.
func (c *cluster) stuck() error {
	c.catchUpAll(c.now)
	open := c.requests.Live()
	if open == 0 && (c.source.exhausted() || c.source.plays.aborted()) {
		return nil
	}
	if open == 0 {
		return &InvariantError{Message: fmt.Sprintf("the run cannot go on at %g ms: no event is left although the source is not exhausted", c.now)}
	}
	waits, first := c.waits()
	e := &InvariantError{
		Message: fmt.Sprintf("the run cannot go on at %g ms: no event is left and %d of %d requests are in flight", c.now, open, c.requests.Created()),
		Details: waits,
	}
	if len(waits) > 0 {
		e.Message += "; " + waits[first]
	}
	if n := len(waits); n > shownWaits {
		e.Details = append(waits[:shownWaits], fmt.Sprintf("and %d more", n-shownWaits))
	}
	return e
}

// waits names what each request in flight waits for, in order of arrival, and says which of them is the
// first that does not merely wait behind another one.
func (c *cluster) waits() (lines []string, first int) {
	type wait struct {
		creation int32
		text     string
		behind   bool
	}
	var found []wait
	seen := map[int32]bool{}
	add := func(slot int32, text string, behind bool) {
		r := &c.requests.Slots[slot]
		if r.Source {
			slot = r.Twin
		}
		if !seen[slot] {
			seen[slot] = true
			found = append(found, wait{r.Creation, fmt.Sprintf("request %d %s", r.Node, text), behind})
		}
	}
	for i := range c.pools {
		p := &c.pools[i]
		for id, w := range p.workers {
			for rank, k := range w.ranks {
				where := fmt.Sprintf("%sworker %d", p.prefix(), id)
				if p.ranks > 1 {
					where += fmt.Sprintf(" rank %d", rank)
				}
				for _, wait := range k.Waits() {
					add(wait.Slot, fmt.Sprintf("%s (%s)", wait.Why, where), wait.Behind)
				}
			}
		}
		for _, t := range p.parked {
			add(t.slot, "waits for an active "+schemas.PoolNames[p.role]+" worker", false)
		}
	}
	if h := c.handoffs; h != nil {
		for slot := range c.requests.Slots {
			if r := &c.requests.Slots[slot]; r.Node >= 0 && !r.Source {
				add(int32(slot), "waits for "+actionNames[h.of[slot].waits], false)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b wait) int { return int(a.creation - b.creation) })
	for _, w := range found {
		lines = append(lines, w.text)
	}
	return lines, max(0, slices.IndexFunc(found, func(w wait) bool { return !w.behind }))
}
