package metrics

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"

	"github.com/dynosim/dynosim/schemas"
)

// DamagedError is a table file that is not what its manifest says: cut off, changed, or
// made by something else.
type DamagedError struct {
	Path string
	Err  error
}

func (e *DamagedError) Error() string { return e.Path + ": " + e.Err.Error() }

// Unwrap returns the reason.
func (e *DamagedError) Unwrap() error { return e.Err }

// tableReader reads one table from its Parquet file, row group by row group and column by
// column into plain slices. advance moves to the next rows; the methods named after types
// then read one column of them. A column that is not read at some rows must not be read
// again in that row group.
//
// Its first error stays: later calls do nothing and leave zeros.
type tableReader struct {
	path  string
	table *schemas.Table
	f     *file.Reader
	// group is the next row group, left the rows of the current one that are still to come.
	group int
	left  int64
	cols  map[string]file.ColumnChunkReader
	err   error

	levels []int16
	strs   []parquet.ByteArray
}

// openTable opens the table t in dir, which must have the number of rows given.
func openTable(dir string, t *schemas.Table, rows int64) (*tableReader, error) {
	r := &tableReader{path: filepath.Join(dir, t.Name+".parquet"), table: t}
	r.guard(func() error {
		f, err := file.OpenParquetFile(r.path, false)
		if p := (*os.PathError)(nil); errors.As(err, &p) {
			return p.Err
		}
		if err != nil {
			return fmt.Errorf("not a whole Parquet file: %w", err)
		}
		r.f = f
		return r.check(rows)
	})
	if r.err != nil {
		r.close()
		return nil, r.err
	}
	return r, nil
}

// check compares the file with what the table says.
func (r *tableReader) check(rows int64) error {
	s := r.f.MetaData().Schema
	if s.NumColumns() != len(r.table.Columns) {
		return fmt.Errorf("it has %d columns, table %s has %d", s.NumColumns(), r.table.Name, len(r.table.Columns))
	}
	for i, c := range r.table.Columns {
		d := s.Column(i)
		if d.Name() != c.Name || d.PhysicalType() != physicalType(c.Type) || (d.MaxDefinitionLevel() == 1) != c.Nullable || d.MaxRepetitionLevel() != 0 {
			return fmt.Errorf("column %d is %s %s, table %s has %s", i+1, d.Name(), d.PhysicalType(), r.table.Name, c.Name)
		}
	}
	n := r.f.NumRows()
	if n != rows {
		return fmt.Errorf("it has %d rows, the manifest says %d", n, rows)
	}
	for g := range r.f.NumRowGroups() {
		part := r.f.RowGroup(g).NumRows()
		if part < 0 || part > n {
			return errShort
		}
		n -= part
	}
	if n != 0 {
		return errors.New("not a whole Parquet file: its row groups do not add up to its rows")
	}
	return nil
}

// physicalType is how parquetSchema stores a column.
func physicalType(t arrow.DataType) parquet.Type {
	switch t.ID() {
	case arrow.INT32, arrow.UINT32:
		return parquet.Types.Int32
	case arrow.INT64, arrow.UINT64:
		return parquet.Types.Int64
	case arrow.FLOAT64:
		return parquet.Types.Double
	case arrow.BOOL:
		return parquet.Types.Boolean
	}
	return parquet.Types.ByteArray
}

// guard runs one step of the Parquet reader, which panics on some damaged files.
func (r *tableReader) guard(step func() error) {
	if r.err != nil {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			r.fail(fmt.Errorf("not a whole Parquet file: %v", p))
		}
	}()
	r.fail(step())
}

// fail keeps the first error.
func (r *tableReader) fail(err error) {
	if err == nil || r.err != nil {
		return
	}
	r.err = &DamagedError{r.path, err}
}

func (r *tableReader) close() {
	if r.f != nil {
		_ = r.f.Close()
	}
}

// rows is the number of rows of the table.
func (r *tableReader) rows() int64 { return r.f.NumRows() }

// advance moves to the next rows, at most limit and all of one row group, and returns their
// number: 0 at the end or after an error.
func (r *tableReader) advance(limit int) int {
	for r.err == nil && r.left == 0 && r.group < r.f.NumRowGroups() {
		r.guard(func() error {
			r.left = r.f.RowGroup(r.group).NumRows()
			r.group++
			r.cols = map[string]file.ColumnChunkReader{}
			return nil
		})
	}
	if r.err != nil {
		return 0
	}
	n := min(int64(limit), r.left)
	r.left -= n
	return int(n)
}

// column is the open column of a name.
func (r *tableReader) column(name string) (file.ColumnChunkReader, error) {
	if c, ok := r.cols[name]; ok {
		return c, nil
	}
	for i, c := range r.table.Columns {
		if c.Name == name {
			col, err := r.f.RowGroup(r.group - 1).Column(i)
			r.cols[name] = col
			return col, err
		}
	}
	return nil, fmt.Errorf("no column %s", name)
}

