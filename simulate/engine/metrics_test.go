package engine

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestMoments adds, steps and drops numbers and compares with a plain computation.
func TestMoments(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var m Moments
		var numbers []int64
		for range rapid.IntRange(0, 40).Draw(rt, "operations") {
			switch op := rapid.IntRange(0, 3).Draw(rt, "operation"); {
			case op == 0 && len(numbers) > 0:
				i := rapid.IntRange(0, len(numbers)-1).Draw(rt, "which")
				m.Drop(numbers[i])
				numbers = append(numbers[:i], numbers[i+1:]...)
			case op == 1:
				m.Step()
				for i := range numbers {
					numbers[i]++
				}
			default:
				x := rapid.Int64Range(0, 1<<20).Draw(rt, "number")
				m.Add(x)
				numbers = append(numbers, x)
			}
		}
		mean, want := 0.0, 0.0
		for _, x := range numbers {
			mean += float64(x) / float64(len(numbers))
		}
		for _, x := range numbers {
			want += (float64(x) - mean) * (float64(x) - mean) / float64(len(numbers))
		}
		if got := m.Variance(); math.Abs(got-want) > 1e-9*math.Max(want, 1) || m.N != int64(len(numbers)) {
			rt.Fatalf("variance %v of %v, want %v", got, numbers, want)
		}
	})
}

// TestVarianceOfLargeSums needs more than 64 bits.
func TestVarianceOfLargeSums(t *testing.T) {
	var m Moments
	for i := range int64(200_000) {
		m.Add(1_000_000 + i%2)
	}
	if got := m.Variance(); got != 0.25 {
		t.Errorf("variance %v, want 0.25", got)
	}
}
