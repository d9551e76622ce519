package schemas

import (
	"github.com/dynosim/dynosim/schemas/strict"
)

// RouterConfig is router_config of a call: the full settings of the KV router (spec 06
// section 1.2). Those under "No effect" are checked only. A nil pointer is None.
type RouterConfig struct {
	OverlapScoreCredit, OverlapScoreCreditDecay, PrefillLoadScale float64
	OverlapScoreWeight                                            *float64
	DecodeActiveRequestWeight                                     float64
	HostCacheHitWeight, DiskCacheHitWeight                        float64
	Temperature                                                   float64
	TrackPrefillTokens, TrackActiveBlocks, AssumeKVReuse          bool
	PrefillLoadModel                                              string
	QueueThreshold                                                *float64
	QueuePolicy                                                   string
	PolicyConfig                                                  string

	// No effect on an offline run, except that custom policies fail it.
	PrefillPolicy, DecodePolicy                   *string
	UseKVEvents, ReplicaSync, TrackOutputBlocks   bool
	UseRemoteIndexer, ServeIndexer                bool
	EnableSessionPrefixIndex                      bool
	EventThreads                                  int64
	TTLSeconds                                    float64
	PredictedTTLSeconds                           *float64
	ApproximateCachePolicy, SharedCacheType       string
	SharedCacheMultiplier                         *float64
	TrackingHash                                  string
	TrackingKeyFile, TrackingKeyID                *string
	ConditionalEnabled                            bool
	ConditionalPolicy                             string
	ConditionalISLThreshold                       int64
	ConditionalISLRatioThreshold                  float64
	ConditionalPrefillBusy, ConditionalDecodeBusy *float64
}

func (c *RouterConfig) fields() *strict.Object {
	return &strict.Object{Doc: "Settings of the KV router.", Fields: append(c.activeFields(), c.idleFields()...)}
}

// activeFields is what changes an offline run.
func (c *RouterConfig) activeFields() []*strict.Field {
	return []*strict.Field{
		strict.DefaultFloat("overlap_score_credit", &c.OverlapScoreCredit, 1, "Weight of blocks cached on the GPU.").Min(0),
		strict.DefaultFloat("overlap_score_credit_decay", &c.OverlapScoreCreditDecay, 0, "Decay of that weight.").Min(0),
		strict.DefaultFloat("prefill_load_scale", &c.PrefillLoadScale, 1, "Weight of the prefill term.").Min(0),
		strict.OptionalFloat("overlap_score_weight", &c.OverlapScoreWeight, "Old name of prefill_load_scale; 0 also clears overlap_score_credit.").Min(0),
		strict.DefaultFloat("decode_active_request_weight", &c.DecodeActiveRequestWeight, 0, "Weight of running requests.").Min(0),
		strict.DefaultFloat("host_cache_hit_weight", &c.HostCacheHitWeight, 0.75, "Weight of blocks cached in host memory.").Min(0).Max(1),
		strict.DefaultFloat("disk_cache_hit_weight", &c.DiskCacheHitWeight, 0.25, "Weight of blocks cached on disk.").Min(0).Max(1),
		strict.DefaultFloat("router_temperature", &c.Temperature, 0, "0 picks the cheapest worker; above, workers are drawn.").Min(0),
		strict.Flag("router_track_prefill_tokens", &c.TrackPrefillTokens, true, "Count prompt tokens that workers still have to compute."),
		strict.Flag("router_track_active_blocks", &c.TrackActiveBlocks, true, "Count blocks of running requests."),
		strict.Flag("router_assume_kv_reuse", &c.AssumeKVReuse, true, "Count shared blocks once."),
		strict.Choice("router_prefill_load_model", &c.PrefillLoadModel, loadModelNone, []string{loadModelNone, loadModelAIC}, "How prefill work is estimated.").Synonym("ais", loadModelAIC),
		strict.OptionalFloat("router_queue_threshold", &c.QueueThreshold, "Load above which requests wait in the router; left out: they never do.").Min(0),
		strict.Choice("router_queue_policy", &c.QueuePolicy, "fcfs", []string{"fcfs", "lcfs", "wspt"}, "Order of waiting requests."),
		strict.String("router_policy_config", &c.PolicyConfig, "A YAML file with policy classes.").Nullable(),
	}
}

