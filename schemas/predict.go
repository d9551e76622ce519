package schemas

import (
	"github.com/dynosim/dynosim/schemas/strict"
)

// Prediction is the document of predict: one concrete workload on one concrete deployment
// (spec 07 section 1). A nil section is not given. Make one with ParsePrediction; the
// fields then hold what the document says, defaults filled in.
type Prediction struct {
	Traffic    *Traffic
	Engine     Engine
	Router     *RouterSection
	Planner    *Planner
	Evaluation *Evaluation
	Execution  *Execution

	// File is the name of the document, Stack the reference stack it was read for.
	File  string
	Stack Stack
}

// fields is the table of the document's keys.
func (p *Prediction) fields() *strict.Object {
	return &strict.Object{
		Doc: "One concrete workload on one concrete deployment.",
		Fields: []*strict.Field{
			strict.Section("traffic", &p.Traffic, (*Traffic).fields, "The requests: where they come from, when they arrive, when they stop. Left out: 100 synthetic requests of 1024 input and 128 output tokens at concurrency 10."),
			strict.Group("engine", &p.Engine, (*Engine).fields, "The simulated workers.").Required(),
			strict.Section("router", &p.Router, (*RouterSection).fields, "How requests are placed on workers. Left out: round robin."),
			strict.Section("planner", &p.Planner, (*Planner).fields, "How the number of workers changes during the run. Left out: it does not."),
			strict.Section("evaluation", &p.Evaluation, (*Evaluation).fields, "What counts as a good request."),
			strict.Section("execution", &p.Execution, (*Execution).fields, "Limits of the simulating process."),
		},
		Hints: map[string]string{
			"optimization": "belongs to recommend; predict does not accept it",
			"optimizer":    "belongs to recommend; predict does not accept it",
		},
	}
}

// ParsePrediction reads a predict document for a stack. Each override is a PATH=VALUE
// argument (spec 07 section 7), applied from left to right before anything is checked.
// name stands in messages. The error is a Problems with everything that is wrong with the
// document and the overrides, sorted by position.
func ParsePrediction(name string, data []byte, stack Stack, overrides ...string) (*Prediction, error) {
	p := &Prediction{File: name, Stack: stack}
	root, problems := strict.ReadYAML(name, data)
	if len(problems) > 0 {
		return nil, problems
	}
	if !root.IsMapping() {
		return nil, Problems{{File: name, Message: "the document must be one YAML mapping with the key engine, got " + root.Describe()}}
	}
	for i, argument := range overrides {
		var wrong Problems
		root, wrong = strict.Override(root, p.fields(), argument, i+1)
		problems = append(problems, wrong...)
	}
	report := strict.Decode(root, p.fields())
	report.Include(problems)
	p.check(report)
	if problems := report.Problems(); len(problems) > 0 {
		return nil, problems
	}
	return p, nil
}

// JSONSchema is the predict document as a JSON Schema (draft 2020-12) for editors and
// validators. It comes from the same tables as the parser; rules across fields are not in it.
func JSONSchema() ([]byte, error) {
	return strict.JSONSchema((&Prediction{}).fields(), "https://github.com/dynosim/dynosim/schemas/predict.json", "dynosim predict")
}

// Evaluation is the section evaluation (spec 07 section 6).
type Evaluation struct {
	SLA *EvaluationSLA
}

func (e *Evaluation) fields() *strict.Object {
	return &strict.Object{
		Doc: "What counts as a good request.",
		Fields: []*strict.Field{
			strict.Section("sla", &e.SLA, (*EvaluationSLA).fields, "Bounds of a good request: ttft_ms and itl_ms, or e2e_ms.").Nullable(),
		},
	}
}

// EvaluationSLA holds the bounds of a good request in milliseconds; nil is not set.
type EvaluationSLA struct {
	TTFTMS, ITLMS, E2EMS *float64
}

func (s *EvaluationSLA) fields() *strict.Object {
	return &strict.Object{
		Doc: "Bounds of a good request, inclusive; bounds that are not given do not bind.",
		Fields: []*strict.Field{
			strict.OptionalFloat("ttft_ms", &s.TTFTMS, "Time to the first token, ms.").Above(0),
			strict.OptionalFloat("itl_ms", &s.ITLMS, "Mean gap between output tokens, ms.").Above(0),
			strict.OptionalFloat("e2e_ms", &s.E2EMS, "Time to the last token, ms; excludes the other two.").Above(0),
		},
	}
}

// spec is the bounds in the form of the run specification; s may be nil.
func (s *EvaluationSLA) spec() SLA {
	out := NoSLA()
	if s == nil {
		return out
	}
	for _, bound := range []struct {
		to   *float64
		from *float64
	}{{&out.TTFTMS, s.TTFTMS}, {&out.ITLMS, s.ITLMS}, {&out.E2EMS, s.E2EMS}} {
		if bound.from != nil {
			*bound.to = *bound.from
		}
	}
	return out
}

// sla is the bounds of the document, nil when it sets none.
func (p *Prediction) sla() *EvaluationSLA {
	if p.Evaluation == nil {
		return nil
	}
	return p.Evaluation.SLA
}

// Execution is the section execution (spec 07 section 8).
type Execution struct {
	Resources Resources
}

func (e *Execution) fields() *strict.Object {
	return &strict.Object{
		Doc: "Limits of the simulating process.",
		Fields: []*strict.Field{
			strict.Group("resources", &e.Resources, (*Resources).fields, "Memory, processors and patience."),
		},
	}
}

// Resources bounds the simulating process.
type Resources struct {
	// MemoryLimitGB and CPULimit are 0 for "auto", InitializationTimeoutSeconds is 0 for none.
	MemoryLimitGB                                        float64
	CPULimit                                             int64
	ReserveMemoryGB, ReserveMemoryFraction               float64
	InitializationTimeoutSeconds, ShutdownTimeoutSeconds float64
}

// DefaultResources are the limits of a document that gives none.
func DefaultResources() (r Resources) {
	r.fields().Reset()
	return r
}

func (r *Resources) fields() *strict.Object {
	noMemoryLimit, noCPULimit := func() { r.MemoryLimitGB = 0 }, func() { r.CPULimit = 0 }
	return &strict.Object{
		Doc: "Limits of memory, processors and time of the simulating process.",
		Fields: []*strict.Field{
			strict.Float("memory_limit_gb", &r.MemoryLimitGB, "Resident memory at which the run stops, GB. auto: 90 % of what is available at the start, but always less the reserve.").
				Above(0).Or("auto", noMemoryLimit).Default("auto", noMemoryLimit),
			strict.DefaultFloat("reserve_memory_gb", &r.ReserveMemoryGB, 1, "Memory of the host that stays free, GB.").Min(0),
			strict.DefaultFloat("reserve_memory_fraction", &r.ReserveMemoryFraction, 0, "Share of the host's memory that stays free.").Min(0).Max(1),
			strict.Int("cpu_limit", &r.CPULimit, "Processors to use. auto: all but one.").
				Positive().Or("auto", noCPULimit).Default("auto", noCPULimit),
			strict.Float("initialization_timeout_seconds", &r.InitializationTimeoutSeconds, "Time until the simulation begins, reading the source included, seconds. Left out: no limit.").
				Above(0).Default(nil, func() { r.InitializationTimeoutSeconds = 0 }),
			strict.DefaultFloat("shutdown_timeout_seconds", &r.ShutdownTimeoutSeconds, 5, "Time for the end, seconds.").Above(0),
		},
	}
}
