package queries

import "github.com/apache/arrow-go/v18/arrow"

// sqlType is DuckDB's name of a column type.
func sqlType(t arrow.DataType) string {
	switch t.ID() {
	case arrow.INT32:
		return "INTEGER"
	case arrow.INT64:
		return "BIGINT"
	case arrow.UINT32:
		return "UINTEGER"
	case arrow.UINT64:
		return "UBIGINT"
	case arrow.FLOAT64:
		return "DOUBLE"
	case arrow.BOOL:
		return "BOOLEAN"
	default:
		return "VARCHAR"
	}
}
