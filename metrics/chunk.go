package metrics

import (
	"encoding/binary"
	"math"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/klauspost/compress/s2"

	"github.com/dynosim/dynosim/schemas"
)

// chunk is one column of a row group, encoded. How depends on the values alone, so that equal rows
// have equal bytes.
type chunk struct {
	encoding encoding
	// dict is the dictionary page with dictValues values, for the encoding rleDictionary.
	dict       []byte
	dictValues int
	// data is the data page, levels included.
	data []byte
	// snappy says that the pages are compressed; rawDict and rawData are their sizes before.
	snappy           bool
	rawDict, rawData int
	rows             int
	nulls            int
	// low and high are bounds as PLAIN, nil for columns without.
	low, high []byte
}

// encoder encodes columns; its memory is used again.
type encoder struct {
	chunk
	indexes []uint64
	packed  [2][]byte
	places  map[string]uint64
}

// Limits of the encodings: a dictionary of numbers pays when runs are this long on average, and one of
// strings when it has at most this share of them.
const (
	intRun       = 8
	floatRun     = 4
	stringShare  = 4
	counterLimit = 1 << 12
)

// encode encodes v; the result is valid until the next call.
func (e *encoder) encode(v *vector) *chunk {
	e.chunk = chunk{dict: e.dict[:0], data: e.data[:0], rows: v.rows, nulls: v.rows - v.values(), low: e.low[:0], high: e.high[:0]}
	if v.column.Nullable {
		e.data = appendLevels(e.data, v.spells, v.rows)
	}
	compress := false
	switch v.column.Type.ID() {
	case arrow.STRING:
		if len(v.codes) > 0 {
			e.codes(v)
			break
		}
		compress = true
		e.strings(v)
	case arrow.INT32, arrow.UINT32:
		if len(v.counters) > 0 && e.counters(v) {
			compress = true
			break
		}
		v.expand()
		ints(e, v.column, v.i32)
	case arrow.UINT64:
		// Ids of blocks: neighbours differ by one, or by anything.
		compress = true
		e.ids(v.i64)
	case arrow.INT64:
		if len(v.runs) > 0 && v.rows >= intRun*len(v.runs) {
			e.runs(v)
			break
		}
		v.expand()
		ints(e, v.column, v.i64)
	case arrow.FLOAT64:
		e.floats(v)
		compress = v.column.Nullable && e.encoding == plain
	}
	e.rawDict, e.rawData = len(e.dict), len(e.data)
	if compress {
		e.compress()
	}
	return &e.chunk
}

// compress compresses the pages when that saves at least an eighth.
func (e *encoder) compress() {
	e.packed[0], e.packed[1] = snappied(e.packed[0], e.dict), snappied(e.packed[1], e.data)
	dict, data := e.packed[0], e.packed[1]
	if 8*(len(dict)+len(data)) > 7*(len(e.dict)+len(e.data)) {
		return
	}
	e.packed = [2][]byte{e.dict, e.data}
	e.dict, e.data, e.snappy = dict, data, true
}

// snappied compresses src into the memory of dst.
func snappied(dst, src []byte) []byte {
	if n := s2.MaxEncodedLen(len(src)); cap(dst) < n {
		dst = make([]byte, n)
	}
	return s2.EncodeSnappy(dst[:cap(dst)], src)
}

// ints writes whole numbers: with a dictionary when there are long runs, else as differences.
func ints[T int32 | int64](e *encoder, c *schemas.Column, values []T) {
	if withStats[c.Name] && len(values) > 0 {
		low, high := values[0], values[0]
		for _, v := range values {
			low, high = min(low, v), max(high, v)
		}
		e.low, e.high = appendValue(e.low, low), appendValue(e.high, high)
	}
	switch limit := len(values) / intRun; {
	case len(values) == 0:
		e.encoding = plain
	case countRuns(values, limit) <= limit:
		withDictionary(e, values)
	default:
		e.encoding = deltaBinaryPacked
		e.data = appendDelta(e.data, values, false)
	}
}

// withDictionary writes the runs of values as indexes into a dictionary.
func withDictionary[T int32 | int64](e *encoder, values []T) {
	e.encoding = rleDictionary
	var d dictionary
	e.indexes = e.indexes[:0]
	var lengths []int
	for from, i := 0, 1; i <= len(values); i++ {
		if i == len(values) || values[i] != values[from] {
			e.indexes = append(e.indexes, d.place(uint64(values[from])))
			lengths = append(lengths, i-from)
			from = i
		}
	}
	for _, v := range d.values {
		e.dict = appendValue(e.dict, T(v))
	}
	e.dictValues = len(d.values)
	h := newHybrid(e.data, len(d.values))
	for i, index := range e.indexes {
		h.run(index, lengths[i])
	}
	e.data = h.dst
}

// runs writes what is given as runs already.
func (e *encoder) runs(v *vector) {
	e.encoding = rleDictionary
	var d dictionary
	low, high := v.runs[0].value, v.runs[0].value
	e.indexes = e.indexes[:0]
	for _, r := range v.runs {
		low, high = min(low, r.value), max(high, r.value)
		e.indexes = append(e.indexes, d.place(uint64(r.value)))
	}
	if withStats[v.column.Name] {
		e.low, e.high = appendValue(e.low, low), appendValue(e.high, high)
	}
	for _, value := range d.values {
		e.dict = appendValue(e.dict, int64(value))
	}
	e.dictValues = len(d.values)
	h := newHybrid(e.data, len(d.values))
	for i, index := range e.indexes {
		h.run(index, v.runs[i].rows)
	}
	e.data = h.dst
}

