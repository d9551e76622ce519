package router

import "math"

// Candidate is a target as a decision saw it (spec 06 section 4).
type Candidate struct {
	Worker, Rank int32
	// Overlap is D, the leading cached blocks, Host is Hst, those behind them in the host cache; Shared is
	// Sh, the leading active ones.
	Overlap, Host, Shared int32
	// PrefillTokens is Pf, ActiveBlocks A, and ActiveRequests N.
	PrefillTokens, ActiveBlocks, ActiveRequests int64
	// PrefillCost and DecodeBlocks are the terms of Cost, in blocks.
	PrefillCost, DecodeBlocks, Cost float64
	target                          int32
}

// Candidates are the targets of the last decision in ascending order of worker and rank, until
// the next one.
func (r *Router) Candidates() []Candidate { return r.costs }

// decide chooses the target of a request and takes the request's loads into account there.
// Overlaps and blocks in host caches (nil for none) concern the targets that had joined by then.
func (r *Router) decide(slot int32, overlaps, hosts []int32, joined uint64, nowNS int64) Decision {
	x := &r.requests[slot]
	best := r.consider(x, overlaps, hosts, joined, nowNS)
	chosen := &r.costs[r.choose()]
	r.place(slot, chosen, nowNS)
	return Decision{Worker: chosen.Worker, Rank: chosen.Rank, Selected: r.blocks(chosen), Best: best}
}

// consider computes the costs of all targets, and returns the greatest overlap. The
// order of the floating-point operations is the specification's.
func (r *Router) consider(x *request, overlaps, hosts []int32, joined uint64, nowNS int64) (best int32) {
	s := &r.cfg.Spec
	block := r.cfg.BlockTokens
	whole := x.tokens / block
	if s.TrackActiveBlocks && s.AssumeKVReuse {
		r.active.shared(r.shape, x.path, x.shared, r.shared)
	}
	r.costs = r.costs[:0]
	least := int64(math.MaxInt64)
	for _, i := range r.order {
		t := &r.targets[i]
		c := Candidate{Worker: t.worker, Rank: t.rank, target: i,
			Shared: r.shared[i], ActiveBlocks: t.blocks, ActiveRequests: t.requests}
		if t.joined <= joined {
			c.Overlap = overlaps[i]
			if int(i) < len(hosts) {
				c.Host = hosts[i]
			}
		}
		if s.TrackPrefillTokens {
			c.PrefillTokens = t.loads.at(nowNS)
		}
		least = min(least, c.PrefillTokens)
		best = max(best, r.blocks(&c))
		r.costs = append(r.costs, c)
	}
	prompt := float64(max((x.tokens+block-1)/block, 1))
	for i := range r.costs {
		c := &r.costs[i]
		raw, k := int64(0), 1.0
		if s.TrackPrefillTokens {
			cached := r.cachedTokens(c)
			raw = (c.PrefillTokens + max(x.tokens-cached, 0)) + cached
			if s.CreditDecay > 0 {
				excess := float64(c.PrefillTokens-least) / float64(block)
				k = 1 / (1 + float64(s.CreditDecay*(excess/prompt)))
			}
		}
		credit := float64(float64(s.OverlapCredit*k) * float64(c.Overlap))
		if c.Host > 0 {
			credit += float64(s.HostCacheHitWeight * float64(c.Host))
		}
		c.PrefillCost = float64(s.PrefillLoadScale * max(float64(raw)/float64(block)-credit, 0))
		if s.TrackActiveBlocks {
			c.DecodeBlocks = float64(c.ActiveBlocks + (whole - int64(c.Shared)))
		}
		c.Cost = (c.PrefillCost + c.DecodeBlocks) + float64(s.ActiveRequestWeight*float64(c.ActiveRequests))
	}
	return best
}

// blocks is E of a target in whole blocks.
func (r *Router) blocks(c *Candidate) int32 {
	if c.Host == 0 {
		return c.Overlap
	}
	return int32(math.Round(r.worth(c.Overlap, c.Host)))
}

// cachedTokens is C of a target.
func (r *Router) cachedTokens(c *Candidate) int64 {
	if c.Host == 0 {
		return int64(c.Overlap) * r.cfg.BlockTokens
	}
	return r.cached(r.worth(c.Overlap, c.Host))
}

// choose returns the candidate that a decision takes: the cheapest or, with a temperature, one
// drawn by cost (spec 06 section 5). Of targets that cost exactly the same, nothing tells one
// from the other: the first one stands for all of them.
func (r *Router) choose() (chosen int) {
	lo, hi := r.costs[0].Cost, r.costs[0].Cost
	for i := range r.costs {
		switch c := r.costs[i].Cost; {
		case c < lo:
			lo, chosen = c, i
		case c > hi:
			hi = c
		}
	}
	if r.random == nil {
		return chosen
	}
	scale := 1.0
	if math.IsInf(hi-lo, 0) {
		scale = max(math.Abs(lo), math.Abs(hi))
		lo, hi = lo/scale, hi/scale
	}
	s := 0.0
	if lo != hi {
		s = -1 / float64((hi-lo)*r.cfg.Spec.Temperature)
	}
	sum := 0.0
	for i := range r.costs {
		sum += weight(r.costs[i].Cost/scale, lo, s)
	}
	draw, running := r.random.Float64(), 0.0
	for i := range r.costs {
		if running += weight(r.costs[i].Cost/scale, lo, s) / sum; running >= draw {
			chosen = i
			break
		}
		chosen = i
	}
	drawn := r.costs[chosen].Cost
	for chosen = 0; r.costs[chosen].Cost != drawn; {
		chosen++
	}
	return chosen
}

// weight is exp of the distance to the cheapest cost, scaled by s.
func weight(cost, lo, s float64) float64 {
	if s == 0 {
		return 1
	}
	return math.Exp(float64(cost*s) - float64(lo*s))
}

// place counts a request on its target.
func (r *Router) place(slot int32, c *Candidate, nowNS int64) {
	x, t, s := &r.requests[slot], &r.targets[c.target], &r.cfg.Spec
	x.target = c.target
	t.requests++
	if s.TrackActiveBlocks {
		whole := x.tokens / r.cfg.BlockTokens
		if s.AssumeKVReuse {
			t.blocks += whole - x.shared + r.active.add(r.shape, x.target, x.path, x.shared)
		} else {
			t.blocks += whole
		}
	}
	if !s.TrackPrefillTokens {
		return
	}
	cached := min(r.cachedTokens(c), x.tokens)
	x.load = x.tokens - cached
	if x.load == 0 {
		return
	}
	if !s.EstimatePrefill {
		t.loads.sum += x.load
		return
	}
	l := load{slot: slot, tokens: x.load, duration: -1}
	if r.cfg.Estimate != nil {
		if ms, ok := r.cfg.Estimate(x.load, cached); ok {
			l.duration = nanoseconds(ms)
		}
	}
	t.loads.add(l, nowNS)
}
