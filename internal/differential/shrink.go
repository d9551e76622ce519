package differential

import (
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"time"
)

// Shrink makes a case that differs smaller for as long as it differs and there is time: it
// leaves out rows and settings, and halves numbers and lists. It returns the smallest case
// found with its judgement.
func (k *Checker) Shrink(ctx context.Context, c *Case, j *Judgement, limit time.Duration) (*Case, *Judgement, error) {
	deadline := time.Now().Add(limit)
	for {
		smaller, judgement, err := k.step(ctx, c, deadline)
		if err != nil || smaller == nil {
			return c, j, err
		}
		c, j = smaller, judgement
	}
}

// step returns the first smaller case that still differs, nil when there is none.
func (k *Checker) step(ctx context.Context, c *Case, deadline time.Time) (*Case, *Judgement, error) {
	for candidate := range smaller(c) {
		if time.Now().After(deadline) {
			return nil, nil, nil
		}
		j, err := k.Check(ctx, candidate)
		if err != nil {
			return nil, nil, err
		}
		if j.Outcome == Different {
			return candidate, j, nil
		}
	}
	return nil, nil, nil
}

// smaller yields variations of the case, those that leave out most first.
func smaller(c *Case) func(yield func(*Case) bool) {
	return func(yield func(*Case) bool) {
		for size := (len(c.Rows) + 1) / 2; size > 0; size /= 2 {
			for from := 0; from < len(c.Rows); from += size {
				d := c.clone()
				d.Rows = slices.Delete(d.Rows, from, min(from+size, len(d.Rows)))
				if len(d.Rows) > 0 && !yield(d) {
					return
				}
			}
		}
		for _, leave := range []func(*Case){
			func(c *Case) { c.Scaling = nil },
			func(c *Case) { c.Startup = 0 },
			func(c *Case) { c.Ranks = 0 },
		} {
			d := c.clone()
			leave(d)
			if !reflect.DeepEqual(c, d) && !yield(d) {
				return
			}
		}
		for _, settings := range []func(*Case) map[string]any{
			func(c *Case) map[string]any { return c.Args },
			func(c *Case) map[string]any { return c.Engine },
			func(c *Case) map[string]any { return c.Decode },
			func(c *Case) map[string]any { return c.Router },
			func(c *Case) map[string]any { return c.Scaling },
		} {
			for _, key := range slices.Sorted(maps.Keys(settings(c))) {
				d := c.clone()
				delete(settings(d), key)
				if !yield(d) {
					return
				}
				for _, v := range halves(settings(c)[key]) {
					d := c.clone()
					settings(d)[key] = v
					if !yield(d) {
						return
					}
				}
			}
		}
		for i, row := range c.Rows {
			for _, key := range slices.Sorted(maps.Keys(row)) {
				for _, v := range append([]any{nil}, halves(row[key])...) {
					d := c.clone()
					d.Rows[i] = maps.Clone(row)
					if d.Rows[i][key] = v; v == nil {
						delete(d.Rows[i], key)
					}
					if !yield(d) {
						return
					}
				}
			}
		}
	}
}

// halves lists smaller values: a number cut or halved, a list with its second half gone or
// each number made smaller.
func halves(v any) []any {
	switch v := v.(type) {
	case int:
		if v > 1 {
			return []any{v / 2, v - 1}
		}
	case uint64:
		if v > 1 {
			return []any{v / 2}
		}
	case float64:
		if whole := float64(int64(v)); whole != v {
			return []any{whole}
		} else if v > 1 {
			return []any{float64(int64(v / 2))}
		}
	case json.Number:
		if f, err := v.Float64(); err == nil {
			return []any{f}
		}
	case map[string]any:
		var out []any
		for _, key := range slices.Sorted(maps.Keys(v)) {
			less := maps.Clone(v)
			delete(less, key)
			out = append(out, less)
		}
		return out
	}
	list := reflect.ValueOf(v)
	if v == nil || list.Kind() != reflect.Slice || list.Len() < 2 {
		return nil
	}
	return []any{list.Slice(0, list.Len()/2).Interface(), list.Slice(0, list.Len()-1).Interface()}
}
