package queries_test

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dynosim/dynosim/queries"
	"github.com/dynosim/dynosim/schemas"
)

// reference is what a report of the reference simulator holds of a run.
type reference struct {
	Summary    map[string]any   `json:"summary"`
	PerRequest []map[string]any `json:"per_request"`
	SLA        struct {
		TTFTMS *float64 `json:"ttft_ms"`
		ITLMS  *float64 `json:"itl_ms"`
		E2EMS  *float64 `json:"e2e_ms"`
	} `json:"sla"`
}

func number(v any) float64 {
	if f, ok := v.(float64); ok {
		return f
	}
	return math.NaN()
}

// count is a number that may be null, as -1.
func count(v any) int32 {
	if f, ok := v.(float64); ok {
		return int32(f)
	}
	return -1
}

// rebuild makes the tables of a run from its per-request records.
func (ref *reference) rebuild() *population {
	p := newPopulation()
	sla := func(v *float64) float64 {
		if v == nil {
			return math.NaN()
		}
		return *v
	}
	p.run.SLA = schemas.SLA{TTFTMS: sla(ref.SLA.TTFTMS), ITLMS: sla(ref.SLA.ITLMS), E2EMS: sla(ref.SLA.E2EMS)}
	p.run.PrefillWorkerSeconds = number(ref.Summary["prefill_worker_seconds"])
	p.run.DecodeWorkerSeconds = number(ref.Summary["decode_worker_seconds"])
	p.run.PrefillGPUsPerWorker = int64(number(ref.Summary["prefill_gpus_per_worker"]))
	p.run.DecodeGPUsPerWorker = int64(number(ref.Summary["decode_gpus_per_worker"]))
	if ref.Summary["power_coverage"] != nil {
		p.run.Stack = "engine" // only that stack reports it
	}
	grow(&p.passes)
	p.passes.PrefillTokens[0] = int64(number(ref.Summary["committed_prefill_tokens"]))
	for _, r := range ref.PerRequest {
		p.addRecord(r)
	}
	// Requests that the time limit cut off have no record.
	for n := len(ref.PerRequest); n < int(number(ref.Summary["num_requests"])); n++ {
		i := grow(&p.results)
		p.results.Node[i], p.results.CreationOrdinal[i] = int32(n), int32(n)
	}
	return p
}

func (p *population) addRecord(r map[string]any) {
	b := &p.results
	i := grow(b)
	b.Node[i], b.CreationOrdinal[i] = int32(i), int32(i)
	b.ArrivalMS[i], b.FirstAdmitMS[i] = number(r["arrival_time_ms"]), number(r["first_admit_ms"])
	b.FirstTokenMS[i], b.LastTokenMS[i], b.TerminalMS[i] = number(r["first_token_ms"]), number(r["last_token_ms"]), number(r["terminal_time_ms"])
	b.SecondTokenMS[i] = b.FirstTokenMS[i] + number(r["ttst_ms"])
	b.Status[i] = schemas.Status(slices.Index(schemas.StatusNames, r["terminal_status"].(string)))
	b.InputTokens[i], b.RequestedOutputTokens[i], b.OutputTokens[i] = count(r["input_length"]), count(r["requested_output_length"]), count(r["output_length"])
	b.Worker[i] = count(r["decode_worker_idx"])
	b.PrefillWorker[i], b.DecodeReusedInputTokens[i] = count(r["prefill_worker_idx"]), count(r["decode_reused_input_tokens"])
	b.PrefillRouteOverlapTokens[i], b.DecodeRouteOverlapTokens[i] = count(r["prefill_route_overlap_tokens"]), count(r["decode_route_overlap_tokens"])
	b.PrefillAdmitMS[i], b.SourceHeldMS[i], b.SourceReleasedMS[i] = number(r["prefill_admit_ms"]), number(r["source_held_ms"]), number(r["source_released_ms"])
	b.DestinationReservedMS[i], b.DestinationActivatedMS[i] = number(r["destination_reserved_ms"]), number(r["destination_activated_ms"])
	b.DecodeAdmitMS[i] = number(r["decode_admit_ms"])
	b.AdmissionCount[i], b.ReadmissionCount[i] = count(r["admission_count"]), count(r["readmission_count"])
	b.ReusedInputTokens[i] = count(r["reused_input_tokens"])
	pool := func(v any) schemas.Pool { return schemas.Pool(slices.Index(schemas.PoolNames, v.(string))) }
	for k, entry := range r["admission_history"].([]any) {
		e, a := entry.(map[string]any), &p.admissions
		j := grow(a)
		a.Node[j], a.Ordinal[j], a.PoolOrdinal[j], a.Pool[j] = int32(i), count(e["admission_ordinal"]), count(e["pool_admission_ordinal"]), pool(e["pool"])
		a.AtMS[j], a.ReusedInputTokens[j] = number(e["at_ms"]), count(e["reused_input_tokens"])
		if k == 0 {
			b.FirstAdmissionReused[i] = a.ReusedInputTokens[j]
		}
		b.ReusedInputTokens[i] = max(b.ReusedInputTokens[i], a.ReusedInputTokens[j])
	}
	for k, entry := range r["routing_history"].([]any) {
		e, a := entry.(map[string]any), &p.routing
		j := grow(a)
		a.Node[j], a.Ordinal[j], a.Pool[j] = int32(i), int32(k), pool(e["pool"])
		a.QueuedMS[j], a.ReleasedMS[j], a.QueueWaitMS[j] = number(e["queue_entered_at_ms"]), number(e["released_at_ms"]), number(e["queue_wait_ms"])
		a.Worker[j], a.Scheduler[j], a.Rank[j], a.OverlapTokens[j] = count(e["logical_worker_id"]), count(e["scheduler_id"]), count(e["dp_rank"]), count(e["reported_overlap_tokens"])
		a.SelectedOverlapBlocks[j], a.BestOverlapBlocks[j], a.OverlapRegretBlocks[j] = count(e["selected_overlap_blocks"]), count(e["best_available_overlap_blocks"]), count(e["overlap_regret_blocks"])
	}
	session := int32(-1)
	if r["session_id"] != nil {
		session = int32(i)
	}
	c := &p.nodes
	name := func(s int) string { return "" }
	if c.SessionName != nil {
		name = c.SessionName
	}
	c.SessionName = func(s int) string {
		if s == i {
			return r["session_id"].(string)
		}
		return name(s)
	}
	c.Session, c.Turn = append(c.Session, session), append(c.Turn, count(r["turn_index"]))
	c.ReleaseMS, c.InputTokens, c.OutputTokens = append(c.ReleaseMS, 0), append(c.InputTokens, 1), append(c.OutputTokens, 1)
	c.Chain, c.ChainTokens = append(c.Chain, -1), append(c.ChainTokens, 0)
}

