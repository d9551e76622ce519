package schemas

import "github.com/dynosim/dynosim/schemas/strict"

// RouterPolicy names how requests are placed on workers.
type RouterPolicy string

// Policies (spec 07 section 4).
const (
	PolicyRoundRobin RouterPolicy = "round_robin"
	PolicyKVRouter   RouterPolicy = "kv_router"
)

// Router load models.
const (
	loadModelNone = "none"
	loadModelAIC  = "aic"
)

// RouterSection is the section router (spec 07 section 4).
type RouterSection struct {
	Policy           RouterPolicy
	PrefillLoadModel PrefillLoadModel
	// OverlapScoreCredit, PrefillLoadScale and Temperature belong to kv_router.
	OverlapScoreCredit, PrefillLoadScale, Temperature float64
	// Seed drives every random draw of the router; this program's own.
	Seed uint64
}

func (r *RouterSection) fields() *strict.Object {
	const kv = string(PolicyKVRouter)
	return &strict.Object{
		Doc: "How requests are placed on workers.",
		Tag: "policy",
		Fields: []*strict.Field{
			strict.Choice("policy", &r.Policy, PolicyRoundRobin, []RouterPolicy{PolicyRoundRobin, PolicyKVRouter}, "In turn, or by cached blocks and load."),
			strict.Group("prefill_load_model", &r.PrefillLoadModel, (*PrefillLoadModel).fields, "How the router estimates prefill work."),
			strict.DefaultFloat("overlap_score_credit", &r.OverlapScoreCredit, 1, "Weight of cached blocks in the cost.").Min(0).For(kv),
			strict.DefaultFloat("prefill_load_scale", &r.PrefillLoadScale, 1, "Weight of the prefill term.").Min(0).For(kv),
			strict.DefaultFloat("temperature", &r.Temperature, 0, "0 picks the cheapest worker; above, workers are drawn.").Min(0).For(kv),
			strict.DefaultInt("seed", &r.Seed, 0, "Seed of the router's random draws.").Min(0),
		},
	}
}

// PrefillLoadModel is router.prefill_load_model.
type PrefillLoadModel struct {
	Type string
}

func (m *PrefillLoadModel) fields() *strict.Object {
	return &strict.Object{
		Doc: "How the router estimates prefill work.",
		Fields: []*strict.Field{
			strict.Choice("type", &m.Type, loadModelNone, []string{loadModelNone, loadModelAIC}, "No estimate, or the timing model's; aic needs policy kv_router.").Synonym("ais", loadModelAIC),
		},
	}
}

// PlannerTarget is what the planner optimises.
type PlannerTarget string

// Targets (spec 08 section 1.1).
const (
	TargetThroughput PlannerTarget = "throughput"
	TargetLatency    PlannerTarget = "latency"
	TargetLoad       PlannerTarget = "load"
	TargetSLA        PlannerTarget = "sla"
)

// Planner is the section planner (spec 08 section 1.1). Intervals are 0 when the document
// says null.
type Planner struct {
	Policy                                                             string
	Target                                                             PlannerTarget
	EnableThroughputScaling, EnableLoadScaling                         bool
	ThroughputAdjustmentIntervalSeconds, LoadAdjustmentIntervalSeconds int64
	MaxThroughputScalingReplicas                                       int64
	MaxNumGPUs, MinNumGPUs                                             int64
	MinWorkers                                                         int64
	PrefillMinWorkers, DecodeMinWorkers                                *int64
	MaxNumFPMSamples, FPMSampleBucketSize                              int64
	LoadScalingDownSensitivity, LoadMinObservations                    int64
	LoadPredictor                                                      string
	LoadPredictorLog1p                                                 bool
	ProphetWindowSize                                                  int64
	KalmanQLevel, KalmanQTrend, KalmanR                                float64
	KalmanMinPoints                                                    int64
	LoadPredictorWarmupTrace                                           string
	Advisory                                                           bool
	Retune                                                             *Retune
}

