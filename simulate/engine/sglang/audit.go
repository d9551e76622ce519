package sglang

import (
	"github.com/dynosim/dynosim/simulate/engine"
	"github.com/dynosim/dynosim/simulate/invariants"
)

// check panics unless pages, locks and tokens are conserved; the rank is between passes.
func (k *Rank) check() {
	t := k.tree
	unused := make([]bool, len(t.nodes))
	for _, id := range t.unused {
		unused[id] = true
	}
	stored, evictable, locks := int64(0), int64(0), make([]int32, len(t.nodes))
	private, produced := int64(0), int64(0)
	for _, slot := range k.audit.Slots() {
		r := *k.request(slot)
		if r.Steady {
			r.Sync(k.step)
		}
		produced += r.Output
		n := r.Fresh
		if r.Stage != engine.Reserved {
			n = k.pagesFor(r.Computed) - r.Cached/k.cfg.PageTokens
		}
		if n < 0 || r.Computed > r.Length() || r.Output > max(r.MaxOutput, 0) {
			invariants.Violated("request %d has %d pages of its own, %d of %d tokens computed, %d of %d produced", r.Node, n, r.Computed, r.Length(), r.Output, r.MaxOutput)
		}
		private += n
		for at := r.Anchor; at != root; at = t.nodes[at].parent {
			locks[at]++
		}
	}
	for id := range t.nodes {
		n := &t.nodes[id]
		if int32(id) == root || unused[id] {
			continue
		}
		stored += n.count
		if n.lock == 0 {
			evictable += n.count
		}
		if n.lock != locks[id] || n.count <= 0 {
			invariants.Violated("a node of %d pages has %d locks, %d requests hold it", n.count, n.lock, locks[id])
		}
	}
	switch {
	case t.free < 0 || t.free+stored+private != k.cfg.Pages:
		invariants.Violated("%d free, %d stored and %d private pages of %d", t.free, stored, private, k.cfg.Pages)
	case evictable != t.evictable:
		invariants.Violated("%d pages count as evictable, %d have no lock", t.evictable, evictable)
	case !k.prefills() && k.audit.Missing(produced) != 0:
		invariants.Violated("%d tokens were emitted that no request has", k.audit.Missing(produced))
	}
}
