// Package vllm is one rank of a simulated vLLM worker: its queues, its scheduling passes and
// its use of the KV pool (spec 03).
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

	"github.com/dynosim/dynosim/schemas"
	"github.com/dynosim/dynosim/simulate/engine"
	"github.com/dynosim/dynosim/simulate/kv"
	"github.com/dynosim/dynosim/simulate/timing"
)

// Config is what all ranks of a pool share.
type Config struct {
	BlockTokens, MaxSequences, MaxBatchedTokens, MaxModelLen int64
	ChunkedPrefill                                           bool
	PreemptFirst                                             bool
	Timing                                                   timing.Model
	// PathTokens is the number of tokens one element of Request.Path stands for, Positions
	// the number of positions of a page: the most engine blocks that end in one element.
	PathTokens int64
	Positions  int32
	// TrackGaps keeps gaps attributable to requests until these end, because a time limit
	// may cut them off.
	TrackGaps bool
	// Exact makes every pass walk the running list; tests compare the two ways.
	Exact bool
}

// NewConfig takes the parameters of the engine; pathTokens is Content.PathTokens.
func NewConfig(e *schemas.EngineSpec, pathTokens int64, trackGaps bool) *Config {
	return &Config{
		BlockTokens: e.BlockTokens, MaxSequences: e.MaxSequences, MaxBatchedTokens: e.MaxBatchedTokens,
		MaxModelLen: e.MaxModelLen, ChunkedPrefill: e.ChunkedPrefill,
		PreemptFirst: e.Preemption == schemas.PreemptFIFO, Timing: timing.New(e),
		PathTokens: pathTokens, Positions: int32(max(1, (pathTokens+e.BlockTokens-1)/e.BlockTokens)),
		TrackGaps: trackGaps,
	}
}

// Admission is one admission of a pass.
type Admission struct{ Slot, Reused int32 }

// Terminal is the end of a request with a pass.
type Terminal struct {
	Slot   int32
	Status schemas.Status
}

// Pass is what one pass did. It is valid until the next Decide of the rank.
type Pass struct {
	StartMS, PrefillMS, DecodeMS, EndMS float64
	// PrefillRequests, PrefillTokens and PrefillCached follow num_prefill_requests,
	// sum_prefill_tokens and sum_prefill_kv_tokens of spec 03 section 11.1.
	PrefillRequests, PrefillTokens, PrefillCached int64
	// DecodeRequests and DecodeTokens are the b and s of spec 03 section 6.3.
	DecodeRequests, DecodeTokens int64
	OutputTokens                 int64
	Preempted                    int32
	Running, Waiting             int32
	Admitted                     []Admission
	// Ended lists completions, then rejections, in the order of spec 03 section 5.5.
	Ended []Terminal
	// Gap is the gap of the GapCount requests that decoded in the steady way; the others
	// went to Rank.Gap.
	GapMS    float64
	GapCount int64

	scheduled int64
	// promptSum and cachedSum are isl and pre of spec 03 section 5.3.
	promptSum, cachedSum int64
}

// Effect reports whether the pass changed anything (spec 03 section 5.7).
func (p *Pass) Effect() bool {
	return p.scheduled > 0 || p.Preempted > 0 || len(p.Admitted) > 0 || len(p.Ended) > 0 || p.OutputTokens > 0
}

// Rank is one scheduler with its own pool and queues.
type Rank struct {
	cfg      *Config
	requests *engine.Table
	content  *engine.Content
	pool     *kv.Pool
	// Gap receives the gaps of requests that decoded in the exact way.
	gaps func(gapMS float64, count int64)

	waiting queue
	// running is in list order, which is ascending Request.Join.
	running []int32
	join    int64
	passes  int64
	pass    Pass
	budget  int64
	rejects []int32

	// steady requests decode together; see the package comment. lengthSum is the sum of
	// their lengths at step.
	steady    int64
	step      int64
	lengthSum int64
	phases    phases
	finishes  finishHeap
	// second lists the steady requests whose next token is their second.
	second []int32
	// together says that the pass being decided advances all steady requests at once.
	together bool
	// extras lists the requests outside of the steady ones that have everything computed.
	extras []int32
	// authored counts running requests with authored output.
	authored int
	lastEnd  float64
	log      gapLog

	// hits is the result of the last look-up: leading visible blocks.
	hits []int32
	// blocked remembers the head that did not fit and what was true then.
	blocked       int32
	blockedActive int64
	blockedStored uint64
	finishing     []int32
}

// NewRank makes a rank with an empty pool of blocks blocks. gap receives the gaps between
// tokens that do not belong to a steady batch.
func NewRank(cfg *Config, blocks int64, caching bool, requests *engine.Table, content *engine.Content, gaps func(float64, int64)) *Rank {
	return &Rank{
		cfg: cfg, requests: requests, content: content, gaps: gaps,
		pool: kv.New(blocks, cfg.Positions, caching), phases: newPhases(cfg.BlockTokens), blocked: -1,
		lastEnd: math.NaN(),
	}
}

// Submit adds a request to the back of the waiting queue (spec 03 section 3).
func (k *Rank) Submit(slot int32) { k.waiting.pushBack(slot) }

// Idle reports whether the rank has neither running nor waiting requests.
func (k *Rank) Idle() bool { return len(k.running) == 0 && k.waiting.len() == 0 }

// Pass returns what the last Decide and Emit did.
func (k *Rank) Pass() *Pass { return &k.pass }

// Pool returns the rank's block pool.
func (k *Rank) Pool() *kv.Pool { return k.pool }

// Steps is the number of steady steps so far, for bookkeeping of gaps.
func (k *Rank) Steps() int64 { return k.step }

func (k *Rank) request(slot int32) *engine.Request { return &k.requests.Slots[slot] }

// remaining is the number of tokens the request may still produce (spec 03 section 1).
func (k *Rank) remaining(r *engine.Request) int64 {
	return max(0, min(r.MaxOutput-r.Output, k.cfg.MaxModelLen-r.Length()))
}

// blocksFor is the number of blocks that hold n tokens.
func (k *Rank) blocksFor(n int64) int64 { return (n + k.cfg.BlockTokens - 1) / k.cfg.BlockTokens }
