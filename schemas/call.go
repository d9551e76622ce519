package schemas

import (
	"bytes"
	"math"
	"path"
	"slices"

	"github.com/dynosim/dynosim/schemas/strict"
)

// CallKind tells which function of the Python API a call stands for.
type CallKind string

// Kinds of call (spec 07 section 7.1).
const (
	CallTrace     CallKind = "trace"
	CallSynthetic CallKind = "synthetic"
)

// Call is the document of replay: one call of the reference's Python API, in its names
// (spec 07 section 7.1). Make one with ParseCall; the fields then hold what the document
// says, defaults filled in.
type Call struct {
	Kind       CallKind
	TraceFiles []string
	Args       CallArgs
	// Router, ScalingPlan and PlannerConfig are nil when not given.
	Router        *RouterConfig
	ScalingPlan   *ScalingPlan
	PlannerConfig *strict.Node

	// File is the name of the document.
	File string

	// policies is what ReadPolicies read.
	policies *PolicyFile
	// native says that the document was one of kind spec. Without traffic it has a topology, and requests
	// that listed holds as they are written.
	native   bool
	version  int64
	topology specTopology
	listed   []listedRow
	requests []ListedRequest
}

func (c *Call) fields() *strict.Object {
	return &strict.Object{
		Doc: "One call of the replay API.",
		Tag: "kind",
		Fields: append(c.specFields(),
			strict.Choice("kind", &c.Kind, "", []CallKind{CallTrace, CallSynthetic, CallSpec}, "Which function is called.").Required(),
			strict.Strings("trace_files", &c.TraceFiles, "Trace files, relative to the working directory: several for format dynamo, one for every other.").Required().For(string(CallTrace)),
			strict.Group("args", &c.Args, func(a *CallArgs) *strict.Object { return a.fields(c.Kind) }, "Keyword arguments of the call."),
			strict.Section("router_config", &c.Router, (*RouterConfig).fields, "Settings of the KV router.").Nullable(),
			strict.Section("scaling_plan", &c.ScalingPlan, (*ScalingPlan).fields, "Scripted changes of the number of workers.").Nullable(),
			strict.Raw("planner_config", &c.PlannerConfig, "a mapping", "Settings of the planner, in its own names.").Nullable(),
		),
	}
}

// ParseCall reads a call document, JSON or YAML. name stands in messages; its ending, or
// a first character other than {, tells YAML from JSON. The error is a Problems with
// everything that is wrong, sorted by position, the checks of the reference's run
// included (spec 01 section 9, spec 03 section 2, spec 05 section 12).
func ParseCall(name string, data []byte) (*Call, error) {
	root, problems := readCall(name, data)
	if len(problems) > 0 {
		return nil, problems
	}
	if !root.IsMapping() {
		return nil, Problems{{File: name, Message: "the call must be one mapping with the keys kind and args, got " + root.Describe()}}
	}
	c := &Call{File: name}
	call, places := fromSpec(root)
	if c.native = places != nil; !c.native && root.Member("kind") != nil && root.Member("kind").IsText(string(CallSpec)) {
		if payload := root.Member("payload"); payload != nil {
			return nil, Problems{{File: name, Line: payload.Line, Column: payload.Column, Path: "payload", Message: "got " + payload.Describe() + ", want a mapping"}}
		}
		return nil, Problems{{File: name, Line: root.Line, Column: root.Column, Path: "payload", Message: "required key is missing with kind: spec; want a mapping"}}
	}
	report := strict.Decode(call, c.fields())
	c.check(report)
	if problems := report.Problems(); len(problems) > 0 {
		for i := range problems {
			if place := places[problems[i].Path]; place != "" {
				problems[i].Path = place
			}
		}
		return nil, problems
	}
	return c, nil
}

