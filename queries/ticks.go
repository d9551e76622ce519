package queries

import (
	"context"
	"database/sql/driver"
	"fmt"
	"io"
)

// tickSections are the members of prediction.json that a run with telemetry or a scaling policy has, in
// order: how many of them it has, 0 or 1, and the file of their entries.
var tickSections = []struct{ name, present, file string }{
	{"telemetry", "SELECT count(telemetry_interval_ms) FROM run", "20_telemetry.sql"},
	{"lifecycle_operations", "SELECT count(scaling_policy) FROM run", "40_lifecycle.sql"},
	{"ticks", "SELECT count(scaling_policy) FROM run", "30_scaling.sql"},
}

// writeTicks writes the members telemetry, lifecycle_operations and ticks of prediction.json that the run has
// (spec 05 sections 9 and 10), each with a comma before it.
func (r *Report) writeTicks(ctx context.Context, w io.Writer) error {
	if !r.ticks {
		return nil
	}
	prepared := false
	for _, s := range tickSections {
		var n int64
		if err := r.scalar(ctx, s.present, &n); err != nil {
			return fmt.Errorf("cannot compute %s: %w", s.name, oneLine(err))
		}
		if n == 0 {
			continue
		}
		if !prepared {
			if err := r.db.exec(ctx, read("ticks", "10_topology.sql")); err != nil {
				return fmt.Errorf("cannot compute %s: %w", s.name, oneLine(err))
			}
			prepared = true
		}
		if err := r.writeSection(ctx, w, s.name, s.file); err != nil {
			return fmt.Errorf("cannot compute %s: %w", s.name, oneLine(err))
		}
	}
	return nil
}

// writeSection writes one member: a list with an object for each row of the file's query.
func (r *Report) writeSection(ctx context.Context, w io.Writer, name, file string) error {
	open, end := fmt.Sprintf(`,"%s":[`, name), "]"
	if name == "telemetry" {
		var interval float64
		if err := r.scalar(ctx, "SELECT telemetry_interval_ms FROM run", &interval); err != nil {
			return err
		}
		open, end = fmt.Sprintf(`,"telemetry":{"sample_interval_ms":%s,"samples":[`, appendFloat(nil, interval)), "]}"
	}
	if _, err := io.WriteString(w, open); err != nil {
		return err
	}
	var keys [][]byte
	var out []byte
	first := true
	err := r.db.rows(ctx, read("ticks", file), func(names, _ []string) error {
		keys = jsonMembers(names)
		return nil
	}, func(values []driver.Value) error {
		out = out[:0]
		if !first {
			out = append(out, ',')
		}
		first = false
		out = append(out, "\n{"...)
		for i, v := range values {
			out = appendValue(append(out, keys[i]...), v)
		}
		_, err := w.Write(append(out, '}'))
		return err
	})
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, end)
	return err
}

// jsonMembers prepares `"name":` of every column, with a comma before all but the first.
func jsonMembers(names []string) [][]byte {
	keys := make([][]byte, len(names))
	for i, n := range names {
		var b []byte
		if i > 0 {
			b = append(b, ',')
		}
		keys[i] = append(appendString(b, n), ':')
	}
	return keys
}

// scalar reads the one value of a query of one row; null leaves v.
func (r *Report) scalar(ctx context.Context, query string, v any) error {
	return r.db.rows(ctx, query, nil, func(values []driver.Value) error {
		switch to := v.(type) {
		case *int64:
			*to, _ = values[0].(int64)
		case *float64:
			*to, _ = values[0].(float64)
		}
		return nil
	})
}
