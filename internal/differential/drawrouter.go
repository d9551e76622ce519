package differential

import (
	"encoding/json"
	"fmt"
)

// policyFile is the name of the file with policy classes of a case.
const policyFile = "policy.yaml"

// router makes the case one of the KV router, with any of its settings.
func (r *random) router(c *Case) {
	c.Args["router_mode"] = "kv_router"
	c.Router = map[string]any{}
	if r.chance(0.8) {
		c.Args["num_workers"] = r.between(1, 4)
	}
	set := func(p float64, key string, value any) {
		if r.chance(p) {
			c.Router[key] = value
		}
	}
	set(0.3, "overlap_score_credit", pick(r, 0, 0.5, 1, 2.5, r.Float64()))
	if r.chance(0.5) { // what the document has words for
		set(0.4, "prefill_load_scale", pick(r, 0, 0.25, 2, 8, r.Float64()))
		return
	}
	set(0.25, "overlap_score_credit_decay", pick(r, 0.5, 1, 3, r.Float64()*10))
	set(0.3, "prefill_load_scale", pick(r, 0, 0.25, 2, 8, r.Float64()))
	set(0.05, "overlap_score_weight", pick[any](r, 0, 2, 0.5))
	set(0.5, "decode_active_request_weight", pick(r, 0.13, 1, 6.5, r.Float64()))
	set(0.15, "router_track_prefill_tokens", r.chance(0.2))
	set(0.15, "router_track_active_blocks", r.chance(0.2))
	set(0.2, "router_assume_kv_reuse", r.chance(0.2))
	set(0.1, "host_cache_hit_weight", r.Float64())
	if r.chance(0.25) {
		c.Args["kv_event_lag_ms"] = pick[any](r, 0, 1, 5, 12, 40, r.Float64()*30)
	}
	if r.chance(0.5) {
		set(1, "router_queue_threshold", pick(r, 0, 0, 0.05, 0.5, 1, 2, r.Float64()))
		set(0.7, "router_queue_policy", pick(r, "fcfs", "lcfs", "wspt"))
	}
	classes := 0
	if r.chance(0.25) {
		classes = r.between(1, 3)
		c.Policy = r.policies(classes)
		c.Router["router_policy_config"] = policyFile
	}
	for _, row := range c.Rows {
		if _, mooncake := row["hash_ids"]; !mooncake {
			break
		}
		if r.chance(0.3) {
			row["priority"] = r.between(-2, 4)
		}
		if r.chance(0.15) {
			row["strict_priority"] = r.between(0, 2)
		}
		if r.chance(0.5) && classes > 0 {
			row["policy_class"] = pick(r, "family-0", "family-1", "vip", "nobody", "class-0-0", "bulk")
		}
	}
}

// policies is a file with families of classes over buckets, and classes that requests name.
func (r *random) policies(families int) map[string]any {
	buckets := r.between(1, 3)
	list, from := []any{}, 0
	for b := range buckets {
		list = append(list, map[string]any{"min_tokens": from, "bucket": fmt.Sprint("bucket-", b)})
		from += r.between(1, 60)
	}
	var classes []any
	add := func(class map[string]any) {
		class["quantum"] = pick(r, 1, 7, 30, 100, 1000)
		optional := func(p float64, key string, value any) {
			if r.chance(p) {
				class[key] = value
			}
		}
		optional(0.5, "queue_policy", pick(r, "fcfs", "wspt"))
		optional(0.6, "prefill_busy_threshold", pick(r, 0, 0, 10, 50, 200))
		optional(0.3, "prefill_busy_threshold_frac", pick(r, 0, 0.01, 0.5, 1))
		optional(0.05, "request_queue_limit_per_worker", r.between(0, 6))
		optional(0.05, "raw_isl_token_queue_limit_per_worker", r.between(0, 300))
		optional(0.05, "cached_token_queue_limit_per_worker", r.between(0, 100))
		classes = append(classes, class)
	}
	for f := range families {
		for b := range buckets {
			add(map[string]any{"name": fmt.Sprintf("class-%d-%d", f, b), "policy_family": fmt.Sprint("family-", f), "cache_bucket": fmt.Sprint("bucket-", b)})
		}
	}
	for _, name := range []string{"vip", "bulk"} {
		if r.chance(0.6) {
			add(map[string]any{"name": name})
		}
	}
	r.Shuffle(len(classes), func(i, j int) { classes[i], classes[j] = classes[j], classes[i] })
	return map[string]any{
		"default_policy_family": fmt.Sprint("family-", r.IntN(families)), "uncached_isl_buckets": list, "policy_classes": classes,
	}
}

// router is the section of the document that says what the call's settings say.
func (c *Case) router() (section map[string]any, ok bool) {
	if c.Router == nil {
		return nil, true
	}
	section = map[string]any{"policy": "kv_router"}
	for key, v := range c.Router {
		switch key {
		case "overlap_score_credit", "prefill_load_scale":
			section[key] = v
		default:
			return nil, false
		}
	}
	_, lag := c.Args["kv_event_lag_ms"]
	return section, !lag
}

// policyText is the policy file of the case.
func (c *Case) policyText() ([]byte, error) { return json.MarshalIndent(c.Policy, "", " ") }
