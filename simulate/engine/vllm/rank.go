// Package vllm is one rank of a simulated vLLM or TensorRT-LLM worker: its queues, its
// scheduling passes and its use of the KV pool (spec 03). The two are one scheduler; what
// differs is in Config.
//
// # Cost
//
// A pass is decided in one of two ways. In the steady way all decoding requests advance
// together: the rank only counts them, sums their lengths, and knows how many of them enter
// a new block at which step, so that the cost of a pass does not grow with the batch. Work
// on a single request happens when it is admitted, when a chunk of its prompt is computed,
// and when it ends. The exact way walks the running list as the specification says; it is
// taken when a decoding request may be starved, preempted or skipped: a token budget below
// the number of decoding requests, an exhausted pool, or requests that stood still in the
// pass before. A steady pass turns into an exact one in the middle when it has to preempt.
package vllm

import (
	"math"

	"github.com/dynosim/dynosim/internal/chacha"
	"github.com/dynosim/dynosim/schemas"
	"github.com/dynosim/dynosim/simulate/engine"
	"github.com/dynosim/dynosim/simulate/invariants"
	"github.com/dynosim/dynosim/simulate/kv"
	"github.com/dynosim/dynosim/simulate/timing"
)

// Config is what all ranks of a pool share.
type Config struct {
	BlockTokens, MaxSequences, MaxBatchedTokens, MaxModelLen int64
	ChunkedPrefill                                           bool
	PreemptFirst                                             bool
	// NoEvict is TensorRT-LLM's guaranteed no evict: requests are admitted when their
	// completion fits beside all others, and nothing is preempted (spec 03 section 7).
	NoEvict bool
	// PrefillInterval lets prefills begin in every so many passes of a group of ranks only
	// (spec 03 section 9); 1 is no restriction.
	PrefillInterval int64
	Speculation     schemas.Speculation
	// Role is the rank's pool: a prefill rank holds what it computed, a decode rank gets its
	// prompts from there (spec 03 section 10).
	Role   schemas.Pool
	Timing timing.Model
	// PathTokens is the number of tokens one element of Request.Path stands for, Positions
	// the number of positions of a page: the most engine blocks that end in one element.
	PathTokens int64
	Positions  int32
	// TrackGaps keeps gaps attributable to requests until these end, because a time limit
	// may cut them off.
	TrackGaps bool
	// Metrics has every pass measured for a scaling policy.
	Metrics bool
	// minDecodeMS bounds the length of a decoding pass from below.
	minDecodeMS float64
	// Exact makes every pass walk the running list; tests compare the two ways.
	Exact bool
	// Events lets the ranks log which blocks become visible and cease to be.
	Events bool
	// GeneratedEvents logs blocks of generated tokens as soon as they are full, not when their
	// request ends; it needs Events, Exact and a content that keeps generated tokens.
	GeneratedEvents bool
}

// NewConfig takes the parameters of the engine; pathTokens is Content.PathTokens.
func NewConfig(e *schemas.EngineSpec, role schemas.Pool, pathTokens int64, trackGaps bool) *Config {
	c := &Config{
		Role:        role,
		BlockTokens: e.BlockTokens, MaxSequences: e.MaxSequences, MaxBatchedTokens: e.MaxBatchedTokens,
		MaxModelLen: e.MaxModelLen, ChunkedPrefill: e.ChunkedPrefill,
		PreemptFirst: e.Preemption == schemas.PreemptFIFO, NoEvict: e.Backend == schemas.BackendTRTLLM,
		PrefillInterval: 1, Speculation: e.Speculation, Timing: timing.New(e),
		PathTokens: pathTokens, Positions: int32(max(1, (pathTokens+e.BlockTokens-1)/e.BlockTokens)),
		TrackGaps: trackGaps,
		// Bursts of different lengths keep no batch in step.
		Exact: e.Speculation.DraftTokens > 0,
	}
	c.minDecodeMS = c.Timing.MinDecodeMS()
	if e.DataParallelRanks > 1 && !c.NoEvict {
		c.PrefillInterval = e.PrefillScheduleInterval
	}
	return c
}

// Rank is one scheduler with its own pool and queues.
type Rank struct {
	cfg      *Config
	requests *engine.Table
	content  *engine.Content
	pool     kv.Pool
	events   *kv.Log
	// Gap receives the gaps of requests that decoded in the exact way.
	gaps func(gapMS float64, count int64)

	waiting engine.Queue
	// running is in list order, which is ascending Request.Join.
	running []int32
	joined  int64
	passes  int64
	pass    engine.Pass
	// deferring says that prefills have to wait in this pass, bound that the interval is
	// lifted because the last pass that allowed them left requests waiting.
	deferring, bound bool
	// promised is the number of blocks the running requests need to end, owned those they
	// have; NoEvict only.
	promised, owned int64
	random          *chacha.Source
	handoffs        handoffs
	// audit is filled in builds that check themselves.
	audit engine.Audit
	// burst has the tokens that each of the ready requests gets, reserved the blocks set
	// aside for them.
	ready    []int32
	burst    []int64
	reserved int64
	// queued sums up the waiting requests, prompts those that computed prompt tokens in the pass.
	queued  engine.Waiting
	prompts engine.Moments
	// promptSum and cachedSum are isl and pre of spec 03 section 5.3.
	promptSum, cachedSum int64
	budget               int64
	rejects              []int32

	// steady requests decode together; see the package comment. lengthSum is the sum of
	// their lengths at step, squareSum that of the squares of their lengths.
	steady    int64
	step      int64
	lengthSum int64
	squareSum int64
	phases    engine.Phases
	finishes  engine.Finishes
	// second lists the steady requests whose next token is their second.
	second []int32
	// together says that the pass being decided advances all steady requests at once.
	together bool
	// extras lists the requests outside of the steady ones that have everything computed.
	extras []int32
	// authored counts running requests with authored output.
	authored int
	lastEnd  float64
	// prevEnd is the end of the pass before the last.
	prevEnd float64
	log     engine.GapLog

	// hits is the result of the last look-up: leading visible blocks.
	hits []int32
	// blocked remembers the head that did not fit and what was true then.
	blocked       int32
	blockedAvail  int64
	blockedStored uint64
	finishing     []int32

	// host is nil without a host cache; headStart is where the request that is admitted from the host's queues
	// begins to compute.
	host      *offload
	headStart int64

	// near is the first memory of some lists: what a pass reads of a rank lies together, which counts
	// where thousands of ranks take turns.
	near struct {
		running  [16]int32
		finishes [8]engine.Finish
		phases   [64]int32
	}
}

