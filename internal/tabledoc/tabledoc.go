// Package tabledoc writes docs/tables.md from the tables declared in package schemas.
package tabledoc

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/dynosim/dynosim/schemas"
)

//go:generate go test -run TestTablesPage -rewrite .

// Markdown is the page: every table in the order of the stages, with its columns.
func Markdown() string {
	var b strings.Builder
	b.WriteString(`# Tables

The tables of a run, as Parquet files of the same names in the run's directory and as views in ` + "`dynosim query`" + `.
This page is generated from the declarations in ` + "`schemas/tables.go`" + ` by ` + "`go generate ./internal/tabledoc`" + `.

Names say the unit: ` + "`_ms`" + ` is milliseconds of virtual time from the start of the run, ` + "`_tokens`" + ` counts tokens. Ids are dense and start
at 0. The version of a table grows when a column is removed, renamed or changes its meaning; it is in the file's
key-value metadata (` + "`dynosim.table`, `dynosim.version`" + `) and in ` + "`manifest.json`" + `.

| table | written by | a row is |
| --- | --- | --- |
`)
	for _, t := range schemas.AllTables {
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s | %s |\n", t.Name, t.Name, t.Stage, escape(t.Doc))
	}
	for _, t := range schemas.AllTables {
		only := ""
		if t.Offload {
			only = " Only runs with a host cache have it."
		}
		fmt.Fprintf(&b, "\n## %s\n\nVersion %d, written by %s. A row is %s.%s\n\n", t.Name, t.Version, t.Stage, escape(t.Doc), only)
		b.WriteString("| column | type | null | meaning |\n| --- | --- | --- | --- |\n")
		for _, c := range t.Columns {
			null := ""
			if c.Nullable {
				null = "yes"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", c.Name, typeName(c.Type), null, escape(c.Doc))
		}
	}
	return b.String()
}

// typeName is the type as Arrow and Parquet readers show it.
func typeName(t arrow.DataType) string {
	switch t.ID() {
	case arrow.STRING:
		return "string"
	case arrow.FLOAT64:
		return "float64"
	default:
		return t.String()
	}
}

// escape keeps a text inside one cell.
func escape(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
