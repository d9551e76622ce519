package vllm

import "github.com/dynosim/dynosim/simulate/engine"

// measure fills the metrics of the pass that was just decided (spec 03 section 11.1).
func (k *Rank) measure() {
	m := &k.pass.Metrics
	m.Prompts, m.QueuedPrompts, m.QueuedDecoding = k.prompts, k.queued.Prompts, k.queued.Decoding
	m.Decoding = engine.Moments{}
	if k.together {
		m.Decoding = engine.Moments{N: k.steady, Sum: k.lengthSum, Squares: k.squareSum}
	}
	// Requests that are not steady stand behind those that are.
	for i := len(k.running) - 1; i >= 0; i-- {
		r := k.request(k.running[i])
		if k.together && r.Steady {
			break
		}
		if r.Pass == k.passes && r.PassPromptTokens == 0 && k.remaining(r) > 0 {
			m.Decoding.Add(r.Length())
		}
	}
	// Destinations that begin to run have nothing to compute and decode at once.
	for _, a := range k.pass.Admitted {
		if r := k.request(a.Slot); r.Pass != k.passes && k.remaining(r) > 0 {
			m.Decoding.Add(r.Length())
		}
	}
}

// prefilled tells whether the pass computed prompt tokens of the request.
func (k *Rank) prefilled(r *engine.Request) bool {
	return r.Pass == k.passes && r.PassPromptTokens > 0
}

// countForwards counts the decode steps of requests that get a token one by one; the first token
// of a prompt whose last part this pass computed is none.
func (k *Rank) countForwards(ready []int32) {
	for _, slot := range ready {
		if !k.prefilled(k.request(slot)) {
			k.pass.Forwards++
			k.pass.Accepted++
		}
	}
}

// enter counts a request that begins to wait, and leave counts it out: fresh ones by their prompt, others
// by their length, but on decode ranks, preempted ones included, by their prompt too.
func (k *Rank) enter(r *engine.Request, fresh bool) {
	if k.decodes() && !fresh {
		k.queued.Decoding.Add(r.Prompt)
		return
	}
	k.queued.Enter(r, fresh)
}

func (k *Rank) leave(r *engine.Request, fresh bool) {
	if k.decodes() && !fresh {
		k.queued.Decoding.Drop(r.Prompt)
		return
	}
	k.queued.Leave(r, fresh)
}
