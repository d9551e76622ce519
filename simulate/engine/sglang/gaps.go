package sglang

import "github.com/dynosim/dynosim/simulate/engine"

// gapLog holds the gaps of steady passes, from step base on, with the number of requests
// each belongs to, until none of these can be cut off any more.
type gapLog struct {
	base   int64
	gaps   []float64
	counts []int64
}

// keepGap logs the gap that count steady requests have at the current step. Now and then it
// hands over the gaps of steps before those of any request that is still running.
func (k *Rank) keepGap(gapMS float64, count int64) {
	l := &k.log
	if len(l.gaps) == 0 {
		l.base = k.step
	}
	// Steps without a steady pass do not exist: exact passes keep the step.
	l.gaps, l.counts = append(l.gaps, gapMS), append(l.counts, count)
	if n := len(l.gaps); n >= 4096 && n&(n-1) == 0 {
		oldest := k.step
		for _, slot := range k.running {
			if r := k.request(slot); r.Steady {
				oldest = min(oldest, r.GapFrom)
			}
		}
		k.handOver(oldest)
	}
}

// handOver passes the logged gaps of the steps before oldest to the recorder.
func (k *Rank) handOver(oldest int64) {
	l := &k.log
	n := min(oldest-l.base, int64(len(l.gaps)))
	if n <= 0 {
		return
	}
	for i := range n {
		k.gaps(l.gaps[i], l.counts[i])
	}
	l.gaps = append(l.gaps[:0], l.gaps[n:]...)
	l.counts = append(l.counts[:0], l.counts[n:]...)
	l.base += n
}

// ownGaps moves the logged gaps of a request from the log to the request.
func (k *Rank) ownGaps(r *engine.Request) {
	l := &k.log
	for s := r.GapFrom; s < r.GapTo; s++ {
		r.Gaps = append(r.Gaps, l.gaps[s-l.base])
		l.counts[s-l.base]--
	}
	r.GapFrom = r.GapTo
}

// Abandon forgets the gaps of a request that the time limit cut off.
func (k *Rank) Abandon(slot int32) {
	r := k.request(slot)
	to := r.GapTo
	if r.Steady {
		to = k.step
	}
	for s := r.GapFrom; s < to; s++ {
		k.log.counts[s-k.log.base]--
	}
}

// Close hands over the gaps that were kept back.
func (k *Rank) Close() { k.handOver(k.step) }

// Produced returns the tokens a request has produced, those of a pass in flight included.
func (k *Rank) Produced(slot int32) int64 {
	r := k.request(slot)
	if r.Steady {
		return r.Output + k.step - r.Base
	}
	return r.Output
}

// InFlight is the number of tokens that the pass in flight at nowMS gives a request: a steady
// request gets one in every decode pass, others show it by their time.
func (k *Rank) InFlight(slot int32, nowMS float64) int64 {
	switch r := k.request(slot); {
	case r.Steady && k.kind == together:
		return 1
	case r.LastTokenMS > nowMS:
		return max(r.Burst, 1)
	}
	return 0
}
