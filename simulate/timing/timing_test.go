package timing

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/dynosim/dynosim/schemas"
)

// TestStep checks the vectors of spec 03 section 6.1.
func TestStep(t *testing.T) {
	for _, c := range []struct{ raw, ratio, want float64 }{
		{10, 3, 3.333333}, {7.3, 3.3, 2.2121210000000002}, {0.9765625, 1, 0.976562}, {2.9296875, 1, 2.929688},
		{10, 0, 10}, {0, 2, 0}, {1e-9, 1, 0},
	} {
		if got := Step(c.raw, c.ratio); got != c.want {
			t.Errorf("Step(%v, %v) = %v, want %v", c.raw, c.ratio, got, c.want)
		}
	}
}

func polynomial(pool int64) Model {
	return New(&schemas.EngineSpec{BlockTokens: 1, NumBlocks: pool, SpeedupRatio: 1, DecodeSpeedupRatio: 1,
		Timing: schemas.TimingSpec{Kind: schemas.TimingPolynomial}})
}

// TestPolynomial checks the values of spec 03 sections 6.2, 6.3 and 13, rounded to
// nanoseconds.
func TestPolynomial(t *testing.T) {
	m := polynomial(400)
	for _, c := range []struct {
		requests, prompt, cached int64
		want                     float64
	}{
		{0, 0, 0, 0}, {1, 1, 0, 16.516604}, {1, 100, 0, 18.023974}, {1, 1024, 0, 32.490712}, {1, 9000, 808, 169.136918},
		{3, 49, 0, 17.231195},
	} {
		if got := m.PrefillMS(c.requests, c.prompt, c.cached); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("prefill of %d requests, %d tokens, %d cached = %v ms, want %v", c.requests, c.prompt, c.cached, got, c.want)
		}
	}
	for _, c := range []struct{ pool, requests, tokens int64 }{{400, 1, 10}, {1048576, 1, 1000}, {16, 4, 40}, {16, 0, 0}} {
		m := polynomial(c.pool)
		want := map[int64]float64{10: 7.074162, 1000: 5.791485, 40: 34.01, 0: 0}[c.tokens]
		if got := m.DecodeMS(c.requests, c.tokens); math.Abs(got-want) > 1e-12 {
			t.Errorf("decode of %d tokens of %d = %v ms, want %v", c.tokens, c.pool, got, want)
		}
	}
}

// TestRoundNanoseconds compares the rounding with exact arithmetic, near ties above all.
func TestRoundNanoseconds(t *testing.T) {
	billion := new(big.Float).SetPrec(200).SetInt64(1e9)
	rapid.Check(t, func(t *rapid.T) {
		sec := rapid.OneOf(
			rapid.Float64Range(0, 1e-3),
			rapid.Float64Range(0, 1.7e10),
			rapid.Map(rapid.Uint64Range(0, 1<<45), func(n uint64) float64 { return (float64(n) + 0.5) / 1e9 }),
			rapid.Map(rapid.Uint64Range(0, 1<<30), func(n uint64) float64 { return float64(n) / (1 << 40) }),
			rapid.Map(rapid.Uint64Range(1<<52, 1<<53), func(n uint64) float64 { return float64(n) / (1 << 31) }),
		).Draw(t, "seconds")
		x := new(big.Float).SetPrec(200).SetFloat64(sec)
		x.Mul(x, billion)
		whole, _ := x.Int(nil)
		rest := x.Sub(x, new(big.Float).SetPrec(200).SetInt(whole)).Cmp(big.NewFloat(0.5))
		want := whole.Uint64()
		if rest > 0 || rest == 0 && want%2 == 1 {
			want++
		}
		if got := roundNanoseconds(sec); got != want {
			t.Fatalf("%v s = %d ns, want %d", sec, got, want)
		}
	})
	for _, sec := range []float64{1e30, math.Inf(1), math.NaN()} {
		if got := roundNanoseconds(sec); got != math.MaxUint64 {
			t.Errorf("%v s = %d ns, want the largest number", sec, got)
		}
	}
}
