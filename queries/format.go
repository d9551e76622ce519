package queries

import (
	"bufio"
	"context"
	"database/sql/driver"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// tableRows is how many rows a printed table shows; it has to be held in memory to be
// aligned.
const tableRows = 1000

// cell writes a value as text: floats as short as they read back, null as nothing.
func cell(v driver.Value) string {
	switch x := v.(type) {
	case nil:
		return ""
	case string:
		return x
	case float64:
		switch {
		case math.IsNaN(x):
			return "nan"
		case math.IsInf(x, 1):
			return "inf"
		case math.IsInf(x, -1):
			return "-inf"
		}
	}
	return string(trimQuotes(appendValue(nil, v)))
}

// trimQuotes drops the quotes that JSON puts around a time or a name.
func trimQuotes(b []byte) []byte {
	if len(b) >= 2 && b[0] == '"' && b[len(b)-1] == '"' {
		return b[1 : len(b)-1]
	}
	return b
}

func (e *Engine) writeCSV(ctx context.Context, sql string, w io.Writer) error {
	out := csv.NewWriter(w)
	var record []string
	err := e.each(ctx, sql, func(names, _ []string) error {
		record = make([]string, len(names))
		return out.Write(names)
	}, func(values []driver.Value) error {
		for i, v := range values {
			record[i] = cell(v)
		}
		return out.Write(record)
	})
	out.Flush()
	if err == nil {
		err = out.Error()
	}
	return err
}

// writeJSON writes one array of objects, an object a line.
func (e *Engine) writeJSON(ctx context.Context, sql string, w io.Writer) error {
	out := bufio.NewWriterSize(w, 64<<10)
	var keys [][]byte
	var b []byte
	n := 0
	err := e.each(ctx, sql, func(names, _ []string) error {
		for i, name := range names {
			var key []byte
			if i > 0 {
				key = append(key, ',')
			}
			keys = append(keys, append(appendString(key, name), ':'))
		}
		return nil
	}, func(values []driver.Value) error {
		if n == 0 {
			b = append(b[:0], "[\n{"...)
		} else {
			b = append(b[:0], ",\n{"...)
		}
		n++
		for i, v := range values {
			b = appendValue(append(b, keys[i]...), v)
		}
		_, err := out.Write(append(b, '}'))
		return err
	})
	if err != nil {
		return err
	}
	if n == 0 {
		out.WriteString("[]\n")
	} else {
		out.WriteString("\n]\n")
	}
	return out.Flush()
}

// writeTable prints an aligned table.
func (e *Engine) writeTable(ctx context.Context, sql string, w io.Writer, width int) error {
	t := table.NewWriter()
	style(t, width)
	total := 0
	columns := 0
	err := e.each(ctx, sql, func(names, types []string) error {
		columns = len(names)
		header := make(table.Row, len(names))
		configs := make([]table.ColumnConfig, len(names))
		for i, n := range names {
			header[i] = n
			configs[i] = table.ColumnConfig{Number: i + 1, AlignHeader: text.AlignLeft}
			if numeric(types[i]) {
				configs[i].Align, configs[i].AlignHeader = text.AlignRight, text.AlignRight
			}
		}
		t.AppendHeader(header)
		t.SetColumnConfigs(configs)
		return nil
	}, func(values []driver.Value) error {
		total++
		if total > tableRows {
			return nil
		}
		row := make(table.Row, len(values))
		for i, v := range values {
			row[i] = shortCell(v)
		}
		t.AppendRow(row)
		return nil
	})
	if err != nil {
		return err
	}
	if columns == 0 {
		return nil
	}
	if _, err := fmt.Fprintln(w, t.Render()); err != nil {
		return err
	}
	if total > tableRows {
		_, err = fmt.Fprintf(w, "%d rows, the first %d shown; --format csv, json or parquet gives all\n", total, tableRows)
		return err
	}
	noun := "rows"
	if total == 1 {
		noun = "row"
	}
	_, err = fmt.Fprintf(w, "%d %s\n", total, noun)
	return err
}

// shortCell rounds floats to what a person reads; the other formats are exact.
func shortCell(v driver.Value) string {
	if f, ok := v.(float64); ok && !math.IsNaN(f) && !math.IsInf(f, 0) && f != math.Trunc(f) {
		if a := math.Abs(f); a >= 1e-3 && a < 1e15 {
			return strconv.FormatFloat(f, 'f', max(3, 6-len(strconv.FormatInt(int64(a), 10))), 64)
		}
		return strconv.FormatFloat(f, 'g', 6, 64)
	}
	if v == nil {
		return "null"
	}
	return cell(v)
}

func numeric(sqlType string) bool {
	switch sqlType {
	case "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT", "FLOAT", "DOUBLE":
		return true
	}
	return len(sqlType) >= 7 && sqlType[:7] == "DECIMAL"
}

// style is the look of every printed table. width 0 does not cut lines.
func style(t table.Writer, width int) {
	s := table.StyleLight
	s.Format.Header = text.FormatDefault
	s.Format.Footer = text.FormatDefault
	if width > 0 {
		s.Size.WidthMax = width
	}
	t.SetStyle(s)
}
