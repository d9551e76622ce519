package convert

import (
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/dynosim/dynosim/internal/perfdata"
)

// wideKeys are the key columns that need 64 bits.
var wideKeys = []string{"elements"}

// familyWriter writes one family's file, row group by row group.
type familyWriter struct {
	family *perfdata.Family
	out    *file.Writer
	groups int
}

func newFamilyWriter(to io.Writer, f *perfdata.Family) (*familyWriter, error) {
	var fields schema.FieldList
	text := func(name string) {
		fields = append(fields, schema.MustPrimitive(schema.NewPrimitiveNodeLogical(name, parquet.Repetitions.Required,
			schema.StringLogicalType{}, parquet.Types.ByteArray, 0, -1)))
	}
	options := []parquet.WriterProperty{
		parquet.WithCompression(compress.Codecs.Zstd), parquet.WithCompressionLevel(12), parquet.WithStats(false),
		parquet.WithDictionaryDefault(true), parquet.WithVersion(parquet.V2_LATEST), parquet.WithCreatedBy("dynosim perfdata " + "1"),
		parquet.WithDataPageSize(1 << 20), parquet.WithDictionaryPageSizeLimit(4 << 20), parquet.WithDictionaryFor(perfdata.ColumnLatency, true),
	}
	for _, name := range slices.Concat([]string{perfdata.ColumnSystem, perfdata.ColumnBackend, perfdata.ColumnVersion}, f.Names) {
		text(name)
		options = append(options, parquet.WithStatsFor(name, true))
	}
	for _, name := range f.Keys {
		if slices.Contains(wideKeys, name) {
			fields = append(fields, schema.NewInt64Node(name, parquet.Repetitions.Required, -1))
		} else {
			fields = append(fields, schema.NewInt32Node(name, parquet.Repetitions.Required, -1))
		}
	}
	fields = append(fields, schema.NewFloat64Node(perfdata.ColumnLatency, parquet.Repetitions.Required, -1))
	text(perfdata.ColumnMeasured)
	text(perfdata.ColumnKernel)
	root, err := schema.NewGroupNode("schema", parquet.Repetitions.Required, fields, -1)
	if err != nil {
		return nil, err
	}
	return &familyWriter{f, file.NewParquetWriter(to, root, file.WithWriterProps(parquet.NewWriterProperties(options...))), 0}, nil
}

// group writes the records, which share their names, and returns the row group's index.
func (w *familyWriter) group(system, backend, version string, records []record, origins []perfdata.Origin) (int, error) {
	rg, err := w.out.AppendRowGroupChecked()
	if err != nil {
		return 0, err
	}
	constant := append([]string{system, backend, version}, records[0].names[:len(w.family.Names)]...)
	for _, value := range constant {
		if err := w.text(rg, len(records), func(int) string { return value }); err != nil {
			return 0, err
		}
	}
	for k, name := range w.family.Keys {
		if err := w.key(rg, records, k, name); err != nil {
			return 0, err
		}
	}
	ms := make([]float64, len(records))
	for i := range records {
		ms[i] = records[i].ms
	}
	column, err := rg.NextColumn()
	if err != nil {
		return 0, err
	}
	if _, err := column.(*file.Float64ColumnChunkWriter).WriteBatch(ms, nil, nil); err != nil {
		return 0, err
	}
	if err := column.Close(); err != nil {
		return 0, err
	}
	measured := make([]string, len(origins))
	for i, o := range origins {
		measured[i] = o.Backend + " " + o.Version
	}
	if err := w.text(rg, len(records), func(i int) string { return measured[records[i].source] }); err != nil {
		return 0, err
	}
	if err := w.text(rg, len(records), func(i int) string { return records[i].kernel }); err != nil {
		return 0, err
	}
	w.groups++
	return w.groups - 1, rg.Close()
}

func (w *familyWriter) text(rg file.SerialRowGroupWriter, n int, value func(i int) string) error {
	column, err := rg.NextColumn()
	if err != nil {
		return err
	}
	values := make([]parquet.ByteArray, n)
	for i := range values {
		values[i] = parquet.ByteArray(value(i))
	}
	if _, err := column.(*file.ByteArrayColumnChunkWriter).WriteBatch(values, nil, nil); err != nil {
		return err
	}
	return column.Close()
}

func (w *familyWriter) key(rg file.SerialRowGroupWriter, records []record, k int, name string) error {
	column, err := rg.NextColumn()
	if err != nil {
		return err
	}
	switch c := column.(type) {
	case *file.Int32ColumnChunkWriter:
		values := make([]int32, len(records))
		for i := range records {
			if values[i], err = in32(records[i].keys[k], name); err != nil {
				return err
			}
		}
		_, err = c.WriteBatch(values, nil, nil)
	case *file.Int64ColumnChunkWriter:
		values := make([]int64, len(records))
		for i := range records {
			values[i] = records[i].keys[k]
		}
		_, err = c.WriteBatch(values, nil, nil)
	}
	if err != nil {
		return err
	}
	return column.Close()
}

func (w *familyWriter) close() error { return w.out.Close() }
