package schemas

import (
	"math"

	"github.com/dynosim/dynosim/schemas/strict"
)

// Traffic is the section traffic (spec 07 section 2).
type Traffic struct {
	Source Source
	Load   Load
	// Stop is nil when the section has none: a trace then runs to its end.
	Stop *Stop
}

// DefaultTraffic is what a document without the section means (spec 07 section 2.5).
func DefaultTraffic() *Traffic {
	count := int64(100)
	return &Traffic{
		Source: Source{Type: SourceTypeSynthetic, InputTokens: 1024, OutputTokens: 128},
		Load:   Load{Type: LoadTypeConcurrency, Concurrency: 10},
		Stop:   &Stop{Requests: &count},
	}
}

func (t *Traffic) fields() *strict.Object {
	return &strict.Object{
		Doc: "Where requests come from, when they arrive and when they stop.",
		Fields: []*strict.Field{
			strict.Group("source", &t.Source, (*Source).fields, "Where requests come from.").Required(),
			strict.Group("load", &t.Load, (*Load).fields, "When requests arrive.").Required(),
			strict.Section("stop", &t.Stop, (*Stop).fields, "When the traffic ends. Synthetic sources need exactly one count; a trace without it runs to its end.").Nullable(),
		},
	}
}

// SourceType is the tag of traffic.source.
type SourceType string

// Types of source (spec 07 section 2.1).
const (
	SourceTypeSynthetic SourceType = "synthetic"
	SourceTypeSession   SourceType = "synthetic-session"
	SourceTypeTrace     SourceType = "trace"
)

// Source is traffic.source; which fields mean something depends on Type.
type Source struct {
	Type SourceType
	// InputTokens and OutputTokens are of every synthetic request.
	InputTokens, OutputTokens int64
	// NewInputTokensPerTurn, OutputTokensPerTurn and Session shape synthetic sessions.
	NewInputTokensPerTurn, OutputTokensPerTurn int64
	Session                                    Session
	// Paths, Format, BlockTokens and NestedTimestampBasis are of traces; BlockTokens nil
	// is the format's default.
	Paths                []string
	Format               TraceFormat
	BlockTokens          *int64
	NestedTimestampBasis string
}

// maxCount bounds lengths in tokens and numbers of requests: the tables hold 32 bits.
const maxCount = math.MaxInt32

var traceFormats = []TraceFormat{FormatMooncake, FormatMooncakeDelta, FormatAgenticMooncake, FormatWeka, FormatAppliedCompute, FormatDynamo}

func (s *Source) fields() *strict.Object {
	const independent, sessions, trace = string(SourceTypeSynthetic), string(SourceTypeSession), string(SourceTypeTrace)
	return &strict.Object{
		Doc: "Where requests come from.",
		Tag: "type",
		Fields: []*strict.Field{
			strict.Choice("type", &s.Type, SourceTypeSynthetic, []SourceType{SourceTypeSynthetic, SourceTypeSession, SourceTypeTrace}, "Independent requests, sessions of several turns, or trace files."),
			strict.DefaultInt("input_tokens", &s.InputTokens, 1024, "Prompt tokens of every request.").Positive().Limit(maxCount).For(independent),
			strict.DefaultInt("output_tokens", &s.OutputTokens, 128, "Output tokens of every request.").Positive().Limit(maxCount).For(independent),
			strict.DefaultInt("new_input_tokens_per_turn", &s.NewInputTokensPerTurn, 1024, "Prompt tokens of every turn.").Positive().Limit(maxCount).For(sessions),
			strict.DefaultInt("output_tokens_per_turn", &s.OutputTokensPerTurn, 128, "Output tokens of every turn.").Positive().Limit(maxCount).For(sessions),
			strict.Group("session", &s.Session, (*Session).fields, "The shape of a session.").Required().For(sessions),
			strict.Strings("paths", &s.Paths, "Trace files: several for format dynamo, one for every other. Relative to the working directory.").Required().For(trace),
			strict.Choice("format", &s.Format, FormatMooncake, traceFormats, "The format of the trace files.").For(trace),
			strict.OptionalInt("block_size", &s.BlockTokens, "Tokens that one hash id of the trace stands for: 512, or what the file says for dynamo and weka, where a value given here must equal it.").Positive().Limit(maxCount).For(trace),
			strict.Choice("nested_timestamp_basis", &s.NestedTimestampBasis, "", []string{"auto", "absolute", "relative"}, "What nested timestamps of a weka corpus count from.").Nullable().For(trace),
		},
	}
}

