package convert

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"
	"github.com/cockroachdb/datadriven"

	"github.com/dynosim/dynosim/internal/perfdata"
	"github.com/dynosim/dynosim/simulate/timing/operators"
)

// TestConvert runs the files of testdata/convert. Each begins with a package that has the facts of
// testdata/package; the commands are
//
//	table PATH         writes a file of measured rows: a line of NAME:TYPE columns (text, int, real,
//	                   bool), then a line a row; "-" is null
//	text PATH          writes any other file
//	import [systems=] [slots=]   converts, and lists the tables of every place with their sources
//	rows system= backend= [version=] table=   prints the converted rows
func TestConvert(t *testing.T) {
	datadriven.Walk(t, "testdata/convert", func(t *testing.T, name string) {
		pkg, out := t.TempDir(), filepath.Join(t.TempDir(), "set")
		if err := os.CopyFS(pkg, os.DirFS("testdata/package")); err != nil {
			t.Fatal(err)
		}
		var catalog *perfdata.Catalog
		datadriven.RunTest(t, name, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "table":
				content, err := writeTable(d.Input)
				if err != nil {
					d.Fatalf(t, "%v", err)
				}
				put(t, filepath.Join(pkg, "systems", d.CmdArgs[0].Key), content)
				return ""
			case "text":
				put(t, filepath.Join(pkg, "systems", d.CmdArgs[0].Key), []byte(d.Input+"\n"))
				return ""
			case "import":
				var o Options
				for _, a := range d.CmdArgs {
					if a.Key == "systems" {
						o.Systems = a.Vals
					} else {
						o.Slots = a.Vals
					}
				}
				c, err := Import(pkg, out, o)
				if err != nil {
					return "error: " + strings.ReplaceAll(err.Error(), pkg, "PACKAGE") + "\n"
				}
				catalog = c
				return describe(c)
			case "rows":
				return printRows(t, d, catalog, out)
			}
			d.Fatalf(t, "no command %s", d.Cmd)
			return ""
		})
	})
}