// IsCall reports whether a document is meant as a call: a mapping with the key args, or one with kind that
// is no other document.
func IsCall(name string, data []byte) bool {
	root, problems := readCall(name, data)
	if len(problems) > 0 || !root.IsMapping() {
		return path.Ext(name) == ".json"
	}
	has := func(key string) bool {
		return slices.ContainsFunc(root.Members, func(m strict.Member) bool { return m.Key == key })
	}
	return has("args") || has("kind") && !has("engine")
}

// readCall parses the text. A YAML flow mapping starts like JSON, so what is not JSON by
// its name is tried as YAML before it is called malformed.
func readCall(name string, data []byte) (*strict.Node, Problems) {
	if ext := path.Ext(name); ext == ".yaml" || ext == ".yml" {
		return strict.ReadYAML(name, data)
	}
	start := bytes.TrimLeft(bytes.TrimPrefix(data, []byte("\ufeff")), " \t\r\n")
	if !bytes.HasPrefix(start, []byte("{")) && path.Ext(name) != ".json" {
		return strict.ReadYAML(name, data)
	}
	root, problems := strict.ReadJSON(name, data)
	if len(problems) > 0 && path.Ext(name) != ".json" {
		if fromYAML, wrong := strict.ReadYAML(name, data); len(wrong) == 0 {
			return fromYAML, nil
		}
	}
	return root, problems
}

// CallArgs is the keyword arguments of a call; which exist depends on the kind. A nil
// pointer is None.
type CallArgs struct {
	// Synthetic calls.
	InputTokens, OutputTokens, RequestCount int64
	RequestRate, ArrivalIntervalMS          *float64
	ArrivalSeed                             uint64
	TurnsPerSession, NumPrefixGroups        int64
	SharedPrefixRatio, InterTurnDelayMS     float64

	// Trace calls.
	TraceFormat                              TraceFormat
	TraceBlockSize                           *int64
	TraceSharedPrefixRatio                   float64
	TraceNumPrefixGroups                     int64
	MaxSimTimeMS                             *float64
	AgenticLanes                             *int64
	ExecutionModel, WekaNestedTimestampBasis string
	AgenticSnapshot                          *AgenticSnapshot
	AgenticWarmup                            bool
	AgenticProfile                           *AgenticProfile

	// Both.
	ExtraEngineArgs, PrefillEngineArgs, DecodeEngineArgs *EngineArgs
	NumWorkers, NumPrefillWorkers, NumDecodeWorkers      int64
	RouterMode                                           RouterPolicy
	ReplayMode                                           string
	ReplayConcurrency                                    *int64
	ArrivalSpeedupRatio                                  float64
	SLATTFTMS, SLAITLMS, SLAE2EMS                        *float64
	CapturePerRequest, CaptureTelemetry                  bool
	CapturePlannerDetails                                bool
	TelemetrySampleIntervalMS                            float64
	KVEventLagMS                                         *float64
	ModelName                                            string
	AISPerfConfig                                        *PerfConfig
}

// fields is the table of the arguments of a kind. When the kind is not known, only the
// common ones are looked at.
func (a *CallArgs) fields(kind CallKind) *strict.Object {
	out := &strict.Object{Doc: "Keyword arguments of the call.", Open: kind == ""}
	switch kind {
	case CallSynthetic:
		out.Fields = a.syntheticFields()
	case CallTrace:
		out.Fields = a.traceFields()
	case CallSpec:
		out.Fields = []*strict.Field{a.timeLimitField()}
	}
	out.Fields = append(out.Fields, a.commonFields()...)
	return out
}

