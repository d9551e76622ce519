package metrics

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/dynosim/dynosim/schemas"
)

// How the files are laid out. BenchmarkEncodePasses and its neighbours compare the
// alternatives; the choice below costs about 0.2 s of one core for a million passes.
const (
	// rowGroupRows bounds what a writer holds in memory and what a reader skips at once.
	rowGroupRows = 65_536
	// pageBytes is small because every column of an open row group holds one page.
	pageBytes = 128 << 10
	// createdBy must not vary between builds: equal runs have equal files.
	createdBy = "dynosim"
)

// sparse holds the integer columns that are nearly always one value, most of them zero:
// plain pages under Snappy are four times faster there than delta encoding and as small.
var sparse = map[string]bool{
	"rank": true, "prefill_requests": true, "prefill_tokens": true, "prefill_kv_tokens": true,
	"admitted": true, "preempted": true, "completed": true, "rejected": true, "waiting": true,
	"prefill_ms": true, "pool_admission_ordinal": true, "admission_ordinal": true, "routing_ordinal": true,
	"queue_wait_ms": true, "overlap_tokens": true, "reused_input_tokens": true,
	"first_admission_reused_input_tokens": true, "readmission_count": true, "admission_count": true,
	"priority": true, "strict_priority": true,
}

// withStats holds the columns whose minimum and maximum let a reader skip row groups.
var withStats = map[string]bool{
	"node": true, "creation_ordinal": true, "arrival_ms": true, "at_ms": true, "request_index": true, "chain": true, "gap_ms": true, "count": true,
}

// properties chooses how the columns of t are written.
func properties(t *schemas.Table, mem memory.Allocator) *parquet.WriterProperties {
	props := []parquet.WriterProperty{
		parquet.WithAllocator(mem),
		parquet.WithVersion(parquet.V2_LATEST),
		parquet.WithDataPageVersion(parquet.DataPageV1),
		parquet.WithDataPageSize(pageBytes),
		parquet.WithMaxRowGroupLength(rowGroupRows),
		parquet.WithCreatedBy(createdBy),
		parquet.WithStats(false),
		parquet.WithDictionaryDefault(false),
	}
	for _, c := range t.Columns {
		switch c.Type.ID() {
		case arrow.STRING:
			props = append(props, parquet.WithDictionaryFor(c.Name, true), parquet.WithCompressionFor(c.Name, compress.Codecs.Snappy))
		case arrow.INT32, arrow.INT64, arrow.UINT32, arrow.UINT64:
			if !sparse[c.Name] && c.Type.ID() != arrow.UINT64 {
				props = append(props, parquet.WithEncodingFor(c.Name, parquet.Encodings.DeltaBinaryPacked))
				break
			}
			props = append(props, parquet.WithCompressionFor(c.Name, compress.Codecs.Snappy))
		case arrow.FLOAT64:
			// Times grow all along and do not compress; anything but plain costs more
			// than the bytes it saves.
			if sparse[c.Name] || c.Nullable {
				props = append(props, parquet.WithCompressionFor(c.Name, compress.Codecs.Snappy))
			}
		}
		if withStats[c.Name] {
			props = append(props, parquet.WithStatsFor(c.Name, true))
		}
	}
	return parquet.NewWriterProperties(props...)
}

// parquetSchema translates the columns of t.
func parquetSchema(t *schemas.Table) (*schema.GroupNode, error) {
	fields := make(schema.FieldList, len(t.Columns))
	for i, c := range t.Columns {
		rep := parquet.Repetitions.Required
		if c.Nullable {
			rep = parquet.Repetitions.Optional
		}
		var logical schema.LogicalType = schema.NoLogicalType{}
		var physical parquet.Type
		switch c.Type.ID() {
		case arrow.INT32:
			physical = parquet.Types.Int32
		case arrow.INT64:
			physical = parquet.Types.Int64
		case arrow.UINT32:
			physical, logical = parquet.Types.Int32, schema.NewIntLogicalType(32, false)
		case arrow.UINT64:
			physical, logical = parquet.Types.Int64, schema.NewIntLogicalType(64, false)
		case arrow.FLOAT64:
			physical = parquet.Types.Double
		case arrow.STRING:
			physical, logical = parquet.Types.ByteArray, schema.StringLogicalType{}
		case arrow.BOOL:
			physical = parquet.Types.Boolean
		default:
			return nil, fmt.Errorf("table %s: column %s has type %s, which is not written", t.Name, c.Name, c.Type)
		}
		node, err := schema.NewPrimitiveNodeLogical(c.Name, rep, logical, physical, -1, -1)
		if err != nil {
			return nil, fmt.Errorf("table %s: column %s: %w", t.Name, c.Name, err)
		}
		fields[i] = node
	}
	return schema.NewGroupNode("schema", parquet.Repetitions.Required, fields, -1)
}
