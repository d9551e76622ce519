package schemas

import (
	"math"

	"github.com/dynosim/dynosim/schemas/strict"
)

// checkPlanner is the rules of the planner across fields (spec 08 sections 1.1, 1.3 and 12.1).
func (p *Prediction) checkPlanner(r *strict.Report) {
	pl := p.Planner
	if root := int64(math.Sqrt(float64(pl.FPMSampleBucketSize))); root*root != pl.FPMSampleBucketSize {
		r.Fail("planner.fpm_sample_bucket_size", "got %d, want a perfect square", pl.FPMSampleBucketSize)
	}
	if !pl.enabled() {
		if pl.Advisory {
			r.Fail("planner.advisory", "needs policy: enabled")
		}
		if pl.Retune != nil {
			r.Fail("planner.retune", "needs policy: enabled")
		}
		return
	}
	if r.OK("engine.mode") && p.Engine.Mode == ModeAggregated {
		for _, key := range []string{"planner.prefill_min_workers", "planner.decode_min_workers"} {
			if r.Has(key) {
				r.Fail(key, "is for mode: disaggregated only; use min_workers")
			}
		}
	}
	throughput, load := pl.scaling()
	if pl.Target == TargetSLA {
		p.checkSLATarget(r, throughput, load)
	}
	if throughput && pl.ThroughputAdjustmentIntervalSeconds == 0 {
		r.Fail("planner.throughput_adjustment_interval_seconds", "cannot be null while throughput scaling is on")
	}
	if load && pl.LoadAdjustmentIntervalSeconds == 0 {
		r.Fail("planner.load_adjustment_interval_seconds", "cannot be null while load scaling is on")
	}
	if a, b := pl.intervals(); throughput && load && b >= a {
		r.Fail("planner.load_adjustment_interval_seconds", "must be shorter than throughput_adjustment_interval_seconds (%d s), got %d s", a, b)
	}
	if pl.Retune != nil {
		p.checkRetune(r, throughput)
	}
}

// scaling is which scaling modes are on after normalisation (spec 08 section 1.3).
func (p *Planner) scaling() (throughput, load bool) {
	if p.Retune != nil && !p.EnableThroughputScaling && !p.EnableLoadScaling {
		return false, false // retune only
	}
	if p.Target != TargetSLA {
		return false, true
	}
	return p.EnableThroughputScaling, p.EnableLoadScaling
}

// intervals is the intervals in seconds with null as the default.
func (p *Planner) intervals() (throughput, load int64) {
	throughput, load = p.ThroughputAdjustmentIntervalSeconds, p.LoadAdjustmentIntervalSeconds
	if throughput == 0 {
		throughput = 180
	}
	if load == 0 {
		load = 5
	}
	return throughput, load
}

func (p *Prediction) checkSLATarget(r *strict.Report, throughput, load bool) {
	pl := p.Planner
	if !throughput && !load && pl.Retune == nil {
		r.Fail("planner.target", "sla needs enable_throughput_scaling or enable_load_scaling")
	}
	if n := pl.LoadMinObservations; n < 1 || n > pl.MaxNumFPMSamples {
		r.Fail("planner.load_min_observations", "with target: sla it must be 1 to max_num_fpm_samples (%d), got %d", pl.MaxNumFPMSamples, n)
	}
	if sla := p.sla(); throughput && r.OK("evaluation") && (sla == nil || sla.TTFTMS == nil || sla.ITLMS == nil) {
		r.Fail("planner.target", "sla with throughput scaling needs evaluation.sla.ttft_ms and evaluation.sla.itl_ms")
	}
}

func (p *Prediction) checkRetune(r *strict.Report, throughput bool) {
	rt := p.Planner.Retune
	if r.OK("traffic.source", "traffic.load") {
		t := p.Traffic
		if t == nil || t.Source.Type != SourceTypeTrace || t.Source.Format != FormatDynamo || t.Load.Type != LoadTypeTraceTimestamps {
			r.Fail("planner.retune", "needs a trace of format dynamo with load trace_timestamps")
		}
		for _, key := range []string{"traffic.load.agentic_lanes", "traffic.load.agentic_snapshot", "traffic.load.agentic_profile", "traffic.stop.max_virtual_time_seconds"} {
			if r.Has(key) {
				r.Fail(key, "is not allowed with planner.retune")
			}
		}
	}
	tick, load := p.Planner.intervals()
	if !throughput {
		tick = load
	}
	for load > 0 { // the tick is the greatest common divisor of the two intervals
		tick, load = load, tick%load
	}
	if math.Mod(rt.IntervalSeconds, float64(tick)) != 0 {
		r.Fail("planner.retune.interval_seconds", "must be a multiple of the planner's tick (%d s), got %g s", tick, rt.IntervalSeconds)
	}
	timeout := rt.IntervalSeconds
	if rt.TimeoutSeconds != nil {
		timeout = *rt.TimeoutSeconds
	}
	if rt.DecisionLatencySeconds < 0 && rt.DecisionLatencyScale > 1 && timeout > rt.IntervalSeconds/rt.DecisionLatencyScale {
		r.Fail("planner.retune.timeout_seconds", "with decision_latency_seconds: measured it must be at most interval_seconds / decision_latency_scale (%g s)", rt.IntervalSeconds/rt.DecisionLatencyScale)
	}
	if rt.Router != nil {
		if p.Router == nil || p.Router.Policy != PolicyKVRouter {
			r.Fail("planner.retune.router", "needs router.policy: kv_router")
		}
		checkDomain(r, "planner.retune.router.overlap_score_credit", rt.Router.OverlapScoreCredit)
		checkDomain(r, "planner.retune.router.prefill_load_scale", rt.Router.PrefillLoadScale)
		checkDomain(r, "planner.retune.router.temperature", rt.Router.Temperature)
	}
	if n := rt.Planner; n != nil && !n.IsMapping() && !n.IsText("default") {
		r.Fail("planner.retune.planner", "got %s, want default or a mapping", n.Describe())
	}
}

// checkDomain wants a number of at least 0 or a domain of such numbers (spec 07 section 9).
func checkDomain(r *strict.Report, path string, n *strict.Node) {
	if n == nil {
		return
	}
	if v, ok := n.Number(); ok && v >= 0 {
		return
	}
	choices := n.Member("choices").List()
	if choices != nil && n.Len() == 1 {
		for _, c := range choices {
			if v, ok := c.Number(); !ok || v < 0 {
				r.Fail(path, "choices must be numbers of at least 0, got %s", c.Describe())
				return
			}
		}
		return
	}
	if n.Member("range") != nil && n.Len() == 1 {
		return
	}
	r.Fail(path, "got %s, want a number of at least 0, {choices: [...]} or {range: {...}}", n.Describe())
}
