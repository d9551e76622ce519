package ingest

import (
	"bytes"
	"math"
	"strconv"
)

// powersOfTen has the correctly rounded powers from 1 to 1e308.
var powersOfTen = func() (p [309]float64) {
	for i := range p {
		p[i], _ = strconv.ParseFloat("1e"+strconv.Itoa(i), 64)
	}
	return p
}()

// realNumber converts a valid JSON number as the reference does, which does not round
// correctly: it collects digits in 64 bits and scales once (spec 01 section 3.1, rule 3). ok is
// false for a number that is out of range.
func realNumber(literal []byte) (v float64, ok bool) {
	i, negative := 0, false
	if literal[0] == '-' {
		i, negative = 1, true
	}
	significand, exponent := uint64(0), int64(0)
	digit := func(c byte) bool {
		d := uint64(c - '0')
		if significand > (math.MaxUint64-d)/10 {
			return false
		}
		significand = significand*10 + d
		return true
	}
	digits := func() (n int) {
		for i+n < len(literal) && literal[i+n]-'0' < 10 {
			n++
		}
		return n
	}
	for end := i + digits(); i < end; i++ {
		if !digit(literal[i]) {
			exponent = int64(end - i)
			i = end
			break
		}
	}
	if i < len(literal) && literal[i] == '.' {
		i++
		for end := i + digits(); i < end; i++ {
			if !digit(literal[i]) {
				i = end
				break
			}
			exponent--
		}
	}
	if i < len(literal) {
		exponent += writtenExponent(literal[i+1:])
	}
	v, ok = scale(float64(significand), exponent)
	if negative {
		v = -v
	}
	return v, ok
}

// writtenExponent reads the digits behind e, which may have a sign. Absurd ones are cut off where
// they make no difference any more.
func writtenExponent(literal []byte) (n int64) {
	const enough = 1 << 40
	sign := int64(1)
	for _, c := range literal {
		switch c {
		case '-':
			sign = -1
		case '+':
		default:
			n = min(n*10+int64(c-'0'), enough)
		}
	}
	return sign * n
}

// scale is v times ten to the exponent, rounded as the reference does it.
func scale(v float64, exponent int64) (float64, bool) {
	for exponent < -308 && v != 0 {
		v /= 1e308
		exponent += 308
	}
	switch {
	case v == 0:
		return v, true
	case exponent < 0:
		return v / powersOfTen[-exponent], true
	case exponent > 308:
		return 0, false
	}
	v *= powersOfTen[exponent]
	return v, !math.IsInf(v, 0)
}

// integer converts a JSON number without sign, fraction and exponent; ok is false for any other
// text and beyond max.
func integer(literal []byte, max uint64) (n uint64, ok bool) {
	if len(literal) == 0 || len(literal) > 20 {
		return 0, false
	}
	for _, c := range literal {
		d := uint64(c - '0')
		if d > 9 || n > (math.MaxUint64-d)/10 {
			return 0, false
		}
		n = n*10 + d
	}
	return n, n <= max
}

// AppendNumber writes a finite number so that it is read back as the same value, although literals of traces are not
// rounded correctly: the shortest text where that is read right, else one nearby.
func AppendNumber(dst []byte, x float64) []byte {
	from := len(dst)
	shortest := strconv.AppendFloat(dst, x, 'g', -1, 64)
	if v, ok := realNumber(shortest[from:]); ok && v == x {
		return shortest
	}
	for digits := 16; digits <= 18; digits++ {
		text := strconv.AppendFloat(nil, x, 'e', digits, 64)
		mark := bytes.IndexByte(text, 'e')
		significand, _ := strconv.ParseUint(string(append(append([]byte(nil), text[:1]...), text[2:mark]...)), 10, 64)
		exponent, _ := strconv.Atoi(string(text[mark+1:]))
		for step := range uint64(400) {
			// Above and below in turn.
			near := significand + step/2
			if step%2 == 1 {
				near = significand - (step+1)/2
			}
			out := append(strconv.AppendUint(dst[:from], near, 10), 'e')
			out = strconv.AppendInt(out, int64(exponent-digits), 10)
			if v, ok := realNumber(out[from:]); ok && v == x {
				return out
			}
		}
	}
	return strconv.AppendFloat(dst[:from], x, 'g', -1, 64)
}
