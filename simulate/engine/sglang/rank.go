// Package sglang is one rank of a simulated SGLang worker: its queues, its passes, which
// either prefill or decode, and its radix cache (spec 04).
//
// # Cost
//
// While all running requests decode, the rank advances them together: it only counts them,
// sums their lengths, and knows how many begin a page at which step, so that the cost of a
// pass does not grow with the batch. Work on a single request happens when it is admitted,
// when a chunk of its prompt is computed, when it stores its first page of generated tokens,
// and when it ends. From that page on nobody else can reach the end of its node in the tree,
// which it therefore lengthens without a walk: the node's pages and the ticks of the nodes
// above are made true when the request leaves (Rank.leaveSteady). Ticks are only compared
// among nodes that nobody holds, and until then the request holds them all.
//
// The exact way walks the running list as the specification says. It is taken when the pool
// has too few pages for the next step, when first tokens were withheld, and for bursts.
package sglang

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
	PageTokens, Pages, MaxSequences, MaxModelLen int64
	PrefixCaching                                bool
	// Settings has the share of one rank: attention data parallelism is applied.
	Settings    schemas.SGLangSpec
	Speculation schemas.Speculation
	// Role is the rank's pool: a prefill rank holds what it computed, a decode rank gets its
	// prompts from there (spec 04 section 11).
	Role   schemas.Pool
	Timing timing.Model
	// PathTokens is the number of tokens one element of Request.Path stands for.
	PathTokens int64
	// TrackGaps keeps gaps attributable to requests until these end, because a time limit
	// may cut them off.
	TrackGaps bool
	// Metrics has every pass measured for a scaling policy.
	Metrics bool
	// Exact makes every pass walk the running list; tests compare the two ways.
	Exact bool
	// Events lets the ranks log which pages become visible and cease to be.
	Events bool
	// minDecodeMS bounds the length of a decoding pass from below.
	minDecodeMS float64
}

// NewConfig takes the parameters of the engine; pathTokens is Content.PathTokens. Several
// ranks share the chunk and keep less memory back (spec 04 section 2).
func NewConfig(e *schemas.EngineSpec, role schemas.Pool, pathTokens int64, trackGaps bool) *Config {
	c := &Config{
		Role:       role,
		PageTokens: e.BlockTokens, Pages: e.NumBlocks, MaxSequences: e.MaxSequences, MaxModelLen: e.MaxModelLen,
		PrefixCaching: e.PrefixCaching, Settings: e.SGLang, Speculation: e.Speculation, Timing: timing.New(e),
		PathTokens: pathTokens, TrackGaps: trackGaps, Exact: e.Speculation.DraftTokens > 0,
	}
	c.minDecodeMS = c.Timing.MinDecodeMS()
	if n := e.DataParallelRanks; n > 1 {
		c.Settings.ChunkTokens /= n
		c.Settings.Conservativeness *= 0.3
	}
	return c
}

// Group is what the ranks of a worker share: for how many passes prefills are deferred, and
// what the pass in progress did (spec 04 sections 5 and 12).
type Group struct {
	ranks, seen int
	blocked     int64
	// prefill and model say that some rank computed prompt tokens, or anything.
	prefill, model bool
}

// NewGroup makes the group of a worker with ranks ranks.
func NewGroup(ranks int) *Group { return &Group{ranks: ranks} }

// passed notes that one more rank is through with the worker's pass.
func (g *Group) passed(interval int64) {
	if g.seen++; g.seen < g.ranks {
		return
	}
	if g.prefill {
		g.blocked = interval
	} else {
		g.blocked = max(0, g.blocked-1)
	}
	g.seen, g.prefill, g.model = 0, false, false
}

// Rank is one scheduler with its own pool and queues.
type Rank struct {
	cfg      *Config
	group    *Group
	requests *engine.Table
	content  *engine.Content
	tree     *tree
	events   *kv.Log
	random   *chacha.Source
	// gaps receives the gaps of requests that decoded one by one.
	gaps func(gapMS float64, count int64)

	waiting engine.Queue
	// running is in list order, which is ascending Request.Join.
	running []int32
	join    int64
	// promoted lists the last of the running requests that came from another rank and have no
	// token yet.
	promoted []int32
	handoffs handoffs
	// audit is filled in builds that check themselves.
	audit engine.Audit
	pass  engine.Pass
	// ratio is the share of the output of running requests that admission reserves; start,
	// floor and decay are r_init, r_min and r_step.
	ratio, start, floor, decay float64
	// before is the ratio at the start of the pass.
	before float64
	// round counts the decode passes, draws the ticks drawn since the last one.
	round, draws uint64
	// queued sums up the waiting requests, prompts those that computed prompt tokens in the pass.
	queued  engine.Waiting
	prompts engine.Moments
	// tooLong counts the waiting prompts that the model length does not allow.
	tooLong int

	// What the pass being decided does: its kind, the requests that run because of it, and
	// those that end, retract or are refused with it.
	kind                     kind
	passes                   int64
	deferring, idleDeferral  bool
	batch                    []int32
	done, retracted, rejects []int32
	promptSum, cachedSum     int64
	// forecastMS is the duration of the decode pass if that was forecast, else 0.
	forecastMS float64

	// steady requests decode together; see the package comment. lengthSum is the sum of
	// their lengths at step, squareSum that of the squares, lastStepMS the time of their last tokens but for the fresh ones,
	// which have not decoded yet.
	steady     int64
	step       int64
	lengthSum  int64
	squareSum  int64
	lastStepMS float64
	// prevStepMS is the time of their tokens before those.
	prevStepMS float64
	phases     engine.Phases
	finishes   engine.Finishes
	// reserve is the sum over the steady requests of their remaining tokens, each clipped; it
	// falls by falling with a step, and clips are the steps at which further requests come
	// down to the clip.
	reserve, falling int64
	clips            engine.Finishes
	// anchors are the steps at which steady requests store their first own page.
	anchors engine.Finishes
	fresh   []int32
	log     engine.GapLog

	order order
	head  head
}

