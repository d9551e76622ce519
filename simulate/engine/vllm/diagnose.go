package vllm

import (
	"fmt"

	"github.com/dynosim/dynosim/simulate/engine"
)

// Waits says what the requests of the rank wait for that do not run, and what the running ones
// lack, each kind once: those behind the first wait for it.
func (k *Rank) Waits() (waits []engine.Wait) {
	// The fields of steady requests become true.
	k.settle(false)
	add := func(slot int32, format string, a ...any) {
		waits = append(waits, engine.Wait{Slot: slot, Why: fmt.Sprintf(format, a...)})
	}
	behind := func(slot int32, format string, a ...any) {
		waits = append(waits, engine.Wait{Slot: slot, Why: fmt.Sprintf(format, a...), Behind: true})
	}
	free := k.pool.Available()
	for i := range k.waiting.Len() {
		slot := k.waiting.At(i)
		r := k.request(slot)
		switch {
		case i > 0 && (r.Stage != engine.Activated || k.handoffs.pending.Len() == 0):
			behind(slot, "waits behind the first in the queue of its rank, holding %d KV blocks", k.ownedBlocks(r))
		case r.Stage == engine.Activated:
			add(slot, "waits for one of %d running slots, holding %d KV blocks", k.cfg.MaxSequences, k.ownedBlocks(r))
		case k.handoffs.pending.Len() > 0:
			add(slot, "was preempted and waits until no destination is pending on its rank")
		case !k.cfg.ChunkedPrefill && r.Length() > k.cfg.MaxBatchedTokens:
			add(slot, "has %d tokens to compute at once, the budget of a pass is %d", r.Length(), k.cfg.MaxBatchedTokens)
		case k.random != nil && r.Admissions > 0:
			add(slot, "needs %d KV blocks with its longest burst, %d of %d can be had", k.burstBlocks(r), free, k.pool.Total())
		default:
			add(slot, "needs %d KV blocks, %d of %d can be had", k.blocksFor(r.Length()), free, k.pool.Total())
		}
	}
	for i := range k.handoffs.pending.Len() {
		slot := k.handoffs.pending.At(i)
		r := k.request(slot)
		switch {
		case i > 0:
			behind(slot, "waits behind another pending destination")
		case int64(len(k.running)) >= k.cfg.MaxSequences:
			add(slot, "can reserve KV blocks only when fewer than %d requests run", k.cfg.MaxSequences)
		case k.cfg.NoEvict:
			add(slot, "needs %d KV blocks until it ends, %d of %d are not promised", k.whole(r), k.available(), k.pool.Total())
		default:
			add(slot, "needs %d KV blocks for its prompt, %d of %d can be had", k.blocksFor(r.Prompt), free, k.pool.Total())
		}
	}
	for _, slot := range k.running {
		r := k.request(slot)
		if r.Computed < r.Length() {
			add(slot, "runs and cannot compute its next token: %d KV blocks in use by it, %d of %d can be had", k.ownedBlocks(r), free, k.pool.Total())
		}
	}
	return waits
}
