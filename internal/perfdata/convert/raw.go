package convert

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
)

// rawTable has the columns of a file of measured rows. Text is "" and a number 0 where it is null.
type rawTable struct {
	rows    int
	text    map[string][]string
	whole   map[string][]int64
	real    map[string][]float64
	boolean map[string][]bool
	// known has each text once.
	known map[string]string
}

// readRaw reads the named columns that a file has. A damaged file is an error, whatever the
// decoder makes of it.
func readRaw(files fs.FS, name string, columns []string) (t *rawTable, err error) {
	content, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, err
	}
	t, err = parseRaw(content, columns)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return t, nil
}

func parseRaw(content []byte, columns []string) (t *rawTable, err error) {
	defer func() {
		if p := recover(); p != nil {
			t, err = nil, fmt.Errorf("damaged Parquet file: %v", p)
		}
	}()
	opened, err := file.NewParquetReader(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	t = &rawTable{text: map[string][]string{}, whole: map[string][]int64{}, real: map[string][]float64{}, boolean: map[string][]bool{}, known: map[string]string{}}
	columnTypes := opened.MetaData().Schema
	for g := range opened.NumRowGroups() {
		group := opened.RowGroup(g)
		if group.NumRows() > int64(len(content))*maxRowsPerByte {
			return nil, fmt.Errorf("damaged Parquet file: %d rows in %d bytes", group.NumRows(), len(content))
		}
		t.rows += int(group.NumRows())
		for i := range columnTypes.NumColumns() {
			name := columnTypes.Column(i).Name()
			if !slices.Contains(columns, name) {
				continue
			}
			column, err := group.Column(i)
			if err != nil {
				return nil, err
			}
			if err := t.take(name, column, int(group.NumRows())); err != nil {
				return nil, fmt.Errorf("column %s: %w", name, err)
			}
		}
	}
	return t, nil
}

// maxRowsPerByte bounds what a damaged file can make us allocate; runs of equal values compress
// well, but not without end.
const maxRowsPerByte = 4096

// take appends a column of one row group.
func (t *rawTable) take(name string, column file.ColumnChunkReader, rows int) error {
	switch c := column.(type) {
	case *file.ByteArrayColumnChunkReader:
		values, err := readAll(c.ReadBatch, c.Descriptor().MaxDefinitionLevel(), rows, parquet.ByteArray(nil))
		for _, v := range values {
			t.text[name] = append(t.text[name], t.intern(string(v)))
		}
		return err
	case *file.Int64ColumnChunkReader:
		values, err := readAll(c.ReadBatch, c.Descriptor().MaxDefinitionLevel(), rows, 0)
		t.whole[name] = append(t.whole[name], values...)
		return err
	case *file.Int32ColumnChunkReader:
		values, err := readAll(c.ReadBatch, c.Descriptor().MaxDefinitionLevel(), rows, 0)
		for _, v := range values {
			t.whole[name] = append(t.whole[name], int64(v))
		}
		return err
	case *file.Float64ColumnChunkReader:
		values, err := readAll(c.ReadBatch, c.Descriptor().MaxDefinitionLevel(), rows, 0)
		t.real[name] = append(t.real[name], values...)
		return err
	case *file.BooleanColumnChunkReader:
		// An absent eligibility does not exclude.
		values, err := readAll(c.ReadBatch, c.Descriptor().MaxDefinitionLevel(), rows, true)
		t.boolean[name] = append(t.boolean[name], values...)
		return err
	}
	return fmt.Errorf("type %s is not expected", column.Type())
}

// readAll reads a column of a flat schema, null as absent.
func readAll[V any](read func(int64, []V, []int16, []int16) (int64, int, error), maxDefinition int16, rows int, absent V) ([]V, error) {
	out := make([]V, 0, rows)
	values, levels := make([]V, min(rows, 1<<16)), make([]int16, min(rows, 1<<16))
	for len(out) < rows {
		want := min(rows-len(out), len(values))
		total, n, err := read(int64(want), values[:want], levels[:want], nil)
		if err != nil {
			return nil, err
		}
		if total == 0 {
			return nil, io.ErrUnexpectedEOF
		}
		next := 0
		for i := range int(total) {
			switch {
			case maxDefinition > 0 && levels[i] < maxDefinition:
				out = append(out, absent)
			case next < n:
				out = append(out, values[next])
				next++
			default:
				return nil, io.ErrUnexpectedEOF
			}
		}
	}
	return out, nil
}

// intern keeps each text once.
func (t *rawTable) intern(v string) string {
	if kept, ok := t.known[v]; ok {
		return kept
	}
	kept := strings.Clone(v)
	t.known[kept] = kept
	return kept
}

// need says which of the columns a table lacks.
func (t *rawTable) need(texts, wholes []string) error {
	if t.rows == 0 {
		return nil
	}
	for _, name := range texts {
		if len(t.text[name]) != t.rows {
			return fmt.Errorf("no text column %s", name)
		}
	}
	for _, name := range wholes {
		if len(t.whole[name]) != t.rows {
			return fmt.Errorf("no whole-number column %s", name)
		}
	}
	if len(t.real["latency"]) != t.rows {
		return fmt.Errorf("no real-number column latency")
	}
	return nil
}
