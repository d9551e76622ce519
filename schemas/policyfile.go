package schemas

import (
	"fmt"
	"math"
	"regexp"
	"sort"

	"github.com/dynosim/dynosim/schemas/strict"
)

// PolicyFile is the document that router_policy_config names: the policy classes of the KV
// router (spec 06 section 9). Make one with ParsePolicyFile.
type PolicyFile struct {
	// Root applies to models without a profile of their own.
	Root   PolicyProfile
	Models map[string]PolicyProfile
	// Router overrides settings of the router.
	Router     *PolicyRouter
	classifier *strict.Node
}

// PolicyProfile is a set of policy classes.
type PolicyProfile struct {
	DefaultFamily string
	Buckets       []PolicyBucket
	Classes       []PolicyClass
}

// PolicyBucket names the requests with at least MinTokens uncached prompt tokens.
type PolicyBucket struct {
	MinTokens int64
	Bucket    string
}

// PolicyClass is one class of a profile; nil limits are not set.
type PolicyClass struct {
	Name                                          string
	Family, Bucket                                *string
	Policy                                        QueuePolicy
	Quantum                                       int64
	BusyTokens                                    *int64
	BusyFraction                                  *float64
	RequestLimit, RawTokenLimit, CachedTokenLimit *int64
}

// PolicyRouter is the mapping router of a policy file: settings that replace those of the call.
type PolicyRouter struct {
	HostCacheHitWeight, DiskCacheHitWeight, TTLSeconds, PredictedTTLSeconds *float64
	UseKVEvents, ReplicaSync, TrackActiveBlocks, TrackOutputBlocks          *bool
	AssumeKVReuse, TrackPrefillTokens                                       *bool
	EventThreads                                                            *int64
	PrefillLoadModel                                                        string
}

func (f *PolicyFile) fields() *strict.Object {
	return &strict.Object{
		Doc: "Policy classes of the KV router.",
		Fields: append(f.Root.fields().Fields,
			strict.Named("models", &f.Models, (*PolicyProfile).fields, "Profiles of single models."),
			strict.Section("router", &f.Router, (*PolicyRouter).fields, "Settings of the router that replace those of the call."),
			strict.Raw("request_classifier", &f.classifier, "a mapping", "Not simulated."),
		),
	}
}

func (p *PolicyProfile) fields() *strict.Object {
	return &strict.Object{
		Doc: "A set of policy classes.",
		Fields: []*strict.Field{
			strict.String("default_policy_family", &p.DefaultFamily, "The family of requests that name none."),
			strict.List("uncached_isl_buckets", &p.Buckets, (*PolicyBucket).fields, "Buckets of uncached prompt tokens."),
			strict.List("policy_classes", &p.Classes, (*PolicyClass).fields, "The classes."),
		},
	}
}

func (b *PolicyBucket) fields() *strict.Object {
	return &strict.Object{
		Doc: "A bucket of uncached prompt tokens.",
		Fields: []*strict.Field{
			strict.Int("min_tokens", &b.MinTokens, "Least number of tokens.").Min(0).Required(),
			strict.String("bucket", &b.Bucket, "Name of the bucket.").Required(),
		},
	}
}

func (c *PolicyClass) fields() *strict.Object {
	return &strict.Object{
		Doc: "A policy class.",
		Fields: []*strict.Field{
			strict.String("name", &c.Name, "Name of the class.").Required(),
			strict.OptionalString("policy_family", &c.Family, "Family that the class serves, with cache_bucket."),
			strict.OptionalString("cache_bucket", &c.Bucket, "Bucket that the class serves, with policy_family."),
			strict.Choice("queue_policy", &c.Policy, QueueFCFS, []QueuePolicy{QueueFCFS, QueueWSPT}, "Order of its waiting requests."),
			strict.Int("quantum", &c.Quantum, "Tokens that the class gets in each round.").Positive().Required(),
			strict.OptionalInt("prefill_busy_threshold", &c.BusyTokens, "Prefill load above which a target is busy, tokens.").Min(0).Nullable(),
			strict.OptionalFloat("prefill_busy_threshold_frac", &c.BusyFraction, "The same as a share of the tokens of a pass.").Min(0).Nullable(),
			strict.OptionalInt("request_queue_limit_per_worker", &c.RequestLimit, "Most waiting requests for each target.").Min(0).Nullable(),
			strict.OptionalInt("raw_isl_token_queue_limit_per_worker", &c.RawTokenLimit, "Most waiting prompt tokens for each target.").Min(0).Nullable(),
			strict.OptionalInt("cached_token_queue_limit_per_worker", &c.CachedTokenLimit, "Most waiting cached prompt tokens for each target.").Min(0).Nullable(),
		},
	}
}

