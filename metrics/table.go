package metrics

import (
	"fmt"
	"sync"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/dynosim/dynosim/internal/rundir"
	"github.com/dynosim/dynosim/schemas"
)

// tableWriter writes one table to one Parquet file. Rows gather in vectors, one a column; when they
// fill a row group another goroutine encodes and writes it, while the next one gathers. There is
// one such goroutine a table at a time, and row groups are cut by the number of rows alone, so the bytes
// depend on the rows and not on who runs when.
//
// Its first error stays: later writes do nothing and finish returns it.
type tableWriter struct {
	table *schemas.Table
	out   *rundir.File
	file  *parquetFile
	// vectors gather rows, spare is the set that is not being written, nil until it is needed.
	vectors, spare []vector
	// col is the column that gets the next values.
	col         int
	rows        int64
	rowsInGroup int
	err         error

	// writing is the row group being written; groupErr is valid once it is done.
	writing  sync.WaitGroup
	groupErr error
	encoder  encoder
}

func newTableWriter(dir *rundir.Dir, t *schemas.Table) (*tableWriter, error) {
	for _, c := range t.Columns {
		switch c.Type.ID() {
		case arrow.INT32, arrow.INT64, arrow.UINT32, arrow.UINT64, arrow.FLOAT64, arrow.STRING:
		default:
			return nil, fmt.Errorf("table %s: column %s has type %s, which is not written", t.Name, c.Name, c.Type)
		}
	}
	out, err := dir.NewFile(t.Name + ".parquet")
	if err != nil {
		return nil, err
	}
	w := &tableWriter{table: t, out: out, vectors: newVectors(t)}
	if w.file, err = newParquetFile(t, out); err != nil {
		out.Abort()
		return nil, err
	}
	return w, nil
}

func newVectors(t *schemas.Table) []vector {
	v := make([]vector, len(t.Columns))
	for i := range v {
		v[i].column = &t.Columns[i]
	}
	return v
}

// fail keeps the first error. The file's own error says more than what was made of it.
func (w *tableWriter) fail(err error) {
	if err == nil || w.err != nil {
		return
	}
	if ferr := w.out.Err(); ferr != nil {
		err = ferr
	} else {
		err = fmt.Errorf("cannot write %s: %w", w.out.Name(), err)
	}
	w.err = err
}

// write appends n rows. columns is called for one or more ranges that cover them and
// hands every column's part of the range over, in the order of the table. What it hands over is copied.
func (w *tableWriter) write(n int, columns func(lo, hi int)) error {
	for lo := 0; lo < n && w.err == nil; {
		hi := min(n, lo+rowGroupRows-w.rowsInGroup)
		w.col = 0
		columns(lo, hi)
		w.rows += int64(hi - lo)
		w.rowsInGroup += hi - lo
		w.check()
		lo = hi
		if w.rowsInGroup == rowGroupRows {
			w.closeGroup()
		}
	}
	return w.err
}

// check makes sure that all columns have all rows.
func (w *tableWriter) check() {
	if w.col != len(w.vectors) {
		w.fail(fmt.Errorf("%d of %d columns written", w.col, len(w.vectors)))
		return
	}
	for i := range w.vectors {
		if v := &w.vectors[i]; v.rows != w.rowsInGroup {
			w.fail(fmt.Errorf("column %s has %d of %d rows", v.column.Name, v.rows, w.rowsInGroup))
			return
		}
	}
}

// wait waits for the row group being written.
func (w *tableWriter) wait() {
	w.writing.Wait()
	w.fail(w.groupErr)
}

// closeGroup gives the row group to a goroutine of its own, when the one before is done.
func (w *tableWriter) closeGroup() {
	w.wait()
	if w.err != nil {
		return
	}
	if w.spare == nil {
		w.spare = newVectors(w.table)
	}
	full, rows := w.vectors, w.rowsInGroup
	w.vectors, w.spare, w.rowsInGroup = w.spare, full, 0
	w.writing.Go(func() { w.groupErr = w.writeGroup(full, rows) })
}

