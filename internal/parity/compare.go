package parity

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// ignored holds the keys that are not compared at any depth: identifiers that the reference
// draws at random, and figures of the wall clock or of an energy model.
var ignored = map[string]bool{
	"uuid": true, "placement_replica_id": true,
	"wall_time_ms": true, "processed_tokens_per_s": true, "processed_output_tokens_per_s": true,
	"power_w": true, "power_coverage": true, "kv_cache_precision": true,
}

// Tolerances of summary values, relative. Per-request records have none.
const (
	summaryTolerance = 1e-9
	// sketchTolerance is for percentiles that the reference keeps in a sketch of 0.1 %.
	sketchTolerance = 1.1e-3
)

// Compare lists how a prediction differs from the reference's report of the same case; an
// empty list means that they are equal. Each entry names the path, what is wanted and what
// is there.
//
// Integers, strings, booleans and nulls are equal or not. Floats of the summary may differ
// by 1e-9 relative, the percentiles of inter-token latency and of output throughput per
// user by 1.1e-3. Floats of per-request records, of telemetry samples and of scaling ticks are
// equal to the last bit, but for the variances of ticks (1e-9): the reference sums them in the
// order of a hash table. Records with
// the same arrival time are compared as a set. Keys that only the prediction has are fine,
// as is a missing key whose wanted value is empty.
func Compare(expected, prediction map[string]any) []string {
	d := &differ{tolerance: toleranceOf}
	if _, ok := expected["summary"].(map[string]any); !ok {
		d.report("summary", "the reference's report has none, so nothing can be compared")
	}
	d.value("summary", expected["summary"], prediction["summary"])
	d.records(expected, prediction)
	d.tolerance = tickTolerance
	for _, key := range []string{"telemetry", "lifecycle_operations", "ticks"} {
		if expected[key] != nil {
			d.value(key, expected[key], prediction[key])
		}
	}
	if planner, ok := expected["planner"].(map[string]any); ok && len(planner) > 0 {
		got, _ := prediction["planner"].(map[string]any)
		d.tolerance = func(string) float64 { return summaryTolerance }
		for _, key := range []string{"scaling_events", "lifecycle_operations", "total_ticks"} {
			d.value("planner."+key, planner[key], got[key])
		}
	}
	return d.found
}

// Captured tells whether a report holds per-request records. An empty list counts when
// the run was asked for them.
func Captured(report map[string]any) bool {
	records, ok := report["per_request"].([]any)
	if !ok || len(records) > 0 {
		return ok
	}
	coverage, _ := report["coverage"].(map[string]any)
	return coverage["capture_per_request"] == true
}

// toleranceOf is the relative tolerance of a summary value.
func toleranceOf(path string) float64 {
	key := path[strings.LastIndexByte(path, '.')+1:]
	statistic, rest, _ := strings.Cut(key, "_")
	switch statistic {
	case "median", "p75", "p90", "p95", "p99":
		if strings.HasSuffix(rest, "itl_ms") || strings.HasSuffix(rest, "output_token_throughput_per_user") {
			return sketchTolerance
		}
	}
	return summaryTolerance
}

// tickTolerance is the relative tolerance of a value of telemetry or scaling.
func tickTolerance(path string) float64 {
	if strings.HasPrefix(path[strings.LastIndexByte(path, '.')+1:], "var_") {
		return summaryTolerance
	}
	return 0
}

// differ walks two values side by side.
type differ struct {
	tolerance func(path string) float64
	found     []string
}

func (d *differ) report(path, format string, args ...any) {
	d.found = append(d.found, path+": "+fmt.Sprintf(format, args...))
}

func (d *differ) value(path string, want, got any) {
	switch want := want.(type) {
	case map[string]any:
		d.object(path, want, got)
	case []any:
		list, ok := got.([]any)
		if !ok {
			d.report(path, "want %d elements, got %s", len(want), brief(got))
			return
		}
		if len(want) != len(list) {
			d.report(path, "want %d elements, got %d", len(want), len(list))
			return
		}
		for i := range want {
			d.value(fmt.Sprintf("%s[%d]", path, i), want[i], list[i])
		}
	case json.Number:
		literal, ok := got.(json.Number)
		if !ok || !d.close(path, parseNumber(want), parseNumber(literal)) {
			d.report(path, "want %s, got %s", brief(want), brief(got))
		}
	default: // string, bool, nil: comparable
		switch got.(type) {
		case map[string]any, []any:
		default:
			if want == got {
				return
			}
		}
		d.report(path, "want %s, got %s", brief(want), brief(got))
	}
}

