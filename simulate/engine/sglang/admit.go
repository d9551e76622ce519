package sglang

import (
	"math"
	"slices"

	"github.com/dynosim/dynosim/simulate/engine"
)

// head remembers the look-up of the first waiting request, which is true while the tree
// keeps its version.
type head struct {
	slot    int32
	version uint64
	pages   int64
}

// formBatch takes waiting requests into the prefill batch (spec 04 section 6.2). Token
// counts are far below what float64 holds exactly, so only the reserve rounds.
func (k *Rank) formBatch() {
	cfg, page := k.cfg, k.cfg.PageTokens
	slots := max(0, cfg.MaxSequences-int64(len(k.running)))
	if slots == 0 {
		return
	}
	// While it is enough, total is only an upper bound.
	total, exact := k.mostRoom(), false
	input, chunk := cfg.Settings.MaxPrefillTokens, cfg.Settings.ChunkTokens
	for int64(len(k.batch)) < slots && k.waiting.Len() > 0 && chunk > 0 {
		slot := k.waiting.At(0)
		r := k.request(slot)
		start := max(r.Computed, k.lookUp(slot, r)*page)
		extend := r.Length() - start
		if extend == 0 && r.Computed > 0 {
			return
		}
		take, hold := extend, int64(0)
		if k.pagesFor(extend)*page > chunk {
			if take = min(chunk/page*page, extend); chunk < page {
				return
			}
		}
		charge := k.pagesFor(take) * page
		if take == extend {
			hold = min(remaining(r), cfg.Settings.ClipNewTokens)
		}
		if float64(charge+hold) >= total || charge > input || charge > chunk {
			return
		}
		if !exact {
			exact, total = true, float64(k.tree.available()*page)-k.reserved()
			if float64(charge+hold) >= total {
				return
			}
		}
		if !k.allocate(slot, r, start, start+take) {
			return
		}
		k.waiting.PopFront()
		k.queued.Leave(r, r.Output == 0)
		k.order.sorted, k.head.slot = false, -1
		k.batch = append(k.batch, slot)
		total -= float64(charge + hold)
		input -= charge
		chunk -= charge
	}
}

// reserved is the output that running requests are expected to produce yet.
func (k *Rank) reserved() (tokens float64) {
	clip := k.cfg.Settings.ClipNewTokens
	for _, slot := range k.running {
		r := k.request(slot)
		left := remaining(r)
		if r.Steady {
			left -= k.step - r.Base
		}
		tokens += float64(float64(min(left, clip)) * k.ratio)
	}
	return tokens
}

// mostRoom is at least the tokens that available pages and reserved leave. The sum over the
// steady requests is known as an integer; adding up n products of one factor is off by a
// relative error of at most n+1 roundings.
func (k *Rank) mostRoom() float64 {
	n := len(k.running)
	if k.steady != int64(n) {
		return math.Inf(1)
	}
	const rounding = 1.0 / (1 << 52)
	pool, reserve := float64(k.tree.available()*k.cfg.PageTokens), float64(k.reserve)*k.ratio
	return pool - reserve + rounding*(pool+float64(n+4)*reserve)
}

// lookUp is the number of leading pages of a fresh request that it can use; a request that
// has to produce a token computes at least one.
func (k *Rank) lookUp(slot int32, r *engine.Request) int64 {
	if r.Computed > 0 || !k.cfg.PrefixCaching {
		return 0
	}
	if h := &k.head; h.slot == slot && h.version == k.tree.version {
		return h.pages
	}
	limit := r.Length()
	if r.MaxOutput > 0 {
		limit--
	}
	s := k.sequence(r)
	k.head = head{slot, k.tree.version, k.tree.match(&s, limit/k.cfg.PageTokens)}
	return k.head.pages
}

// allocate gives a request the pages for its tokens up to end, evicting for them (spec 04
// section 6.2, steps 7 to 9). What a refused attempt touched stays touched.
func (k *Rank) allocate(slot int32, r *engine.Request, start, end int64) bool {
	p, page := &k.pass, k.cfg.PageTokens
	fresh := r.Computed == 0
	held, matched := k.pagesFor(r.Computed), int64(0)
	if fresh {
		held = 0
		if k.cfg.PrefixCaching {
			s := k.sequence(r)
			matched, r.Anchor = k.tree.take(&s, start/page, k.draw())
			held = matched
		}
	}
	need := k.pagesFor(end) - held
	if need > k.tree.available() {
		if fresh {
			k.tree.unlock(r.Anchor)
			r.Anchor = root
		}
		return false
	}
	k.tree.evict(need - k.tree.free)
	k.tree.free -= need
	from := r.Computed
	if fresh {
		from = matched * page
		r.Cached = from
		reused := int32(from)
		if r.Admissions == 0 {
			r.AdmitMS, r.FirstReused = p.StartMS, reused
		}
		r.Admissions++
		r.Reused = max(r.Reused, reused)
		p.Admitted = append(p.Admitted, engine.Admission{Slot: slot, Reused: reused, Host: -1})
		p.HitTokens += from
		p.CacheTokens += from
	}
	p.CacheTokens += end - from
	if end > from {
		k.prompts.Add(r.Prompt)
		p.PrefillRequests++
		p.PrefillTokens += end - from
		p.PrefillCached += from
	}
	k.promptSum += end
	k.cachedSum += from
	r.Computed = end
	return true
}

// Limits of the policy lpm (spec 04 section 6.1).
const (
	maxSorted    = 128
	commonTokens = 32
)

// order is the working memory of the policy lpm.
type order struct {
	// sorted says that the queue is in order as of version of the tree.
	sorted  bool
	version uint64
	entries []ranked
	seen    []uint64
}

// ranked is a waiting request with its place in the order.
type ranked struct {
	slot    int32
	behind  bool
	matched int64
}

// sortWaiting puts the requests with the longest cached prefixes first (spec 04 section 6.1).
// Sorting again without a change in the queue or the tree would change nothing.
func (k *Rank) sortWaiting() {
	o := &k.order
	n := k.waiting.Len()
	if !k.cfg.Settings.LongestPrefixFirst || !k.cfg.PrefixCaching || n > maxSorted ||
		o.sorted && o.version == k.tree.version {
		return
	}
	page := k.cfg.PageTokens
	first := k.pagesFor(commonTokens)
	o.entries, o.seen = o.entries[:0], o.seen[:0]
	for i := range n {
		slot := k.waiting.At(i)
		r := k.request(slot)
		s := k.sequence(r)
		e := ranked{slot: slot, matched: k.tree.match(&s, r.Length()/page) * page}
		if e.matched <= commonTokens && r.Length() >= first*page {
			// The last page stands for all before it.
			key := k.tree.key(&s, first-1)
			if e.behind = slices.Contains(o.seen, key); !e.behind {
				o.seen = append(o.seen, key)
			}
		}
		o.entries = append(o.entries, e)
	}
	slices.SortStableFunc(o.entries, func(a, b ranked) int {
		switch {
		case a.behind != b.behind && b.behind:
			return -1
		case a.behind != b.behind:
			return 1
		}
		return int(b.matched - a.matched)
	})
	for i, e := range o.entries {
		k.waiting.Set(i, e.slot)
	}
	o.sorted, o.version = true, k.tree.version
}
