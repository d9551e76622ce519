package metrics

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dynosim/dynosim/internal/rundir"
	"github.com/dynosim/dynosim/schemas"
)

// readTable reads a table's file as columns of plain values; null is nil.
func readTable(t testing.TB, dir string, table *schemas.Table) map[string][]any {
	t.Helper()
	f, err := file.OpenParquetFile(filepath.Join(dir, table.Name+".parquet"), false)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if v := f.MetaData().KeyValueMetadata().FindValue("dynosim.table"); v == nil || *v != table.Name {
		t.Errorf("%s: the file does not name its table", table.Name)
	}
	got := map[string][]any{}
	for g := range f.NumRowGroups() {
		for i, c := range table.Columns {
			r, err := f.RowGroup(g).Column(i)
			if err != nil {
				t.Fatal(err)
			}
			if d := r.Descriptor(); d.Name() != c.Name || (d.MaxDefinitionLevel() == 1) != c.Nullable {
				t.Errorf("%s: column %d is %s", table.Name, i, d)
			}
			got[c.Name] = append(got[c.Name], readColumn(t, r, c.Type.ID())...)
		}
	}
	return got
}

// readColumn reads one column chunk.
func readColumn(t testing.TB, r file.ColumnChunkReader, id arrow.Type) []any {
	t.Helper()
	switch r := r.(type) {
	case *file.Int32ColumnChunkReader:
		return drain(t, r, r.ReadBatch, func(v int32) any {
			if id == arrow.UINT32 {
				return uint32(v)
			}
			return v
		})
	case *file.Int64ColumnChunkReader:
		return drain(t, r, r.ReadBatch, func(v int64) any {
			if id == arrow.UINT64 {
				return uint64(v)
			}
			return v
		})
	case *file.Float64ColumnChunkReader:
		return drain(t, r, r.ReadBatch, func(v float64) any { return v })
	case *file.ByteArrayColumnChunkReader:
		return drain(t, r, r.ReadBatch, func(v parquet.ByteArray) any { return string(v) })
	}
	t.Fatalf("no reader for %T", r)
	return nil
}

func drain[T any](t testing.TB, r file.ColumnChunkReader, read func(int64, []T, []int16, []int16) (int64, int, error), as func(T) any) []any {
	t.Helper()
	var out []any
	nullable := r.Descriptor().MaxDefinitionLevel() == 1
	values, levels := make([]T, 500), make([]int16, 500)
	for r.HasNext() {
		n, _, err := read(int64(len(values)), values, levels, nil)
		if err != nil {
			t.Fatal(err)
		}
		next := 0
		for i := range n {
			if nullable && levels[i] == 0 {
				out = append(out, nil)
				continue
			}
			out = append(out, as(values[next]))
			next++
		}
	}
	return out
}

