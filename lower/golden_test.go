package lower_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dynosim/dynosim/ingest"
	"github.com/dynosim/dynosim/lower"
	"github.com/dynosim/dynosim/schemas"
)

// build runs a source through both stages.
func build(spec *schemas.RunSpec) (*lower.Workload, error) {
	reader, err := ingest.Open(&spec.Source, spec.BlockTokens())
	if err != nil {
		return nil, err
	}
	builder, batch := lower.NewBuilder(spec), new(schemas.RequestBatch)
	for err == nil {
		if err = reader.Next(batch); err == nil {
			err = builder.Add(batch)
		}
	}
	if err = errors.Join(dropEOF(err), reader.Close()); err != nil {
		return nil, err
	}
	if graph, ok := reader.(ingest.GraphReader); ok {
		if source, ok := graph.GraphSource(); ok {
			builder.SetGraphSource(source)
		}
	}
	return builder.Finish()
}

func dropEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// record is what a golden case says about one request.
type record struct {
	Arrival float64 `json:"arrival_time_ms"`
	Input   int32   `json:"input_length"`
	Output  int32   `json:"requested_output_length"`
	Session *string `json:"session_id"`
	Turn    *int32  `json:"turn_index"`
}

// TestGolden lowers the cases of a folder of golden cases of the reference, named by the environment
// variable DYNOSIM_GOLDEN: lowering must fail where the reference refuses the workload,
// and give its lengths, names and arrival times where these do not depend on the engine.
func TestGolden(t *testing.T) {
	root := os.Getenv("DYNOSIM_GOLDEN")
	if root == "" {
		t.Skip("DYNOSIM_GOLDEN is not set")
	}
	cases, err := filepath.Glob(filepath.Join(root, "*", "*", "call.json"))
	if err != nil || len(cases) == 0 {
		t.Fatalf("no cases in %s: %v", root, err)
	}
	for _, path := range cases {
		folder := filepath.Dir(path)
		name, _ := filepath.Rel(root, folder)
		t.Run(name, func(t *testing.T) { goldenCase(t, folder) })
	}
}

