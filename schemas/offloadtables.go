package schemas

// The tables below exist for runs with a host cache only (spec 10).

// HostDomains holds the pools in host memory that ranks share.
var HostDomains = Table{Name: "host_domains", Version: 1, Stage: "simulate", Offload: true, Doc: "one pool in host memory that ranks share, at the end of the run; the cache of a single rank has no row", Columns: []Column{
	{"domain", tInt32, false, "dense id, from 0"},
	{"capacity_blocks", tInt64, false, "blocks it can hold"},
	{"resident_blocks", tInt64, false, "blocks that can be read"},
	{"used_blocks", tInt64, false, "those and the ones still being written"},
}}

// HostTransfers holds the movements between GPUs and host caches (spec 10 section 2).
var HostTransfers = Table{Name: "host_transfers", Version: 1, Stage: "simulate", Offload: true, Doc: "one transfer between a rank and a host cache", Columns: []Column{
	{"pool", tString, false, "agg, prefill or decode"},
	{"scheduler", tInt32, false, "scheduler id of the rank"},
	{"domain", tInt32, true, "row of host_domains; null where the rank has a cache of its own"},
	{"transfer", tInt64, false, "number in the cache, from 0, in order of creation; promotions from storage take numbers too"},
	{"kind", tString, false, "store (GPU to host) or load (host to GPU)"},
	{"node", tInt32, false, "the request whose blocks it moves"},
	{"blocks", tInt64, false, "blocks moved"},
	{"bytes", tInt64, false, "bytes moved"},
	{"created_ms", tFloat64, false, "start of the pass that prepared the store, or time at which the load was queued"},
	{"submitted_ms", tFloat64, true, "time from which on it may move: for a store the end of that pass, for a load its creation or the end of copies from the memory it fills; null when the run ended before"},
	{"first_byte_ms", tFloat64, true, "time at which it begins to move: behind the latency, and in the cache of a rank behind the transfers before it; null when it was not submitted"},
	{"completed_ms", tFloat64, true, "time of its last byte; null when it was canceled or the run ended before"},
	{"canceled_ms", tFloat64, true, "time at which it was canceled"},
	{"seen_ms", tFloat64, true, "time at which its rank learned that it was complete: at once when idle, else at the end of a pass"},
}}

// HostEvictions holds the blocks that had to leave host caches.
var HostEvictions = Table{Name: "host_evictions", Version: 1, Stage: "simulate", Offload: true, Doc: "one block that left a host cache to make room", Columns: []Column{
	{"pool", tString, false, "agg, prefill or decode"},
	{"scheduler", tInt32, false, "scheduler id of the rank that needed the room"},
	{"domain", tInt32, true, "row of host_domains; null where the rank has a cache of its own"},
	{"transfer", tInt64, false, "the transfer that the room is for"},
	{"at_ms", tFloat64, false, "when"},
	{"key", tUint64, false, "sequence hash of the block: of its tokens and all before it"},
}}

// HostFences holds the passes that waited for copies (spec 10 section 5.1).
var HostFences = Table{Name: "host_fences", Version: 1, Stage: "simulate", Offload: true, Doc: "one pass of one rank that waited before it computed, until copies from memory that it was about to use were over", Columns: []Column{
	{"pool", tString, false, "agg, prefill or decode"},
	{"worker", tInt32, false, "worker id in its pool"},
	{"rank", tInt32, false, "attention data-parallel rank in the worker"},
	{"pass", tInt64, false, "number of the pass in its worker, as in passes"},
	{"start_ms", tFloat64, false, "start of the pass"},
	{"fence_ms", tFloat64, false, "when it began to compute"},
}}

// G3Transfers holds the movements between host caches and storage (spec 10 section 12).
var G3Transfers = Table{Name: "g3_transfers", Version: 1, Stage: "simulate", Offload: true, Doc: "one transfer between a host cache and storage", Columns: []Column{
	{"job", tInt64, false, "ordinal at which it was submitted; the counter has other uses too, so numbers are left out"},
	{"kind", tString, false, "read (storage to host) or write (host to storage)"},
	{"node", tInt32, false, "the request that it is for"},
	{"worker", tInt32, false, "worker id"},
	{"blocks", tInt64, false, "blocks moved"},
	{"bytes", tInt64, false, "bytes moved"},
	{"submitted_ms", tFloat64, false, "when it was submitted"},
	{"completed_ms", tFloat64, true, "time of its last byte; null when it was canceled or the run ended before"},
	{"canceled_ms", tFloat64, true, "time at which it was canceled"},
}}

// G3Run holds the counters of storage: one row, none without.
var G3Run = Table{Name: "g3_run", Version: 1, Stage: "simulate", Offload: true, Doc: "what happened in storage behind the host caches: one row, none without", Columns: []Column{
	{"lookup_probes", tInt64, false, "blocks looked for"},
	{"lookup_hits", tInt64, false, "blocks found"},
	{"lookup_pending", tInt64, false, "blocks found that were still being written"},
	{"evictions", tInt64, false, "blocks that left to make room"},
	{"cross_worker_read_blocks", tInt64, false, "blocks read that another worker had written"},
	{"resident_blocks", tInt64, false, "blocks that could be read at the end"},
	{"pending_blocks", tInt64, false, "blocks still being written at the end"},
	{"bypassed_restores", tInt64, false, "requests that stopped looking after too many rounds"},
}}

// HostTransferKind tells stores from loads.
type HostTransferKind uint8

// Kinds of transfer.
const (
	HostStore HostTransferKind = iota
	HostLoad
)