func (r *PolicyRouter) fields() *strict.Object {
	return &strict.Object{
		Doc: "Settings of the router that replace those of the call.",
		Fields: []*strict.Field{
			strict.OptionalFloat("host_cache_hit_weight", &r.HostCacheHitWeight, "Weight of blocks cached in host memory.").Min(0).Max(1).Nullable(),
			strict.OptionalFloat("disk_cache_hit_weight", &r.DiskCacheHitWeight, "Weight of blocks cached on disk.").Min(0).Max(1).Nullable(),
			strict.OptionalFlag("use_kv_events", &r.UseKVEvents, "No effect on a simulation.").Nullable(),
			strict.OptionalFlag("router_replica_sync", &r.ReplicaSync, "No effect on a simulation.").Nullable(),
			strict.OptionalFlag("router_track_active_blocks", &r.TrackActiveBlocks, "Count blocks of running requests.").Nullable(),
			strict.OptionalFlag("router_track_output_blocks", &r.TrackOutputBlocks, "No effect on a simulation.").Nullable(),
			strict.OptionalFlag("router_assume_kv_reuse", &r.AssumeKVReuse, "Count shared blocks once.").Nullable(),
			strict.OptionalFlag("router_track_prefill_tokens", &r.TrackPrefillTokens, "Count prompt tokens that workers still have to compute.").Nullable(),
			strict.Choice("router_prefill_load_model", &r.PrefillLoadModel, "", []string{loadModelNone, loadModelAIC}, "How prefill work is estimated.").Synonym("ais", loadModelAIC).Nullable(),
			strict.OptionalFloat("router_ttl_secs", &r.TTLSeconds, "No effect on a simulation.").Min(0).Nullable(),
			strict.OptionalFloat("router_predicted_ttl_secs", &r.PredictedTTLSeconds, "No effect on a simulation.").Min(0).Nullable(),
			strict.OptionalInt("router_event_threads", &r.EventThreads, "No effect on a simulation.").Positive().Nullable(),
		},
	}
}

// ParsePolicyFile reads a policy file, YAML or JSON. The error is a Problems with everything
// that is wrong with it.
func ParsePolicyFile(name string, data []byte) (*PolicyFile, error) {
	root, problems := strict.ReadYAML(name, data)
	if len(problems) > 0 {
		return nil, problems
	}
	if !root.IsMapping() || root.Len() == 0 {
		got := root.Describe()
		if root.IsMapping() {
			got = "an empty one"
		}
		return nil, Problems{{File: name, Message: "the policy file must be one mapping with policy_classes, models or router, got " + got}}
	}
	f := new(PolicyFile)
	report := strict.Decode(root, f.fields())
	if f.classifier != nil {
		report.Fail("request_classifier", "request classifiers are not simulated")
	}
	f.Root.check(report, "", rootProfile(report))
	models := make([]string, 0, len(f.Models))
	for model := range f.Models {
		models = append(models, model)
	}
	sort.Strings(models)
	for _, model := range models {
		profile := f.Models[model]
		profile.check(report, "models."+model+".", true)
	}
	if problems := report.Problems(); len(problems) > 0 {
		return nil, problems
	}
	return f, nil
}

// profileKeys are the keys of a profile.
var profileKeys = []string{"default_policy_family", "uncached_isl_buckets", "policy_classes"}

// rootProfile reports whether the file has any key of a profile at its root.
func rootProfile(r *strict.Report) bool {
	for _, key := range profileKeys {
		if r.Given(key) {
			return true
		}
	}
	return false
}

// policyName is what names of classes, families and buckets may be.
var policyName = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)

