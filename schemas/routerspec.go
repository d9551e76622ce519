package schemas

import (
	"errors"
	"io/fs"
	"math"
)

// RouterSpec is how requests are placed on workers: the settings of spec 06 section 1.2
// after defaulting. Under PolicyRoundRobin all other fields are zero. It holds no pointers,
// so that equal specifications print equally.
type RouterSpec struct {
	Policy RouterPolicy
	// OverlapCredit weighs the blocks a worker has cached, CreditDecay lowers that weight
	// with the worker's backlog, PrefillLoadScale weighs the prefill term, and
	// ActiveRequestWeight a running request, all in blocks (spec 06 section 4).
	OverlapCredit, CreditDecay, PrefillLoadScale, ActiveRequestWeight float64
	// HostCacheHitWeight is what a block in host memory is worth.
	HostCacheHitWeight float64
	// Temperature above 0 draws the worker; Seed starts the draws (spec 06 section 5).
	Temperature float64
	Seed        uint64
	// TrackPrefillTokens and TrackActiveBlocks count what is to be computed and what is in
	// use on a worker; AssumeKVReuse counts shared blocks once.
	TrackPrefillTokens, TrackActiveBlocks, AssumeKVReuse bool
	// EstimatePrefill lets prefill loads decay at the speed that the timing model predicts:
	// the load model aic (spec 06 section 6.1).
	EstimatePrefill bool
	// EventLagMS is the time after which a KV event reaches the router.
	EventLagMS float64
	// Classes are the queues of waiting requests, at least one. Without a policy file there
	// is one class, which waits only when it has a threshold.
	Classes RouterClasses
}

// QueuePolicy is the order of a queue of the router.
type QueuePolicy string

// Queue policies (spec 06 section 8).
const (
	QueueFCFS QueuePolicy = "fcfs"
	QueueLCFS QueuePolicy = "lcfs"
	QueueWSPT QueuePolicy = "wspt"
)

// RouterClasses are the policy classes of a router (spec 06 section 9).
type RouterClasses struct {
	Classes []RouterClass
	// Families are the names of policy families, the default one first; empty without a
	// policy file. Bound has the class of (family, bucket) at family*len(BucketTokens)+bucket.
	Families []string
	Bound    []int32
	// BucketTokens has the least uncached prompt tokens of each bucket, ascending from 0.
	BucketTokens []int64
}

// RouterClass is one queue of a router. Limits are per target; -1 is none.
type RouterClass struct {
	Name string
	// Explicit classes belong to no family; requests name them.
	Explicit bool
	Policy   QueuePolicy
	// Quantum is what a class may take more in each round of the deficit round robin, in tokens.
	Quantum int64
	// BusyTokens and BusyFraction are the prefill load above which a target is busy: tokens, -1
	// for none, and a share of the token budget of a pass, NaN for none.
	BusyTokens   int64
	BusyFraction float64
	// RequestLimit, RawTokenLimit and CachedTokenLimit bound what waits, times targets.
	RequestLimit, RawTokenLimit, CachedTokenLimit int64
}

// NewRouterClass is a class without thresholds or limits.
func NewRouterClass(name string, policy QueuePolicy) RouterClass {
	return RouterClass{Name: name, Policy: policy, Quantum: 1, BusyTokens: -1, BusyFraction: math.NaN(),
		RequestLimit: -1, RawTokenLimit: -1, CachedTokenLimit: -1}
}

// Queues reports whether requests of the class ever wait.
func (c *RouterClass) Queues() bool { return c.BusyTokens >= 0 || !math.IsNaN(c.BusyFraction) }

// singleClass is the classes without a policy file; threshold may be nil.
func singleClass(policy QueuePolicy, threshold *float64) RouterClasses {
	class := NewRouterClass("", policy)
	if threshold != nil {
		class.BusyFraction = *threshold
	}
	return RouterClasses{Classes: []RouterClass{class}}
}

// DefaultRouter is the KV router with default settings.
func DefaultRouter() RouterSpec {
	return RouterSpec{
		Policy: PolicyKVRouter, OverlapCredit: 1, PrefillLoadScale: 1, HostCacheHitWeight: 0.75,
		TrackPrefillTokens: true, TrackActiveBlocks: true, AssumeKVReuse: true,
		Classes: singleClass(QueueFCFS, nil),
	}
}

// Prefill is the router of the prefill pool of a disaggregated run, Decode that of its
// decode pool (spec 06 section 11).
func (r RouterSpec) Prefill() RouterSpec {
	r.TrackActiveBlocks = false
	return r
}

// Decode is the router of the decode pool; see Prefill.
func (r RouterSpec) Decode() RouterSpec {
	r.OverlapCredit = 0
	r.AssumeKVReuse = false
	r.TrackPrefillTokens = false
	r.EstimatePrefill = false
	return r
}

