package scaling

import (
	"math"

	"github.com/dynosim/dynosim/schemas"
)

// Script is the Policy of a schemas.ScalingSpec.
type Script struct {
	spec schemas.ScalingSpec
	// next is the first decision that was not taken.
	next int
}

// NewScript makes the policy of a script. Its decisions must be in order.
func NewScript(spec schemas.ScalingSpec) *Script { return &Script{spec: spec} }

// InitialTickMS is the time of the first tick.
func (s *Script) InitialTickMS() float64 { return s.spec.FirstMS }

// Settled reports that all decisions were taken.
func (s *Script) Settled() bool { return s.next >= len(s.spec.Decisions) }

// OnTick takes the decisions that are due; of several the last one that names a pool counts.
func (s *Script) OnTick(snapshot *Snapshot) (Decision, error) {
	out := Decision{Prefill: None, Decode: None, NextTickMS: math.NaN()}
	for ; s.next < len(s.spec.Decisions); s.next++ {
		d := &s.spec.Decisions[s.next]
		if d.Tick < 0 && d.AtMS > snapshot.NowMS || d.Tick > snapshot.Ordinal {
			break
		}
		if d.Prefill >= 0 {
			out.Prefill = d.Prefill
		}
		if d.Decode >= 0 {
			out.Decode = d.Decode
		}
		if !math.IsNaN(d.NextTickMS) {
			out.NextTickMS = d.NextTickMS
		}
	}
	if math.IsNaN(out.NextTickMS) {
		out.NextTickMS = s.after(snapshot.NowMS)
	}
	return out, nil
}

// after is the time of the tick after one at nowMS.
func (s *Script) after(nowMS float64) float64 {
	switch {
	case s.spec.EveryMS > 0:
		return nowMS + s.spec.EveryMS
	case s.Settled():
		return Never()
	}
	return s.spec.Decisions[s.next].AtMS
}
