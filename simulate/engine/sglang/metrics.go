package sglang

import "github.com/dynosim/dynosim/simulate/engine"

// measure fills the metrics of the pass that was just decided (spec 04 section 13.2), but for
// those of measureDecode.
func (k *Rank) measure() {
	m := &k.pass.Metrics
	m.Prompts, m.QueuedPrompts, m.QueuedDecoding = k.prompts, k.queued.Prompts, k.queued.Decoding
	m.Decoding = engine.Moments{}
}

// measureDecode sums up the running requests of a pass that does not prefill, before any of them
// is retracted.
func (k *Rank) measureDecode() {
	d := &k.pass.Metrics.Decoding
	if k.steady == int64(len(k.running)) {
		*d = engine.Moments{N: k.steady, Sum: k.lengthSum, Squares: k.squareSum}
		return
	}
	for _, slot := range k.running {
		if r := k.request(slot); remaining(r) > 0 {
			d.Add(r.Prompt + r.Produced(k.step))
		}
	}
}