// idleFields is what is only checked.
func (c *RouterConfig) idleFields() []*strict.Field {
	const idle = "No effect on a simulation."
	return []*strict.Field{
		strict.OptionalString("router_prefill_policy", &c.PrefillPolicy, "Custom policies are not simulated."),
		strict.OptionalString("router_decode_policy", &c.DecodePolicy, "Custom policies are not simulated."),
		strict.Flag("use_kv_events", &c.UseKVEvents, true, idle),
		strict.Flag("router_replica_sync", &c.ReplicaSync, false, idle),
		strict.Flag("router_track_output_blocks", &c.TrackOutputBlocks, false, idle),
		strict.Flag("use_remote_indexer", &c.UseRemoteIndexer, false, idle),
		strict.Flag("serve_indexer", &c.ServeIndexer, false, idle),
		strict.Flag("enable_session_prefix_index", &c.EnableSessionPrefixIndex, false, idle),
		strict.DefaultInt("router_event_threads", &c.EventThreads, 4, idle).Positive(),
		strict.DefaultFloat("router_ttl_secs", &c.TTLSeconds, 120, idle).Min(0),
		strict.OptionalFloat("router_predicted_ttl_secs", &c.PredictedTTLSeconds, idle).Min(0),
		strict.Choice("router_approximate_cache_policy", &c.ApproximateCachePolicy, "ttl", []string{"ttl", "lru"}, idle),
		strict.Choice("shared_cache_type", &c.SharedCacheType, "none", []string{"none", "hicache"}, idle),
		strict.OptionalFloat("shared_cache_multiplier", &c.SharedCacheMultiplier, idle).Min(0).Max(1),
		strict.Choice("router_tracking_hash", &c.TrackingHash, "public-xxh3-v1", []string{"public-xxh3-v1", "keyed-xxh3-v1"}, idle),
		strict.OptionalString("router_tracking_key_file", &c.TrackingKeyFile, idle),
		strict.OptionalString("router_tracking_key_id", &c.TrackingKeyID, idle),
		strict.Flag("conditional_disagg_enabled", &c.ConditionalEnabled, false, idle),
		strict.Choice("conditional_disagg_policy", &c.ConditionalPolicy, "isl_bounding", []string{"isl_bounding", "prefill_load", "isl_or_load"}, idle),
		strict.DefaultInt("conditional_disagg_eff_isl_threshold", &c.ConditionalISLThreshold, 2048, idle).Min(0),
		strict.DefaultFloat("conditional_disagg_eff_isl_ratio_threshold", &c.ConditionalISLRatioThreshold, 0.7, idle).Min(0).Max(1),
		strict.OptionalFloat("conditional_disagg_prefill_busy_threshold", &c.ConditionalPrefillBusy, idle).Min(0),
		strict.OptionalFloat("conditional_disagg_decode_busy_threshold", &c.ConditionalDecodeBusy, idle).Min(0),
	}
}

// check is the rules across settings (spec 06 section 1.2).
func (c *RouterConfig) check(r *strict.Report) {
	const path = "router_config."
	if c.PrefillLoadModel != loadModelNone && !c.TrackPrefillTokens {
		r.Fail(path+"router_prefill_load_model", "needs router_track_prefill_tokens: true")
	}
	if c.TrackOutputBlocks && !c.TrackActiveBlocks {
		r.Fail(path+"router_track_output_blocks", "needs router_track_active_blocks: true")
	}
	if c.UseRemoteIndexer && c.ServeIndexer {
		r.Fail(path+"serve_indexer", "excludes use_remote_indexer")
	}
	if c.ApproximateCachePolicy == "lru" && c.UseKVEvents {
		r.Fail(path+"router_approximate_cache_policy", "lru needs use_kv_events: false")
	}
	if c.PredictedTTLSeconds != nil && !c.UseKVEvents {
		r.Fail(path+"router_predicted_ttl_secs", "needs use_kv_events: true")
	}
	if c.ConditionalEnabled && c.ConditionalPolicy != "isl_bounding" && c.ConditionalPrefillBusy == nil && c.QueueThreshold == nil {
		r.Fail(path+"conditional_disagg_policy", "%s needs conditional_disagg_prefill_busy_threshold or router_queue_threshold", c.ConditionalPolicy)
	}
}