// enabled reports whether the planner acts; p may be nil.
func (p *Planner) enabled() bool { return p != nil && p.Policy == "enabled" }

func (p *Planner) fields() *strict.Object {
	return &strict.Object{
		Doc: "How the number of workers changes during the run.",
		Fields: []*strict.Field{
			strict.Choice("policy", &p.Policy, "disabled", []string{"disabled", "enabled"}, "Whether the planner acts."),
			strict.Choice("target", &p.Target, TargetThroughput, []PlannerTarget{TargetThroughput, TargetLatency, TargetLoad, TargetSLA}, "What the planner optimises."),
			strict.Flag("enable_throughput_scaling", &p.EnableThroughputScaling, true, "Scale by forecast demand; only target sla obeys it."),
			strict.Flag("enable_load_scaling", &p.EnableLoadScaling, false, "Scale by present load; only target sla obeys it."),
			strict.DefaultInt("throughput_adjustment_interval_seconds", &p.ThroughputAdjustmentIntervalSeconds, 180, "Time between throughput decisions, seconds.").Positive().NullAs(func() { p.ThroughputAdjustmentIntervalSeconds = 0 }),
			strict.DefaultInt("load_adjustment_interval_seconds", &p.LoadAdjustmentIntervalSeconds, 5, "Time between load decisions, seconds.").Positive().NullAs(func() { p.LoadAdjustmentIntervalSeconds = 0 }),
			strict.DefaultInt("max_throughput_scaling_replicas", &p.MaxThroughputScalingReplicas, 8, "Largest change of one throughput decision.").Positive(),
			strict.DefaultInt("max_num_gpus", &p.MaxNumGPUs, 8, "GPUs the planner may use; negative: no ceiling."),
			strict.DefaultInt("min_num_gpus", &p.MinNumGPUs, -1, "GPUs the planner keeps; negative: no floor."),
			strict.DefaultInt("min_workers", &p.MinWorkers, 1, "Smallest number of workers of a role.").Min(0),
			strict.OptionalInt("prefill_min_workers", &p.PrefillMinWorkers, "Smallest number of prefill workers; disaggregated mode only.").Positive(),
			strict.OptionalInt("decode_min_workers", &p.DecodeMinWorkers, "Smallest number of decode workers; disaggregated mode only.").Positive(),
			strict.DefaultInt("max_num_fpm_samples", &p.MaxNumFPMSamples, 64, "Forward passes that the performance model keeps.").Positive(),
			strict.DefaultInt("fpm_sample_bucket_size", &p.FPMSampleBucketSize, 16, "Buckets of kept forward passes, a perfect square.").Positive(),
			strict.DefaultInt("load_scaling_down_sensitivity", &p.LoadScalingDownSensitivity, 80, "How readily load scaling removes workers, percent.").Min(0).Max(100),
			strict.DefaultInt("load_min_observations", &p.LoadMinObservations, 5, "Observations before load scaling decides; with target sla 1 to max_num_fpm_samples."),
			strict.Choice("load_predictor", &p.LoadPredictor, "arima", []string{"constant", "arima", "prophet", "kalman"}, "How demand is forecast."),
			strict.Flag("load_predictor_log1p", &p.LoadPredictorLog1p, false, "Forecast the logarithm."),
			strict.DefaultInt("prophet_window_size", &p.ProphetWindowSize, 50, "Observations that the predictor sees.").Positive(),
			strict.DefaultFloat("kalman_q_level", &p.KalmanQLevel, 1, "Process noise of the level."),
			strict.DefaultFloat("kalman_q_trend", &p.KalmanQTrend, 0.1, "Process noise of the trend."),
			strict.DefaultFloat("kalman_r", &p.KalmanR, 10, "Observation noise."),
			strict.DefaultInt("kalman_min_points", &p.KalmanMinPoints, 5, "Observations before the filter forecasts."),
			strict.String("load_predictor_warmup_trace", &p.LoadPredictorWarmupTrace, "File, directory or glob with earlier traffic for the predictor.").Nullable(),
			strict.Flag("advisory", &p.Advisory, false, "Decide and record, but change nothing."),
			strict.Section("retune", &p.Retune, (*Retune).fields, "Tune router and planner settings from the traffic of the last window.").Nullable(),
		},
	}
}