func goldenCase(t *testing.T, folder string) {
	t.Chdir(folder)
	var expected struct {
		Error      string   `json:"error"`
		PerRequest []record `json:"per_request"`
		Summary    struct {
			Completed int `json:"completed_requests"`
			Requests  int `json:"num_requests"`
		} `json:"summary"`
	}
	text, err := os.ReadFile("expected.json")
	if err != nil {
		t.Skip(err)
	}
	if err := json.Unmarshal(text, &expected); err != nil {
		t.Fatal(err)
	}
	call, err := os.ReadFile("call.json")
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := schemas.ParseCall("call.json", call)
	if err != nil {
		if expected.Error == "" {
			t.Skipf("the call is refused, not ours to test: %v", err)
		}
		t.Logf("%s\n  reference: %s", err, expected.Error)
		return
	}
	w, err := build(runSpec(parsed))
	if err != nil && strings.Contains(err.Error(), "not supported yet") {
		t.Skip(err)
	}
	for _, other := range []string{"invariant violated", "execution_model", "engine error", "placement policy error"} {
		if strings.Contains(expected.Error, other) {
			t.Skipf("not an error of the workload: %s", expected.Error)
		}
	}
	if expected.Error != "" {
		if err == nil {
			t.Errorf("lowered, want an error like %q", expected.Error)
		}
		t.Logf("%v\n  reference: %s", err, expected.Error)
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	compare(t, w, expected.PerRequest, expected.Summary.Requests)
}

// runSpec takes the source and the load of a call, whatever engine it asks for.
func runSpec(c *schemas.Call) *schemas.RunSpec {
	a := &c.Args
	spec := &schemas.RunSpec{Source: schemas.SourceSpec{Kind: schemas.SourceTrace, Format: a.TraceFormat, Paths: c.TraceFiles}}
	spec.Pools = schemas.AggregatedPool(schemas.EngineSpec{BlockTokens: 64}, 1)
	for _, engine := range []*schemas.EngineArgs{a.DecodeEngineArgs, a.PrefillEngineArgs, a.ExtraEngineArgs} {
		if engine != nil && engine.Engine.BlockTokens != nil {
			spec.Pools[0].Engine.BlockTokens = *engine.Engine.BlockTokens
		}
	}
	switch {
	case c.Kind == schemas.CallSynthetic:
		spec.Source = schemas.SourceSpec{
			Kind: schemas.SourceSynthetic, InputTokens: a.InputTokens, OutputTokens: a.OutputTokens, Count: a.RequestCount,
			Turns: a.TurnsPerSession, InterTurnDelayMS: a.InterTurnDelayMS, SharedPrefixRatio: a.SharedPrefixRatio, PrefixGroups: a.NumPrefixGroups,
		}
	case a.TraceFormat == schemas.FormatAppliedCompute:
		spec.Source.SharedPrefixRatio, spec.Source.PrefixGroups = a.TraceSharedPrefixRatio, a.TraceNumPrefixGroups
	}
	if a.TraceBlockSize != nil {
		spec.Source.BlockTokens = *a.TraceBlockSize
	} else if a.TraceFormat != schemas.FormatDynamo {
		spec.Source.BlockTokens = 512
	}
	spec.Load = schemas.LoadSpec{Kind: schemas.LoadTraceTimestamps, Speedup: a.ArrivalSpeedupRatio}
	switch {
	case a.ReplayConcurrency != nil:
		spec.Load.Kind, spec.Load.Concurrency = schemas.LoadConcurrency, *a.ReplayConcurrency
	case a.RequestRate != nil:
		spec.Load.Kind, spec.Load.RatePerSecond, spec.Load.Seed = schemas.LoadPoisson, *a.RequestRate, a.ArrivalSeed
	case a.ArrivalIntervalMS != nil:
		spec.Load.Kind, spec.Load.IntervalMS = schemas.LoadConstantInterval, *a.ArrivalIntervalMS
	}
	return spec
}

func compare(t *testing.T, w *lower.Workload, want []record, requests int) {
	n := &w.Nodes
	if len(want) == 0 || requests != n.Len() || requests != len(want) {
		t.Skipf("%d records of %d requests, %d nodes", len(want), requests, n.Len())
	}
	var got []record
	if w.Sessions == nil {
		for i := range n.Len() {
			got = append(got, record{Arrival: n.ReleaseMS[i], Input: n.InputTokens[i], Output: n.OutputTokens[i]})
		}
	} else {
		for s := range w.Sessions.Len() {
			name := w.Sessions.Name(s)
			for i := w.Sessions.First[s]; i < w.Sessions.First[s+1]; i++ {
				turn := i - w.Sessions.First[s]
				got = append(got, record{n.ReleaseMS[i], n.InputTokens[i], n.OutputTokens[i], &name, &turn})
			}
		}
	}
	named := want[0].Session != nil
	for _, records := range [][]record{got, want} {
		for i := range records {
			r := &records[i]
			if !named {
				r.Session, r.Turn = nil, nil
			}
			if w.Concurrency > 0 || r.Turn != nil && *r.Turn > 0 {
				r.Arrival = 0
			}
			if w.Delta {
				r.Input = 0
			}
		}
		slices.SortFunc(records, func(a, b record) int {
			if a.Session != nil && b.Session != nil && *a.Session != *b.Session {
				return strings.Compare(*a.Session, *b.Session)
			}
			if a.Turn != nil && b.Turn != nil && *a.Turn != *b.Turn {
				return cmp.Compare(*a.Turn, *b.Turn)
			}
			return cmp.Or(cmp.Compare(a.Arrival, b.Arrival), cmp.Compare(a.Input, b.Input), cmp.Compare(a.Output, b.Output))
		})
	}
	for i := range want {
		g, r := got[i], want[i]
		if g.Arrival != r.Arrival || g.Input != r.Input || g.Output != r.Output || (g.Session == nil) != (r.Session == nil) ||
			g.Session != nil && *g.Session != *r.Session {
			t.Errorf("request %d: got %+v, want %+v", i, g, r)
		}
	}
}
