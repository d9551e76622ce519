package simulate

import (
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
