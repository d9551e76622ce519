package simulate

import (
	"math"

	"github.com/dynosim/dynosim/schemas"
	"github.com/dynosim/dynosim/simulate/host"
)

// hostRows has the batches of the tables that only runs with host caches have.
type hostRows struct {
	domains   *schemas.HostDomainBatch
	transfers *schemas.HostTransferBatch
	evictions *schemas.HostEvictionBatch
	fences    *schemas.HostFenceBatch

	storage    *schemas.G3TransferBatch
	storageRun *schemas.G3RunBatch
}

func newHostRows() *hostRows {
	return &hostRows{
		domains: schemas.NewHostDomainBatch(1), transfers: schemas.NewHostTransferBatch(requestRows),
		evictions: schemas.NewHostEvictionBatch(requestRows), fences: schemas.NewHostFenceBatch(requestRows),
		storage: schemas.NewG3TransferBatch(requestRows), storageRun: schemas.NewG3RunBatch(1),
	}
}

// HostTransfer records a transfer of a host cache that ended or was cut off.
func (r *recorder) HostTransfer(t *host.Transfer) {
	b := r.hosts.transfers
	i := b.N
	b.Pool[i], b.Scheduler[i], b.Domain[i], b.Node[i], b.Transfer[i] = t.Pool, t.Scheduler, t.Domain, t.Node, t.ID
	b.Kind[i] = schemas.HostStore
	if t.Kind == host.Load {
		b.Kind[i] = schemas.HostLoad
	}
	b.Blocks[i], b.Bytes[i] = t.Blocks, t.Bytes
	b.CreatedMS[i], b.SubmittedMS[i], b.FirstByteMS[i] = t.CreatedMS, t.SubmittedMS, t.FirstByteMS
	b.CompletedMS[i], b.CanceledMS[i], b.SeenMS[i] = t.EndMS, math.NaN(), t.SeenMS
	if t.Cancelled {
		b.CompletedMS[i], b.CanceledMS[i] = math.NaN(), t.EndMS
	}
	if b.N++; b.N == len(b.Node) {
		take(r, r.sink.HostTransfers, &r.hosts.transfers)
		r.hosts.transfers.Clear()
	}
}

// HostEviction records a block that a host cache gave up.
func (r *recorder) HostEviction(e *host.Eviction) {
	b := r.hosts.evictions
	i := b.N
	b.Pool[i], b.Scheduler[i], b.Domain[i], b.Transfer[i], b.AtMS[i], b.Key[i] = e.Pool, e.Scheduler, e.Domain, e.Store, e.AtMS, e.Key
	if b.N++; b.N == len(b.Key) {
		take(r, r.sink.HostEvictions, &r.hosts.evictions)
		r.hosts.evictions.Clear()
	}
}

// hostFence records a completed pass that waited for copies before it computed.
func (r *recorder) hostFence(pool schemas.Pool, worker, rank int32, pass int64, startMS, fenceMS float64) {
	b := r.hosts.fences
	i := b.N
	b.Pool[i], b.Worker[i], b.Rank[i], b.Pass[i], b.StartMS[i], b.FenceMS[i] = pool, worker, rank, pass, startMS, fenceMS
	if b.N++; b.N == len(b.Pass) {
		take(r, r.sink.HostFences, &r.hosts.fences)
		r.hosts.fences.Clear()
	}
}

// hostDomain records the state of a shared host cache at the end of the run.
func (r *recorder) hostDomain(domain int32, capacity, resident, used int64) {
	b := r.hosts.domains
	b.Domain[b.N], b.CapacityBlocks[b.N], b.ResidentBlocks[b.N], b.UsedBlocks[b.N] = domain, capacity, resident, used
	b.N++
}

// clear forgets what was recorded.
func (h *hostRows) clear() {
	if h != nil {
		h.transfers.Clear()
		h.evictions.Clear()
		h.fences.Clear()
	}
}

// closeHosts hands over what is left.
func (r *recorder) closeHosts() {
	if h := r.hosts; h != nil {
		// What the caches hold is told even where nothing was measured.
		take(r, r.measured.HostDomains, &h.domains)
		take(r, r.sink.HostTransfers, &h.transfers)
		take(r, r.sink.HostEvictions, &h.evictions)
		take(r, r.sink.HostFences, &h.fences)
		take(r, r.sink.G3Transfers, &h.storage)
		take(r, r.sink.G3Run, &h.storageRun)
	}
}
