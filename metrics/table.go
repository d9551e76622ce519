package metrics

import (
	"fmt"
	"math"
	"strconv"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"

	"github.com/dynosim/dynosim/internal/rundir"
	"github.com/dynosim/dynosim/schemas"
)

// tableWriter writes one table to one Parquet file, column by column from plain slices.
// Row groups are cut by the number of rows alone, so the bytes depend on the rows and
// not on who runs when.
//
// Its first error stays: later writes do nothing and finish returns it.
type tableWriter struct {
	table *schemas.Table
	out   *rundir.File
	pw    *file.Writer
	group file.BufferedRowGroupWriter
	// open gives the column being written; write moves it on, groups.flush holds it.
	open        func() file.ColumnChunkWriter
	col         int
	rows        int64
	rowsInGroup int
	err         error

	// Scratch for nullable columns: the definition levels and the values present.
	levels []int16
	f64s   []float64
	i32s   []int32
	i64s   []int64
	strs   []parquet.ByteArray
}

func newTableWriter(dir *rundir.Dir, t *schemas.Table, mem memory.Allocator) (*tableWriter, error) {
	root, err := parquetSchema(t)
	if err != nil {
		return nil, err
	}
	out, err := dir.NewFile(t.Name + ".parquet")
	if err != nil {
		return nil, err
	}
	kv := metadata.NewKeyValueMetadata()
	for _, p := range [][2]string{{"dynosim.table", t.Name}, {"dynosim.version", strconv.Itoa(t.Version)}} {
		if err := kv.Append(p[0], p[1]); err != nil {
			out.Abort()
			return nil, err
		}
	}
	w := &tableWriter{table: t, out: out}
	w.guard(func() {
		w.pw = file.NewParquetWriter(out, root, file.WithWriterProps(properties(t, mem)), file.WithWriteMetadata(kv))
	})
	if w.err != nil {
		out.Abort()
		return nil, w.err
	}
	return w, nil
}

// guard runs one step of the Parquet writer, which panics on some errors.
func (w *tableWriter) guard(step func()) {
	if w.err != nil {
		return
	}
	defer func() {
		if r := recover(); r != nil {
			if err, ok := r.(error); ok {
				w.fail(err)
			} else {
				w.fail(fmt.Errorf("%v", r))
			}
		}
	}()
	step()
}

// fail keeps the first error. The file's own error says more than what the Parquet
// writer made of it.
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
// hands every column's part of the range over, in the order of the table.
func (w *tableWriter) write(n int, columns func(lo, hi int)) error {
	for lo := 0; lo < n && w.err == nil; {
		w.guard(func() {
			if w.group == nil {
				group, err := w.pw.AppendBufferedRowGroupChecked()
				if err != nil {
					w.fail(err)
					return
				}
				w.group = group
			}
			hi := min(n, lo+rowGroupRows-w.rowsInGroup)
			w.col, w.open = 0, w.next
			columns(lo, hi)
			if w.err == nil && w.col != len(w.table.Columns) {
				w.fail(fmt.Errorf("%d of %d columns written", w.col, len(w.table.Columns)))
			}
			w.rows += int64(hi - lo)
			w.rowsInGroup += hi - lo
			lo = hi
			if w.rowsInGroup == rowGroupRows {
				w.closeGroup()
			}
		})
	}
	return w.err
}

func (w *tableWriter) closeGroup() {
	if w.group != nil && w.err == nil {
		w.fail(w.group.Close())
	}
	w.group, w.rowsInGroup = nil, 0
}

// finish writes the footer. The file still has to be published.
func (w *tableWriter) finish() error {
	w.guard(func() {
		w.closeGroup()
		if w.err == nil {
			w.fail(w.pw.FlushWithFooter())
		}
	})
	return w.err
}

// entry describes the finished file for the manifest.
func (w *tableWriter) entry() rundir.TableEntry {
	return rundir.TableEntry{Name: w.table.Name, Version: w.table.Version, Stage: w.table.Stage, Rows: w.rows, Bytes: w.out.Size()}
}

// next moves to the next column of a buffered row group.
func (w *tableWriter) next() file.ColumnChunkWriter {
	cw, err := w.group.Column(w.col)
	if err != nil {
		w.fail(err)
	}
	w.col++
	return cw
}

// The methods below write to the open column. The ones ending in Null take the mark that
// stands for null in a batch; the others are for required columns.

func (w *tableWriter) i32(v []int32) {
	if w.err != nil {
		return
	}
	_, err := w.open().(*file.Int32ColumnChunkWriter).WriteBatch(v, nil, nil)
	w.fail(err)
}

