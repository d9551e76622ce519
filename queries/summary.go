package queries

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dynosim/dynosim/schemas"
)

// Limits of the report's database. One thread makes sums independent of scheduling, so
// that equal runs have equal reports to the last bit; the memory is far more than the
// statements need, whatever the number of rows, and less than the process may use.
const (
	reportThreads     = 1
	reportMemoryMB    = 96
	maxReportMemoryMB = 16_384
)

// Summary is the summary object of a report: keys in the order of spec 11 section 3.
type Summary struct {
	keys   []string
	values map[string]any
}

// Keys lists the keys in order. The slice is the summary's own.
func (s *Summary) Keys() []string { return s.keys }

// Value gives a value: int64, float64, string or nil. ok is false when there is no such key.
func (s *Summary) Value(key string) (value any, ok bool) {
	value, ok = s.values[key]
	return value, ok
}

// Float gives a number, 0 when the key is missing or not a number.
func (s *Summary) Float(key string) float64 {
	switch x := s.values[key].(type) {
	case float64:
		return x
	case int64:
		return float64(x)
	}
	return 0
}

// MarshalJSON writes the object with its keys in order and floats that read back exactly.
func (s *Summary) MarshalJSON() ([]byte, error) { return s.append(nil), nil }

func (s *Summary) append(b []byte) []byte {
	b = append(b, '{')
	for i, k := range s.keys {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, k)
		b = append(b, ':')
		b = appendValue(b, s.values[k])
	}
	return append(b, '}')
}

// Report reads the tables of one run directory.
type Report struct {
	db *database
	// ticks says that the run has the table ticks.
	ticks bool
	// plays says that the run is one of plays; Summary finds out.
	plays bool
}

// OpenReport opens the tables of the run directory dir. The directory needs the tables
// request_results, passes, token_gaps and run; nodes, routing, admissions and the tables of
// ticks count as empty when they were not kept.
func OpenReport(ctx context.Context, dir string, o Options) (*Report, error) {
	for _, t := range []*schemas.Table{&schemas.RequestResults, &schemas.Passes, &schemas.TokenGaps, &schemas.Run} {
		if _, err := os.Stat(filepath.Join(dir, t.Name+".parquet")); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s has no table %s, which the report needs", dir, t.Name)
		}
	}
	if o.Threads == 0 {
		o.Threads = reportThreads
	}
	if o.MemoryMB == 0 {
		o.MemoryMB = reportMemoryMB
	}
	db, err := open(ctx, o)
	if err != nil {
		return nil, err
	}
	r := &Report{db: db}
	present, err := db.addRun(ctx, dir)
	r.ticks = slices.Contains(present, schemas.Ticks.Name)
	if err == nil {
		err = r.addEmpty(ctx, present)
	}
	if err != nil {
		db.close()
		return nil, err
	}
	return r, nil
}

// addEmpty makes empty views of the tables that a run may leave out.
func (r *Report) addEmpty(ctx context.Context, present []string) error {
	have := map[string]bool{}
	for _, name := range present {
		have[name] = true
	}
	optional := []*schemas.Table{&schemas.Requests, &schemas.Nodes, &schemas.Routing, &schemas.Admissions, &schemas.Lifecycle, &schemas.Ticks, &schemas.TickWorkers, &schemas.TickPasses, &schemas.Edges}
	for _, t := range schemas.AllTables {
		if t.Agentic || t.Offload {
			optional = append(optional, t)
		}
	}
	for _, t := range optional {
		if have[t.Name] {
			continue
		}
		cols := make([]string, len(t.Columns))
		for i, c := range t.Columns {
			cols[i] = fmt.Sprintf("NULL::%s AS %s", sqlType(c.Type), c.Name)
		}
		if err := r.db.exec(ctx, fmt.Sprintf("CREATE VIEW %s AS SELECT %s WHERE false", t.Name, strings.Join(cols, ", "))); err != nil {
			return oneLine(err)
		}
	}
	return nil
}

// Close frees the database.
func (r *Report) Close() error { return r.db.close() }

