package queries

import (
	"embed"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// The SQL files: sql/report computes the summary, sql/records the per-request records,
// sql/named the queries that people ask for by name.
//
//go:embed sql
var files embed.FS

// read gives one file.
func read(folder, name string) string {
	b, err := files.ReadFile(path.Join("sql", folder, name))
	if err != nil {
		panic(err)
	}
	return string(b)
}

// Named is one query for people.
type Named struct {
	// Name is what to ask for, Doc its first comment line, SQL the text.
	Name, Doc, SQL string
}

// NamedQueries lists the named queries by name.
func NamedQueries() []Named {
	entries, err := fs.ReadDir(files, "sql/named")
	if err != nil {
		panic(err)
	}
	var out []Named
	for _, e := range entries {
		text := read("named", e.Name())
		first, _, _ := strings.Cut(text, "\n")
		out = append(out, Named{
			Name: strings.TrimSuffix(e.Name(), ".sql"),
			Doc:  strings.TrimSpace(strings.TrimPrefix(first, "--")),
			SQL:  text,
		})
	}
	slices.SortFunc(out, func(a, b Named) int { return strings.Compare(a.Name, b.Name) })
	return out
}
