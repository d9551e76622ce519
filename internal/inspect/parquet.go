package inspect

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// Parquet describes a Parquet file by its footer.
type Parquet struct {
	Rows      int64    `json:"rows"`
	Bytes     int64    `json:"bytes"`
	RowGroups int      `json:"row_groups"`
	CreatedBy string   `json:"created_by"`
	Columns   []Column `json:"columns"`
}

// Column describes a column over all row groups. Figures that a row group does not have are nil.
type Column struct {
	Name string `json:"name"`
	// Type is the logical type, the physical one for columns without.
	Type     string `json:"type"`
	Nullable bool   `json:"nullable"`
	// Bytes are those of the compressed column.
	Bytes int64  `json:"bytes"`
	Nulls *int64 `json:"nulls"`
	Min   any    `json:"min"`
	Max   any    `json:"max"`
}

func readParquet(path string, size int64) (p *Parquet, err error) {
	// The library panics on some broken footers.
	defer func() {
		if r := recover(); r != nil {
			p, err = nil, fmt.Errorf("cannot read %s as Parquet: %v", path, r)
		}
	}()
	in, err := file.OpenParquetFile(path, false)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s as Parquet: %w", path, err)
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	m := in.MetaData()
	p = &Parquet{Rows: m.GetNumRows(), Bytes: size, RowGroups: len(m.RowGroups), CreatedBy: m.GetCreatedBy()}
	for i := range m.Schema.NumColumns() {
		c := m.Schema.Column(i)
		column := Column{Name: c.Path(), Type: typeOf(c), Nullable: c.MaxDefinitionLevel() > 0}
		if err := column.read(m, i); err != nil {
			return nil, fmt.Errorf("cannot read %s as Parquet: column %s: %w", path, column.Name, err)
		}
		p.Columns = append(p.Columns, column)
	}
	return p, nil
}

func typeOf(c *schema.Column) string {
	if l := c.LogicalType(); l != nil && !l.IsNone() {
		return l.String()
	}
	return c.PhysicalType().String()
}

// read sums up the statistics of a column over the row groups.
func (c *Column) read(m *metadata.FileMetaData, column int) error {
	var nulls int64
	nullsKnown, boundsKnown := true, true
	for g := range m.RowGroups {
		group := m.RowGroup(g)
		chunk, err := group.ColumnChunk(column)
		if err != nil {
			return err
		}
		c.Bytes += chunk.TotalCompressedSize()
		stats, err := chunk.Statistics()
		if err != nil {
			return err
		}
		if stats == nil || !stats.HasNullCount() {
			nullsKnown = false
		} else {
			nulls += stats.NullCount()
		}
		if stats == nil || !stats.HasMinMax() {
			// a row group of nulls alone has no bounds and changes none
			if stats == nil || !stats.HasNullCount() || stats.NullCount() != group.NumRows() {
				boundsKnown = false
			}
			continue
		}
		low, high := bounds(stats, unsigned(m.Schema.Column(column)))
		if low == nil {
			boundsKnown = false
			continue
		}
		if c.Min == nil || compare(low, c.Min) < 0 {
			c.Min = low
		}
		if c.Max == nil || compare(high, c.Max) > 0 {
			c.Max = high
		}
	}
	if nullsKnown {
		c.Nulls = &nulls
	}
	if !boundsKnown {
		c.Min, c.Max = nil, nil
	}
	return nil
}

func unsigned(c *schema.Column) bool {
	l, ok := c.LogicalType().(schema.IntLogicalType)
	return ok && !l.IsSigned()
}

// bounds are the least and largest value as int64, uint64, float64, bool or string; nil for types without.
func bounds(stats metadata.TypedStatistics, unsigned bool) (low, high any) {
	switch s := stats.(type) {
	case *metadata.Int32Statistics:
		if unsigned {
			return uint64(uint32(s.Min())), uint64(uint32(s.Max()))
		}
		return int64(s.Min()), int64(s.Max())
	case *metadata.Int64Statistics:
		if unsigned {
			return uint64(s.Min()), uint64(s.Max())
		}
		return s.Min(), s.Max()
	case *metadata.Float32Statistics:
		return finite(float64(s.Min()), float64(s.Max()))
	case *metadata.Float64Statistics:
		return finite(s.Min(), s.Max())
	case *metadata.ByteArrayStatistics:
		return string(s.Min()), string(s.Max())
	case *metadata.BooleanStatistics:
		return fmt.Sprint(s.Min()), fmt.Sprint(s.Max())
	}
	return nil, nil
}

// finite drops bounds that JSON cannot hold.
func finite(low, high float64) (any, any) {
	if math.IsNaN(low+high) || math.IsInf(low, 0) || math.IsInf(high, 0) {
		return nil, nil
	}
	return low, high
}

// compare orders two values of bounds of the same column.
func compare(a, b any) int {
	switch a := a.(type) {
	case int64:
		return cmp.Compare(a, b.(int64))
	case uint64:
		return cmp.Compare(a, b.(uint64))
	case float64:
		return cmp.Compare(a, b.(float64))
	}
	return cmp.Compare(a.(string), b.(string))
}
