package metrics

import "github.com/dynosim/dynosim/schemas"

// The layouts of the tables of scaling and telemetry.

// codeNull is code with null for the codes that have no name.
func codeNull[T any, C ~uint8](get func(*T) []C, names []string) column[T] {
	return func(w *tableWriter, b *T, lo, hi int) {
		v := get(b)[lo:hi]
		w.str(len(v), true, func(i int) (string, bool) { return names[v[i]], names[v[i]] != "" })
	}
}

var lifecycleLayout = layout[schemas.LifecycleBatch]{&schemas.Lifecycle, []column[schemas.LifecycleBatch]{
	i32Null(func(b *schemas.LifecycleBatch) []int32 { return b.Operation }),
	i32(func(b *schemas.LifecycleBatch) []int32 { return b.Position }),
	f64(func(b *schemas.LifecycleBatch) []float64 { return b.AtMS }),
	code(func(b *schemas.LifecycleBatch) []schemas.Pool { return b.Pool }, schemas.PoolNames),
	code(func(b *schemas.LifecycleBatch) []schemas.LifecycleCause { return b.Cause }, schemas.LifecycleCauseNames),
	i32Null(func(b *schemas.LifecycleBatch) []int32 { return b.Tick }),
	i32Null(func(b *schemas.LifecycleBatch) []int32 { return b.Origin }),
	i32(func(b *schemas.LifecycleBatch) []int32 { return b.Released }),
	i32(func(b *schemas.LifecycleBatch) []int32 { return b.Worker }),
	func(w *tableWriter, b *schemas.LifecycleBatch, lo, hi int) {
		w.str(hi-lo, false, func(i int) (string, bool) { return b.Transition(lo + i), true })
	},
	codeNull(func(b *schemas.LifecycleBatch) []schemas.WorkerState { return b.Prior }, schemas.WorkerStateNames),
	code(func(b *schemas.LifecycleBatch) []schemas.WorkerState { return b.State }, schemas.WorkerStateNames),
	func(w *tableWriter, b *schemas.LifecycleBatch, lo, hi int) {
		w.str(hi-lo, true, func(i int) (string, bool) {
			return "startup_cancelled", b.Prior[lo+i] == schemas.WorkerStarting && b.State[lo+i] == schemas.WorkerRemoved
		})
	},
	i32Null(func(b *schemas.LifecycleBatch) []int32 { return b.OwnOrigins }),
}}

var ticksLayout = layout[schemas.TickBatch]{&schemas.Ticks, []column[schemas.TickBatch]{
	i32(func(b *schemas.TickBatch) []int32 { return b.Tick }),
	code(func(b *schemas.TickBatch) []schemas.TickKind { return b.Kind }, schemas.TickKindNames),
	i32(func(b *schemas.TickBatch) []int32 { return b.Ordinal }),
	f64(func(b *schemas.TickBatch) []float64 { return b.AtMS }),
	f64(func(b *schemas.TickBatch) []float64 { return b.StartMS }),
	i64(func(b *schemas.TickBatch) []int64 { return b.Arriving }),
	i64(func(b *schemas.TickBatch) []int64 { return b.Completed }),
	i64(func(b *schemas.TickBatch) []int64 { return b.InputTokens }),
	i64(func(b *schemas.TickBatch) []int64 { return b.OutputTokens }),
	i64(func(b *schemas.TickBatch) []int64 { return b.TTFTRequests }),
	f64(func(b *schemas.TickBatch) []float64 { return b.TTFTSumMS }),
	i64(func(b *schemas.TickBatch) []int64 { return b.ITLRequests }),
	f64(func(b *schemas.TickBatch) []float64 { return b.ITLSumMS }),
	i64(func(b *schemas.TickBatch) []int64 { return b.Routed }),
	f64(func(b *schemas.TickBatch) []float64 { return b.OverlapShareSum }),
	i64(func(b *schemas.TickBatch) []int64 { return b.DecodeForwards }),
	i64(func(b *schemas.TickBatch) []int64 { return b.Accepted }),
	i64(func(b *schemas.TickBatch) []int64 { return b.Prefill.Preemptions }),
	i64(func(b *schemas.TickBatch) []int64 { return b.Prefill.CacheHitTokens }),
	i64(func(b *schemas.TickBatch) []int64 { return b.Prefill.CacheTotalTokens }),
	i64(func(b *schemas.TickBatch) []int64 { return b.Decode.Preemptions }),
	i64(func(b *schemas.TickBatch) []int64 { return b.Decode.CacheHitTokens }),
	i64(func(b *schemas.TickBatch) []int64 { return b.Decode.CacheTotalTokens }),
	i32(func(b *schemas.TickBatch) []int32 { return b.PrefillQueued }),
	i32(func(b *schemas.TickBatch) []int32 { return b.DecodeQueued }),
	i32Null(func(b *schemas.TickBatch) []int32 { return b.TargetPrefill }),
	i32Null(func(b *schemas.TickBatch) []int32 { return b.TargetDecode }),
	f64Null(func(b *schemas.TickBatch) []float64 { return b.NextTickMS }),
}}