// TestResultsComeBack writes random rows in random batches and reads them again.
func TestResultsComeBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		time := rapid.OneOf(rapid.Just(math.NaN()), rapid.Float64Range(0, 1e9))
		n := rapid.IntRange(0, 50).Draw(rt, "rows")
		dir := create(t, rundir.Options{})
		r, err := Open(dir, []string{"request_results"})
		if err != nil {
			rt.Fatal(err)
		}
		defer r.Abort()
		want := map[string][]any{}
		add := func(name string, v any) { want[name] = append(want[name], v) }
		orNull := func(name string, v float64) float64 {
			if math.IsNaN(v) {
				add(name, nil)
			} else {
				add(name, v)
			}
			return v
		}
		rec := r.Sink().Results
		b := schemas.NewResultBatch(rapid.IntRange(1, 20).Draw(rt, "capacity"))
		i32 := func(name string, min int32) int32 {
			v := rapid.Int32Range(min, 1000).Draw(rt, name)
			if v == -1 {
				add(name, nil)
			} else {
				add(name, v)
			}
			return v
		}
		for range n {
			i := b.N
			b.N++
			b.Node[i] = i32("node", 0)
			b.CreationOrdinal[i] = i32("creation_ordinal", 0)
			b.ArrivalMS[i] = rapid.Float64Range(0, 1e9).Draw(rt, "arrival_ms")
			add("arrival_ms", b.ArrivalMS[i])
			b.FirstAdmitMS[i] = orNull("first_admit_ms", time.Draw(rt, "first_admit_ms"))
			b.FirstTokenMS[i] = orNull("first_token_ms", time.Draw(rt, "first_token_ms"))
			b.SecondTokenMS[i] = orNull("second_token_ms", time.Draw(rt, "second_token_ms"))
			b.LastTokenMS[i] = orNull("last_token_ms", time.Draw(rt, "last_token_ms"))
			b.TerminalMS[i] = orNull("terminal_ms", time.Draw(rt, "terminal_ms"))
			b.Status[i] = schemas.Status(rapid.IntRange(0, len(schemas.StatusNames)-1).Draw(rt, "status"))
			add("status", schemas.StatusNames[b.Status[i]])
			b.InputTokens[i] = i32("input_tokens", 0)
			b.RequestedOutputTokens[i] = i32("requested_output_tokens", 0)
			b.OutputTokens[i] = i32("output_tokens", 0)
			b.ReusedInputTokens[i] = i32("reused_input_tokens", 0)
			b.FirstAdmissionReused[i] = i32("first_admission_reused_input_tokens", 0)
			b.Worker[i] = i32("worker", -1)
			b.PrefillWorker[i] = i32("prefill_worker", -1)
			b.PrefillAdmitMS[i] = orNull("prefill_admit_ms", time.Draw(rt, "prefill_admit_ms"))
			b.SourceHeldMS[i] = orNull("source_held_ms", time.Draw(rt, "source_held_ms"))
			b.DestinationReservedMS[i] = orNull("destination_reserved_ms", time.Draw(rt, "destination_reserved_ms"))
			b.DestinationActivatedMS[i] = orNull("destination_activated_ms", time.Draw(rt, "destination_activated_ms"))
			b.DecodeAdmitMS[i] = orNull("decode_admit_ms", time.Draw(rt, "decode_admit_ms"))
			b.SourceReleasedMS[i] = orNull("source_released_ms", time.Draw(rt, "source_released_ms"))
			b.DecodeReusedInputTokens[i] = i32("decode_reused_input_tokens", -1)
			b.PrefillRouteOverlapTokens[i] = i32("prefill_route_overlap_tokens", -1)
			b.DecodeRouteOverlapTokens[i] = i32("decode_route_overlap_tokens", -1)
			b.AdmissionCount[i] = i32("admission_count", 0)
			b.ReadmissionCount[i] = i32("readmission_count", 0)
			b.FirstAdmissionG1[i] = i32("first_admission_g1_reused_input_tokens", -1)
			b.FirstAdmissionHost[i] = i32("first_admission_host_reused_input_tokens", -1)
			if b.N == len(b.Node) || rapid.IntRange(0, 9).Draw(rt, "short batch") == 0 {
				if b, err = rec.Take(b); err != nil {
					rt.Fatal(err)
				}
			}
		}
		if _, err := rec.Take(b); err != nil {
			rt.Fatal(err)
		}
		if err := r.Close(); err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(readTable(t, dir.Path(), &schemas.RequestResults), want); diff != "" {
			rt.Fatal(diff)
		}
		_ = os.RemoveAll(dir.Path())
	})
}

// TestEveryRowOfALongTableIsThere checks row groups: passes are numbered per worker.
func TestEveryRowOfALongTableIsThere(t *testing.T) {
	got := readTable(t, writeSmall(t), &schemas.Passes)
	next := map[any]int64{}
	for i, w := range got["worker"] {
		if got["pass"][i] != next[w] {
			t.Fatalf("row %d: worker %v has pass %v, want %d", i, w, got["pass"][i], next[w])
		}
		next[w]++
	}
	if n := len(got["worker"]); n != small.Passes {
		t.Errorf("%d rows, want %d", n, small.Passes)
	}
}