// HostTransferKindNames are the values of the column kind of host_transfers, indexed by HostTransferKind.
var HostTransferKindNames = []string{"store", "load"}

// G3TransferKind tells reads from writes.
type G3TransferKind uint8

// Kinds of transfer.
const (
	G3Read G3TransferKind = iota
	G3Write
)

// G3TransferKindNames are the values of the column kind of g3_transfers, indexed by G3TransferKind.
var G3TransferKindNames = []string{"read", "write"}

// HostDomainBatch holds rows of host_domains.
type HostDomainBatch struct {
	N                                          int
	Domain                                     []int32
	CapacityBlocks, ResidentBlocks, UsedBlocks []int64
}

// HostTransferBatch holds rows of host_transfers. Domain is -1 for none; times that did not happen are NaN.
type HostTransferBatch struct {
	N                                   int
	Pool                                []Pool
	Scheduler, Domain, Node             []int32
	Transfer                            []int64
	Kind                                []HostTransferKind
	Blocks, Bytes                       []int64
	CreatedMS, SubmittedMS, FirstByteMS []float64
	CompletedMS, CanceledMS, SeenMS     []float64
}

// HostEvictionBatch holds rows of host_evictions. Domain is -1 for none.
type HostEvictionBatch struct {
	N                 int
	Pool              []Pool
	Scheduler, Domain []int32
	Transfer          []int64
	AtMS              []float64
	Key               []uint64
}

// HostFenceBatch holds rows of host_fences.
type HostFenceBatch struct {
	N                int
	Pool             []Pool
	Worker, Rank     []int32
	Pass             []int64
	StartMS, FenceMS []float64
}

// G3TransferBatch holds rows of g3_transfers. Times that did not happen are NaN.
type G3TransferBatch struct {
	N                                    int
	Job                                  []int64
	Kind                                 []G3TransferKind
	Node, Worker                         []int32
	Blocks, Bytes                        []int64
	SubmittedMS, CompletedMS, CanceledMS []float64
}

// G3RunBatch holds the row of g3_run.
type G3RunBatch struct {
	N                                       int
	LookupProbes, LookupHits, LookupPending []int64
	Evictions, CrossWorkerReadBlocks        []int64
	ResidentBlocks, PendingBlocks           []int64
	BypassedRestores                        []int64
}

// Clear forgets the rows of the batch and keeps its memory.
func (b *HostDomainBatch) Clear() { b.N = 0 }

// Clear forgets the rows of the batch and keeps its memory.
func (b *HostTransferBatch) Clear() { b.N = 0 }

// Clear forgets the rows of the batch and keeps its memory.
func (b *HostEvictionBatch) Clear() { b.N = 0 }

// Clear forgets the rows of the batch and keeps its memory.
func (b *HostFenceBatch) Clear() { b.N = 0 }

// Clear forgets the rows of the batch and keeps its memory.
func (b *G3TransferBatch) Clear() { b.N = 0 }

// Clear forgets the rows of the batch and keeps its memory.
func (b *G3RunBatch) Clear() { b.N = 0 }

// NewHostDomainBatch makes an empty batch of n rows capacity.
func NewHostDomainBatch(n int) *HostDomainBatch {
	b := &HostDomainBatch{}
	i32(n, &b.Domain)
	i64(n, &b.CapacityBlocks, &b.ResidentBlocks, &b.UsedBlocks)
	return b
}

// NewHostTransferBatch makes an empty batch of n rows capacity.
func NewHostTransferBatch(n int) *HostTransferBatch {
	b := &HostTransferBatch{Pool: make([]Pool, n), Kind: make([]HostTransferKind, n)}
	i32(n, &b.Scheduler, &b.Domain, &b.Node)
	i64(n, &b.Transfer, &b.Blocks, &b.Bytes)
	f64(n, &b.CreatedMS, &b.SubmittedMS, &b.FirstByteMS, &b.CompletedMS, &b.CanceledMS, &b.SeenMS)
	return b
}

// NewHostEvictionBatch makes an empty batch of n rows capacity.
func NewHostEvictionBatch(n int) *HostEvictionBatch {
	b := &HostEvictionBatch{Pool: make([]Pool, n), Key: make([]uint64, n)}
	i32(n, &b.Scheduler, &b.Domain)
	i64(n, &b.Transfer)
	f64(n, &b.AtMS)
	return b
}

// NewHostFenceBatch makes an empty batch of n rows capacity.
func NewHostFenceBatch(n int) *HostFenceBatch {
	b := &HostFenceBatch{Pool: make([]Pool, n)}
	i32(n, &b.Worker, &b.Rank)
	i64(n, &b.Pass)
	f64(n, &b.StartMS, &b.FenceMS)
	return b
}

// NewG3TransferBatch makes an empty batch of n rows capacity.
func NewG3TransferBatch(n int) *G3TransferBatch {
	b := &G3TransferBatch{Kind: make([]G3TransferKind, n)}
	i32(n, &b.Node, &b.Worker)
	i64(n, &b.Job, &b.Blocks, &b.Bytes)
	f64(n, &b.SubmittedMS, &b.CompletedMS, &b.CanceledMS)
	return b
}

// NewG3RunBatch makes an empty batch of n rows capacity.
func NewG3RunBatch(n int) *G3RunBatch {
	b := &G3RunBatch{}
	i64(n, &b.LookupProbes, &b.LookupHits, &b.LookupPending, &b.Evictions, &b.CrossWorkerReadBlocks,
		&b.ResidentBlocks, &b.PendingBlocks, &b.BypassedRestores)
	return b
}
