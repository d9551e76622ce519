package differential

import (
	"maps"
	"slices"
	"strconv"
)

// watched draws telemetry and scripted scaling, each for a part of the cases.
func (r *random) watched(c *Case) {
	if r.chance(0.25) {
		c.Args["capture_telemetry"] = true
		if r.chance(0.9) {
			c.Args["telemetry_sample_interval_ms"] = pick(r, 5.0, 10, 25, 3.3, 100, r.Float64()*50+0.5)
		}
	}
	if r.chance(0.3) {
		r.scaling(c)
	}
}

// scaling draws a plan. The reference ticks for ever on a cluster that is stuck, so most plans end.
func (r *random) scaling(c *Case) {
	if r.chance(0.6) {
		// Few digits: the reference reads some long ones a bit off.
		c.Startup = pick(r, 0.005, 0.01, 0.0125, 0.1, 0.003, float64(r.IntN(1000))/10000)
	}
	ticks := map[string]any{}
	planned := r.between(1, 10)
	low := 1
	if r.chance(0.1) {
		low = 0
	}
	for i := range planned {
		tick := map[string]any{}
		if r.chance(0.6) {
			tick["target_decode"] = r.between(low, 6)
		}
		if r.chance(0.2) {
			tick["target_prefill"] = r.between(low, 6)
		}
		if i == planned-1 && r.chance(0.8) {
			tick["next_tick_ms"] = nil
		}
		if len(tick) > 0 {
			ticks[strconv.Itoa(i)] = tick
		}
	}
	first := pick[any](r, 0, 0, 5, 10, 33.3)
	every := pick[any](r, 5, 5, 10, 10, 12.5, 50, 400, r.Float64()*60+0.1)
	c.Scaling = map[string]any{"first_ms": first, "every_ms": every, "ticks": ticks}
}

// watched reports whether anything looks at the cluster of the case or changes it.
func (c *Case) watched() bool { return c.Scaling != nil || c.Args["capture_telemetry"] == true }

// untie makes a case of the KV router with scaling small: equal targets, of which the reference draws one, are
// then few enough to find the program's choices among its reports.
func (r *random) untie(c *Case) {
	most := r.between(3, 10)
	c.Rows = c.Rows[:min(len(c.Rows), most)]
	if n, ok := c.Args["request_count"].(int); ok {
		c.Args["request_count"] = min(n, most)
	}
	c.Ranks = 0
	for _, workers := range []string{"num_workers", "num_prefill_workers", "num_decode_workers"} {
		if _, ok := c.Args[workers]; ok {
			c.Args[workers] = 1
		}
	}
	ticks, _ := c.Scaling["ticks"].(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(ticks)) {
		tick, _ := ticks[key].(map[string]any)
		for _, target := range []string{"target_prefill", "target_decode"} {
			if n, ok := tick[target].(int); ok && n > 0 {
				tick[target] = r.between(1, 2)
			}
		}
	}
}
