package scaling

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/dynosim/dynosim/schemas"
)

// decisions runs a script to its end, or for some ticks, and tells what it did at which time.
func decisions(spec schemas.ScalingSpec, ticks int) string {
	s := NewScript(spec)
	var out []string
	now := s.InitialTickMS()
	for i := range ticks {
		d, err := s.OnTick(&Snapshot{Ordinal: int64(i), NowMS: now})
		if err != nil {
			return err.Error()
		}
		settled := ""
		if s.Settled() {
			settled = " settled"
		}
		out = append(out, fmt.Sprintf("%g: %d %d%s", now, d.Prefill, d.Decode, settled))
		if !(d.NextTickMS > now) || math.IsInf(d.NextTickMS, 1) {
			break
		}
		now = d.NextTickMS
	}
	return strings.Join(out, ", ")
}

func TestScript(t *testing.T) {
	at := func(ms float64, prefill, decode int32) schemas.ScalingDecision {
		return schemas.ScalingDecision{Tick: -1, AtMS: ms, Prefill: prefill, Decode: decode, NextTickMS: math.NaN()}
	}
	tick := func(n int64, decode int32, next float64) schemas.ScalingDecision {
		return schemas.ScalingDecision{Tick: n, Prefill: -1, Decode: decode, NextTickMS: next}
	}
	for _, c := range []struct {
		name, want string
		spec       schemas.ScalingSpec
	}{
		{"at its times", "100: -1 3, 250: 2 -1 settled", schemas.ScalingSpec{FirstMS: 100, Decisions: []schemas.ScalingDecision{at(100, -1, 3), at(250, 2, -1)}}},
		{
			"every so often", "0: -1 -1, 100: -1 -1, 200: 2 4 settled, 300: -1 -1 settled, 400: -1 -1 settled",
			schemas.ScalingSpec{EveryMS: 100, Decisions: []schemas.ScalingDecision{at(101, 2, 3), at(200, -1, 4)}},
		},
		{
			"by tick", "5: -1 -1, 15: -1 2, 40: -1 -1 settled",
			schemas.ScalingSpec{FirstMS: 5, EveryMS: 10, Decisions: []schemas.ScalingDecision{tick(1, 2, 40), tick(2, -1, math.Inf(1))}},
		},
		{"nothing", "0: -1 -1 settled, 7: -1 -1 settled, 14: -1 -1 settled, 21: -1 -1 settled, 28: -1 -1 settled", schemas.ScalingSpec{EveryMS: 7}},
	} {
		if got := decisions(c.spec, 5); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
