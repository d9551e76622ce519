package schemas

import (
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
)

// Column describes one column of a table: its name with the unit in it, its Arrow
// type, whether it may be null, and what it says.
type Column struct {
	Name     string
	Type     arrow.DataType
	Nullable bool
	Doc      string
}

// Table describes one table of a run: what a row is, its columns in order, and the
// version of that layout. The version grows when a column is removed, renamed or
// changes its meaning; readers refuse versions they do not know.
type Table struct {
	Name    string
	Version int
	// Stage is the stage that writes the table: ingest, lower or simulate.
	Stage   string
	Doc     string
	Columns []Column
	// Agentic tables exist for sources whose format may hold a dependency graph (see
	// TraceFormat.MayBeAgentic), and are left out for every other.
	Agentic bool
	// Offload tables exist for runs with a host cache (see RunSpec.HostOffload), and are left out for
	// every other.
	Offload bool
}

// Schema returns the Arrow schema, with the table's name and version as metadata.
func (t *Table) Schema() *arrow.Schema {
	fields := make([]arrow.Field, len(t.Columns))
	for i, c := range t.Columns {
		fields[i] = arrow.Field{Name: c.Name, Type: c.Type, Nullable: c.Nullable}
	}
	meta := arrow.NewMetadata([]string{"dynosim.table", "dynosim.version"}, []string{t.Name, strconv.Itoa(t.Version)})
	return arrow.NewSchema(fields, &meta)
}
