package vllm

import "github.com/dynosim/dynosim/simulate/engine"

// speculate sets blocks aside for the longest bursts, counts the decode part, and draws how
// many tokens each ready request gets (spec 03 section 8).
func (k *Rank) speculate() {
	p, draft := &k.pass, k.cfg.Speculation.DraftTokens
	if k.prefills() {
		draft = 0
	}
	for {
		k.ready, k.reserved = k.ready[:0], 0
		for _, slot := range k.running {
			r := k.request(slot)
			if left := k.remaining(r); r.Computed == r.Length() && left > 0 {
				k.ready = append(k.ready, slot)
				k.reserved += k.blocksFor(r.Length()+min(draft+1, left)) - k.blocksFor(r.Length())
			}
		}
		if len(k.ready) == 0 || k.pool.Take(k.reserved) {
			break
		}
		k.reserved = 0
		if k.cfg.NoEvict {
			k.ready = k.ready[:0]
			break
		}
		// Alone and still short of blocks: nothing that could happen would help.
		if len(k.running) == 1 {
			p.Stuck = true
			p.Hopeless = p.Hopeless || k.burstBlocks(k.request(k.running[0])) > k.pool.Total()
		}
		k.preempt(true)
	}
	k.burst = k.burst[:0]
	for _, slot := range k.ready {
		r := k.request(slot)
		if k.prefills() {
			k.burst = append(k.burst, 1)
			continue
		}
		p.DecodeRequests++
		p.DecodeTokens += r.Length()
		accepted := engine.Accepted(k.cfg.Speculation.AcceptRates, k.random)
		if !k.prefilled(r) {
			p.Forwards++
			p.Accepted += accepted
		}
		k.burst = append(k.burst, min(accepted, k.remaining(r)))
	}
}

// burstBlocks is the number of blocks that hold the request with its longest next burst.
func (k *Rank) burstBlocks(r *engine.Request) int64 {
	draft := k.cfg.Speculation.DraftTokens
	return k.blocksFor(r.Length() + min(draft+1, k.remaining(r)))
}

// emitBursts delivers the tokens of a speculative pass. Blocks that were set aside and are
// not needed are free again.
func (k *Rank) emitBursts(endMS float64) {
	k.finishing = append(k.finishing[:0], k.running...)
	for _, slot := range k.finishing {
		if r := k.request(slot); r.Computed == r.Length() && k.remaining(r) == 0 {
			k.complete(slot)
		}
	}
	for i, slot := range k.ready {
		r := k.request(slot)
		r.Burst = k.burst[i]
		for range r.Burst {
			// The token before counts as computed now.
			from := r.Computed / k.cfg.BlockTokens
			if r.Computed = r.Length(); k.pool.Caching() {
				k.cache(slot, r, from, r.Computed/k.cfg.BlockTokens)
				if k.cfg.GeneratedEvents {
					k.announce(r, from, r.Computed/k.cfg.BlockTokens)
				}
			}
			k.emitOne(slot, endMS)
			k.pass.OutputTokens++
			grown := k.blocksFor(r.Length()) - k.blocksFor(r.Allocated)
			k.reserved -= grown
			k.owned += grown
			r.Allocated = r.Length()
		}
		if k.remaining(r) == 0 {
			k.complete(slot)
		}
	}
	k.pool.Free(k.reserved)
	k.reserved = 0
}
