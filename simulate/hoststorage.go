package simulate

import (
	"math"

	"github.com/dynosim/dynosim/schemas"
	"github.com/dynosim/dynosim/simulate/engine/vllm"
	"github.com/dynosim/dynosim/simulate/host/g3"
)

// storage is what the cluster keeps for storage behind the host caches.
type storage struct {
	tier *g3.Tier
	// swept is the state of the storage that all idle workers have seen.
	swept uint64
}

// useStorage gives a rank storage behind its host cache (spec 10 section 12). There is one rank a worker.
func (c *cluster) useStorage(k *vllm.Rank, e *schemas.EngineSpec, worker int) {
	h := c.host
	if h.storage == nil {
		h.storage = &storage{tier: g3.New(e.G3, e.Host.BlockBytes, c.record)}
	}
	h.storage.tier.Join()
	k.UseStorage(h.storage.tier, int32(worker))
}

// nextMS is the next event of the storage, +Inf for none.
func (s *storage) nextMS() float64 {
	if s == nil {
		return math.Inf(1)
	}
	return s.tier.NextMS()
}

// storageTicks lets idle workers look at what happened in storage.
func (c *cluster) storageTicks() (changed bool) {
	s := c.host.storage
	if s == nil || s.tier.Completions() == s.swept && s.tier.NextMS() > c.now {
		return false
	}
	s.swept = s.tier.Completions()
	return c.tickAll(func(*pool) bool { return true })
}

// tickAll lets the idle workers of the pools with host caches that are wanted look at what is due.
func (c *cluster) tickAll(wanted func(p *pool) bool) (changed bool) {
	for i := range c.pools {
		p := &c.pools[i]
		if !p.spec.Engine.Host.Enabled || !wanted(p) {
			continue
		}
		for _, id := range p.live {
			w := p.workers[id]
			if !w.idleHosted() {
				continue
			}
			for rank, k := range w.hosts {
				if k.Due(c.now) <= c.now {
					c.hostTick(p, id, rank)
					changed = true
				}
			}
		}
	}
	return changed
}

// StorageTransfer records a transfer between a host cache and storage that ended or was cut off.
func (r *recorder) StorageTransfer(j *g3.Job) {
	b := r.hosts.storage
	i := b.N
	b.Job[i], b.Kind[i], b.Node[i], b.Worker[i], b.Blocks[i], b.Bytes[i] = j.ID, j.Kind, j.Node, j.Worker, j.Blocks, j.Bytes
	b.SubmittedMS[i], b.CompletedMS[i], b.CanceledMS[i] = j.SubmittedMS, j.EndMS, math.NaN()
	if b.N++; b.N == len(b.Job) {
		take(r, r.sink.G3Transfers, &r.hosts.storage)
		r.hosts.storage.Clear()
	}
}

// finish records what the storage has at the end of the run.
func (s *storage) finish(r *recorder) {
	if s == nil {
		return
	}
	s.tier.Unfinished()
	n := &s.tier.Counters
	b := r.hosts.storageRun
	b.LookupProbes[0], b.LookupHits[0], b.LookupPending[0] = n.Probes, n.Hits, n.PendingHits
	b.Evictions[0], b.CrossWorkerReadBlocks[0], b.BypassedRestores[0] = n.Evictions, n.ForeignBlocks, n.Bypassed
	b.ResidentBlocks[0], b.PendingBlocks[0] = s.tier.Gauges()
	b.N = 1
}