// NewRank makes a rank with an empty pool; scheduler numbers it over all workers of its
// pool. gaps receives the gaps between tokens that do not belong to a steady batch.
func NewRank(cfg *Config, e *schemas.EngineSpec, scheduler int, requests *engine.Table, content *engine.Content, gaps func(float64, int64)) *Rank {
	k := &Rank{
		cfg: cfg, requests: requests, content: content, gaps: gaps,
		pool: *kv.New(e.NumBlocks, cfg.Positions, e.PrefixCaching), blocked: -1, handoffs: handoffs{failed: -1},
		lastEnd: math.NaN(),
	}
	k.running, k.finishes = k.near.running[:0], k.near.finishes[:0]
	k.phases = engine.NewPhases(cfg.BlockTokens, k.near.phases[:])
	if cfg.Events {
		k.events = new(kv.Log)
		k.pool.Record(k.events)
	}
	if cfg.Speculation.DraftTokens > 0 {
		k.random = chacha.New(cfg.Speculation.Seed + uint64(scheduler))
	}
	return k
}

// Submit adds a request to the back of the waiting engine.Queue (spec 03 section 3).
func (k *Rank) Submit(slot int32) {
	k.clamp(k.request(slot))
	if k.host != nil {
		k.arrive(slot)
	}
	k.waiting.PushBack(slot)
	k.enter(k.request(slot), true)
	if invariants.Enabled {
		k.audit.Enter(slot)
	}
}

// clamp lowers the output of a request to what can fit; NoEvict only.
func (k *Rank) clamp(r *engine.Request) {
	if !k.cfg.NoEvict {
		return
	}
	r.MaxOutput = min(r.MaxOutput, max(0, k.cfg.MaxModelLen-r.Prompt))
	if whole := k.pool.Total() * k.cfg.BlockTokens; r.Prompt < whole {
		r.MaxOutput = min(r.MaxOutput, whole-r.Prompt)
	}
}

// Idle reports whether the rank has nothing to run a pass for: neither running nor waiting requests, nor
// awake ones in the restore queue.
func (k *Rank) Idle() bool {
	return len(k.running) == 0 && k.waiting.Len() == 0 && (k.host == nil || k.host.awake == 0 && !k.host.retry)
}

// Pass returns what the last Decide and Emit did.
func (k *Rank) Pass() *engine.Pass { return &k.pass }

// Events are the KV events since they were last taken.
func (k *Rank) Events() []kv.Event { return k.events.Take() }

// Gauges are the blocks in use and the idle ones, after the pass.
func (k *Rank) Gauges() (active, idle int64) { return k.pool.Active(), k.pool.Idle() }

// Queues are the requests that run and that wait, after the pass.
func (k *Rank) Queues() (running, waiting int32) {
	h := &k.handoffs
	waiting = int32(k.waiting.Len()+h.pending.Len()) + h.reserved
	if k.host != nil {
		waiting += int32(k.host.members)
	}
	return int32(len(k.running)), waiting
}

// Skip does nothing: a pass without this rank does not change it.
func (k *Rank) Skip(_, _ float64) {}

func (k *Rank) request(slot int32) *engine.Request { return &k.requests.Slots[slot] }

// remaining is the number of tokens the request may still produce (spec 03 section 1).
func (k *Rank) remaining(r *engine.Request) int64 {
	return max(0, min(r.MaxOutput-r.Output, k.cfg.MaxModelLen-r.Length()))
}

// ownedBlocks is the number of blocks the request owns.
func (k *Rank) ownedBlocks(r *engine.Request) int64 {
	return k.blocksFor(max(r.Computed, r.Allocated))
}

// available is the number of blocks that an admission may count on (spec 03 section 5.4).
func (k *Rank) available() int64 {
	if k.cfg.NoEvict {
		return max(0, k.pool.Available()-(k.promised-k.owned)-k.handoffs.promised)
	}
	return k.pool.Available()
}

// blocksFor is the number of blocks that hold n tokens.
func (k *Rank) blocksFor(n int64) int64 { return (n + k.cfg.BlockTokens - 1) / k.cfg.BlockTokens }