func TestSourceTables(t *testing.T) {
	dir := create(t, rundir.Options{})
	r, err := Open(dir, []string{"requests", "blocks", "authored_outputs", "nodes", "edges", "chains", "node_outputs", "run"})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Abort()
	batch := schemas.RequestBatch{
		N: 3, Line: []int64{1, 2, 4}, SessionID: []string{"s", "", ""}, HasSession: []bool{true, true, false},
		RequestID: []string{"", "r", ""}, HasRequest: []bool{false, true, false},
		InputTokens: []int64{5, 6, 7}, OutputTokens: []int64{1, 0, 2}, TimestampMS: []float64{0, 0.5, 0}, HasTimestamp: []bool{true, true, false},
		DelayMS: []float64{0, 0, 3}, HasDelay: []bool{false, false, true}, Priority: []int32{0, -1, 2}, StrictPriority: []uint32{0, math.MaxUint32, 1},
		PolicyClass: []string{"gold", "", ""}, HasPolicyClass: []bool{true, false, false},
		Blocks: []uint64{7, math.MaxUint64, 9}, BlockEnd: []int{2, 2, 3},
		Authored: []uint32{3, math.MaxUint32}, AuthoredEnd: []int{0, 0, 2}, HasAuthored: []bool{false, true, true},
	}
	for range 2 { // the batch may be used again at once
		if err := r.WriteRequests(&batch); err != nil {
			t.Fatal(err)
		}
		batch.InputTokens = []int64{50, 60, 70}
	}
	for _, err := range []error{
		r.WriteNodes(NodeColumns{
			RequestIndex: []int32{2, 0}, SessionName: func(int) string { return "a" }, Session: []int32{0, -1}, Turn: []int32{1, -1}, ReleaseMS: []float64{math.NaN(), 2.5},
			InputTokens: []int32{5, 6}, OutputTokens: []int32{1, 2}, Chain: []int32{-1, 4}, ChainTokens: []int32{0, 8},
			Priority: []int32{-1, 2}, StrictPriority: []uint32{0, math.MaxUint32}, PolicyClass: []int32{-1, 0}, PolicyClasses: []string{"gold"},
		}),
		r.WriteEdges(EdgeColumns{Predecessor: []int32{0, 1}, Successor: []int32{1, 2}, DelayMS: []float64{0, 1.5}}),
		r.WriteChains(ChainColumns{Parent: []int32{-1, 0}, Block: []uint32{0, 1}}),
		r.WriteNodeOutputs(NodeOutputColumns{First: 0, Start: []int64{0, 0, 2}, Tokens: []uint32{8, 9, 7}}),
		r.WriteNodeOutputs(NodeOutputColumns{First: 2, Start: []int64{2, 3}, Tokens: []uint32{8, 9, 7}}),
		r.WriteRun(RunRow{Stack: "engine", Source: schemas.SourceTrace, LastInstantMS: 1, DecodeWorkerSeconds: 2, DecodeGPUsPerWorker: 4, SLA: schemas.SLA{TTFTMS: 5, ITLMS: math.NaN(), E2EMS: math.NaN()}}),
		r.Close(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for table, want := range map[*schemas.Table]map[string][]any{
		&schemas.Requests: {
			"request_index": {int64(0), int64(1), int64(2), int64(3), int64(4), int64(5)}, "line": {int64(1), int64(2), int64(4), int64(1), int64(2), int64(4)},
			"session_id": {"s", "", nil, "s", "", nil}, "request_id": {nil, "r", nil, nil, "r", nil},
			"input_tokens": {int64(5), int64(6), int64(7), int64(50), int64(60), int64(70)}, "output_tokens": {int64(1), int64(0), int64(2), int64(1), int64(0), int64(2)},
			"timestamp_ms": {0.0, 0.5, nil, 0.0, 0.5, nil}, "delay_ms": {nil, nil, 3.0, nil, nil, 3.0},
			"priority": {int32(0), int32(-1), int32(2), int32(0), int32(-1), int32(2)}, "strict_priority": {uint32(0), uint32(math.MaxUint32), uint32(1), uint32(0), uint32(math.MaxUint32), uint32(1)},
			"policy_class": {"gold", nil, nil, "gold", nil, nil}, "block_count": {int32(2), int32(0), int32(1), int32(2), int32(0), int32(1)},
			"authored_count": {nil, int32(0), int32(2), nil, int32(0), int32(2)},
		},
		&schemas.AuthoredOutputs: {
			"request_index": {int64(2), int64(2), int64(5), int64(5)}, "position": {int32(0), int32(1), int32(0), int32(1)},
			"token": {uint32(3), uint32(math.MaxUint32), uint32(3), uint32(math.MaxUint32)},
		},
		&schemas.NodeOutputs: {"node": {int32(1), int32(1), int32(2)}, "position": {int32(0), int32(1), int32(0)}, "token": {uint32(8), uint32(9), uint32(7)}},
		&schemas.Blocks: {
			"request_index": {int64(0), int64(0), int64(2), int64(3), int64(3), int64(5)}, "position": {int32(0), int32(1), int32(0), int32(0), int32(1), int32(0)},
			"block_id": {uint64(7), uint64(math.MaxUint64), uint64(9), uint64(7), uint64(math.MaxUint64), uint64(9)},
		},
		&schemas.Nodes: {
			"node": {int32(0), int32(1)}, "request_index": {int32(2), int32(0)}, "session_id": {"a", nil}, "session": {int32(0), nil}, "turn": {int32(1), nil},
			"release_ms": {nil, 2.5}, "input_tokens": {int32(5), int32(6)}, "output_tokens": {int32(1), int32(2)}, "chain": {nil, int32(4)}, "chain_tokens": {int32(0), int32(8)},
			"priority": {int32(-1), int32(2)}, "strict_priority": {uint32(0), uint32(math.MaxUint32)}, "policy_class": {nil, "gold"},
		},
		&schemas.Edges: {
			"predecessor": {int32(0), int32(1)}, "successor": {int32(1), int32(2)}, "trigger": {"completion", "completion"}, "delay_ms": {0.0, 1.5}, "relation": {"sequence", "sequence"},
		},
		&schemas.Chains: {"chain": {int32(0), int32(1)}, "parent": {nil, int32(0)}, "block": {int32(0), int32(1)}},
		&schemas.Run: {
			"stack": {"engine"}, "source": {"trace"}, "last_instant_ms": {1.0}, "prefill_worker_seconds": {0.0}, "decode_worker_seconds": {2.0}, "prefill_gpus_per_worker": {int64(0)},
			"decode_gpus_per_worker": {int64(4)}, "sla_ttft_ms": {5.0}, "sla_itl_ms": {nil}, "sla_e2e_ms": {nil}, "telemetry_interval_ms": {nil}, "prefill_estimator": {nil}, "decode_estimator": {nil}, "scaling_policy": {nil},
		},
	} {
		if diff := cmp.Diff(readTable(t, dir.Path(), table), want); diff != "" {
			t.Errorf("%s:\n%s", table.Name, diff)
		}
	}
}