// upTo has the numbers from 0 as bytes and as pairs of bytes.
var upTo = func() (t struct{ one, two []byte }) {
	for i := range counterLimit {
		if i < 256 {
			t.one = append(t.one, byte(i))
		}
		t.two = binary.LittleEndian.AppendUint16(t.two, uint16(i))
	}
	return t
}()

// counters writes values that count up as indexes of one or two bytes into the dictionary 0, 1, 2 and so
// on, which are copies of upTo, and compress to nearly nothing. It reports false when they are too large.
func (e *encoder) counters(v *vector) bool {
	top := 0
	for _, c := range v.counters {
		top = max(top, c.from+c.rows)
	}
	if top > counterLimit {
		return false
	}
	e.encoding, e.dictValues = rleDictionary, top
	for i := range top {
		e.dict = appendValue(e.dict, int32(i))
	}
	template, size := upTo.one, 1
	if top > len(upTo.one) {
		template, size = upTo.two, 2
	}
	groups := (v.rows + 7) / 8
	e.data = append(e.data, byte(8*size))
	e.data = binary.AppendUvarint(e.data, uint64(groups)<<1|1)
	for _, c := range v.counters {
		e.data = append(e.data, template[c.from*size:(c.from+c.rows)*size]...)
	}
	for range (groups*8 - v.rows) * size {
		e.data = append(e.data, 0)
	}
	return true
}

// ids writes ids as differences, unless they are more like random numbers.
func (e *encoder) ids(values []int64) {
	if len(values) == 0 {
		e.encoding = plain
		return
	}
	before := len(e.data)
	e.encoding = deltaBinaryPacked
	e.data = appendDelta(e.data, values, true)
	if len(e.data)-before > 7*len(values) {
		e.encoding = plain
		e.data = appendPlain(e.data[:before], values)
	}
}

// floats writes numbers with a dictionary when there are long runs, else as they are: times grow all along.
func (e *encoder) floats(v *vector) {
	values := v.f64
	if withStats[v.column.Name] {
		e.floatBounds(values)
	}
	// Bits, not values: zeros of both signs and numbers that are none stay what they are.
	if len(values) > 0 {
		raw := unsafe.Slice((*int64)(unsafe.Pointer(&values[0])), len(values))
		if limit := len(values) / floatRun; countRuns(raw, limit) <= limit {
			withDictionary(e, raw)
			return
		}
	}
	e.encoding = plain
	e.data = appendPlain(e.data, values)
}

// floatBounds gives no bounds when there is a value that has no order. A zero bound stands for both zeros.
func (e *encoder) floatBounds(values []float64) {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if v != v {
			return
		}
		if v < low {
			low = v
		}
		if v > high {
			high = v
		}
	}
	if low > high {
		return
	}
	if low == 0 {
		low = math.Copysign(0, -1)
	}
	if high == 0 {
		high = 0
	}
	e.low, e.high = appendValue(e.low, low), appendValue(e.high, high)
}

// strings writes strings with a dictionary when they repeat, else one after the other.
func (e *encoder) strings(v *vector) {
	if e.places == nil {
		e.places = map[string]uint64{}
	}
	clear(e.places)
	e.indexes = e.indexes[:0]
	limit, from := len(v.ends)/stringShare+1, 0
	for _, end := range v.ends {
		s := v.text[from:end]
		from = end
		place, ok := e.places[string(s)]
		if !ok {
			place = uint64(len(e.places))
			if len(e.places) == limit {
				e.plainStrings(v)
				return
			}
			e.places[string(s)] = place
			e.dict = appendString(e.dict, s)
		}
		e.indexes = append(e.indexes, place)
	}
	if len(e.places) == 0 {
		e.encoding = plain
		return
	}
	e.encoding, e.dictValues = rleDictionary, len(e.places)
	h := newHybrid(e.data, len(e.places))
	h.best(e.indexes)
	e.data = h.dst
}

// codes writes strings that are given by number, with a dictionary of those that occur.
func (e *encoder) codes(v *vector) {
	var place [256]int // plus 1
	e.indexes = e.indexes[:0]
	for _, c := range v.codes {
		if place[c] == 0 {
			e.dictValues++
			place[c] = e.dictValues
			e.dict = appendString(e.dict, []byte(v.names[c]))
		}
		e.indexes = append(e.indexes, uint64(place[c]-1))
	}
	e.encoding = rleDictionary
	h := newHybrid(e.data, e.dictValues)
	h.best(e.indexes)
	e.data = h.dst
}

func (e *encoder) plainStrings(v *vector) {
	e.encoding, e.dict = plain, e.dict[:0]
	from := 0
	for _, end := range v.ends {
		e.data = appendString(e.data, v.text[from:end])
		from = end
	}
}

func appendString(dst, s []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(s)))
	return append(dst, s...)
}