func (a *CallArgs) syntheticFields() []*strict.Field {
	return []*strict.Field{
		strict.Int("input_tokens", &a.InputTokens, "Prompt tokens of every request or turn.").Positive().Limit(maxCount).Required(),
		strict.Int("output_tokens", &a.OutputTokens, "Output tokens of every request or turn.").Positive().Limit(maxCount).Required(),
		strict.Int("request_count", &a.RequestCount, "Number of requests or sessions.").Positive().Limit(maxCount).Required(),
		strict.OptionalFloat("request_rate", &a.RequestRate, "Rate of random arrivals, per second.").Above(0),
		strict.OptionalFloat("arrival_interval_ms", &a.ArrivalIntervalMS, "Even gap between arrivals, ms; 0 is a burst.").Min(0),
		strict.DefaultInt("arrival_seed", &a.ArrivalSeed, 42, "Seed of random arrivals.").Min(0),
		strict.DefaultInt("turns_per_session", &a.TurnsPerSession, 1, "Turns of a session.").Min(0).Limit(maxCount),
		strict.DefaultFloat("shared_prefix_ratio", &a.SharedPrefixRatio, 0, "Share of every prompt that the sessions of a group have in common."),
		strict.DefaultInt("num_prefix_groups", &a.NumPrefixGroups, 0, "Groups of sessions with a common prompt start.").Min(0).Limit(1<<32 - 1),
		strict.DefaultFloat("inter_turn_delay_ms", &a.InterTurnDelayMS, 0, "Think time between turns, ms."),
	}
}

func (a *CallArgs) traceFields() []*strict.Field {
	format := strict.Choice("trace_format", &a.TraceFormat, FormatMooncake, traceFormats, "The format of the trace files, spelled with - or _.")
	format.Synonym("mooncake_delta", string(FormatMooncakeDelta)).
		Synonym("agentic-mooncake", string(FormatAgenticMooncake)).
		Synonym("applied-compute-agentic", string(FormatAppliedCompute))
	return []*strict.Field{
		format,
		strict.OptionalInt("trace_block_size", &a.TraceBlockSize, "Tokens of a hash id of the trace: 512, or what the file says for dynamo and weka.").Positive().Limit(maxCount),
		strict.DefaultFloat("trace_shared_prefix_ratio", &a.TraceSharedPrefixRatio, 0, "Share of prompts in common, for applied_compute_agentic."),
		strict.DefaultInt("trace_num_prefix_groups", &a.TraceNumPrefixGroups, 0, "Groups with a common prompt start, for applied_compute_agentic.").Min(0).Limit(1<<32 - 1),
		a.timeLimitField(),
		strict.OptionalInt("agentic_lanes", &a.AgenticLanes, "Trajectories of an agentic trace that are replayed at a time.").Positive(),
		strict.String("execution_model", &a.ExecutionModel, "The model that agentic requests run on.").Nullable(),
		strict.Choice("weka_nested_timestamp_basis", &a.WekaNestedTimestampBasis, "", []string{"auto", "absolute", "relative"}, "What nested timestamps of a weka corpus count from.").Nullable(),
		strict.Section("agentic_snapshot", &a.AgenticSnapshot, (*AgenticSnapshot).fields, "Start in the middle of the trajectories.").Nullable(),
		strict.Flag("agentic_warmup", &a.AgenticWarmup, false, "Warm the caches up before the snapshot starts."),
		strict.Section("agentic_profile", &a.AgenticProfile, (*AgenticProfile).fields, "Measure for a fixed time.").Nullable(),
	}
}

func (a *CallArgs) timeLimitField() *strict.Field {
	return strict.OptionalFloat("max_sim_time_ms", &a.MaxSimTimeMS, "Virtual time at which the run ends, ms.").Min(0)
}

