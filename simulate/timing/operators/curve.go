package operators

import "slices"

// curve is a measured function of one axis (spec 09 section 6.2).
type curve struct {
	at []int64
	ms []float64
}

func (c *curve) add(at int64, ms float64) {
	c.at, c.ms = append(c.at, at), append(c.ms, ms)
}

// value is the curve at x, which need not be whole. Outside the measured range the end point is
// scaled by the theoretical bound sol, whose two values must be positive to count.
func (c *curve) value(x float64, sol func(x float64) float64) float64 {
	n := len(c.at)
	i, _ := slices.BinarySearchFunc(c.at, x, func(at int64, x float64) int {
		switch a := float64(at); {
		case a < x:
			return -1
		case a > x:
			return 1
		}
		return 0
	})
	switch {
	case i < n && float64(c.at[i]) == x:
		return c.ms[i]
	case i == 0 || i == n:
		end := max(i-1, 0)
		return sol(x) / (sol(float64(c.at[end])) / c.ms[end])
	}
	return blend(c.ms[i-1], c.ms[i], weight(float64(c.at[i-1]), float64(c.at[i]), x))
}

func weight(lo, hi, x float64) float64 { return (x - lo) / (hi - lo) }

func blend(lo, hi, w float64) float64 { return lo + float64((hi-lo)*w) }
