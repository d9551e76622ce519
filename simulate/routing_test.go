package simulate

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dynosim/dynosim/schemas"
)

// drawRouter draws round robin or a KV router with any settings.
func drawRouter(t *rapid.T) schemas.RouterSpec {
	if rapid.Bool().Draw(t, "round robin") {
		return schemas.RouterSpec{Policy: schemas.PolicyRoundRobin}
	}
	r := schemas.DefaultRouter()
	r.OverlapCredit = rapid.SampledFrom([]float64{1, 0, 2.5}).Draw(t, "credit")
	r.CreditDecay = rapid.SampledFrom([]float64{0, 0, 3}).Draw(t, "decay")
	r.PrefillLoadScale = rapid.SampledFrom([]float64{1, 0, 4}).Draw(t, "scale")
	r.ActiveRequestWeight = rapid.SampledFrom([]float64{0, 0.7}).Draw(t, "request weight")
	r.Temperature = rapid.SampledFrom([]float64{0, 0, 0.5}).Draw(t, "temperature")
	r.TrackPrefillTokens = rapid.IntRange(0, 3).Draw(t, "track prefill") > 0
	r.TrackActiveBlocks = rapid.IntRange(0, 3).Draw(t, "track blocks") > 0
	r.AssumeKVReuse = rapid.IntRange(0, 3).Draw(t, "assume reuse") > 0
	r.EstimatePrefill = rapid.IntRange(0, 3).Draw(t, "estimate") == 0
	r.EventLagMS = rapid.SampledFrom([]float64{0, 0, 3, 50}).Draw(t, "lag")
	if rapid.Bool().Draw(t, "queue") {
		c := schemas.NewRouterClass("", rapid.SampledFrom([]schemas.QueuePolicy{schemas.QueueFCFS, schemas.QueueLCFS, schemas.QueueWSPT}).Draw(t, "policy"))
		c.BusyTokens = rapid.Int64Range(0, 12).Draw(t, "threshold")
		r.Classes.Classes = []schemas.RouterClass{c}
	}
	return r
}

// TestRouterSeed runs drawn workloads twice with a seed, and once with another: the rows of a seed repeat,
// and without a temperature the seed does not matter.
func TestRouterSeed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, spec := drawWorkload(t), drawSpec(t)
		if spec.Router.Policy != schemas.PolicyKVRouter {
			t.Skip("round robin")
		}
		run := func(seed uint64) *rows {
			spec.Router.Seed = seed
			r, sink := collect()
			_, err := Run(context.Background(), spec, w, sink, nil)
			// A run that cannot go on says the same, too.
			r.results = append(r.results, fmt.Sprint(err))
			return r
		}
		first, again, other := run(1), run(1), run(2)
		same := cmp.AllowUnexported(rows{})
		if d := cmp.Diff(first, again, same); d != "" {
			t.Fatalf("two runs of a seed differ:\n%s", d)
		}
		if d := cmp.Diff(first, other, same); d != "" && spec.Router.Temperature == 0 {
			t.Fatalf("seeds differ without a temperature:\n%s", d)
		}
	})
}