// Summary computes the summary. wallTimeMS is the real duration of the simulation.
func (r *Report) Summary(ctx context.Context, wallTimeMS float64) (*Summary, error) {
	if err := r.db.exec(ctx, fmt.Sprintf("SET VARIABLE wall_time_ms = %s::DOUBLE", appendFloat(nil, wallTimeMS))); err != nil {
		return nil, fmt.Errorf("cannot compute the summary: %w", oneLine(err))
	}
	if err := r.compute(ctx); err != nil {
		return nil, fmt.Errorf("cannot compute the summary: %w", oneLine(err))
	}
	s := &Summary{values: map[string]any{}}
	rows, err := r.figures(ctx, s, read("report", "90_summary.sql"), func(v driver.Value) any { return number(v) })
	if err != nil {
		return nil, fmt.Errorf("cannot compute the summary: %w", oneLine(err))
	}
	if rows != 1 {
		return nil, fmt.Errorf("cannot compute the summary: the table run has %d rows, not one", rows)
	}
	if r.plays, err = r.agentic(ctx, s); err != nil {
		return nil, fmt.Errorf("cannot compute the agentic part of the summary: %w", oneLine(err))
	}
	if err := r.estimates(ctx, s); err != nil {
		return nil, fmt.Errorf("cannot compute the summary: %w", oneLine(err))
	}
	return s, nil
}

// figures appends the values of a query's rows to the summary and returns the number of rows. A column whose name ends in ? is
// left out when it is null, and one whose name ends in :json is JSON already.
func (r *Report) figures(ctx context.Context, s *Summary, query string, value func(driver.Value) any) (rows int, err error) {
	var names []string
	err = r.db.rows(ctx, query, func(n, _ []string) error { names = n; return nil }, func(values []driver.Value) error {
		rows++
		for i, name := range names {
			key, ready := strings.CutSuffix(name, ":json")
			key, optional := strings.CutSuffix(key, "?")
			if optional && values[i] == nil {
				continue
			}
			s.keys = append(s.keys, key)
			if text, ok := values[i].(string); ok && ready {
				s.values[key] = json.RawMessage(text)
				continue
			}
			s.values[key] = value(values[i])
		}
		return nil
	})
	return rows, err
}

// besideRequests is the number of requests up to which the gaps are counted beside the
// rest: it saves time that matters in a short run, at the cost of memory that matters in
// a long one.
const besideRequests = 50_000

// compute runs the files before the last. The gaps are by far the most rows; a second
// connection works on them.
func (r *Report) compute(ctx context.Context) error {
	for _, name := range []string{"00_macros.sql", "10_requests.sql"} {
		if err := r.db.exec(ctx, read("report", name)); err != nil {
			return err
		}
	}
	var requests int64
	err := r.db.rows(ctx, "SELECT num_requests FROM counts", nil, func(v []driver.Value) error {
		requests = v[0].(int64)
		return nil
	})
	if err != nil {
		return err
	}
	rest := func() error {
		for _, name := range []string{"20_latency.sql", "40_throughput.sql", "50_goodput.sql", "60_offload.sql"} {
			if err := r.db.exec(ctx, read("report", name)); err != nil {
				return err
			}
		}
		return nil
	}
	gaps := func() error {
		conn, err := r.db.db.Conn(ctx)
		if err != nil {
			return err
		}
		defer conn.Close()
		_, err = conn.ExecContext(ctx, read("report", "30_gaps.sql"))
		return err
	}
	if requests > besideRequests {
		if err := rest(); err != nil {
			return err
		}
		return gaps()
	}
	beside := make(chan error, 1)
	go func() { beside <- gaps() }()
	err = rest()
	return errors.Join(err, <-beside)
}

// number makes every integer an int64.
func number(v driver.Value) any {
	switch x := v.(type) {
	case int32:
		return int64(x)
	case int16:
		return int64(x)
	case int8:
		return int64(x)
	case uint64:
		return int64(x)
	default:
		return v
	}
}