func put(t *testing.T, name string, content []byte) {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// describe lists the tables of every place: rows, then each source with its role and rows.
func describe(c *perfdata.Catalog) string {
	var b strings.Builder
	for i := range c.Systems {
		for _, s := range c.Systems[i].Slots {
			fmt.Fprintf(&b, "%s %s: current %q previous %q next %q\n", c.Systems[i].Name, s.Backend, s.Current, s.Previous, s.Next)
		}
	}
	for i := range c.Places {
		p := &c.Places[i]
		for j := range p.Tables {
			e := &p.Tables[j]
			fmt.Fprintf(&b, "%s %s %s %s: %d rows;", p.System, p.Backend, p.Version, e.Table, e.Rows())
			for _, s := range e.Sources {
				fmt.Fprintf(&b, " %s %s %s %d", s.Role, s.Backend, s.Version, s.Rows)
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// printRows reads a converted table back, all columns as any reader of Parquet sees them.
func printRows(t *testing.T, d *datadriven.TestData, c *perfdata.Catalog, out string) string {
	var system, backend, version, table string
	d.ScanArgs(t, "system", &system)
	d.ScanArgs(t, "backend", &backend)
	d.ScanArgs(t, "table", &table)
	d.MaybeScanArgs(t, "version", &version)
	family := familyNamed(table)
	if family == nil {
		d.Fatalf(t, "no table %s", table)
	}
	content, err := os.ReadFile(filepath.Join(out, family.Name+".parquet"))
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	columns := slices.Concat([]string{perfdata.ColumnSystem, perfdata.ColumnBackend, perfdata.ColumnVersion}, family.Names, family.Keys,
		[]string{perfdata.ColumnLatency, perfdata.ColumnMeasured, perfdata.ColumnKernel})
	raw, err := parseRaw(content, columns)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	lines := []string{strings.Join(columns[3:], " ")}
	for i := range raw.rows {
		var cells []string
		for _, name := range columns {
			switch {
			case raw.text[name] != nil:
				cells = append(cells, raw.text[name][i])
			case raw.whole[name] != nil:
				cells = append(cells, strconv.FormatInt(raw.whole[name][i], 10))
			default:
				cells = append(cells, strconv.FormatFloat(raw.real[name][i], 'g', -1, 64))
			}
		}
		if cells[0] == system && cells[1] == backend && (version == "" || cells[2] == version) {
			lines = append(lines, strings.Join(cells[3:], " "))
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

func familyNamed(table string) *perfdata.Family {
	for i := range operators.TableCount {
		if i.String() == table {
			return perfdata.FamilyOf(i)
		}
	}
	return nil
}

// writeTable makes a file of measured rows from text.
func writeTable(text string) ([]byte, error) {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	head := strings.Fields(lines[0])
	var fields schema.FieldList
	for _, h := range head {
		name, kind, _ := strings.Cut(h, ":")
		switch kind {
		case "text":
			fields = append(fields, schema.MustPrimitive(schema.NewPrimitiveNodeLogical(name, parquet.Repetitions.Optional, schema.StringLogicalType{}, parquet.Types.ByteArray, 0, -1)))
		case "int":
			fields = append(fields, schema.NewInt64Node(name, parquet.Repetitions.Optional, -1))
		case "real":
			fields = append(fields, schema.NewFloat64Node(name, parquet.Repetitions.Optional, -1))
		case "bool":
			fields = append(fields, schema.NewBooleanNode(name, parquet.Repetitions.Optional, -1))
		default:
			return nil, fmt.Errorf("column %s has no type", h)
		}
	}
	root, err := schema.NewGroupNode("schema", parquet.Repetitions.Required, fields, -1)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w := file.NewParquetWriter(&out, root)
	group, err := w.AppendRowGroupChecked()
	if err != nil {
		return nil, err
	}
	for i := range head {
		column, err := group.NextColumn()
		if err != nil {
			return nil, err
		}
		var cells []string
		var levels []int16
		for _, line := range lines[1:] {
			cell := strings.Fields(line)[i]
			if cell == "-" {
				levels = append(levels, 0)
				continue
			}
			levels, cells = append(levels, 1), append(cells, cell)
		}
		switch c := column.(type) {
		case *file.ByteArrayColumnChunkWriter:
			_, err = c.WriteBatch(convertCells(cells, func(s string) (parquet.ByteArray, error) { return parquet.ByteArray(s), nil }), levels, nil)
		case *file.Int64ColumnChunkWriter:
			_, err = c.WriteBatch(convertCells(cells, func(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) }), levels, nil)
		case *file.Float64ColumnChunkWriter:
			_, err = c.WriteBatch(convertCells(cells, func(s string) (float64, error) { return strconv.ParseFloat(s, 64) }), levels, nil)
		case *file.BooleanColumnChunkWriter:
			_, err = c.WriteBatch(convertCells(cells, strconv.ParseBool), levels, nil)
		}
		if err != nil {
			return nil, err
		}
		if err := column.Close(); err != nil {
			return nil, err
		}
	}
	if err := group.Close(); err != nil {
		return nil, err
	}
	err = w.Close()
	return out.Bytes(), err
}

func convertCells[V any](cells []string, parse func(string) (V, error)) []V {
	values := make([]V, len(cells))
	for i, c := range cells {
		values[i], _ = parse(c)
	}
	return values
}

// TestImportTwice converts the same package twice: the bytes agree.
func TestImportTwice(t *testing.T) {
	pkg := t.TempDir()
	if err := os.CopyFS(pkg, os.DirFS("testdata/package")); err != nil {
		t.Fatal(err)
	}
	table, err := writeTable("gemm_dtype:text m:int n:int k:int latency:real kernel_source:text\nbfloat16 1 8 8 0.5 a\nfp8 1 8 8 0.25 b\nbfloat16 2 8 8 0.75 a")
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(pkg, "systems/data/g1/gemm/vllm/2.0/gemm_perf.parquet"), table)
	var sets []string
	for range 2 {
		out := t.TempDir()
		// Into the same folder again, over what is there.
		for range 2 {
			if _, err := Import(pkg, out, Options{}); err != nil {
				t.Fatal(err)
			}
		}
		sets = append(sets, out)
	}
	names := 0
	err = fs.WalkDir(os.DirFS(sets[0]), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		names++
		a, errA := os.ReadFile(filepath.Join(sets[0], name))
		b, errB := os.ReadFile(filepath.Join(sets[1], name))
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("%s differs: %v %v", name, errA, errB)
		}
		return nil
	})
	if err != nil || names != len(perfdata.Families())+1 {
		t.Errorf("%d files: %v", names, err)
	}
}

// FuzzParseRaw gives the reader of foreign Parquet any bytes: it answers or refuses.
func FuzzParseRaw(f *testing.F) {
	for _, text := range []string{
		"gemm_dtype:text m:int latency:real\nbfloat16 1 0.5\n- - -",
		"default_eligible:bool latency:real\ntrue 0.5\n- 1",
	} {
		content, err := writeTable(text)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content)
		f.Add(content[:len(content)/2])
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		table, err := parseRaw(content, []string{"gemm_dtype", "m", "latency", "default_eligible"})
		if err != nil {
			return
		}
		for name, values := range table.text {
			if len(values) != table.rows {
				t.Errorf("%s has %d of %d rows", name, len(values), table.rows)
			}
		}
		for name, values := range table.whole {
			if len(values) != table.rows {
				t.Errorf("%s has %d of %d rows", name, len(values), table.rows)
			}
		}
	})
}