func (w *tableWriter) u32(v []uint32) {
	w.i32(unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(v))), len(v)))
}

func (w *tableWriter) i64(v []int64) {
	if w.err != nil {
		return
	}
	_, err := w.open().(*file.Int64ColumnChunkWriter).WriteBatch(v, nil, nil)
	w.fail(err)
}

func (w *tableWriter) u64(v []uint64) {
	w.i64(unsafe.Slice((*int64)(unsafe.Pointer(unsafe.SliceData(v))), len(v)))
}

func (w *tableWriter) f64(v []float64) {
	if w.err != nil {
		return
	}
	_, err := w.open().(*file.Float64ColumnChunkWriter).WriteBatch(v, nil, nil)
	w.fail(err)
}

// f64Null writes NaN as null.
func (w *tableWriter) f64Null(v []float64) {
	if w.err != nil {
		return
	}
	w.levels, w.f64s = w.levels[:0], w.f64s[:0]
	for _, x := range v {
		if math.IsNaN(x) {
			w.levels = append(w.levels, 0)
			continue
		}
		w.levels = append(w.levels, 1)
		w.f64s = append(w.f64s, x)
	}
	_, err := w.open().(*file.Float64ColumnChunkWriter).WriteBatch(w.f64s, w.levels, nil)
	w.fail(err)
}

// f64Has writes null where has is false.
func (w *tableWriter) f64Has(v []float64, has []bool) {
	if w.err != nil {
		return
	}
	w.levels, w.f64s = w.levels[:0], w.f64s[:0]
	for i, x := range v {
		if !has[i] {
			w.levels = append(w.levels, 0)
			continue
		}
		w.levels = append(w.levels, 1)
		w.f64s = append(w.f64s, x)
	}
	_, err := w.open().(*file.Float64ColumnChunkWriter).WriteBatch(w.f64s, w.levels, nil)
	w.fail(err)
}

// i32Null writes -1 as null.
func (w *tableWriter) i32Null(v []int32) {
	if w.err != nil {
		return
	}
	w.levels, w.i32s = w.levels[:0], w.i32s[:0]
	for _, x := range v {
		if x == -1 {
			w.levels = append(w.levels, 0)
			continue
		}
		w.levels = append(w.levels, 1)
		w.i32s = append(w.i32s, x)
	}
	_, err := w.open().(*file.Int32ColumnChunkWriter).WriteBatch(w.i32s, w.levels, nil)
	w.fail(err)
}

// i64Null writes -1 as null.
func (w *tableWriter) i64Null(v []int64) {
	if w.err != nil {
		return
	}
	w.levels, w.i64s = w.levels[:0], w.i64s[:0]
	for _, x := range v {
		if x == -1 {
			w.levels = append(w.levels, 0)
			continue
		}
		w.levels = append(w.levels, 1)
		w.i64s = append(w.i64s, x)
	}
	_, err := w.open().(*file.Int64ColumnChunkWriter).WriteBatch(w.i64s, w.levels, nil)
	w.fail(err)
}

// nulls writes n nulls.
func (w *tableWriter) nulls(n int) {
	if w.err != nil {
		return
	}
	w.levels = w.levels[:0]
	for range n {
		w.levels = append(w.levels, 0)
	}
	var err error
	switch cw := w.open().(type) {
	case *file.Int32ColumnChunkWriter:
		_, err = cw.WriteBatch(nil, w.levels, nil)
	case *file.Int64ColumnChunkWriter:
		_, err = cw.WriteBatch(nil, w.levels, nil)
	case *file.Float64ColumnChunkWriter:
		_, err = cw.WriteBatch(nil, w.levels, nil)
	case *file.ByteArrayColumnChunkWriter:
		_, err = cw.WriteBatch(nil, w.levels, nil)
	default:
		err = fmt.Errorf("column %d cannot be null", w.col-1)
	}
	w.fail(err)
}

// str writes n strings; at gives the i-th and whether it is present. nullable must be
// what the table says.
func (w *tableWriter) str(n int, nullable bool, at func(i int) (string, bool)) {
	if w.err != nil {
		return
	}
	w.levels, w.strs = w.levels[:0], w.strs[:0]
	for i := range n {
		s, ok := at(i)
		if !ok {
			w.levels = append(w.levels, 0)
			continue
		}
		w.levels = append(w.levels, 1)
		w.strs = append(w.strs, unsafe.Slice(unsafe.StringData(s), len(s)))
	}
	levels := w.levels
	if !nullable {
		levels = nil
	}
	_, err := w.open().(*file.ByteArrayColumnChunkWriter).WriteBatch(w.strs, levels, nil)
	w.fail(err)
}
