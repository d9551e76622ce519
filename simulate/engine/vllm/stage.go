package vllm

import (
	"github.com/dynosim/dynosim/simulate/engine"
	"github.com/dynosim/dynosim/simulate/host/g3"
)

// maxStageRounds is how many promotions in a row a request may start while its rank does nothing else (spec 10
// section 12).
const maxStageRounds = 1024

// staging is what a rank with storage behind its host cache has beside that.
type staging struct {
	tier *g3.Tier
	// worked counts the passes that scheduled something or had output.
	worked uint64
	// moved says that the pass being decided started a restore or a promotion.
	moved bool
	// keys and entries are the blocks of the promotion that is being put together.
	keys    []uint64
	entries []int32
}

// UseStorage tells the rank that there is storage behind its host cache.
func (k *Rank) UseStorage(tier *g3.Tier, worker int32) {
	k.host.owner.UseStorage(tier, worker)
	k.host.staging = &staging{tier: tier}
}

// stage looks for the prompt's blocks behind the first b that the host cache lacks in storage, and reads
// those that it finds. It reports whether the request has to wait for any of them.
func (k *Rank) stage(r *engine.Request, s *engine.Hosted, b int64) (wait bool) {
	h, g, nowMS := k.host, k.host.staging, k.pass.StartMS
	if s.Bypassed {
		return false
	}
	g.keys, g.entries = g.keys[:0], g.entries[:0]
	for i := b; i < int64(len(s.Keys)); i++ {
		key := s.Keys[i]
		if e := h.owner.Find(key); e >= 0 {
			wait = wait || h.owner.Pending(e)
			continue
		}
		found := g.tier.Probe(h.owner.Worker(), key)
		if found == g3.Pending {
			wait = true
			continue
		}
		if found == g3.Absent || s.Staged(key, nowMS) && !k.runFits(s, b) {
			break
		}
		at := k.position(i)
		e, ok := h.owner.Reserve(key, r.Path[at.element], at.position, nowMS)
		if !ok {
			break
		}
		g.keys, g.entries = append(g.keys, key), append(g.entries, e)
	}
	if len(g.keys) == 0 {
		return wait
	}
	if s.Worked != g.worked {
		s.Worked, s.Rounds = g.worked, 0
	}
	if s.Rounds++; s.Rounds >= maxStageRounds {
		s.Bypassed = true
		g.tier.Bypassed++
	}
	s.Stage(g.keys, nowMS)
	h.owner.Promote(r.Node, g.keys, g.entries, nowMS)
	g.moved = true
	return true
}

// runFits reports whether the blocks behind the first b that the host cache or storage have, in a row, fit into the host
// cache together.
func (k *Rank) runFits(s *engine.Hosted, b int64) bool {
	h, missing, end := k.host, int64(0), b
	for ; end < int64(len(s.Keys)); end++ {
		if h.owner.Find(s.Keys[end]) >= 0 {
			continue
		}
		if !h.staging.tier.Holds(h.owner.Worker(), s.Keys[end]) {
			break
		}
		missing++
	}
	return h.owner.Fits(s.Keys[b:end], missing)
}

// holder is the first awake request of the restore queue that has capacity of the GPU, -1 for none: with storage it comes
// before all others.
func (k *Rank) holder() int32 {
	for _, e := range k.host.queue.entries {
		if k.current(e) {
			if s := k.requests.Hosted(e.slot); s.Member && !s.Asleep && s.Restore != engine.NotRestored {
				return e.slot
			}
		}
	}
	return -1
}

// decided notes what the pass that was decided did: whether it is worth another one at once if it is empty.
func (g *staging) decided(p *engine.Pass, due bool) {
	p.Repeat = engine.RepeatLater
	if g.moved || due {
		p.Repeat = engine.RepeatRatio
	}
	g.moved = false
}