// check reports what is wrong across the keys of a profile whose path starts with at.
func (p *PolicyProfile) check(r *strict.Report, at string, given bool) {
	if !given {
		return
	}
	complete := true
	for _, key := range profileKeys {
		if !r.Has(at + key) {
			complete = false
			r.Fail(at+key, "required key is missing; a profile has %s, %s and %s", profileKeys[0], profileKeys[1], profileKeys[2])
		}
	}
	if !complete || !r.OK(at+profileKeys[0], at+profileKeys[1], at+profileKeys[2]) {
		return
	}
	buckets := p.checkBuckets(r, at)
	families, bound := map[string]bool{}, map[[2]string]string{}
	var order []string
	seen := map[string]bool{}
	for i, c := range p.Classes {
		path := fmt.Sprintf("%spolicy_classes[%d]", at, i)
		checkName(r, path+".name", c.Name)
		if seen[c.Name] {
			r.Fail(path+".name", "the class %q is there twice", c.Name)
		}
		seen[c.Name] = true
		if (c.Family == nil) != (c.Bucket == nil) {
			r.Fail(path, "class %q needs both policy_family and cache_bucket, or neither", c.Name)
			continue
		}
		if c.Family == nil {
			continue
		}
		checkName(r, path+".policy_family", *c.Family)
		if !buckets[*c.Bucket] {
			r.Fail(path+".cache_bucket", "the bucket %q is not among uncached_isl_buckets", *c.Bucket)
		}
		key := [2]string{*c.Family, *c.Bucket}
		if other, twice := bound[key]; twice {
			r.Fail(path, "the classes %q and %q both serve family %q and bucket %q", other, c.Name, key[0], key[1])
		}
		bound[key] = c.Name
		if !families[*c.Family] {
			families[*c.Family] = true
			order = append(order, *c.Family)
		}
	}
	if !families[p.DefaultFamily] {
		r.Fail(at+"default_policy_family", "no class names the family %q", p.DefaultFamily)
	}
	for _, family := range order {
		for _, b := range p.Buckets {
			if _, ok := bound[[2]string{family, b.Bucket}]; !ok {
				r.Fail(at+"policy_classes", "no class serves family %q and bucket %q", family, b.Bucket)
			}
		}
	}
	for i, c := range p.Classes {
		if c.Family == nil && families[c.Name] {
			r.Fail(fmt.Sprintf("%spolicy_classes[%d].name", at, i), "the class %q belongs to no family and is named like one", c.Name)
		}
	}
}

func checkName(r *strict.Report, path, name string) {
	if !policyName.MatchString(name) {
		r.Fail(path, "got the name %q, want letters, digits, _, . and -", name)
	}
}

// checkBuckets checks the buckets and returns their names.
func (p *PolicyProfile) checkBuckets(r *strict.Report, at string) map[string]bool {
	names := map[string]bool{}
	for i, b := range p.Buckets {
		path := fmt.Sprintf("%suncached_isl_buckets[%d]", at, i)
		checkName(r, path+".bucket", b.Bucket)
		if names[b.Bucket] {
			r.Fail(path+".bucket", "the bucket %q is there twice", b.Bucket)
		}
		names[b.Bucket] = true
		switch {
		case i == 0 && b.MinTokens != 0:
			r.Fail(path+".min_tokens", "the first bucket must begin at 0, got %d", b.MinTokens)
		case i > 0 && b.MinTokens <= p.Buckets[i-1].MinTokens:
			r.Fail(path+".min_tokens", "buckets must ascend, got %d behind %d", b.MinTokens, p.Buckets[i-1].MinTokens)
		}
	}
	return names
}

// profile is the classes for a model; ok is false when the file has none.
func (f *PolicyFile) profile(model string) (RouterClasses, bool) {
	if p, ok := f.Models[model]; ok {
		return p.classes(), true
	}
	if len(f.Root.Classes) > 0 {
		return f.Root.classes(), true
	}
	return RouterClasses{}, false
}

// classes is the profile in the form of the run specification.
func (p *PolicyProfile) classes() RouterClasses {
	out := RouterClasses{Families: []string{p.DefaultFamily}}
	number := map[string]int{p.DefaultFamily: 0}
	bucket := map[string]int{}
	for i, b := range p.Buckets {
		bucket[b.Bucket] = i
		out.BucketTokens = append(out.BucketTokens, b.MinTokens)
	}
	for _, c := range p.Classes {
		if c.Family == nil {
			continue
		}
		if _, known := number[*c.Family]; !known {
			number[*c.Family] = len(out.Families)
			out.Families = append(out.Families, *c.Family)
		}
	}
	out.Bound = make([]int32, len(out.Families)*len(p.Buckets))
	for i, c := range p.Classes {
		class := NewRouterClass(c.Name, c.Policy)
		class.Quantum, class.Explicit = c.Quantum, c.Family == nil
		class.BusyTokens = orInt(c.BusyTokens, -1)
		class.BusyFraction = orFloat(c.BusyFraction, math.NaN())
		class.RequestLimit, class.RawTokenLimit, class.CachedTokenLimit = orInt(c.RequestLimit, -1), orInt(c.RawTokenLimit, -1), orInt(c.CachedTokenLimit, -1)
		out.Classes = append(out.Classes, class)
		if c.Family != nil {
			out.Bound[number[*c.Family]*len(p.Buckets)+bucket[*c.Bucket]] = int32(i)
		}
	}
	return out
}

func orInt(v *int64, otherwise int64) int64 {
	if v != nil {
		return *v
	}
	return otherwise
}

func orFloat(v *float64, otherwise float64) float64 {
	if v != nil {
		return *v
	}
	return otherwise
}