// errShort is a column with fewer values than its row group has rows.
var errShort = errors.New("not a whole Parquet file: a column has too few values")

// values reads len(dst) values of a column; levels is nil for a required one. It returns how many
// of them are present: those are at the front of dst.
func values[C file.ColumnChunkReader, T any](r *tableReader, name string, dst []T, levels []int16, read func(C, int64, []T, []int16) (int64, int, error)) (present int) {
	r.guard(func() error {
		col, err := r.column(name)
		if err != nil {
			return err
		}
		c, ok := col.(C)
		if !ok {
			return fmt.Errorf("column %s has another type", name)
		}
		n, k, err := read(c, int64(len(dst)), dst, levels)
		if err == nil {
			err = col.Err()
		}
		if err == nil && n != int64(len(dst)) {
			err = errShort
		}
		if err != nil {
			return fmt.Errorf("column %s: %w", name, err)
		}
		present = k
		return nil
	})
	return present
}

func readInt32(c *file.Int32ColumnChunkReader, n int64, dst []int32, levels []int16) (int64, int, error) {
	return c.ReadBatch(n, dst, levels, nil)
}

func readInt64(c *file.Int64ColumnChunkReader, n int64, dst []int64, levels []int16) (int64, int, error) {
	return c.ReadBatch(n, dst, levels, nil)
}

func readFloat64(c *file.Float64ColumnChunkReader, n int64, dst []float64, levels []int16) (int64, int, error) {
	return c.ReadBatch(n, dst, levels, nil)
}

func (r *tableReader) i32(name string, dst []int32) { values(r, name, dst, nil, readInt32) }
func (r *tableReader) i64(name string, dst []int64) { values(r, name, dst, nil, readInt64) }

func (r *tableReader) f64(name string, dst []float64) { values(r, name, dst, nil, readFloat64) }

func (r *tableReader) u32(name string, dst []uint32) {
	r.i32(name, unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(dst))), len(dst)))
}

func (r *tableReader) u64(name string, dst []uint64) {
	r.i64(name, unsafe.Slice((*int64)(unsafe.Pointer(unsafe.SliceData(dst))), len(dst)))
}

// defined gives the definition levels of n rows to fill.
func (r *tableReader) defined(n int) []int16 {
	if cap(r.levels) < n {
		r.levels = make([]int16, n)
	}
	return r.levels[:n]
}

// i32Null reads null as -1.
func (r *tableReader) i32Null(name string, dst []int32) {
	levels := r.defined(len(dst))
	spread(dst, levels, values(r, name, dst, levels, readInt32), -1)
}

// i64Null reads null as -1.
func (r *tableReader) i64Null(name string, dst []int64) {
	levels := r.defined(len(dst))
	spread(dst, levels, values(r, name, dst, levels, readInt64), -1)
}

// f64Null reads null as NaN.
func (r *tableReader) f64Null(name string, dst []float64) {
	levels := r.defined(len(dst))
	spread(dst, levels, values(r, name, dst, levels, readFloat64), math.NaN())
}

// f64Has reads null as 0 that is not there.
func (r *tableReader) f64Has(name string, dst []float64, has []bool) {
	levels := r.defined(len(dst))
	present := values(r, name, dst, levels, readFloat64)
	for i := range has {
		has[i] = levels[i] == 1
	}
	spread(dst, levels, present, 0)
}

// spread moves the present values at the front of dst to where their levels are 1.
func spread[T any](dst []T, levels []int16, present int, null T) {
	for i := len(dst) - 1; i >= 0; i-- {
		if levels[i] == 1 && present > 0 {
			present--
			dst[i] = dst[present]
			continue
		}
		dst[i] = null
	}
}

// str hands the strings of n rows to each, those that are present. The bytes are valid
// during the call only.
func (r *tableReader) str(name string, n int, each func(i int, s []byte)) {
	if cap(r.strs) < n {
		r.strs = make([]parquet.ByteArray, n)
	}
	levels := r.defined(n)
	r.guard(func() error {
		col, err := r.column(name)
		if err != nil {
			return err
		}
		c := col.(*file.ByteArrayColumnChunkReader)
		nullable := c.Descriptor().MaxDefinitionLevel() == 1
		for done := 0; done < n; {
			// A page at a time: the strings then lie in the page and need no copy.
			got, present, err := c.ReadBatchInPage(int64(n-done), r.strs, levels, nil)
			if err == nil && got == 0 {
				err = errors.Join(c.Err(), errShort)
			}
			if err != nil {
				return fmt.Errorf("column %s: %w", name, err)
			}
			next := 0
			for i := range int(got) {
				if nullable && levels[i] == 0 {
					continue
				}
				if next == present {
					return fmt.Errorf("column %s: %w", name, errShort)
				}
				each(done+i, r.strs[next])
				next++
			}
			done += int(got)
		}
		return nil
	})
}
