package ingest

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestNumbersComeBack: what AppendNumber writes is read back exactly, for times as they occur and for odd ones.
func TestNumbersComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.OneOf(
			rapid.Float64Range(0, 1e7),
			rapid.Custom(func(t *rapid.T) float64 { return float64(rapid.Int64Range(0, 1e15).Draw(t, "nanoseconds")) / 1e6 }),
			rapid.Float64Range(1e-7, 1e20),
		).Draw(t, "x")
		text := AppendNumber([]byte("x"), x)
		v, ok := realNumber(text[1:])
		if !ok || math.Float64bits(v) != math.Float64bits(x) {
			t.Fatalf("%v is written as %s and read as %v", x, text[1:], v)
		}
	})
}
