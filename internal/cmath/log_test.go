package cmath

import (
	"math"
	"math/big"
	"testing"

	"github.com/dynosim/dynosim/internal/chacha"
	"pgregory.net/rapid"
)

// The Poisson vectors of spec 01 section 5.1 go through the logarithm of numbers in (0, 1].
func TestLogInPoissonGaps(t *testing.T) {
	for _, c := range []struct {
		rate float64
		seed uint64
		want []float64
	}{
		{8, 42, []float64{93.46557720508706, 191.27442439892354, 317.75942105620504, 382.8482439450879}},
		{333.3, math.MaxUint64, []float64{0.189320940472761, 0.3113223368475515, 0.5381631740345788, 1.8931689754631367}},
	} {
		draws, at := chacha.New(c.seed), 0.0
		for i, want := range c.want {
			at += -(1000.0 / c.rate) * Log(1-draws.Float64())
			if at != want {
				t.Errorf("rate %v: arrival %d is %v, want %v", c.rate, i+1, at, want)
			}
		}
	}
}

// TestLogAgainstExponential checks the error bound of the algorithm, 0.52 units in the last
// place, generously: exp(Log(x)) computed with many digits is x.
func TestLogAgainstExponential(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(0x1p-1022, 0x1p1000).Draw(t, "x")
		if rapid.Bool().Draw(t, "near one") {
			x = rapid.Float64Range(0.9, 1.1).Draw(t, "x near one")
		}
		y := Log(x)
		below, above := exp(math.Nextafter(y, math.Inf(-1))), exp(math.Nextafter(y, math.Inf(1)))
		exact := new(big.Float).SetPrec(200).SetFloat64(x)
		if exact.Cmp(below) < 0 || exact.Cmp(above) > 0 {
			t.Fatalf("Log(%v) = %v is more than one unit off", x, y)
		}
	})
}

func exp(y float64) *big.Float {
	const prec = 200
	v := new(big.Float).SetPrec(prec).SetFloat64(y)
	// Halve the argument until the series converges fast, then square as often.
	halvings := max(math.Ilogb(math.Abs(y)+0x1p-60)+12, 0)
	v.SetMantExp(v, -halvings)
	sum, term := big.NewFloat(1).SetPrec(prec), big.NewFloat(1).SetPrec(prec)
	for i := 1; i < 40; i++ {
		term.Mul(term, v)
		term.Quo(term, new(big.Float).SetPrec(prec).SetInt64(int64(i)))
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	return sum
}

func TestLogOfOne(t *testing.T) {
	if got := Log(1); got != 0 || math.Signbit(got) {
		t.Errorf("Log(1) = %v", got)
	}
}

func BenchmarkLog(bench *testing.B) {
	x, sum := 0.5, 0.0
	for bench.Loop() {
		sum += Log(x)
		x += 1e-9
	}
	sink = sum
}

var sink float64
