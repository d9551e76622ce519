package router

import (
	"math"

	"github.com/dynosim/dynosim/simulate/kv"
)

// hosts is what the router knows of the host caches behind its targets (spec 06 section 3.4); nil until it
// hears of one.
type hosts struct {
	index index
	lag   []lagged
	// blocks is Hst by target for the decision at hand.
	blocks []int32
}

// ObserveHost takes the events of a rank's host cache that happened at nowMS, like Observe.
func (r *Router) ObserveHost(worker, rank int32, events []kv.Event, nowMS float64) {
	if r.hosts == nil {
		r.hosts = &hosts{index: newIndex(r.shape.positions())}
	}
	h := r.hosts
	h.grow(len(r.targets))
	at := r.first[worker] + rank
	if r.cfg.Spec.EventLagMS > 0 {
		h.lag[at].push(events, nowMS+r.cfg.Spec.EventLagMS)
		return
	}
	h.index.apply(at, events)
}

func (h *hosts) grow(targets int) {
	h.index.grow(targets)
	for len(h.blocks) < targets {
		h.blocks, h.lag = append(h.blocks, 0), append(h.lag, lagged{})
	}
}

// due applies the events that are due now.
func (h *hosts) due(nowMS float64) {
	for i := range h.lag {
		if l := &h.lag[i]; len(l.batches) > 0 {
			h.index.apply(int32(i), l.due(nowMS))
		}
	}
}

// forget drops what a target has.
func (h *hosts) forget(target int32) {
	if int(target) < len(h.lag) {
		h.index.forget(target)
		h.lag[target] = lagged{}
	}
}

// follow sets h.blocks to the blocks of the path that each target has in its host cache, in a row behind
// those that it has on the GPU.
func (h *hosts) follow(s shape, path []int32, blocks int64, gpu []int32) {
	h.grow(len(gpu))
	x := &h.index
	for t := range gpu {
		i := int64(gpu[t])
		word, bit := t>>6, uint64(1)<<(t&63)
		for ; i < blocks; i++ {
			element := ((i+1)*s.block - 1) / s.element
			at := path[element]
			if int(at) >= len(x.row) || x.row[at] < 0 {
				break
			}
			position := i - s.before(element)
			if x.sets[(int(x.row[at])*x.positions+int(position))*x.words+word]&bit == 0 {
				break
			}
		}
		h.blocks[t] = int32(i) - gpu[t]
	}
}

// worth is E, what the cached blocks of a target are worth: those of its GPU and those of its host.
func (r *Router) worth(gpu, host int32) float64 {
	e := float64(gpu)
	if w := r.cfg.Spec.HostCacheHitWeight; w != 0 && host != 0 {
		e += float64(float64(host) * w)
	}
	return e
}

// cached is C, the tokens that E blocks are worth.
func (r *Router) cached(worth float64) int64 {
	return int64(math.Round(float64(worth * float64(r.cfg.BlockTokens))))
}