// Session is the shape of synthetic sessions.
type Session struct {
	Turns             int64
	SharedPrefixRatio float64
	PrefixGroups      int64
	InterTurnDelayMS  float64
}

func (s *Session) fields() *strict.Object {
	return &strict.Object{
		Doc: "The shape of a synthetic session.",
		Fields: []*strict.Field{
			strict.DefaultInt("turns", &s.Turns, 4, "Turns of a session.").Min(2).Limit(maxCount),
			strict.DefaultFloat("shared_prefix_ratio", &s.SharedPrefixRatio, 0, "Share of every prompt that the sessions of a group have in common.").Min(0).Max(1),
			strict.DefaultInt("prefix_groups", &s.PrefixGroups, 0, "Groups of sessions with a common prompt start; positive when the ratio is.").Min(0).Limit(math.MaxUint32),
			strict.DefaultFloat("inter_turn_delay_ms", &s.InterTurnDelayMS, 0, "Think time between turns, ms.").Min(0),
		},
	}
}

// LoadType is the tag of traffic.load.
type LoadType string

// Types of load (spec 07 section 2.2).
const (
	LoadTypeConcurrency     LoadType = "concurrency"
	LoadTypePoisson         LoadType = "poisson"
	LoadTypeConstantRate    LoadType = "constant_rate"
	LoadTypeTraceTimestamps LoadType = "trace_timestamps"
)

// Load is traffic.load; which fields mean something depends on Type.
type Load struct {
	Type        LoadType
	Concurrency int64
	// RequestsPerSecond or SessionsPerSecond is the rate; the other one is nil.
	RequestsPerSecond, SessionsPerSecond *float64
	Seed                                 uint64
	Speedup                              float64
	AgenticLanes                         *int64
	AgenticSnapshot                      *AgenticSnapshot
	AgenticWarmup                        bool
	AgenticProfile                       *AgenticProfile
}

func (l *Load) fields() *strict.Object {
	const closed, poisson, constant, timestamps = string(LoadTypeConcurrency), string(LoadTypePoisson), string(LoadTypeConstantRate), string(LoadTypeTraceTimestamps)
	return &strict.Object{
		Doc: "When requests arrive.",
		Tag: "type",
		Fields: []*strict.Field{
			strict.Choice("type", &l.Type, LoadTypeConcurrency, []LoadType{LoadTypeConcurrency, LoadTypePoisson, LoadTypeConstantRate, LoadTypeTraceTimestamps}, "A fixed number at work, random or even gaps, or the times of the trace."),
			strict.DefaultInt("concurrency", &l.Concurrency, 10, "Requests, or sessions, that are at work at a time.").Positive().For(closed),
			strict.OptionalFloat("requests_per_second", &l.RequestsPerSecond, "Rate of independent requests.").Above(0).For(poisson, constant),
			strict.OptionalFloat("sessions_per_second", &l.SessionsPerSecond, "Rate of new sessions.").Above(0).For(poisson, constant),
			strict.DefaultInt("seed", &l.Seed, 42, "Seed of the random gaps.").Min(0).For(poisson),
			strict.DefaultFloat("speedup", &l.Speedup, 1, "Divides the times of the trace, arrivals and delays alike.").Above(0).For(timestamps),
			strict.OptionalInt("agentic_lanes", &l.AgenticLanes, "Trajectories of an agentic trace that are replayed at a time.").Positive().For(timestamps),
			strict.Section("agentic_snapshot", &l.AgenticSnapshot, (*AgenticSnapshot).fields, "Start in the middle of the trajectories.").Nullable().For(timestamps),
			strict.Flag("agentic_warmup", &l.AgenticWarmup, false, "Warm the caches up before the snapshot starts.").For(timestamps),
			strict.Section("agentic_profile", &l.AgenticProfile, (*AgenticProfile).fields, "Measure for a fixed time.").Nullable().For(timestamps),
		},
		Hints: map[string]string{"fraction": "kv_capacity_fraction belongs to recommend; predict does not accept it"},
	}
}

