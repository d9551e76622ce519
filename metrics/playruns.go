package metrics

import "github.com/dynosim/dynosim/schemas"

// Rows is any table of which all rows are in memory: Columns has, for each column of Table in order, a slice of its
// values, one a row: int32, int64, uint64, float64 or string. In a nullable column -1, NaN and "" are null.
type Rows struct {
	Table   *schemas.Table
	N       int
	Columns []any
}

// WriteRows appends rows to a table. The columns must not change before Close or Abort.
func (r *Recorders) WriteRows(rows Rows) error {
	return later(r, rows.Table, &rows, func(w *tableWriter, rows *Rows) error {
		return w.write(rows.N, func(lo, hi int) {
			for i, c := range rows.Table.Columns {
				w.values(rows.Columns[i], c.Nullable, lo, hi)
			}
		})
	})
}

// values writes a part of one column.
func (w *tableWriter) values(column any, nullable bool, lo, hi int) {
	switch v := column.(type) {
	case []int32:
		if nullable {
			w.i32Null(v[lo:hi])
		} else {
			w.i32(v[lo:hi])
		}
	case []int64:
		if nullable {
			w.i64Null(v[lo:hi])
		} else {
			w.i64(v[lo:hi])
		}
	case []uint64:
		w.u64(v[lo:hi])
	case []float64:
		if nullable {
			w.f64Null(v[lo:hi])
		} else {
			w.f64(v[lo:hi])
		}
	case []string:
		w.str(hi-lo, nullable, func(i int) (string, bool) { return v[lo+i], !nullable || v[lo+i] != "" })
	}
}
