package schemas

// WorkerState is the state of a worker (spec 05 section 1).
type WorkerState uint8

// States of a worker. WorkerAbsent stands for the state before a worker exists.
const (
	WorkerAbsent WorkerState = iota
	WorkerStarting
	WorkerActive
	WorkerDraining
	WorkerRemoved
)

// WorkerStateNames are the values of the columns state and prior_state, indexed by WorkerState.
var WorkerStateNames = []string{"", "starting", "active", "draining", "removed"}

// LifecycleCause is why workers changed their state (spec 05 section 9.4).
type LifecycleCause uint8

// Causes of a lifecycle operation. CauseStart is the start of the run.
const (
	CauseStart LifecycleCause = iota
	CauseScale
	CauseReady
	CauseDrained
)

// LifecycleCauseNames are the values of the column cause, indexed by LifecycleCause.
var LifecycleCauseNames = []string{"start", "planner_scale", "worker_ready_event", "drain_settlement"}

// LifecycleBatch holds rows of lifecycle. Numbers of operations and ticks are -1 where there is
// none; the transition and the reason follow from the two states.
type LifecycleBatch struct {
	N                                          int
	Operation, Position                        []int32
	AtMS                                       []float64
	Pool                                       []Pool
	Cause                                      []LifecycleCause
	Tick, Origin, Released, Worker, OwnOrigins []int32
	Prior, State                               []WorkerState
}

// Transition is the name of the change of row i.
func (b *LifecycleBatch) Transition(i int) string {
	return [...]string{"", "worker_starting", "worker_ready", "worker_draining", "worker_removed"}[b.State[i]]
}

// TickKind tells telemetry samples from scaling ticks.
type TickKind uint8

// Kinds of tick (spec 05 section 10); TickScaling is a tick of the scaling policy.
const (
	TickBaseline TickKind = iota
	TickPeriodic
	TickFinal
	TickScaling
)

// TickKindNames are the values of the column kind, indexed by TickKind.
var TickKindNames = []string{"baseline", "periodic", "final", "scaling"}

// Counters are the interval figures of one pool at a telemetry sample.
type Counters struct{ Preemptions, CacheHitTokens, CacheTotalTokens []int64 }

// TickBatch holds rows of ticks. Targets are -1 where the policy leaves a pool alone, NextTickMS is
// NaN for never.
type TickBatch struct {
	N                           int
	Tick, Ordinal               []int32
	Kind                        []TickKind
	AtMS, StartMS               []float64
	Arriving, Completed         []int64
	InputTokens, OutputTokens   []int64
	TTFTRequests, ITLRequests   []int64
	TTFTSumMS, ITLSumMS         []float64
	Routed                      []int64
	OverlapShareSum             []float64
	DecodeForwards, Accepted    []int64
	Prefill, Decode             Counters
	PrefillQueued, DecodeQueued []int32
	TargetPrefill, TargetDecode []int32
	NextTickMS                  []float64
}

// TickWorkerBatch holds rows of tick_workers.
type TickWorkerBatch struct {
	N                                     int
	Tick, Worker, Rank                    []int32
	Pool                                  []Pool
	State                                 []WorkerState
	ActiveBlocks, IdleBlocks, TotalBlocks []int64
	Running, Waiting                      []int32
}

// TickPassBatch holds rows of tick_passes.
type TickPassBatch struct {
	N                                               int
	Tick, Worker, Rank                              []int32
	Pool                                            []Pool
	DurationMS                                      []float64
	PrefillRequests, PrefillTokens, PrefillKVTokens []int64
	PrefillVariance                                 []float64
	DecodeRequests, DecodeKVTokens                  []int64
	DecodeVariance                                  []float64
	QueuedPrefillRequests, QueuedPrefillTokens      []int64
	QueuedPrefillVariance                           []float64
	QueuedDecodeRequests, QueuedDecodeKVTokens      []int64
	QueuedDecodeVariance                            []float64
}

// Clear forgets the rows of the batch and keeps its memory.
func (b *LifecycleBatch) Clear() { b.N = 0 }

// Clear forgets the rows of the batch and keeps its memory.
func (b *TickBatch) Clear() { b.N = 0 }

// Clear forgets the rows of the batch and keeps its memory.
func (b *TickWorkerBatch) Clear() { b.N = 0 }

// Clear forgets the rows of the batch and keeps its memory.
func (b *TickPassBatch) Clear() { b.N = 0 }

// NewLifecycleBatch makes an empty batch of n rows capacity.
func NewLifecycleBatch(n int) *LifecycleBatch {
	b := &LifecycleBatch{Pool: make([]Pool, n), Cause: make([]LifecycleCause, n), Prior: make([]WorkerState, n), State: make([]WorkerState, n)}
	i32(n, &b.Operation, &b.Position, &b.Tick, &b.Origin, &b.Released, &b.Worker, &b.OwnOrigins)
	f64(n, &b.AtMS)
	return b
}

// NewTickBatch makes an empty batch of n rows capacity.
func NewTickBatch(n int) *TickBatch {
	b := &TickBatch{Kind: make([]TickKind, n)}
	i32(n, &b.Tick, &b.Ordinal, &b.PrefillQueued, &b.DecodeQueued, &b.TargetPrefill, &b.TargetDecode)
	f64(n, &b.AtMS, &b.StartMS, &b.TTFTSumMS, &b.ITLSumMS, &b.OverlapShareSum, &b.NextTickMS)
	i64(n, &b.Arriving, &b.Completed, &b.InputTokens, &b.OutputTokens, &b.TTFTRequests, &b.ITLRequests, &b.Routed, &b.DecodeForwards, &b.Accepted,
		&b.Prefill.Preemptions, &b.Prefill.CacheHitTokens, &b.Prefill.CacheTotalTokens,
		&b.Decode.Preemptions, &b.Decode.CacheHitTokens, &b.Decode.CacheTotalTokens)
	return b
}

// NewTickWorkerBatch makes an empty batch of n rows capacity.
func NewTickWorkerBatch(n int) *TickWorkerBatch {
	b := &TickWorkerBatch{Pool: make([]Pool, n), State: make([]WorkerState, n)}
	i32(n, &b.Tick, &b.Worker, &b.Rank, &b.Running, &b.Waiting)
	i64(n, &b.ActiveBlocks, &b.IdleBlocks, &b.TotalBlocks)
	return b
}

// NewTickPassBatch makes an empty batch of n rows capacity.
func NewTickPassBatch(n int) *TickPassBatch {
	b := &TickPassBatch{Pool: make([]Pool, n)}
	i32(n, &b.Tick, &b.Worker, &b.Rank)
	f64(n, &b.DurationMS, &b.PrefillVariance, &b.DecodeVariance, &b.QueuedPrefillVariance, &b.QueuedDecodeVariance)
	i64(n, &b.PrefillRequests, &b.PrefillTokens, &b.PrefillKVTokens, &b.DecodeRequests, &b.DecodeKVTokens,
		&b.QueuedPrefillRequests, &b.QueuedPrefillTokens, &b.QueuedDecodeRequests, &b.QueuedDecodeKVTokens)
	return b
}
