// Package chacha is the pseudo-random generator of the reference: ChaCha with 12 rounds,
// seeded from 64 bits (spec 01 section 4.3). Equal seeds give equal draws everywhere.
package chacha

import "math/bits"

// Source is a stream of pseudo-random words. Make one with New; it is not safe for
// concurrent use.
type Source struct {
	key     [8]uint32
	counter uint64
	block   [16]uint32
	// next is the next unused word of block, 16 when none is left.
	next int
}

// New returns the stream that belongs to a seed.
func New(seed uint64) *Source {
	s := &Source{next: 16}
	for i := range s.key {
		seed = seed*6364136223846793005 + 11634580027462260723
		x := uint32(((seed >> 18) ^ seed) >> 27)
		s.key[i] = bits.RotateLeft32(x, -int(seed>>59))
	}
	return s
}

// Uint32 returns the next word of the stream.
func (s *Source) Uint32() uint32 {
	if s.next == len(s.block) {
		s.refill()
	}
	w := s.block[s.next]
	s.next++
	return w
}

// Uint64 takes two words, the low one first.
func (s *Source) Uint64() uint64 {
	low := uint64(s.Uint32())
	return uint64(s.Uint32())<<32 | low
}

// Float64 is uniform in [0, 1): the upper 53 bits of a 64-bit draw.
func (s *Source) Float64() float64 {
	return float64(s.Uint64()>>11) * 0x1p-53
}

// Below is uniform in [0, n) for n of at least 1. It takes one word, and rarely a second one that
// decides whether the product of the first carries.
func (s *Source) Below(n uint32) uint32 {
	hi, lo := bits.Mul32(s.Uint32(), n)
	if lo > -n {
		carry, _ := bits.Mul32(s.Uint32(), n)
		if _, over := bits.Add32(lo, carry, 0); over != 0 {
			hi++
		}
	}
	return hi
}

func (s *Source) refill() {
	in := [16]uint32{0x61707865, 0x3320646e, 0x79622d32, 0x6b206574}
	copy(in[4:], s.key[:])
	in[12], in[13] = uint32(s.counter), uint32(s.counter>>32)
	x := in
	for range 6 {
		quarter(&x, 0, 4, 8, 12)
		quarter(&x, 1, 5, 9, 13)
		quarter(&x, 2, 6, 10, 14)
		quarter(&x, 3, 7, 11, 15)
		quarter(&x, 0, 5, 10, 15)
		quarter(&x, 1, 6, 11, 12)
		quarter(&x, 2, 7, 8, 13)
		quarter(&x, 3, 4, 9, 14)
	}
	for i := range x {
		s.block[i] = x[i] + in[i]
	}
	s.counter++
	s.next = 0
}

func quarter(x *[16]uint32, a, b, c, d int) {
	x[a] += x[b]
	x[d] = bits.RotateLeft32(x[d]^x[a], 16)
	x[c] += x[d]
	x[b] = bits.RotateLeft32(x[b]^x[c], 12)
	x[a] += x[b]
	x[d] = bits.RotateLeft32(x[d]^x[a], 8)
	x[c] += x[d]
	x[b] = bits.RotateLeft32(x[b]^x[c], 7)
}
