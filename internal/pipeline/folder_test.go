package pipeline

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/dynosim/dynosim/internal/rundir"
	"github.com/dynosim/dynosim/lower"
	"github.com/dynosim/dynosim/metrics"
	"github.com/dynosim/dynosim/schemas"
)

// TestWorkloadsComeBack lowers random sources into a folder and reads it again: the workload must be the same in
// every exported field, so that a field that is added and not stored is noticed.
func TestWorkloadsComeBack(t *testing.T) {
	sessionNames := cmp.Transformer("sessions", func(s *lower.Sessions) []string {
		if s == nil {
			return nil
		}
		names := []string{fmt.Sprint(s.First)}
		for i := range s.Len() {
			names = append(names, s.Name(i))
		}
		return names
	})
	rapid.Check(t, func(rt *rapid.T) {
		dir := t.TempDir()
		defer os.RemoveAll(dir)
		spec := drawSpec(rt, dir)
		path := filepath.Join(dir, "lowered")
		var want *lower.Workload
		d, err := create(path, false)
		if err != nil {
			rt.Fatal(err)
		}
		err = makeFolder(context.Background(), d, slices.Concat(ingestTables(spec.Source.Format), lowerTables(spec.Source.Format)), func(ctx context.Context, _ *rundir.Dir, rec *metrics.Recorders) (*front, error) {
			f, err := fuse(ctx, spec, silent{}, rec)
			if err == nil {
				want = f.workload
			}
			return f, err
		}, "ingest", "lower")
		if err != nil {
			rt.Skip(err)
		}
		f, err := openFolder(path, "ingest", "lower")
		if err != nil {
			rt.Fatal(err)
		}
		got, err := f.workload()
		if err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(namesOf(got.Graph), namesOf(want.Graph)); diff != "" {
			rt.Fatal(diff)
		}
		if diff := cmp.Diff(unnamed(got), unnamed(want), cmpopts.EquateNaNs(), cmpopts.EquateEmpty(), sessionNames, cmpopts.IgnoreUnexported(lower.Graph{})); diff != "" {
			rt.Fatal(diff)
		}
		if (got.AuthoredStart == nil) != (want.AuthoredStart == nil) {
			rt.Fatal("prescribed outputs appeared or vanished")
		}
	})
}

// TestEverySettingCounts changes each field of a source and a load: somewhere the digest of the stage must change with
// it, so that a cache never gives what was made with other settings.
func TestEverySettingCounts(t *testing.T) {
	sources := []schemas.SourceSpec{
		{Kind: schemas.SourceSynthetic, InputTokens: 5, OutputTokens: 5, Count: 5, Turns: 2, SharedPrefixRatio: 0.5, PrefixGroups: 2},
		{Kind: schemas.SourceTrace, Format: schemas.FormatAppliedCompute, BlockTokens: 4, SharedPrefixRatio: 0.5, PrefixGroups: 2},
		{Kind: schemas.SourceRequests, Requests: []schemas.ListedRequest{{ID: "a", InputTokens: 3}}},
	}
	loads := []schemas.LoadSpec{
		{Kind: schemas.LoadConcurrency, Concurrency: 2}, {Kind: schemas.LoadPoisson, RatePerSecond: 2, Speedup: 1}, {Kind: schemas.LoadConstantInterval, IntervalMS: 2, Speedup: 1},
	}
	counts := func(bases int, of func(base int) (any, func() string)) {
		base, _ := of(0)
		fields := reflect.TypeOf(base).Elem()
		for i := range fields.NumField() {
			name, seen := fields.Field(i).Name, false
			for b := range bases {
				value, digest := of(b)
				before := digest()
				change(reflect.ValueOf(value).Elem().Field(i))
				seen = seen || digest() != before
			}
			// The content of the files counts in place of both.
			if !seen && name != "Paths" && name != "ResolvedBasis" {
				t.Errorf("%s.%s has no part in the digest", fields, name)
			}
		}
	}
	counts(len(sources), func(b int) (any, func() string) {
		spec := &schemas.RunSpec{Source: sources[b]}
		return &spec.Source, func() string { return digestIngest(sourceSettings(spec), nil) }
	})
	counts(len(loads), func(b int) (any, func() string) {
		spec := &schemas.RunSpec{Load: loads[b]}
		return &spec.Load, func() string { return digestLower("", spec.Source.Format, loadSettings(spec)) }
	})
	spec := &schemas.RunSpec{Source: sources[0]}
	before := digestIngest(sourceSettings(spec), nil)
	if spec.Pools = schemas.AggregatedPool(schemas.EngineSpec{BlockTokens: 16}, 1); digestIngest(sourceSettings(spec), nil) == before {
		t.Error("the engine's block size, in which shared prefixes are counted, has no part in the digest")
	}
}

// change gives a field another value.
func change(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + "x")
	case reflect.Int64:
		v.SetInt(v.Int() + 1)
	case reflect.Uint64:
		v.SetUint(v.Uint() + 1)
	case reflect.Float64:
		v.SetFloat(v.Float() + 0.25)
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Slice:
		v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
	case reflect.Struct:
		// Of how plays run, lowering needs to know only whether they are cut.
		v.FieldByName("Snapshot").SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	default:
		panic("no change for a field of type " + v.Type().String())
	}
}

// nodeNames are the names that a node of a graph has.
type nodeNames struct{ Request, Session, Model, PolicyClass string }

// namesOf lists the names of all nodes: how they are numbered does not matter.
func namesOf(g *lower.Graph) (names []nodeNames) {
	if g == nil {
		return nil
	}
	for i := range g.Play {
		n := nodeNames{Request: g.RequestID(i), Session: g.Sessions[g.Session[i]], Model: g.Models[g.Model[i]]}
		if k := g.PolicyClass[i]; k >= 0 {
			n.PolicyClass = g.PolicyClasses[k]
		}
		names = append(names, n)
	}
	return names
}

// unnamed is the workload without them.
func unnamed(w *lower.Workload) *lower.Workload {
	if w.Graph == nil {
		return w
	}
	out, g := *w, *w.Graph
	g.Models, g.Model, g.Sessions, g.Session, g.PolicyClasses, g.PolicyClass = nil, nil, nil, nil, nil, nil
	out.Graph = &g
	return &out
}
