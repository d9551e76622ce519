package metrics

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"unsafe"
)

// The encodings of Parquet that the files use. All of them are as old as version 2 of the format, so
// that every reader knows them.

// deltaBlock and deltaMini are the sizes of blocks and miniblocks of the delta encoding.
const (
	deltaBlock = 128
	deltaMini  = 32
)

// unsigned gives the bits of v.
func unsigned[T int32 | int64](v T) uint64 {
	if unsafe.Sizeof(v) == 4 {
		return uint64(uint32(v))
	}
	return uint64(v)
}

// appendDelta writes values as DELTA_BINARY_PACKED. bytewise packs into whole bytes, which takes more
// room but leaves patterns that a compressor finds. Differences wrap around in the width of T.
func appendDelta[T int32 | int64](dst []byte, values []T, bytewise bool) []byte {
	dst = binary.AppendUvarint(dst, deltaBlock)
	dst = binary.AppendUvarint(dst, deltaBlock/deltaMini)
	dst = binary.AppendUvarint(dst, uint64(len(values)))
	dst = binary.AppendVarint(dst, int64(values[0]))
	var deltas [deltaBlock]T
	var packed [deltaBlock]uint64
	last := values[0]
	for rest := values[1:]; len(rest) > 0; {
		n := min(deltaBlock, len(rest))
		least := rest[0] - last
		for i, v := range rest[:n] {
			d := v - last
			last = v
			deltas[i] = d
			least = min(least, d)
		}
		rest = rest[n:]
		dst = binary.AppendVarint(dst, int64(least))
		widths := len(dst)
		dst = append(dst, 0, 0, 0, 0)
		for m := 0; m*deltaMini < n; m++ {
			from, to := m*deltaMini, min((m+1)*deltaMini, n)
			var any uint64
			for i := from; i < to; i++ {
				u := unsigned(deltas[i] - least)
				packed[i] = u
				any |= u
			}
			clear(packed[to : from+deltaMini])
			width := bits.Len64(any)
			if bytewise {
				width = byteWidth(width)
			}
			dst[widths+m] = byte(width)
			dst = appendBits(dst, packed[from:from+deltaMini], width)
		}
	}
	return dst
}

// byteWidth rounds a width up to one that a compressor can work with.
func byteWidth(width int) int {
	for _, w := range []int{0, 8, 16, 32} {
		if width <= w {
			return w
		}
	}
	return 64
}

// appendBits packs values of the given width, the lowest bits first. Their number is a multiple of 8.
func appendBits(dst []byte, values []uint64, width int) []byte {
	if width == 0 {
		return dst
	}
	size := len(values) * width / 8
	at := len(dst)
	// Words are stored whole; what the last one writes too much is cut off again.
	dst = slices.Grow(dst, size+8)
	out := dst[at : at+size+8]
	if width == 64 {
		for i, v := range values {
			binary.LittleEndian.PutUint64(out[8*i:], v)
		}
		return dst[:at+size]
	}
	var word uint64
	filled, o := 0, 0
	for _, v := range values {
		word |= v << (filled & 63)
		filled += width
		if filled >= 64 {
			binary.LittleEndian.PutUint64(out[o:], word)
			o += 8
			filled -= 64
			word = v >> ((width - filled) & 63)
		}
	}
	binary.LittleEndian.PutUint64(out[o:], word)
	return dst[:at+size]
}

// hybrid writes numbers below 2^width in the encoding RLE, run by run.
type hybrid struct {
	dst   []byte
	width int
}

// newHybrid starts with the width in a byte of its own, as dictionary indexes have it.
func newHybrid(dst []byte, entries int) *hybrid {
	width := max(1, bits.Len(uint(entries-1)))
	return &hybrid{append(dst, byte(width)), width}
}

// run writes a value rows times.
func (h *hybrid) run(value uint64, rows int) {
	h.dst = binary.AppendUvarint(h.dst, uint64(rows)<<1)
	for w := 0; w < h.width; w += 8 {
		h.dst = append(h.dst, byte(value>>w))
	}
}

// packed writes values one by one.
func (h *hybrid) packed(values []uint64) {
	groups := (len(values) + 7) / 8
	h.dst = binary.AppendUvarint(h.dst, uint64(groups)<<1|1)
	h.dst = appendBits(h.dst, append(values, make([]uint64, groups*8-len(values))...), h.width)
}

// best writes values in runs or one by one, whichever is shorter.
func (h *hybrid) best(values []uint64) {
	if len(values) == 0 {
		return
	}
	runs := 1
	for i := 1; i < len(values); i++ {
		if values[i] != values[i-1] {
			runs++
		}
	}
	if runs*(1+(h.width+7)/8+1) > len(values)*h.width/8 {
		h.packed(values)
		return
	}
	for from, i := 0, 1; i <= len(values); i++ {
		if i == len(values) || values[i] != values[from] {
			h.run(values[from], i-from)
			from = i
		}
	}
}

// appendLevels writes which rows have a value, as data pages of nullable columns begin.
func appendLevels(dst []byte, spells []int, rows int) []byte {
	at := len(dst)
	h := &hybrid{append(dst, 0, 0, 0, 0), 1}
	if len(spells) > rows/16+2 {
		bitmap := make([]uint64, 0, rows+8)
		for i, n := range spells {
			for range n {
				bitmap = append(bitmap, uint64(1-i%2))
			}
		}
		h.packed(bitmap)
	} else {
		for i, n := range spells {
			if n > 0 {
				h.run(uint64(1-i%2), n)
			}
		}
	}
	binary.LittleEndian.PutUint32(h.dst[at:], uint32(len(h.dst)-at-4))
	return h.dst
}

// countRuns is the number of stretches of equal values, or more than limit when there are more.
func countRuns[T comparable](values []T, limit int) int {
	if len(values) == 0 {
		return 0
	}
	runs, last := 1, values[0]
	for _, v := range values {
		if v != last {
			if runs++; runs > limit {
				return runs
			}
			last = v
		}
	}
	return runs
}

// dictionary collects the distinct values of runs. A value that comes back late may get a second
// place: only the last one of each of 256 slots is remembered.
type dictionary struct {
	values []uint64
	slots  [256]struct {
		value uint64
		place int // plus 1
	}
}

func (d *dictionary) place(value uint64) uint64 {
	s := &d.slots[(value*0x9e3779b97f4a7c15)>>56]
	if s.place == 0 || s.value != value {
		d.values = append(d.values, value)
		s.value, s.place = value, len(d.values)
	}
	return uint64(s.place - 1)
}

// littleEndian says that memory has the order of bytes that files have.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// appendPlain writes numbers as PLAIN.
func appendPlain[T int32 | int64 | float64](dst []byte, values []T) []byte {
	if len(values) == 0 {
		return dst
	}
	size := int(unsafe.Sizeof(values[0]))
	if littleEndian {
		return append(dst, unsafe.Slice((*byte)(unsafe.Pointer(&values[0])), len(values)*size)...)
	}
	for _, v := range values {
		dst = appendValue(dst, v)
	}
	return dst
}

// appendValue writes one number as PLAIN.
func appendValue[T int32 | int64 | float64](dst []byte, v T) []byte {
	switch v := any(v).(type) {
	case int32:
		return binary.LittleEndian.AppendUint32(dst, uint32(v))
	case int64:
		return binary.LittleEndian.AppendUint64(dst, uint64(v))
	case float64:
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
	}
	return dst
}
