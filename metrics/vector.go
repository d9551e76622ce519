package metrics

import (
	"math"

	"github.com/dynosim/dynosim/schemas"
)

// vector holds the rows of one column until they fill a row group. Which of the slices is used
// depends on the column's type; null takes no place in them.
type vector struct {
	column *schemas.Column
	rows   int
	i32    []int32
	i64    []int64
	f64    []float64
	// text has the strings back to back, ends where each ends.
	text []byte
	ends []int
	// spells are lengths of stretches of rows with and without a value, in turn, those with a value
	// first. It is empty for a column that is not nullable.
	spells []int
	// codes are strings by their place in names, for a column that is given this way.
	codes []uint8
	names []string
	// runs and counters say the values in short form; then the slices above are empty.
	runs     []run
	counters []counter
}

// run is a value in several rows.
type run struct {
	value int64
	rows  int
}

// counter is the values from, from+1, and so on, in several rows.
type counter struct{ from, rows int }

func (v *vector) reset() {
	v.rows = 0
	v.i32, v.i64, v.f64, v.text, v.ends = v.i32[:0], v.i64[:0], v.f64[:0], v.text[:0], v.ends[:0]
	v.spells, v.runs, v.counters, v.codes = v.spells[:0], v.runs[:0], v.counters[:0], v.codes[:0]
}

// note adds rows that have a value, or have none.
func (v *vector) note(present bool, rows int) {
	v.rows += rows
	if !v.column.Nullable || rows == 0 {
		return
	}
	if len(v.spells) == 0 {
		v.spells = append(v.spells, 0)
	}
	// An odd number of spells ends in one with values.
	if present != (len(v.spells)%2 == 1) {
		v.spells = append(v.spells, 0)
	}
	v.spells[len(v.spells)-1] += rows
}

// values is the number of rows that have a value.
func (v *vector) values() int {
	if !v.column.Nullable {
		return v.rows
	}
	n := 0
	for i := 0; i < len(v.spells); i += 2 {
		n += v.spells[i]
	}
	return n
}

// nullable adds the rows that have returns true for, and notes the others as null.
func nullable[T any](v *vector, dst []T, src []T, has func(i int) bool) []T {
	for i := 0; i < len(src); {
		present, from := has(i), i
		for i++; i < len(src) && has(i) == present; i++ {
		}
		v.note(present, i-from)
		if present {
			dst = append(dst, src[from:i]...)
		}
	}
	return dst
}

func (v *vector) addI32(src []int32) {
	v.note(true, len(src))
	v.i32 = append(v.i32, src...)
}

func (v *vector) addI64(src []int64) {
	v.note(true, len(src))
	v.i64 = append(v.i64, src...)
}

func (v *vector) addF64(src []float64) {
	v.note(true, len(src))
	v.f64 = append(v.f64, src...)
}

func (v *vector) addI32Null(src []int32) {
	v.i32 = nullable(v, v.i32, src, func(i int) bool { return src[i] != -1 })
}

func (v *vector) addI64Null(src []int64) {
	v.i64 = nullable(v, v.i64, src, func(i int) bool { return src[i] != -1 })
}

func (v *vector) addF64Null(src []float64) {
	v.f64 = nullable(v, v.f64, src, func(i int) bool { return !math.IsNaN(src[i]) })
}

func (v *vector) addF64Has(src []float64, has []bool) {
	v.f64 = nullable(v, v.f64, src, func(i int) bool { return has[i] })
}

func (v *vector) addStrings(n int, at func(i int) (string, bool)) {
	for i := range n {
		s, ok := at(i)
		v.note(ok, 1)
		if ok {
			v.text = append(v.text, s...)
			v.ends = append(v.ends, len(v.text))
		}
	}
}

func (v *vector) addCodes(src []uint8, names []string) {
	v.note(true, len(src))
	v.codes, v.names = append(v.codes, src...), names
}

// addRun adds a value in several rows, to a column that gets all its values this way.
func (v *vector) addRun(value int64, rows int) {
	v.rows += rows
	if n := len(v.runs); n > 0 && v.runs[n-1].value == value {
		v.runs[n-1].rows += rows
		return
	}
	v.runs = append(v.runs, run{value, rows})
}

// addCounter adds the values from, from+1, and so on, to a column that gets all its values this way.
func (v *vector) addCounter(from, rows int) {
	v.rows += rows
	if n := len(v.counters); n > 0 && v.counters[n-1].from+v.counters[n-1].rows == from {
		v.counters[n-1].rows += rows
		return
	}
	v.counters = append(v.counters, counter{from, rows})
}

// expand replaces the short forms by values.
func (v *vector) expand() {
	for _, r := range v.runs {
		for range r.rows {
			v.i64 = append(v.i64, r.value)
		}
	}
	for _, c := range v.counters {
		for i := range c.rows {
			v.i32 = append(v.i32, int32(c.from+i))
		}
	}
	v.runs, v.counters = v.runs[:0], v.counters[:0]
}
