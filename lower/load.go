package lower

import (
	"errors"
	"fmt"
	"math"

	"github.com/dynosim/dynosim/internal/chacha"
	"github.com/dynosim/dynosim/internal/cmath"
	"github.com/dynosim/dynosim/schemas"
)

// checkLoad checks that a load fits its source and that its values are in range (spec 01 sections 1,
// 5 and 9).
func checkLoad(source *schemas.SourceSpec, load *schemas.LoadSpec) error {
	trace := source.Kind != schemas.SourceSynthetic
	switch load.Kind {
	case schemas.LoadConcurrency:
		if load.Concurrency < 1 {
			return fmt.Errorf("the concurrency must be at least 1, got %d", load.Concurrency)
		}
		return nil
	case schemas.LoadTraceTimestamps:
		if !trace {
			return errors.New("a synthetic source has no timestamps: its load is a concurrency, a constant interval or poisson")
		}
		if source.Format == schemas.FormatAppliedCompute {
			return fmt.Errorf("trace format %s needs a concurrency: its rows have no timestamps", source.Format)
		}
	case schemas.LoadConstantInterval:
		if !(load.IntervalMS >= 0) || math.IsInf(load.IntervalMS, 0) {
			return fmt.Errorf("the arrival interval must be a finite number of milliseconds of at least 0, got %v", load.IntervalMS)
		}
	case schemas.LoadPoisson:
		if !positive(load.RatePerSecond) {
			return fmt.Errorf("the arrival rate must be a finite positive number, got %v", load.RatePerSecond)
		}
	default:
		return fmt.Errorf("load %q is not known", load.Kind)
	}
	if trace && load.Kind != schemas.LoadTraceTimestamps {
		return fmt.Errorf("load %s is for synthetic sources: a trace has timestamps or a concurrency", load.Kind)
	}
	if !positive(load.Speedup) {
		return fmt.Errorf("the speed-up must be a finite positive number, got %v", load.Speedup)
	}
	return nil
}

func positive(v float64) bool { return v > 0 && !math.IsInf(v, 0) }

// schedule yields the arrival times of a synthetic source, before the speed-up: a running
// sum of gaps, the first 0 (spec 01 section 5.1).
type schedule struct {
	at, gap, mean float64
	draws         *chacha.Source
	started       bool
}

func newSchedule(load *schemas.LoadSpec) *schedule {
	s := &schedule{}
	switch {
	case load.Kind == schemas.LoadPoisson:
		s.draws, s.mean = chacha.New(load.Seed), 1000.0/load.RatePerSecond
	case load.IntervalMS > 0:
		// The reference goes through the rate.
		s.gap = 1000.0 / (1000.0 / load.IntervalMS)
	}
	return s
}

func (s *schedule) next() float64 {
	if !s.started {
		s.started = true
		return 0
	}
	if s.draws != nil {
		u := max(1-s.draws.Float64(), 0x1p-1022)
		s.gap = float64(-s.mean * cmath.Log(u))
	}
	s.at += s.gap
	return s.at
}
