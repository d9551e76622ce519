package queries

import (
	"bytes"
	"context"
	"database/sql/driver"
	"fmt"
	"strings"

	"github.com/dynosim/dynosim/schemas"
)

// recordPage is how many records are in memory at a time.
const recordPage = 16_384

// Records hands every per-request record (spec 11 section 4) to each, as one JSON object
// without a line end, in order. The slice is reused. It returns the number of records.
// Summary must have been called before.
func (r *Report) Records(ctx context.Context, each func(record []byte) error) (int64, error) {
	order, records := read("records", "10_order.sql"), read("records", "20_records.sql")
	if r.plays {
		order, records = read("agentic", "30_order.sql"), read("agentic", "40_records.sql")
	}
	if listed, err := r.listed(ctx); err != nil {
		return 0, fmt.Errorf("cannot compute the per-request records: %w", oneLine(err))
	} else if listed {
		records = read("records", "25_listed.sql")
	}
	if err := r.db.exec(ctx, order+read("records", "15_fields.sql")); err != nil {
		return 0, fmt.Errorf("cannot compute the per-request records: %w", oneLine(err))
	}
	var total int64
	err := r.db.rows(ctx, "SELECT count(*) FROM record_order", nil, func(v []driver.Value) error {
		total = v[0].(int64)
		return nil
	})
	var out []byte
	for at := int64(0); at < total && err == nil; at += recordPage {
		page := fmt.Sprintf("SET VARIABLE first_position = %d; SET VARIABLE end_position = %d", at, at+recordPage)
		if err = r.db.exec(ctx, page); err != nil {
			break
		}
		var routing, admissions map[int64][]byte
		if routing, err = r.history(ctx, "30_routing.sql"); err != nil {
			break
		}
		if admissions, err = r.history(ctx, "40_admissions.sql"); err != nil {
			break
		}
		var keys [][]byte
		var names []string
		err = r.db.rows(ctx, records, func(n, _ []string) error {
			names = n
			keys = jsonKeys(n)
			return nil
		}, func(values []driver.Value) error {
			position := values[0].(int64)
			out = append(out[:0], '{')
			for i := 1; i < len(values); i++ {
				if values[i] == nil && optional(names[i]) {
					continue
				}
				out = append(out, keys[i]...)
				switch names[i] {
				case "routing_history":
					out = appendList(out, routing[position])
				case "admission_history":
					out = appendList(out, admissions[position])
				case "pressure_record_ordinals":
					out = appendList(out, nil)
				default:
					if text, ok := values[i].(string); ok && strings.HasSuffix(names[i], ":json") {
						out = append(out, text...)
						continue
					}
					out = appendValue(out, values[i])
				}
			}
			return each(append(out, '}'))
		})
	}
	if err != nil {
		return 0, fmt.Errorf("cannot compute the per-request records: %w", oneLine(err))
	}
	return total, nil
}

// listed reports whether the requests of the run were listed in its call.
func (r *Report) listed(ctx context.Context) (listed bool, err error) {
	err = r.db.rows(ctx, "SELECT source FROM run", nil, func(v []driver.Value) error {
		listed = v[0] == string(schemas.SourceRequests)
		return nil
	})
	return listed, err
}

// jsonKeys prepares `"name":` of every column, with a comma before all but the first after position.
func jsonKeys(names []string) [][]byte {
	keys := make([][]byte, len(names))
	for i, n := range names {
		var b []byte
		if i > 1 {
			b = append(b, ',')
		}
		keys[i] = append(appendString(b, strings.TrimSuffix(strings.TrimSuffix(n, ":json"), "?")), ':')
	}
	return keys
}

// optional reports whether a column is left out of an object when it is null.
func optional(name string) bool { return strings.HasSuffix(name, "?") }

// history gives the entries of one page by position, as comma-separated JSON objects.
func (r *Report) history(ctx context.Context, file string) (map[int64][]byte, error) {
	entries := map[int64][]byte{}
	var keys [][]byte
	var names []string
	err := r.db.rows(ctx, read("records", file), func(n, _ []string) error { names, keys = n, jsonKeys(n); return nil }, func(values []driver.Value) error {
		position := values[0].(int64)
		b := entries[position]
		if len(b) > 0 {
			b = append(b, ',')
		}
		b = append(b, '{')
		for i := 1; i < len(values); i++ {
			if values[i] == nil && optional(names[i]) {
				continue
			}
			b = append(b, keys[i]...)
			b = appendValue(b, values[i])
		}
		entries[position] = append(b, '}')
		return nil
	})
	return entries, err
}

func appendList(b, entries []byte) []byte {
	b = append(b, '[')
	b = append(b, bytes.TrimSpace(entries)...)
	return append(b, ']')
}
