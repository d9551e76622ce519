package metrics

import (
	"unsafe"

	"github.com/dynosim/dynosim/schemas"
)

// column writes rows lo up to hi of a batch to the column that is open in w.
type column[T any] func(w *tableWriter, b *T, lo, hi int)

// layout says which column of the batch T goes to which column of a table.
type layout[T any] struct {
	table   *schemas.Table
	columns []column[T]
}

func i32[T any](get func(*T) []int32) column[T] {
	return func(w *tableWriter, b *T, lo, hi int) { w.i32(get(b)[lo:hi]) }
}

func i32Null[T any](get func(*T) []int32) column[T] {
	return func(w *tableWriter, b *T, lo, hi int) { w.i32Null(get(b)[lo:hi]) }
}

func i64[T any](get func(*T) []int64) column[T] {
	return func(w *tableWriter, b *T, lo, hi int) { w.i64(get(b)[lo:hi]) }
}

func i64Null[T any](get func(*T) []int64) column[T] {
	return func(w *tableWriter, b *T, lo, hi int) { w.i64Null(get(b)[lo:hi]) }
}

func f64[T any](get func(*T) []float64) column[T] {
	return func(w *tableWriter, b *T, lo, hi int) { w.f64(get(b)[lo:hi]) }
}

func f64Null[T any](get func(*T) []float64) column[T] {
	return func(w *tableWriter, b *T, lo, hi int) { w.f64Null(get(b)[lo:hi]) }
}

func code[T any, C ~uint8](get func(*T) []C, names []string) column[T] {
	return func(w *tableWriter, b *T, lo, hi int) {
		v := get(b)[lo:hi]
		w.codes(unsafe.Slice((*uint8)(unsafe.Pointer(unsafe.SliceData(v))), len(v)), names)
	}
}

// groups appends the batches of one table and gives them back.
type groups[T any] struct {
	w       *tableWriter
	layout  layout[T]
	rows    func(*T) int
	release func(*T)
}

// add appends the rows of b.
func (g *groups[T]) add(b *T) error {
	err := g.w.write(g.rows(b), func(lo, hi int) {
		for _, col := range g.layout.columns {
			col(g.w, b, lo, hi)
		}
	})
	g.release(b)
	return err
}
