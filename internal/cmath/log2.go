package cmath

import "math"

const (
	invLn2Hi = 0x1.7154765200000p+0
	invLn2Lo = 0x1.705fc2eefa200p-33
)

var (
	log2A = [6]float64{
		-0x1.71547652b8339p-1, 0x1.ec709dc3a04bep-2, -0x1.7154764702ffbp-2, 0x1.2776c50034c48p-2, -0x1.ec7b328ea92bcp-3, 0x1.a6225e117f92ep-3,
	}
	log2B = [10]float64{
		-0x1.71547652b82fep-1, 0x1.ec709dc3a03f7p-2, -0x1.71547652b7c3fp-2, 0x1.2776c50f05be4p-2, -0x1.ec709dd768fe5p-3,
		0x1.a61761ec4e736p-3, -0x1.7153fbc64a79bp-3, 0x1.484d154f01b4ap-3, -0x1.289e4a72c383cp-3, 0x1.0b32f285aee66p-3,
	}
)

// Log2 is the base-2 logarithm of a positive, normal, finite x as the C library of the reference
// computes it (spec 09 section 12), the same on every processor.
func Log2(x float64) float64 {
	const nearOneLow, nearOneHigh = 0x3feea4af00000000, 0x3ff0b55900000000
	bits := math.Float64bits(x)
	if bits-nearOneLow < nearOneHigh-nearOneLow {
		return log2NearOne(x)
	}
	t := bits - 0x3fe6000000000000
	k := float64(int64(t) >> 52)
	row := &log2Table[t>>46&63]
	z := math.Float64frombits(bits - t&0xfff0000000000000)
	c, g := math.Float64frombits(row[0]), math.Float64frombits(row[1])
	r := math.FMA(z, c, -1)
	t1 := float64(r * invLn2Hi)
	t2 := math.FMA(r, invLn2Lo, math.FMA(r, invLn2Hi, -t1))
	t3 := k + g
	hi := t3 + t1
	lo := t3 - hi + t1 + t2
	r2 := float64(r * r)
	r4 := float64(r2 * r2)
	p := math.FMA(r2, math.FMA(r, log2A[3], log2A[2]), math.FMA(r, log2A[1], log2A[0]))
	p = math.FMA(r4, math.FMA(r, log2A[5], log2A[4]), p)
	return math.FMA(r2, p, lo) + hi
}

func log2NearOne(x float64) float64 {
	if x == 1 {
		return 0
	}
	b := &log2B
	r := x - 1
	hi := float64(r * invLn2Hi)
	lo := math.FMA(r, invLn2Lo, math.FMA(r, invLn2Hi, -hi))
	r2 := float64(r * r)
	r4 := float64(r2 * r2)
	p := math.FMA(r, b[1], b[0])
	y := math.FMA(r2, p, hi)
	lo += math.FMA(r2, p, hi-y)
	q1 := math.FMA(r2, math.FMA(r, b[5], b[4]), math.FMA(r, b[3], b[2]))
	q2 := math.FMA(r2, math.FMA(r, b[9], b[8]), math.FMA(r, b[7], b[6]))
	lo = math.FMA(r4, math.FMA(r4, q2, q1), lo)
	return y + lo
}
