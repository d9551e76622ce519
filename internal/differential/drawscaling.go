package differential

import "strconv"

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