// Retune is planner.retune (spec 08 section 12.2).
type Retune struct {
	IntervalSeconds, GraceSeconds float64
	HistorySeconds                *float64
	MaxParallel                   *int64
	TimeoutSeconds                *float64
	// DecisionLatencySeconds is -1 for "measured".
	DecisionLatencySeconds, DecisionLatencyScale float64
	MinImprovementPercentage                     float64
	Objective                                    string
	SLATTFTMS, SLAITLMS                          *float64
	Router                                       *RetuneRouter
	Planner                                      *strict.Node
}

func (r *Retune) fields() *strict.Object {
	return &strict.Object{
		Doc: "Tune router and planner settings from the traffic of the last window.",
		Fields: []*strict.Field{
			strict.Float("interval_seconds", &r.IntervalSeconds, "Length of a window, seconds; a multiple of the planner's tick.").Above(0).Required(),
			strict.DefaultFloat("grace_seconds", &r.GraceSeconds, 60, "Delay between the end of a window and its sweep, seconds.").Min(0),
			strict.OptionalFloat("history_seconds", &r.HistorySeconds, "Traffic before a window that predictors see, seconds.").Min(0),
			strict.OptionalInt("max_parallel", &r.MaxParallel, "Candidates that are simulated at a time.").Positive(),
			strict.OptionalFloat("timeout_seconds", &r.TimeoutSeconds, "Wall-clock limit of a sweep, seconds. Left out: interval_seconds.").Above(0),
			strict.DefaultFloat("decision_latency_seconds", &r.DecisionLatencySeconds, 0, "Virtual time that a sweep takes, seconds, or measured.").Min(0).Or("measured", func() { r.DecisionLatencySeconds = -1 }),
			strict.DefaultFloat("decision_latency_scale", &r.DecisionLatencyScale, 1, "Factor on the measured time.").Above(0),
			strict.DefaultFloat("min_improvement_percentage", &r.MinImprovementPercentage, 3, "Gain that is worth a switch, percent.").Min(0),
			strict.String("objective", &r.Objective, "What a score is.").Nullable(),
			strict.OptionalFloat("sla_ttft_ms", &r.SLATTFTMS, "Bound of the score on the time to the first token, ms.").Above(0),
			strict.OptionalFloat("sla_itl_ms", &r.SLAITLMS, "Bound of the score on the gap between tokens, ms.").Above(0),
			strict.Section("router", &r.Router, (*RetuneRouter).fields, "Router settings to search.").Nullable(),
			strict.Raw("planner", &r.Planner, "default or a mapping", "Planner settings to search: default, or a mapping of planner fields.").Nullable(),
		},
	}
}

// RetuneRouter is planner.retune.router; each knob is a number or a domain, nil when it
// is not given.
type RetuneRouter struct {
	OverlapScoreCredit, PrefillLoadScale, Temperature *strict.Node
}

func (r *RetuneRouter) fields() *strict.Object {
	const why = "sets how the router counts cached tokens from the start, which a later change does not reach; it cannot be tuned"
	const want = "a number, {choices: [...]} or {range: {...}}"
	return &strict.Object{
		Doc: "Router settings to search; a number pins a setting, a setting left out has its default domain.",
		Fields: []*strict.Field{
			strict.Raw("overlap_score_credit", &r.OverlapScoreCredit, want, "Weight of cached blocks."),
			strict.Raw("prefill_load_scale", &r.PrefillLoadScale, want, "Weight of the prefill term."),
			strict.Raw("temperature", &r.Temperature, want, "Randomness of the choice."),
		},
		Hints: map[string]string{
			"host_cache_hit_weight":   why,
			"disk_cache_hit_weight":   why,
			"shared_cache_multiplier": "has no effect in a simulation; it cannot be tuned",
		},
	}
}
