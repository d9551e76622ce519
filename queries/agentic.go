package queries

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"strings"
)

// agentic computes what the report of a run of plays has beyond that of others and appends it to the summary (spec 02). It
// reports whether the run is one.
func (r *Report) agentic(ctx context.Context, s *Summary) (bool, error) {
	rows := int64(0)
	err := r.db.rows(ctx, "SELECT count(*) FROM agentic_run", nil, func(v []driver.Value) error {
		rows = v[0].(int64)
		return nil
	})
	if err != nil || rows == 0 {
		return false, err
	}
	if err := r.db.exec(ctx, read("agentic", "00_identities.sql")); err != nil {
		return true, err
	}
	err = r.appendRow(ctx, s, read("agentic", "10_trajectories.sql"), func(v driver.Value) any { return number(v) })
	for _, name := range []string{"12_snapshots.sql", "14_phases.sql", "16_profile.sql"} {
		if err == nil {
			err = r.db.exec(ctx, read("agentic", name))
		}
	}
	if err != nil {
		return true, err
	}
	// The row of estimates is a part of the next one here.
	if err := r.appendRow(ctx, &Summary{values: map[string]any{}}, read("report", "95_estimates.sql"), rawJSON); err != nil {
		return true, err
	}
	return true, r.appendRow(ctx, s, read("agentic", "20_outcome.sql"), rawJSON)
}

// estimates appends where the times of passes come from, when the requests were listed in the call.
func (r *Report) estimates(ctx context.Context, s *Summary) error {
	listed, err := r.listed(ctx)
	if err != nil || !listed {
		return err
	}
	return r.appendRow(ctx, s, read("report", "95_estimates.sql"), rawJSON)
}

// rawJSON is a value that is JSON already.
func rawJSON(v driver.Value) any {
	text, _ := v.(string)
	return json.RawMessage(text)
}

// appendRow appends the one row of the last statement of a file to the summary. A column whose name ends in ? is left out when
// it is null.
func (r *Report) appendRow(ctx context.Context, s *Summary, statements string, value func(driver.Value) any) error {
	at := strings.LastIndex(strings.TrimRight(strings.TrimSpace(statements), ";"), ";")
	if at >= 0 {
		if err := r.db.exec(ctx, statements[:at]); err != nil {
			return err
		}
	}
	rows, err := r.figures(ctx, s, statements[at+1:], value)
	if err == nil && rows != 1 {
		err = fmt.Errorf("a run of plays has %d rows of figures, not one", rows)
	}
	return err
}
