package sglang

import (
	"github.com/dynosim/dynosim/simulate/engine"
	"github.com/dynosim/dynosim/simulate/kv"
)

// advert is what the tree tells a KV router (spec 04 section 13.4). A page counts as visible while
// it is stored or a request alone has a copy of it that is not stored yet: copies has the
// number of those, which are few and short-lived.
type advert struct {
	log    *kv.Log
	copies map[uint64]int32
}

// record lets the log have the events of the tree from now on.
func (t *tree) record(log *kv.Log) { t.advert = advert{log, map[uint64]int32{}} }

// stored logs the pages from from up to to of a sequence, as far as they have identities.
func (t *tree) stored(s *sequence, from, to int64) {
	if t.advert.log == nil {
		return
	}
	for page := from; page < min(to, s.shared); page++ {
		e := t.elementOf(page)
		t.advert.log.Add(kv.Stored(s.path[e], int32(page-t.before(e))))
	}
}

// dropped logs the last pages of a node, which are about to go.
func (t *tree) dropped(n *node, pages int64) {
	if t.advert.log == nil {
		return
	}
	for page := n.end() - pages; page < min(n.end(), n.shared); page++ {
		e := t.elementOf(page)
		t.lost(n.path[e-n.first], int32(page-t.before(e)))
	}
}

// lost logs that a page is stored no more, unless a copy is left.
func (t *tree) lost(element, position int32) {
	if t.advert.copies[uint64(element)<<32|uint64(position)] == 0 {
		t.advert.log.Add(kv.Removed(element, position))
	}
}

// advertise makes the pages visible that a request has computed and not stored.
func (k *Rank) advertise(r *engine.Request) {
	t := k.tree
	if t.advert.log == nil || !k.cfg.PrefixCaching {
		return
	}
	s := k.sequence(r)
	from, to := max(r.Cached/k.cfg.PageTokens, r.Advertised), min(r.Computed/k.cfg.PageTokens, s.shared)
	for page := from; page < to; page++ {
		t.advert.copies[t.key(&s, page)]++
	}
	t.stored(&s, from, to)
	r.Advertised = max(r.Advertised, to)
}

// withdraw takes back what advertise did with the pages of a request from page from on. Those that
// are not stored either are gone.
func (k *Rank) withdraw(r *engine.Request, from int64) {
	if r.Advertised == 0 {
		return
	}
	t, s := k.tree, k.sequence(r)
	for page := from; page < r.Advertised; page++ {
		key := t.key(&s, page)
		if t.advert.copies[key]--; t.advert.copies[key] > 0 {
			continue
		}
		delete(t.advert.copies, key)
		if t.match(&s, page+1) <= page {
			e := t.elementOf(page)
			t.lost(s.path[e], int32(page-t.before(e)))
		}
	}
	r.Advertised = 0
}
