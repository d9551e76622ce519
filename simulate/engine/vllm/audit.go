package vllm

import (
	"github.com/dynosim/dynosim/simulate/engine"
	"github.com/dynosim/dynosim/simulate/invariants"
)

// check panics unless blocks, references and tokens are conserved; the rank is between passes.
func (k *Rank) check() {
	used, references := k.pool.Audit()
	private, held, produced, promised, owned := int64(0), int64(0), int64(0), int64(0), int64(0)
	for _, slot := range k.audit.Slots() {
		r := *k.request(slot)
		if r.Steady {
			r.Sync(k.step)
		}
		produced += r.Output
		n := r.Fresh + int64(len(r.Blocks))
		if r.Stage != engine.Reserved {
			n = k.ownedBlocks(&r)
		}
		if n < int64(len(r.Blocks)) || r.Computed > r.Length() || r.Output > max(r.MaxOutput, 0) {
			invariants.Violated("request %d owns %d blocks, %d of them cached, with %d of %d tokens computed and %d of %d produced",
				r.Node, n, len(r.Blocks), r.Computed, r.Length(), r.Output, r.MaxOutput)
		}
		if k.host != nil && k.host.private && int64(len(k.requests.Hosted(slot).Units)) != n {
			invariants.Violated("request %d owns %d blocks and %d units of capacity", r.Node, n, len(k.requests.Hosted(slot).Units))
		}
		private += n - int64(len(r.Blocks))
		held += int64(len(r.Blocks))
		if r.Stage == engine.Reserved || r.Stage == engine.Activated {
			promised += k.whole(&r) - k.blocksFor(r.Prompt)
		}
	}
	steady, lengths := int64(0), int64(0)
	for _, slot := range k.running {
		r := *k.request(slot)
		if r.Steady {
			steady++
			r.Sync(k.step)
			lengths += r.Length()
		}
		owned += k.ownedBlocks(&r)
	}
	if k.host != nil {
		for _, n := range k.host.holds {
			held += int64(n)
		}
	}
	switch {
	case held != references:
		invariants.Violated("requests hold %d cached blocks, which have %d references", held, references)
	case private+used != k.pool.Active():
		invariants.Violated("%d blocks are in use: %d private and %d cached ones have an owner", k.pool.Active(), private, used)
	case steady != k.steady || lengths != k.lengthSum:
		invariants.Violated("%d steady requests of %d tokens count as %d of %d", steady, lengths, k.steady, k.lengthSum)
	case !k.prefills() && k.audit.Missing(produced) != 0:
		invariants.Violated("%d tokens were emitted that no request has", k.audit.Missing(produced))
	case k.cfg.NoEvict && promised != k.handoffs.promised:
		invariants.Violated("destinations are promised %d blocks, %d count", promised, k.handoffs.promised)
	case k.cfg.NoEvict && owned != k.owned:
		invariants.Violated("running requests own %d blocks, %d count", owned, k.owned)
	}
}