// kind is what a pass does.
type kind int

const (
	// nothing: no request got anything.
	nothing kind = iota
	prefill
	// together advances all steady requests, decode walks the running list.
	together
	decode
)

// NewRank makes a rank with an empty pool; scheduler numbers it over all workers of its
// pool. gaps receives the gaps between tokens that do not belong to a steady batch.
func NewRank(cfg *Config, _ *schemas.EngineSpec, scheduler int, group *Group, requests *engine.Table, content *engine.Content, gaps func(float64, int64)) *Rank {
	k := &Rank{
		cfg: cfg, group: group, requests: requests, content: content, gaps: gaps,
		tree:   newTree(cfg.Pages, cfg.PageTokens, cfg.PathTokens),
		phases: engine.NewPhases(cfg.PageTokens, nil), lastStepMS: math.NaN(), head: head{slot: -1}, handoffs: handoffs{failed: -1},
	}
	k.start = 0.7 * cfg.Settings.Conservativeness
	k.floor = k.start * 0.14
	k.decay = (k.start - k.floor) / 600.0
	k.ratio = k.start
	if cfg.Events {
		k.events = new(kv.Log)
		k.tree.record(k.events)
	}
	if cfg.Speculation.DraftTokens > 0 {
		k.random = chacha.New(cfg.Speculation.Seed + uint64(scheduler))
	}
	return k
}

// Submit adds a request to the back of the waiting engine.Queue (spec 04 section 3).
func (k *Rank) Submit(slot int32) {
	r := k.request(slot)
	k.clamp(r)
	if r.Prompt >= k.cfg.MaxModelLen {
		k.tooLong++
	}
	k.enqueue(slot)
	if invariants.Enabled {
		k.audit.Enter(slot)
	}
}

// clamp lowers the output of a request to what the model length allows.
func (k *Rank) clamp(r *engine.Request) {
	if l := k.cfg.MaxModelLen; l != schemas.Unlimited {
		r.MaxOutput = min(r.MaxOutput, max(0, l-r.Prompt))
	}
}

// enqueue adds a request to the back of the waiting engine.Queue.
func (k *Rank) enqueue(slot int32) {
	k.waiting.PushBack(slot)
	k.queued.Enter(k.request(slot), k.request(slot).Output == 0)
	k.order.sorted = false
}

// Idle reports whether the rank has nothing to do: the passes that a deferral counts are
// run although no request is there (spec 04 section 5.1).
func (k *Rank) Idle() bool {
	return len(k.running) == 0 && k.waiting.Len() == 0 && k.handoffs.prebuilt.Len() == 0 && k.group.blocked == 0
}

// Pass returns what the last Decide and Emit did.
func (k *Rank) Pass() *engine.Pass { return &k.pass }

// Events are the KV events since they were last taken: what a pass leaves in the tree, and pages of
// prompts that are not stored yet (spec 04 section 13.4).
func (k *Rank) Events() []kv.Event { return k.events.Take() }

// Gauges are the pages in use, cached ones included, and 0, after the pass (spec 04 section 13.3).
func (k *Rank) Gauges() (active, idle int64) { return k.cfg.Pages - k.tree.free, 0 }

// Queues are the requests that run and that wait, after the pass.
func (k *Rank) Queues() (running, waiting int32) {
	h := &k.handoffs
	return int32(len(k.running)), int32(k.waiting.Len()+h.prebuilt.Len()+h.pending.Len()) + h.reserved
}

// Skip notes a pass of the worker without this rank.
func (k *Rank) Skip(_, _ float64) { k.group.passed(k.cfg.Settings.PrefillDecodeInterval) }

func (k *Rank) request(slot int32) *engine.Request { return &k.requests.Slots[slot] }

// remaining is rem of spec 04 section 1.
func remaining(r *engine.Request) int64 { return max(0, r.MaxOutput-r.Output) }

// pagesFor is the number of pages that hold n tokens.
func (k *Rank) pagesFor(n int64) int64 { return (n + k.cfg.PageTokens - 1) / k.cfg.PageTokens }

// sequence is the identity of the request's pages.
func (k *Rank) sequence(r *engine.Request) sequence {
	if !r.PathKnown {
		k.content.Fill(r)
	}
	s := sequence{r.Path, r.Identified, r.Creation}
	if k.content.Interned() {
		s.shared = int64(len(r.Path))
	}
	return s
}

// draw is the next tick. Ticks of a decode pass come before those drawn after it; see
// decodeTick.
func (k *Rank) draw() uint64 {
	k.draws++
	return (2*k.round+1)<<31 | k.draws
}

// decodeTick is the tick that a request draws in a decode pass: they do so in list order.
func decodeTick(round uint64, join int64) uint64 { return 2*round<<31 | uint64(join) }