var tickWorkersLayout = layout[schemas.TickWorkerBatch]{&schemas.TickWorkers, []column[schemas.TickWorkerBatch]{
	i32(func(b *schemas.TickWorkerBatch) []int32 { return b.Tick }),
	code(func(b *schemas.TickWorkerBatch) []schemas.Pool { return b.Pool }, schemas.PoolNames),
	i32(func(b *schemas.TickWorkerBatch) []int32 { return b.Worker }),
	i32(func(b *schemas.TickWorkerBatch) []int32 { return b.Rank }),
	code(func(b *schemas.TickWorkerBatch) []schemas.WorkerState { return b.State }, schemas.WorkerStateNames),
	i64(func(b *schemas.TickWorkerBatch) []int64 { return b.ActiveBlocks }),
	i64(func(b *schemas.TickWorkerBatch) []int64 { return b.IdleBlocks }),
	i64(func(b *schemas.TickWorkerBatch) []int64 { return b.TotalBlocks }),
	i32(func(b *schemas.TickWorkerBatch) []int32 { return b.Running }),
	i32(func(b *schemas.TickWorkerBatch) []int32 { return b.Waiting }),
}}

var tickPassesLayout = layout[schemas.TickPassBatch]{&schemas.TickPasses, []column[schemas.TickPassBatch]{
	i32(func(b *schemas.TickPassBatch) []int32 { return b.Tick }),
	code(func(b *schemas.TickPassBatch) []schemas.Pool { return b.Pool }, schemas.PoolNames),
	i32(func(b *schemas.TickPassBatch) []int32 { return b.Worker }),
	i32(func(b *schemas.TickPassBatch) []int32 { return b.Rank }),
	f64(func(b *schemas.TickPassBatch) []float64 { return b.DurationMS }),
	i64(func(b *schemas.TickPassBatch) []int64 { return b.PrefillRequests }),
	i64(func(b *schemas.TickPassBatch) []int64 { return b.PrefillTokens }),
	f64(func(b *schemas.TickPassBatch) []float64 { return b.PrefillVariance }),
	i64(func(b *schemas.TickPassBatch) []int64 { return b.PrefillKVTokens }),
	i64(func(b *schemas.TickPassBatch) []int64 { return b.DecodeRequests }),
	i64(func(b *schemas.TickPassBatch) []int64 { return b.DecodeKVTokens }),
	f64(func(b *schemas.TickPassBatch) []float64 { return b.DecodeVariance }),
	i64(func(b *schemas.TickPassBatch) []int64 { return b.QueuedPrefillRequests }),
	i64(func(b *schemas.TickPassBatch) []int64 { return b.QueuedPrefillTokens }),
	f64(func(b *schemas.TickPassBatch) []float64 { return b.QueuedPrefillVariance }),
	i64(func(b *schemas.TickPassBatch) []int64 { return b.QueuedDecodeRequests }),
	i64(func(b *schemas.TickPassBatch) []int64 { return b.QueuedDecodeKVTokens }),
	f64(func(b *schemas.TickPassBatch) []float64 { return b.QueuedDecodeVariance }),
}}
