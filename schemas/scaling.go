package schemas

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/dynosim/dynosim/schemas/strict"
)

// ScalingSpec is scripted scaling of the pools (spec 05 section 9): when the policy ticks, and what it
// decides. The zero value has no policy.
type ScalingSpec struct {
	// Enabled tells a policy that never decides anything from none.
	Enabled bool
	// FirstMS is the time of the first tick, EveryMS the time between ticks. EveryMS 0 ticks at the
	// times of the decisions.
	FirstMS, EveryMS float64
	// Decisions are in the order in which they are taken: by tick where they name one, by time otherwise.
	Decisions []ScalingDecision
}

// ScalingDecision is what a scripted policy wants of the pools, and from when on.
type ScalingDecision struct {
	// Tick is the number of the tick that decides, -1 for the first tick at AtMS or later.
	Tick int64
	AtMS float64
	// Prefill and Decode are the workers wanted, -1 to leave a pool alone. Aggregated workers are Decode.
	Prefill, Decode int32
	// NextTickMS is the time of the next tick: NaN after EveryMS, +Inf for never.
	NextTickMS float64
}

// spec is the plan as the run specification has it; nil is none.
func (s *ScalingPlan) spec() ScalingSpec {
	if s == nil {
		return ScalingSpec{}
	}
	out := ScalingSpec{Enabled: true, FirstMS: s.FirstMS, EveryMS: s.EveryMS}
	for tick, t := range s.Ticks {
		d := ScalingDecision{Tick: tick, Prefill: workersOrNone(t.TargetPrefill), Decode: workersOrNone(t.TargetDecode), NextTickMS: math.NaN()}
		if t.NextTickMS != nil {
			d.NextTickMS = *t.NextTickMS
		}
		out.Decisions = append(out.Decisions, d)
	}
	slices.SortFunc(out.Decisions, func(a, b ScalingDecision) int { return cmp.Compare(a.Tick, b.Tick) })
	return out
}

// workersOrNone is a number of workers, -1 for none given.
func workersOrNone(n *int64) int32 {
	if n == nil {
		return -1
	}
	return int32(*n)
}

// maxWorkers bounds the workers of a pool, at the start and in a script: more workers than any deployment has are a mistake, and
// each takes memory.
const maxWorkers = 1 << 17

// scalingScript is the document of --scaling-script.
type scalingScript struct {
	IntervalMS *float64
	Steps      []scalingStep
}

type scalingStep struct {
	AtMS                     float64
	Workers, Prefill, Decode *int64
}

func (s *scalingScript) fields() *strict.Object {
	return &strict.Object{
		Doc: "Changes of the number of workers during a run.",
		Fields: []*strict.Field{
			strict.OptionalFloat("interval_ms", &s.IntervalMS, "Time between looks at the script, ms: a step is taken at the first look at or after its time. Left out: at its time.").Above(0),
			strict.Sections("steps", &s.Steps, (*scalingStep).fields, "What is wanted from when on.").Required(),
		},
	}
}

func (s *scalingStep) fields() *strict.Object {
	return &strict.Object{
		Doc: "The wanted number of workers from a time on.",
		Fields: []*strict.Field{
			strict.Float("at_ms", &s.AtMS, "Virtual time, ms.").Min(0).Required(),
			strict.OptionalInt("workers", &s.Workers, "Aggregated workers.").Min(0).Limit(maxWorkers),
			strict.OptionalInt("prefill", &s.Prefill, "Prefill workers.").Min(0).Limit(maxWorkers),
			strict.OptionalInt("decode", &s.Decode, "Decode workers.").Min(0).Limit(maxWorkers),
		},
	}
}

// ParseScalingScript reads a script of --scaling-script, YAML or JSON, for an aggregated or a
// disaggregated deployment. name stands in messages. The error is a Problems with everything that
// is wrong with the script.
func ParseScalingScript(name string, data []byte, disaggregated bool) (ScalingSpec, error) {
	root, problems := strict.ReadYAML(name, data)
	if len(problems) > 0 {
		return ScalingSpec{}, problems
	}
	if !root.IsMapping() {
		return ScalingSpec{}, Problems{{File: name, Message: "the script must be one mapping with the key steps, got " + root.Describe()}}
	}
	var script scalingScript
	report := strict.Decode(root, script.fields())
	for i := range script.Steps {
		script.Steps[i].check(report, i, disaggregated)
	}
	if problems := report.Problems(); len(problems) > 0 {
		return ScalingSpec{}, problems
	}
	return script.spec(), nil
}

// check is the rules across the keys of a step.
func (s *scalingStep) check(r *strict.Report, i int, disaggregated bool) {
	path := stepPath(i)
	if !r.OK(path) {
		return
	}
	switch {
	case disaggregated && s.Workers != nil:
		r.Fail(path+".workers", "the deployment is disaggregated; give prefill, decode or both")
	case !disaggregated && (s.Prefill != nil || s.Decode != nil):
		r.Fail(path, "the deployment is aggregated; give workers")
	case s.Workers == nil && s.Prefill == nil && s.Decode == nil && disaggregated:
		r.Fail(path, "wants nothing; give prefill, decode or both")
	case s.Workers == nil && s.Prefill == nil && s.Decode == nil:
		r.Fail(path, "wants nothing; give workers")
	}
}

func stepPath(i int) string { return "steps[" + strconv.Itoa(i) + "]" }

// spec merges the steps of one time; the last one that names a pool counts.
func (s *scalingScript) spec() ScalingSpec {
	slices.SortStableFunc(s.Steps, func(a, b scalingStep) int { return cmp.Compare(a.AtMS, b.AtMS) })
	out := ScalingSpec{Enabled: true, FirstMS: s.Steps[0].AtMS}
	if s.IntervalMS != nil {
		out.FirstMS, out.EveryMS = 0, *s.IntervalMS
	}
	for _, step := range s.Steps {
		if n := len(out.Decisions); n == 0 || out.Decisions[n-1].AtMS != step.AtMS {
			out.Decisions = append(out.Decisions, ScalingDecision{Tick: -1, AtMS: step.AtMS, Prefill: -1, Decode: -1, NextTickMS: math.NaN()})
		}
		d := &out.Decisions[len(out.Decisions)-1]
		for _, n := range []*int64{step.Workers, step.Decode} {
			if n != nil {
				d.Decode = int32(*n)
			}
		}
		if step.Prefill != nil {
			d.Prefill = int32(*step.Prefill)
		}
	}
	return out
}
