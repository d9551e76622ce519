package metrics

import (
	"math"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dynosim/dynosim/internal/rundir"
	"github.com/dynosim/dynosim/schemas"
)

// numbered fills row i of every column of a batch with numbers that tell columns and rows apart.
func numbered(batch any, row, base int) {
	v := reflect.ValueOf(batch).Elem()
	var fill func(v reflect.Value)
	next := base
	fill = func(v reflect.Value) {
		for i := range v.NumField() {
			f := v.Field(i)
			switch {
			case f.Kind() == reflect.Struct:
				fill(f)
			case f.Kind() != reflect.Slice:
			case f.Type().Elem().Kind() == reflect.Uint8:
				f.Index(row).SetUint(1)
			case f.Type().Elem().Kind() == reflect.Float64:
				f.Index(row).SetFloat(float64(next) + 0.5)
				next++
			default:
				f.Index(row).SetInt(int64(next))
				next++
			}
		}
	}
	fill(v)
	v.FieldByName("N").SetInt(int64(row + 1))
}

// TestTickTablesComeBack writes rows whose numbers all differ, so that a column in the wrong place
// shows, and the marks that stand for null.
func TestTickTablesComeBack(t *testing.T) {
	dir := create(t, rundir.Options{})
	r, err := Open(dir, []string{"lifecycle", "ticks", "tick_workers", "tick_passes"})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Abort()
	changes, ticks, workers, passes := schemas.NewLifecycleBatch(2), schemas.NewTickBatch(2), schemas.NewTickWorkerBatch(1), schemas.NewTickPassBatch(1)
	numbered(changes, 0, 10)
	changes.State[0] = schemas.WorkerRemoved
	changes.N = 2
	changes.Operation[1], changes.Tick[1], changes.Origin[1], changes.OwnOrigins[1] = -1, -1, -1, -1
	changes.State[1] = schemas.WorkerActive
	numbered(ticks, 0, 10)
	ticks.N = 2
	ticks.Kind[1], ticks.TargetPrefill[1], ticks.TargetDecode[1], ticks.NextTickMS[1] = schemas.TickScaling, -1, -1, math.NaN()
	numbered(workers, 0, 10)
	numbered(passes, 0, 10)
	sink := r.Sink()
	_, err1 := sink.Lifecycle.Take(changes)
	_, err2 := sink.Ticks.Take(ticks)
	_, err3 := sink.TickWorkers.Take(workers)
	_, err4 := sink.TickPasses.Take(passes)
	for _, err := range []error{err1, err2, err3, err4, r.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	zero32, zero64, zeroF := int32(0), int64(0), float64(0)
	for _, c := range []struct {
		table *schemas.Table
		want  map[string][]any
	}{
		{&schemas.Lifecycle, map[string][]any{
			"operation": {int32(10), nil}, "position": {int32(11), zero32}, "at_ms": {12.5, zeroF}, "pool": {"prefill", "agg"}, "cause": {"planner_scale", "start"},
			"tick_ordinal": {int32(13), nil}, "origin_operation": {int32(14), nil}, "released_requests": {int32(15), zero32}, "worker": {int32(16), zero32},
			"transition": {"worker_removed", "worker_ready"}, "prior_state": {"starting", nil}, "state": {"removed", "active"},
			"reason": {"startup_cancelled", nil}, "transition_origin_operation": {int32(17), nil},
		}},
		{&schemas.Ticks, map[string][]any{
			"tick": {int32(10), zero32}, "ordinal": {int32(11), zero32}, "kind": {"periodic", "scaling"}, "at_ms": {12.5, zeroF}, "start_ms": {13.5, zeroF},
			"arriving_requests": {int64(14), zero64}, "completed_requests": {int64(15), zero64}, "input_tokens": {int64(16), zero64}, "output_tokens": {int64(17), zero64},
			"ttft_requests": {int64(18), zero64}, "itl_requests": {int64(19), zero64}, "ttft_sum_ms": {20.5, zeroF}, "itl_sum_ms": {21.5, zeroF},
			"routed_requests": {int64(22), zero64}, "overlap_share_sum": {23.5, zeroF}, "decode_forwards": {int64(24), zero64}, "accepted_tokens": {int64(25), zero64},
			"prefill_preemptions": {int64(26), zero64}, "prefill_cache_hit_tokens": {int64(27), zero64}, "prefill_cache_total_tokens": {int64(28), zero64},
			"decode_preemptions": {int64(29), zero64}, "decode_cache_hit_tokens": {int64(30), zero64}, "decode_cache_total_tokens": {int64(31), zero64},
			"prefill_queued_requests": {int32(32), zero32}, "decode_queued_requests": {int32(33), zero32},
			"target_prefill": {int32(34), nil}, "target_decode": {int32(35), nil}, "next_tick_ms": {36.5, nil},
		}},
		{&schemas.TickWorkers, map[string][]any{
			"tick": {int32(10)}, "worker": {int32(11)}, "rank": {int32(12)}, "pool": {"prefill"}, "state": {"starting"},
			"active_blocks": {int64(13)}, "idle_blocks": {int64(14)}, "total_blocks": {int64(15)}, "running": {int32(16)}, "waiting": {int32(17)},
		}},
		{&schemas.TickPasses, map[string][]any{
			"tick": {int32(10)}, "worker": {int32(11)}, "rank": {int32(12)}, "pool": {"prefill"}, "duration_ms": {13.5},
			"prefill_requests": {int64(14)}, "prefill_tokens": {int64(15)}, "prefill_kv_tokens": {int64(16)}, "prefill_length_variance": {17.5},
			"decode_requests": {int64(18)}, "decode_kv_tokens": {int64(19)}, "decode_kv_variance": {20.5},
			"queued_prefill_requests": {int64(21)}, "queued_prefill_tokens": {int64(22)}, "queued_prefill_variance": {23.5},
			"queued_decode_requests": {int64(24)}, "queued_decode_kv_tokens": {int64(25)}, "queued_decode_kv_variance": {26.5},
		}},
	} {
		if diff := cmp.Diff(c.want, readTable(t, dir.Path(), c.table)); diff != "" {
			t.Errorf("%s:\n%s", c.table.Name, diff)
		}
	}
}