// spec is the router of a document; without the section it is round robin.
func (r *RouterSection) spec() RouterSpec {
	if r == nil || r.Policy != PolicyKVRouter {
		return RouterSpec{Policy: PolicyRoundRobin}
	}
	out := DefaultRouter()
	out.OverlapCredit, out.PrefillLoadScale, out.Temperature, out.Seed = r.OverlapScoreCredit, r.PrefillLoadScale, r.Temperature, r.Seed
	out.EstimatePrefill = r.PrefillLoadModel.Type == loadModelAIC
	return out
}

// ReadPolicies reads the policy file that the call names, if it does: read gives the text of a file.
// Call it before RunSpec. The error is a Problems.
func (c *Call) ReadPolicies(read func(name string) ([]byte, error)) error {
	if c.Args.RouterMode != PolicyKVRouter || c.Router == nil || c.Router.PolicyConfig == "" {
		return nil
	}
	text, err := read(c.Router.PolicyConfig)
	if err != nil {
		return Problems{{File: c.File, Path: "router_config.router_policy_config", Message: "cannot read the policy file: " + reason(err)}}
	}
	f, err := ParsePolicyFile(c.Router.PolicyConfig, text)
	if err != nil {
		return err
	}
	if model := f.Router; model != nil && model.PrefillLoadModel == loadModelAIC && c.Args.AISPerfConfig == nil {
		return Problems{{File: c.Router.PolicyConfig, Path: "router.router_prefill_load_model", Message: "aic needs args.ais_perf_config of the call"}}
	}
	c.policies = f
	if r := c.router(); r.EstimatePrefill && !r.TrackPrefillTokens {
		return Problems{{File: c.Router.PolicyConfig, Path: "router.router_prefill_load_model", Message: "needs router_track_prefill_tokens: true"}}
	}
	return nil
}

// router is the router of a call, with the policy file that was read. A nil Router has the defaults.
func (c *Call) router() RouterSpec {
	a := &c.Args
	if a.RouterMode != PolicyKVRouter {
		return RouterSpec{Policy: PolicyRoundRobin}
	}
	out := DefaultRouter()
	if a.KVEventLagMS != nil {
		out.EventLagMS = *a.KVEventLagMS
	}
	r := c.Router
	if r == nil {
		r = new(RouterConfig)
		r.fields().Reset()
	}
	out.OverlapCredit, out.CreditDecay, out.PrefillLoadScale = r.OverlapScoreCredit, r.OverlapScoreCreditDecay, r.PrefillLoadScale
	if w := r.OverlapScoreWeight; w != nil {
		out.PrefillLoadScale = *w
		if *w == 0 {
			out.OverlapCredit = 0
		}
	}
	out.ActiveRequestWeight, out.HostCacheHitWeight, out.Temperature = r.DecodeActiveRequestWeight, r.HostCacheHitWeight, r.Temperature
	out.TrackPrefillTokens, out.TrackActiveBlocks, out.AssumeKVReuse = r.TrackPrefillTokens, r.TrackActiveBlocks, r.AssumeKVReuse
	out.EstimatePrefill = r.PrefillLoadModel == loadModelAIC
	policy := QueuePolicy(r.QueuePolicy)
	if own := c.queuePolicy(); own != "" {
		policy = own
	}
	out.Classes = singleClass(policy, r.QueueThreshold)
	if f := c.policies; f != nil {
		if classes, ok := f.profile(a.ModelName); ok {
			out.Classes = classes
		}
		f.Router.apply(&out)
	}
	return out
}

// queuePolicy is the queue policy that an engine's runtime options carry, "" for none.
func (c *Call) queuePolicy() QueuePolicy {
	for _, e := range []*EngineArgs{c.Args.ExtraEngineArgs, c.Args.PrefillEngineArgs, c.Args.DecodeEngineArgs} {
		if e != nil && e.Dynamo.RouterQueuePolicy != "" {
			return QueuePolicy(e.Dynamo.RouterQueuePolicy)
		}
	}
	return ""
}

// reason is what an error of reading a file says.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Path + ": " + p.Err.Error()
	}
	return err.Error()
}

// apply replaces the settings that the mapping gives; r may be nil.
func (r *PolicyRouter) apply(out *RouterSpec) {
	if r == nil {
		return
	}
	out.HostCacheHitWeight = orFloat(r.HostCacheHitWeight, out.HostCacheHitWeight)
	for _, flag := range []struct{ to, from *bool }{
		{&out.TrackActiveBlocks, r.TrackActiveBlocks}, {&out.AssumeKVReuse, r.AssumeKVReuse}, {&out.TrackPrefillTokens, r.TrackPrefillTokens},
	} {
		if flag.from != nil {
			*flag.to = *flag.from
		}
	}
	if r.PrefillLoadModel != "" {
		out.EstimatePrefill = r.PrefillLoadModel == loadModelAIC
	}
}
