package sglang

import "slices"

// keepGap logs the gap that count steady requests have at the current step.
func (k *Rank) keepGap(gapMS float64, count int64) {
	if k.log.Keep(k.step, gapMS, count) {
		k.log.HandOver(k.requests.OldestGap(k.running, k.step), k.gaps)
	}
}

// Abandon forgets the gaps of a request that the time limit cut off.
func (k *Rank) Abandon(slot int32) { k.log.Forget(k.request(slot), k.step) }

// Close hands over the gaps that were kept back.
func (k *Rank) Close() { k.log.HandOver(k.step, k.gaps) }

// Produced returns the tokens a request has produced, those of a pass in flight included.
func (k *Rank) Produced(slot int32) int64 { return k.request(slot).Produced(k.step) }

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

// LastToken is the time of the last token a request has at nowMS. A steady request got its tokens with
// the steps since it was fresh.
func (k *Rank) LastToken(slot int32, nowMS float64) float64 {
	r := k.request(slot)
	inFlight := k.InFlight(slot, nowMS) > 0 && k.pass.EndMS > nowMS
	switch {
	case r.Steady && inFlight && r.GapFrom < k.step:
		return k.prevStepMS
	case r.Steady && !inFlight && !slices.Contains(k.fresh, slot):
		return k.lastStepMS
	case r.LastTokenMS > nowMS:
		return r.PrevTokenMS
	default:
		return r.LastTokenMS
	}
}

// InPass reports whether the pass in flight at nowMS computes something of a request.
func (k *Rank) InPass(slot int32, nowMS float64) bool {
	return k.request(slot).Pass == k.passes || k.InFlight(slot, nowMS) > 0
}