// aggregated tells whether every request ran in one pool: the records of two pools need
// columns that the tables do not have.
func (ref *reference) aggregated() bool {
	return !slices.ContainsFunc(ref.PerRequest, func(r map[string]any) bool {
		return r["prefill_worker_idx"] != nil || r["prefill_route_overlap_tokens"] != nil
	})
}

// notFromRecords says which keys of a summary need more than the per-request records.
func notFromRecords(key string) bool {
	return strings.HasSuffix(key, "_itl_ms") || strings.HasSuffix(key, "output_token_throughput_per_user") || key == "kv_cache_precision"
}

// TestReferenceReports rebuilds the tables of runs of the reference simulator from their
// per-request records and compares the report with the reference's: the summary to
// 1e-9, records to the last bit. DYNOSIM_GOLDEN names a folder AREA/CASE/expected.json of
// more of them.
func TestReferenceReports(t *testing.T) {
	names, err := filepath.Glob("testdata/golden/*.json")
	if err != nil || len(names) == 0 {
		t.Fatalf("no reports, error %v", err)
	}
	if more := os.Getenv("DYNOSIM_GOLDEN"); more != "" {
		found, err := filepath.Glob(filepath.Join(more, "*", "*", "expected.json"))
		if err != nil || len(found) == 0 {
			t.Fatalf("no reports in %s, error %v", more, err)
		}
		names = append(names, found...)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(strings.TrimPrefix(name, "testdata/golden/"), ".json"), func(t *testing.T) { compareWithReference(t, name) })
	}
}

func compareWithReference(t *testing.T, name string) {
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var ref reference
	if err := json.Unmarshal(b, &ref); err != nil {
		t.Fatal(err)
	}
	if len(ref.PerRequest) == 0 || !ref.aggregated() {
		t.Skip("no records of an aggregated run")
	}
	if _, host := ref.PerRequest[0]["first_admission_g1_reused_input_tokens"]; host || ref.PerRequest[0]["request_id"] != nil {
		t.Skip("a run with a host tier or an agentic source")
	}
	r, err := queries.OpenReport(t.Context(), ref.rebuild().write(t).Path(), queries.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s, err := r.Summary(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range ref.Summary {
		got, ok := s.Value(key)
		if notFromRecords(key) || strings.HasPrefix(key, "goodput_") && !ref.hasSLA() {
			continue // a reference report does not say its bounds
		}
		compareValue(t, key, want, got, ok)
	}
	i := 0
	_, err = r.Records(t.Context(), func(record []byte) error {
		var got map[string]any
		if err := json.Unmarshal(record, &got); err != nil {
			t.Errorf("record %d is not JSON: %v\n%s", i, err, record)
			return nil
		}
		compareRecord(t, i, ref.PerRequest[i], got)
		i++
		return nil
	})
	if err != nil || i != len(ref.PerRequest) {
		t.Errorf("%d records of %d, error %v", i, len(ref.PerRequest), err)
	}
}

func (ref *reference) hasSLA() bool {
	return ref.SLA.TTFTMS != nil || ref.SLA.ITLMS != nil || ref.SLA.E2EMS != nil
}

func compareValue(t *testing.T, key string, want, got any, ok bool) {
	t.Helper()
	w, isNumber := want.(float64)
	if !isNumber {
		if want != got || !ok {
			t.Errorf("%s is %v, want %v", key, got, want)
		}
		return
	}
	var g float64
	switch x := got.(type) {
	case float64:
		g = x
	case int64:
		g = float64(x)
	default:
		t.Errorf("%s is %v, want %v", key, got, want)
		return
	}
	// The deviation of equal values is rounding noise in the reference.
	noise := 0.0
	if strings.HasPrefix(key, "std_") {
		noise = 1e-9
	}
	if math.Abs(g-w) > math.Max(1e-9*math.Abs(w), noise) {
		t.Errorf("%s is %v, want %v", key, g, w)
	}
}

// compareRecord wants the same keys and values. The identifier is random in the
// reference, and the time to the second token is rebuilt with a rounding.
func compareRecord(t *testing.T, i int, want, got map[string]any) {
	t.Helper()
	for key := range got {
		if _, ok := want[key]; !ok {
			t.Errorf("record %d has a key %s", i, key)
		}
	}
	for key, w := range want {
		g, ok := got[key]
		switch {
		case !ok:
			t.Errorf("record %d has no key %s", i, key)
		case key == "uuid":
		case key == "ttst_ms" && w != nil:
			compareValue(t, key, w, g, ok)
		default:
			a, _ := json.Marshal(w)
			b, _ := json.Marshal(g)
			if !bytes.Equal(a, b) {
				t.Errorf("record %d: %s is %s, want %s", i, key, b, a)
			}
		}
	}
}
