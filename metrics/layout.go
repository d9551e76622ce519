package metrics

import (
	"github.com/apache/arrow-go/v18/parquet/file"

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
		w.str(len(v), false, func(i int) (string, bool) { return names[v[i]], true })
	}
}

// segment is a range of rows of a batch.
type segment[T any] struct {
	b      *T
	lo, hi int
}

// groups gathers batches until they fill a row group and writes it column by column,
// straight to the file: nothing but the batches and one page is held in memory.
type groups[T any] struct {
	w       *tableWriter
	layout  layout[T]
	rows    func(*T) int
	release func(*T) // gives a batch back once its rows are written
	pending []segment[T]
	n       int
}

// add takes b over.
func (g *groups[T]) add(b *T) error {
	for lo, rows := 0, g.rows(b); lo < rows; {
		hi := min(rows, lo+rowGroupRows-g.n)
		g.pending = append(g.pending, segment[T]{b, lo, hi})
		g.n += hi - lo
		lo = hi
		if g.n == rowGroupRows {
			g.flush()
		}
	}
	return g.w.err
}

// flush writes what is pending as one row group.
func (g *groups[T]) flush() {
	if g.n == 0 {
		return
	}
	w := g.w
	w.guard(func() {
		group, err := w.pw.AppendRowGroupChecked()
		if err != nil {
			w.fail(err)
			return
		}
		for _, col := range g.layout.columns {
			cw, err := group.NextColumn()
			if err != nil {
				w.fail(err)
				return
			}
			w.open = func() file.ColumnChunkWriter { return cw }
			for _, s := range g.pending {
				col(w, s.b, s.lo, s.hi)
			}
			w.fail(cw.Close())
			if w.err != nil {
				return
			}
		}
		w.fail(group.Close())
		w.rows += int64(g.n)
	})
	for _, s := range g.pending {
		if s.hi == g.rows(s.b) {
			g.release(s.b)
		}
	}
	g.pending, g.n = g.pending[:0], 0
}