func (w *tableWriter) writeGroup(vectors []vector, rows int) error {
	for i := range vectors {
		if err := w.file.chunk(i, w.encoder.encode(&vectors[i])); err != nil {
			return err
		}
		vectors[i].reset()
	}
	w.file.endGroup(rows)
	return nil
}

// finish writes the footer. The file still has to be published.
func (w *tableWriter) finish() error {
	w.wait()
	if w.err == nil && w.rowsInGroup > 0 {
		w.fail(w.writeGroup(w.vectors, w.rowsInGroup))
	}
	if w.err == nil {
		w.fail(w.file.finish())
	}
	return w.err
}

// abort waits for the goroutine and removes the file.
func (w *tableWriter) abort() {
	w.writing.Wait()
	w.out.Abort()
}

// entry describes the finished file for the manifest.
func (w *tableWriter) entry() rundir.TableEntry {
	return rundir.TableEntry{Name: w.table.Name, Version: w.table.Version, Stage: w.table.Stage, Rows: w.rows, Bytes: w.out.Size()}
}

// next moves to the next column.
func (w *tableWriter) next() *vector {
	if w.col == len(w.vectors) {
		w.fail(fmt.Errorf("more than %d columns written", len(w.vectors)))
		return &vector{column: &w.table.Columns[w.col-1]}
	}
	w.col++
	return &w.vectors[w.col-1]
}

// The methods below write the next column. The ones ending in Null take the mark that
// stands for null in a batch; the others are for required columns.

func (w *tableWriter) i32(v []int32) { w.next().addI32(v) }

func (w *tableWriter) u32(v []uint32) {
	w.i32(unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(v))), len(v)))
}

func (w *tableWriter) i64(v []int64) { w.next().addI64(v) }

func (w *tableWriter) u64(v []uint64) {
	w.i64(unsafe.Slice((*int64)(unsafe.Pointer(unsafe.SliceData(v))), len(v)))
}

func (w *tableWriter) f64(v []float64) { w.next().addF64(v) }

// f64Null writes NaN as null.
func (w *tableWriter) f64Null(v []float64) { w.next().addF64Null(v) }

// f64Has writes null where has is false.
func (w *tableWriter) f64Has(v []float64, has []bool) { w.next().addF64Has(v, has) }

// i32Null writes -1 as null.
func (w *tableWriter) i32Null(v []int32) { w.next().addI32Null(v) }

// i64Null writes -1 as null.
func (w *tableWriter) i64Null(v []int64) { w.next().addI64Null(v) }

// nulls writes n nulls.
func (w *tableWriter) nulls(n int) { w.next().note(false, n) }

// str writes n strings; at gives the i-th and whether it is present. nullable must be
// what the table says.
func (w *tableWriter) str(n int, nullable bool, at func(i int) (string, bool)) {
	v := w.next()
	if nullable != v.column.Nullable {
		w.fail(fmt.Errorf("column %s: nullable is %t in the table", v.column.Name, v.column.Nullable))
	}
	v.addStrings(n, at)
}

// codes writes strings by their place in names, which must be the same for all rows of the column.
func (w *tableWriter) codes(v []uint8, names []string) { w.next().addCodes(v, names) }

// rowNumbers makes the values of a column that numbers the rows of its table.
type rowNumbers struct {
	first int32
	ids   []int32
}

// rowNumbers numbers the rows from the next one on.
func (w *tableWriter) rowNumbers() *rowNumbers { return &rowNumbers{first: int32(w.rows)} }

// of returns the numbers of rows lo to hi, counted from the first one. The slice is used again.
func (n *rowNumbers) of(lo, hi int) []int32 {
	n.ids = n.ids[:0]
	for i := lo; i < hi; i++ {
		n.ids = append(n.ids, n.first+int32(i))
	}
	return n.ids
}