// rate is the rate that the document gives, per second.
func (l *Load) rate() float64 {
	switch {
	case l.RequestsPerSecond != nil:
		return *l.RequestsPerSecond
	case l.SessionsPerSecond != nil:
		return *l.SessionsPerSecond
	}
	return 0
}

// AgenticSnapshot starts an agentic run in the middle of its trajectories (spec 02 section 8).
type AgenticSnapshot struct {
	Seed uint64
}

func (s *AgenticSnapshot) fields() *strict.Object {
	return &strict.Object{
		Doc:    "Start in the middle of the trajectories.",
		Fields: []*strict.Field{strict.Int("seed", &s.Seed, "Seed of the cut.").Min(0).Required()},
	}
}

// AgenticProfile measures an agentic run for a fixed time; all are seconds (spec 07 section 2.2).
type AgenticProfile struct {
	DurationSeconds, ResponseGraceSeconds, CancelDrainSeconds, TreeIdleCapSeconds, GlobalIdleCapSeconds float64
}

func (p *AgenticProfile) fields() *strict.Object {
	return &strict.Object{
		Doc: "Measure for a fixed time.",
		Fields: []*strict.Field{
			strict.DefaultFloat("duration_seconds", &p.DurationSeconds, 3600, "Time in which requests are issued, seconds.").Above(0),
			strict.DefaultFloat("response_grace_seconds", &p.ResponseGraceSeconds, 30, "Time that responses have afterwards, seconds.").Min(0),
			strict.DefaultFloat("cancel_drain_seconds", &p.CancelDrainSeconds, 10, "Time for cancelled requests, seconds.").Min(0),
			strict.DefaultFloat("tree_idle_cap_seconds", &p.TreeIdleCapSeconds, 300, "Longest idle time of one trajectory, seconds.").Above(0),
			strict.DefaultFloat("global_idle_cap_seconds", &p.GlobalIdleCapSeconds, 10, "Longest idle time of the whole run, seconds.").Above(0),
		},
	}
}

// Stop is traffic.stop; nil is not given (spec 07 section 2.3).
type Stop struct {
	Requests, Sessions                       *int64
	RequestsPerLoadUnit, SessionsPerLoadUnit *float64
	MaxVirtualTimeSeconds                    *float64
}

func (s *Stop) fields() *strict.Object {
	return &strict.Object{
		Doc: "When the traffic ends.",
		Fields: []*strict.Field{
			strict.OptionalInt("requests", &s.Requests, "Number of requests of a synthetic source.").Positive().Limit(maxCount),
			strict.OptionalFloat("requests_per_load_unit", &s.RequestsPerLoadUnit, "Number of requests as a multiple of the concurrency or the rate, rounded.").Above(0),
			strict.OptionalInt("sessions", &s.Sessions, "Number of sessions of a synthetic-session source.").Positive().Limit(maxCount),
			strict.OptionalFloat("sessions_per_load_unit", &s.SessionsPerLoadUnit, "Number of sessions as a multiple of the concurrency or the rate, rounded.").Above(0),
			strict.OptionalFloat("max_virtual_time_seconds", &s.MaxVirtualTimeSeconds, "Virtual time at which the run of a trace ends, seconds.").Above(0),
		},
	}
}

// count is the number of requests or sessions that a synthetic source makes: the count
// itself, or max(1, value × unit rounded half to even), the unit being the concurrency or
// the rate (spec 01 section 2). ok is false when the stop has no count.
func (s *Stop) count(load *Load) (n float64, ok bool) {
	unit := float64(load.Concurrency)
	if load.Type != LoadTypeConcurrency {
		unit = load.rate()
	}
	switch {
	case s == nil:
		return 0, false
	case s.Requests != nil:
		return float64(*s.Requests), true
	case s.Sessions != nil:
		return float64(*s.Sessions), true
	case s.RequestsPerLoadUnit != nil:
		return max(1, math.RoundToEven(*s.RequestsPerLoadUnit*unit)), true
	case s.SessionsPerLoadUnit != nil:
		return max(1, math.RoundToEven(*s.SessionsPerLoadUnit*unit)), true
	}
	return 0, false
}
