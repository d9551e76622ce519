package sglang

import (
	"fmt"

	"github.com/dynosim/dynosim/simulate/engine"
)

// Waits says what the requests of the rank wait for that do not run, and what the running ones
// lack; those behind the first wait for it.
func (k *Rank) Waits() (waits []engine.Wait) {
	// The fields of steady requests become true.
	k.settle()
	add := func(slot int32, format string, a ...any) {
		waits = append(waits, engine.Wait{Slot: slot, Why: fmt.Sprintf(format, a...)})
	}
	behind := func(slot int32, format string, a ...any) {
		waits = append(waits, engine.Wait{Slot: slot, Why: fmt.Sprintf(format, a...), Behind: true})
	}
	free := k.tree.available()
	for i := range k.waiting.Len() {
		slot := k.waiting.At(i)
		r := k.request(slot)
		switch {
		case i > 0:
			behind(slot, "waits behind the first in the queue of its rank")
		case k.handoffs.pending.Len() > 0 || k.handoffs.prebuilt.Len() > 0:
			add(slot, "was retracted and waits until no destination is pending on its rank")
		default:
			add(slot, "needs %d KV pages and room for its output, %d of %d can be had", k.pagesFor(r.Length()), free, k.cfg.Pages)
		}
	}
	for i := range k.handoffs.prebuilt.Len() {
		slot := k.handoffs.prebuilt.At(i)
		add(slot, "waits for one of %d running slots, holding %d KV pages", k.cfg.MaxSequences, k.pagesFor(k.request(slot).Computed))
	}
	for i := range k.handoffs.pending.Len() {
		slot := k.handoffs.pending.At(i)
		if i > 0 {
			behind(slot, "waits behind another pending destination")
			continue
		}
		add(slot, "needs %d KV pages for its prompt, %d of %d can be had", k.pagesFor(k.request(slot).Prompt), free, k.cfg.Pages)
	}
	for _, slot := range k.running {
		if r := k.request(slot); k.growthOf(r) > free {
			add(slot, "runs and needs another KV page, %d of %d can be had", free, k.cfg.Pages)
		}
	}
	return waits
}
