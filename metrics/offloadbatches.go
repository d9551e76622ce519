package metrics

import "github.com/dynosim/dynosim/schemas"

// The layouts of the tables of host caches and storage.

// u64 has no null.
func u64[T any](get func(*T) []uint64) column[T] {
	return func(w *tableWriter, b *T, lo, hi int) { w.u64(get(b)[lo:hi]) }
}

var hostDomainsLayout = layout[schemas.HostDomainBatch]{&schemas.HostDomains, []column[schemas.HostDomainBatch]{
	i32(func(b *schemas.HostDomainBatch) []int32 { return b.Domain }),
	i64(func(b *schemas.HostDomainBatch) []int64 { return b.CapacityBlocks }),
	i64(func(b *schemas.HostDomainBatch) []int64 { return b.ResidentBlocks }),
	i64(func(b *schemas.HostDomainBatch) []int64 { return b.UsedBlocks }),
}}

var hostTransfersLayout = layout[schemas.HostTransferBatch]{&schemas.HostTransfers, []column[schemas.HostTransferBatch]{
	code(func(b *schemas.HostTransferBatch) []schemas.Pool { return b.Pool }, schemas.PoolNames),
	i32(func(b *schemas.HostTransferBatch) []int32 { return b.Scheduler }),
	i32Null(func(b *schemas.HostTransferBatch) []int32 { return b.Domain }),
	i64(func(b *schemas.HostTransferBatch) []int64 { return b.Transfer }),
	code(func(b *schemas.HostTransferBatch) []schemas.HostTransferKind { return b.Kind }, schemas.HostTransferKindNames),
	i32(func(b *schemas.HostTransferBatch) []int32 { return b.Node }),
	i64(func(b *schemas.HostTransferBatch) []int64 { return b.Blocks }),
	i64(func(b *schemas.HostTransferBatch) []int64 { return b.Bytes }),
	f64(func(b *schemas.HostTransferBatch) []float64 { return b.CreatedMS }),
	f64Null(func(b *schemas.HostTransferBatch) []float64 { return b.SubmittedMS }),
	f64Null(func(b *schemas.HostTransferBatch) []float64 { return b.FirstByteMS }),
	f64Null(func(b *schemas.HostTransferBatch) []float64 { return b.CompletedMS }),
	f64Null(func(b *schemas.HostTransferBatch) []float64 { return b.CanceledMS }),
	f64Null(func(b *schemas.HostTransferBatch) []float64 { return b.SeenMS }),
}}

var hostEvictionsLayout = layout[schemas.HostEvictionBatch]{&schemas.HostEvictions, []column[schemas.HostEvictionBatch]{
	code(func(b *schemas.HostEvictionBatch) []schemas.Pool { return b.Pool }, schemas.PoolNames),
	i32(func(b *schemas.HostEvictionBatch) []int32 { return b.Scheduler }),
	i32Null(func(b *schemas.HostEvictionBatch) []int32 { return b.Domain }),
	i64(func(b *schemas.HostEvictionBatch) []int64 { return b.Transfer }),
	f64(func(b *schemas.HostEvictionBatch) []float64 { return b.AtMS }),
	u64(func(b *schemas.HostEvictionBatch) []uint64 { return b.Key }),
}}

var hostFencesLayout = layout[schemas.HostFenceBatch]{&schemas.HostFences, []column[schemas.HostFenceBatch]{
	code(func(b *schemas.HostFenceBatch) []schemas.Pool { return b.Pool }, schemas.PoolNames),
	i32(func(b *schemas.HostFenceBatch) []int32 { return b.Worker }),
	i32(func(b *schemas.HostFenceBatch) []int32 { return b.Rank }),
	i64(func(b *schemas.HostFenceBatch) []int64 { return b.Pass }),
	f64(func(b *schemas.HostFenceBatch) []float64 { return b.StartMS }),
	f64(func(b *schemas.HostFenceBatch) []float64 { return b.FenceMS }),
}}

var g3TransfersLayout = layout[schemas.G3TransferBatch]{&schemas.G3Transfers, []column[schemas.G3TransferBatch]{
	i64(func(b *schemas.G3TransferBatch) []int64 { return b.Job }),
	code(func(b *schemas.G3TransferBatch) []schemas.G3TransferKind { return b.Kind }, schemas.G3TransferKindNames),
	i32(func(b *schemas.G3TransferBatch) []int32 { return b.Node }),
	i32(func(b *schemas.G3TransferBatch) []int32 { return b.Worker }),
	i64(func(b *schemas.G3TransferBatch) []int64 { return b.Blocks }),
	i64(func(b *schemas.G3TransferBatch) []int64 { return b.Bytes }),
	f64(func(b *schemas.G3TransferBatch) []float64 { return b.SubmittedMS }),
	f64Null(func(b *schemas.G3TransferBatch) []float64 { return b.CompletedMS }),
	f64Null(func(b *schemas.G3TransferBatch) []float64 { return b.CanceledMS }),
}}

var g3RunLayout = layout[schemas.G3RunBatch]{&schemas.G3Run, []column[schemas.G3RunBatch]{
	i64(func(b *schemas.G3RunBatch) []int64 { return b.LookupProbes }),
	i64(func(b *schemas.G3RunBatch) []int64 { return b.LookupHits }),
	i64(func(b *schemas.G3RunBatch) []int64 { return b.LookupPending }),
	i64(func(b *schemas.G3RunBatch) []int64 { return b.Evictions }),
	i64(func(b *schemas.G3RunBatch) []int64 { return b.CrossWorkerReadBlocks }),
	i64(func(b *schemas.G3RunBatch) []int64 { return b.ResidentBlocks }),
	i64(func(b *schemas.G3RunBatch) []int64 { return b.PendingBlocks }),
	i64(func(b *schemas.G3RunBatch) []int64 { return b.BypassedRestores }),
}}
