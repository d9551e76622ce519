package lower_test

import (
	"math"
	"slices"
	"testing"

	"github.com/dynosim/dynosim/schemas"
)

// The vectors are those of spec 01 section 5.1.
func TestSyntheticSchedule(t *testing.T) {
	for name, c := range map[string]struct {
		load schemas.LoadSpec
		from int
		want []float64
	}{
		"poisson":          {schemas.LoadSpec{Kind: schemas.LoadPoisson, RatePerSecond: 8, Seed: 42, Speedup: 1}, 0, []float64{0, 93.46557720508706, 191.27442439892354, 317.75942105620504, 382.8482439450879}},
		"poisson, seed":    {schemas.LoadSpec{Kind: schemas.LoadPoisson, RatePerSecond: 333.3, Seed: math.MaxUint64, Speedup: 1}, 0, []float64{0, 0.189320940472761, 0.3113223368475515, 0.5381631740345788, 1.8931689754631367}},
		"seven per second": {schemas.LoadSpec{Kind: schemas.LoadConstantInterval, IntervalMS: 1000.0 / 7, Speedup: 1}, 6, []float64{857.1428571428572, 1000.0000000000001, 1142.857142857143}},
		"speed-up":         {schemas.LoadSpec{Kind: schemas.LoadConstantInterval, IntervalMS: 10, Speedup: 4}, 0, []float64{0, 2.5, 5}},
		"burst":            {schemas.LoadSpec{Kind: schemas.LoadConstantInterval, Speedup: 1}, 0, []float64{0, 0, 0}},
	} {
		for _, turns := range []int64{1, 2} {
			spec := &schemas.RunSpec{Load: c.load, Source: schemas.SourceSpec{
				Kind: schemas.SourceSynthetic, InputTokens: 8, OutputTokens: 1, Count: 10, Turns: turns, InterTurnDelayMS: float64(turns-1) * 3,
			}}
			w, err := build(spec)
			if err != nil {
				t.Fatal(err)
			}
			got := w.Nodes.ReleaseMS
			if turns > 1 {
				var first []float64
				for s := range w.Sessions.Len() {
					first = append(first, got[w.Sessions.First[s]])
					if second := w.Sessions.First[s] + 1; !math.IsNaN(got[second]) || w.Nodes.DelayMS[second] != 3/c.load.Speedup {
						t.Errorf("%s: second turn at %v after %v", name, got[second], w.Nodes.DelayMS[second])
					}
				}
				got = first
			}
			if got = got[c.from : c.from+len(c.want)]; !slices.Equal(got, c.want) {
				t.Errorf("%s, %d turns: got %v, want %v", name, turns, got, c.want)
			}
		}
	}
}

func TestLoadErrors(t *testing.T) {
	synthetic := schemas.SourceSpec{Kind: schemas.SourceSynthetic, InputTokens: 8, OutputTokens: 1, Count: 2}
	trace := schemas.SourceSpec{Kind: schemas.SourceTrace, Format: schemas.FormatMooncake}
	applied := schemas.SourceSpec{Kind: schemas.SourceTrace, Format: schemas.FormatAppliedCompute}
	for _, c := range []struct {
		source schemas.SourceSpec
		load   schemas.LoadSpec
		want   string
	}{
		{synthetic, schemas.LoadSpec{Kind: schemas.LoadConcurrency}, "the concurrency must be at least 1, got 0"},
		{synthetic, schemas.LoadSpec{Kind: schemas.LoadTraceTimestamps, Speedup: 1}, "a synthetic source has no timestamps: its load is a concurrency, a constant interval or poisson"},
		{synthetic, schemas.LoadSpec{Kind: schemas.LoadConstantInterval, IntervalMS: -1, Speedup: 1}, "the arrival interval must be a finite number of milliseconds of at least 0, got -1"},
		{synthetic, schemas.LoadSpec{Kind: schemas.LoadPoisson, RatePerSecond: math.Inf(1), Speedup: 1}, "the arrival rate must be a finite positive number, got +Inf"},
		{synthetic, schemas.LoadSpec{Kind: schemas.LoadConstantInterval}, "the speed-up must be a finite positive number, got 0"},
		{trace, schemas.LoadSpec{Kind: schemas.LoadTraceTimestamps, Speedup: math.NaN()}, "the speed-up must be a finite positive number, got NaN"},
		{trace, schemas.LoadSpec{Kind: schemas.LoadPoisson, RatePerSecond: 1, Speedup: 1}, "load poisson is for synthetic sources: a trace has timestamps or a concurrency"},
		{applied, schemas.LoadSpec{Kind: schemas.LoadTraceTimestamps, Speedup: 1}, "trace format applied_compute_agentic needs a concurrency: its rows have no timestamps"},
		{trace, schemas.LoadSpec{Kind: "x"}, `load "x" is not known`},
	} {
		spec := &schemas.RunSpec{Source: c.source, Load: c.load}
		if _, err := lowerRows(spec, 1, nil, 1); err == nil || err.Error() != c.want {
			t.Errorf("%+v: got %v, want %s", c.load, err, c.want)
		}
	}
}
