// Package cmath has the natural logarithm of the reference's C library, bit for bit
// (spec 01 appendix A). The one of the standard library differs in the last bit for about
// one argument in fourteen.
package cmath

import "math"

const (
	ln2Hi = 0x1.62e42fefa3800p-1
	ln2Lo = 0x1.ef35793c76730p-45
)

var (
	a = [5]float64{-0x1.0000000000001p-1, 0x1.555555551305bp-2, -0x1.fffffffeb4590p-3, 0x1.999b324f10111p-3, -0x1.55575e506c89fp-3}
	b = [11]float64{
		-0x1p-1, 0x1.5555555555577p-2, -0x1.ffffffffffdcbp-3, 0x1.999999995dd0cp-3, -0x1.55555556745a7p-3, 0x1.24924a344de30p-3,
		-0x1.fffffa4423d65p-4, 0x1.c7184282ad6cap-4, -0x1.999eb43b068ffp-4, 0x1.78182f7afd085p-4, -0x1.5521375d145cdp-4,
	}
)

// Log is the natural logarithm of a positive, normal, finite x. Every product that is not
// part of a fused multiply-add is rounded by an explicit conversion, so that the result is the same
// on every processor.
func Log(x float64) float64 {
	const nearOneLow, nearOneHigh = 0x3fee000000000000, 0x3ff1090000000000
	bits := math.Float64bits(x)
	if bits-nearOneLow < nearOneHigh-nearOneLow {
		return logNearOne(x)
	}
	t := bits - 0x3fe6000000000000
	k := float64(int64(t) >> 52)
	row := &logTable[t>>45&127]
	z := math.Float64frombits(bits - t&0xfff0000000000000)
	c, g := math.Float64frombits(row[0]), math.Float64frombits(row[1])
	r := math.FMA(z, c, -1)
	w := math.FMA(k, ln2Hi, g)
	hi := w + r
	lo := math.FMA(k, ln2Lo, (w-hi)+r)
	r2 := float64(r * r)
	lo = math.FMA(r2, a[0], lo)
	p := math.FMA(math.FMA(r, a[4], a[3]), r2, math.FMA(r, a[2], a[1]))
	return math.FMA(float64(r*r2), p, lo) + hi
}

func logNearOne(x float64) float64 {
	if x == 1 {
		return 0
	}
	r := x - 1
	r2 := float64(r * r)
	r3 := float64(r * r2)
	p1 := math.FMA(r2, b[3], math.FMA(r, b[2], b[1]))
	p2 := math.FMA(r2, b[6], math.FMA(r, b[5], b[4]))
	p3 := math.FMA(r3, b[10], math.FMA(r2, b[9], math.FMA(r, b[8], b[7])))
	p := math.FMA(math.FMA(p3, r3, p2), r3, p1)
	w := math.FMA(r, 0x1p27, r)
	h := math.FMA(-0x1p27, r, w)
	q := float64(h * h)
	hi := math.FMA(q, b[0], r)
	lo := math.FMA(q, b[0], r-hi)
	lo = math.FMA(float64(b[0]*(r-h)), r+h, lo)
	return hi + math.FMA(p, r3, lo)
}