func (d *differ) object(path string, want map[string]any, got any) {
	object, ok := got.(map[string]any)
	if !ok {
		d.report(path, "want an object, got %s", brief(got))
		return
	}
	keys := make([]string, 0, len(want))
	for k := range want {
		if !ignored[k] {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		member, ok := object[k]
		switch {
		case ok:
			d.value(path+"."+k, want[k], member)
		case !empty(want[k]):
			d.report(path+"."+k, "missing (want %s)", brief(want[k]))
		}
	}
}

func (d *differ) close(path string, want, got number) bool {
	if want.equal(got) {
		return true
	}
	noise := 1e-15
	if strings.Contains(path, ".std_") {
		noise = 1e-9 // the deviation of equal values is rounding noise in both programs
	}
	tolerance := d.tolerance(path)
	return tolerance > 0 && want.near(got, tolerance, noise)
}

// records compares the per-request records, exactly and in canonical order.
func (d *differ) records(expected, prediction map[string]any) {
	if !Captured(expected) {
		return
	}
	want := expected["per_request"].([]any)
	got, ok := prediction["per_request"].([]any)
	switch {
	case !ok:
		d.report("per_request", "missing")
		return
	case len(got) != len(want):
		d.report("per_request", "want %d records, got %d", len(want), len(got))
		return
	}
	known := shapeOf(want)
	ours := make([]any, len(got))
	for i, record := range got {
		ours[i] = known.project(record)
	}
	d.tolerance = func(string) float64 { return 0 }
	want, ours = canonicalOrder(want), canonicalOrder(ours)
	for i := range want {
		d.value(fmt.Sprintf("per_request[%d]", i), want[i], ours[i])
	}
	d.tolerance = toleranceOf
}

// canonicalOrder sorts records by authored id, arrival and content, so that records with
// the same arrival stand in the same order on both sides.
func canonicalOrder(records []any) []any {
	type keyed struct {
		record  any
		id      string
		arrival float64
		text    string
	}
	all := make([]keyed, len(records))
	for i, r := range records {
		k := keyed{record: r, text: string(appendCanonical(nil, r))}
		if object, ok := r.(map[string]any); ok {
			k.id = brief(object["request_id"])
			if n, ok := object["arrival_time_ms"].(json.Number); ok {
				k.arrival = parseNumber(n).float
			}
		}
		all[i] = k
	}
	slices.SortStableFunc(all, func(a, b keyed) int {
		return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.arrival, b.arrival), cmp.Compare(a.text, b.text))
	})
	sorted := make([]any, len(all))
	for i := range all {
		sorted[i] = all[i].record
	}
	return sorted
}

// shape is the keys that occur in a list of records, at every depth. Keys of ours that no
// record of the reference has would disturb the order of records.
type shape struct {
	members map[string]*shape // of an object
	element *shape            // of a list
}

func shapeOf(records []any) *shape {
	s := &shape{}
	for _, r := range records {
		s.add(r)
	}
	return s
}

func (s *shape) add(v any) {
	switch v := v.(type) {
	case map[string]any:
		if s.members == nil {
			s.members = map[string]*shape{}
		}
		for k, member := range v {
			if s.members[k] == nil {
				s.members[k] = &shape{}
			}
			s.members[k].add(member)
		}
	case []any:
		if s.element == nil {
			s.element = &shape{}
		}
		for _, element := range v {
			s.element.add(element)
		}
	}
}

// project drops what the shape does not have. Where the reference never has an object there
// is nothing to drop by, and the value stays as it is.
func (s *shape) project(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if s.members == nil {
			return v
		}
		out := make(map[string]any, len(v))
		for k, member := range v {
			if known := s.members[k]; known != nil {
				out[k] = known.project(member)
			}
		}
		return out
	case []any:
		if s.element == nil {
			return v
		}
		out := make([]any, len(v))
		for i, element := range v {
			out[i] = s.element.project(element)
		}
		return out
	}
	return v
}