func (a *CallArgs) commonFields() []*strict.Field {
	return []*strict.Field{
		strict.Section("extra_engine_args", &a.ExtraEngineArgs, (*EngineArgs).fields, "The engine of aggregated workers.").Nullable(),
		strict.Section("prefill_engine_args", &a.PrefillEngineArgs, (*EngineArgs).fields, "The engine of prefill workers.").Nullable(),
		strict.Section("decode_engine_args", &a.DecodeEngineArgs, (*EngineArgs).fields, "The engine of decode workers.").Nullable(),
		strict.DefaultInt("num_workers", &a.NumWorkers, 1, "Aggregated workers.").Positive().Limit(maxWorkers),
		strict.DefaultInt("num_prefill_workers", &a.NumPrefillWorkers, 1, "Prefill workers.").Positive().Limit(maxWorkers),
		strict.DefaultInt("num_decode_workers", &a.NumDecodeWorkers, 1, "Decode workers.").Positive().Limit(maxWorkers),
		strict.Choice("router_mode", &a.RouterMode, PolicyRoundRobin, []RouterPolicy{PolicyRoundRobin, PolicyKVRouter}, "How requests are placed on workers."),
		strict.Choice("replay_mode", &a.ReplayMode, "offline", []string{"offline"}, "Simulation in virtual time, the only one here."),
		strict.OptionalInt("replay_concurrency", &a.ReplayConcurrency, "Requests, or sessions, that are at work at a time.").Positive(),
		strict.DefaultFloat("arrival_speedup_ratio", &a.ArrivalSpeedupRatio, 1, "Divides arrival times and delays of open loops."),
		strict.OptionalFloat("sla_ttft_ms", &a.SLATTFTMS, "Bound of a good request on the time to the first token, ms."),
		strict.OptionalFloat("sla_itl_ms", &a.SLAITLMS, "Bound of a good request on the mean gap between tokens, ms."),
		strict.OptionalFloat("sla_e2e_ms", &a.SLAE2EMS, "Bound of a good request on the time to the last token, ms."),
		strict.Flag("capture_per_request", &a.CapturePerRequest, false, "Report every request."),
		strict.Flag("capture_telemetry", &a.CaptureTelemetry, false, "Sample the engines while they run."),
		strict.Flag("capture_planner_details", &a.CapturePlannerDetails, true, "Report every planner tick."),
		strict.DefaultFloat("telemetry_sample_interval_ms", &a.TelemetrySampleIntervalMS, 1000, "Time between samples, ms."),
		strict.OptionalFloat("kv_event_lag_ms", &a.KVEventLagMS, "Delay of cache events to the KV router, ms.").Min(0),
		strict.String("model_name", &a.ModelName, "The model's name.").Nullable(),
		strict.Section("ais_perf_config", &a.AISPerfConfig, (*PerfConfig).fields, "The measured data of the router's load estimate.").Nullable(),
	}
}

// ScalingPlan is scripted scaling (spec 05 section 9): decisions by tick ordinal.
type ScalingPlan struct {
	FirstMS, EveryMS float64
	Ticks            map[int64]ScalingTick
}

func (s *ScalingPlan) fields() *strict.Object {
	return &strict.Object{
		Doc: "Scripted changes of the number of workers.",
		Fields: []*strict.Field{
			strict.DefaultFloat("first_ms", &s.FirstMS, 0, "Time of the first tick, ms."),
			strict.Float("every_ms", &s.EveryMS, "Time between ticks, ms.").Above(0).Required(),
			strict.Map("ticks", &s.Ticks, (*ScalingTick).fields, "Decisions by the number of the tick, from 0."),
		},
	}
}

// ScalingTick is one decision: the wanted number of workers, nil leaves a pool alone.
type ScalingTick struct {
	TargetPrefill, TargetDecode *int64
	// NextTickMS is the time of the next tick: nil as the plan says, +Inf (null in the
	// document) for never.
	NextTickMS *float64
}

func (s *ScalingTick) fields() *strict.Object {
	return &strict.Object{
		Doc: "The wanted number of workers.",
		Fields: []*strict.Field{
			strict.OptionalInt("target_prefill", &s.TargetPrefill, "Prefill workers.").Min(0).Limit(maxWorkers),
			strict.OptionalInt("target_decode", &s.TargetDecode, "Decode workers, or aggregated ones.").Min(0).Limit(maxWorkers),
			strict.OptionalFloat("next_tick_ms", &s.NextTickMS, "Time of the next tick, ms; null: there is none. Left out: every_ms later.").NullAs(func() { never := math.Inf(1); s.NextTickMS = &never }),
		},
	}
}
