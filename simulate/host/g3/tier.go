// Package g3 is storage behind host caches, the third level of the KV cache (spec 10 section 12): which
// blocks it has, which of them leave first, and the reads and writes between it and the host
// caches.
//
// A Tier is the storage of a deployment. It has one store for all workers or one for each, but one service
// that moves all bytes, so that workers share what bandwidth there is. Blocks are known by their sequence hash.
//
// One counter, the ordinal, numbers jobs and gives blocks their ages: it grows with every probe, every submitted and every
// completed job.
package g3

import (
	"math"
	"slices"

	"github.com/dynosim/dynosim/schemas"
)

// Job is a read or a write that has not completed, or whose end its worker has not seen.
type Job struct {
	// ID is the ordinal at which it was submitted.
	ID     int64
	Kind   schemas.G3TransferKind
	Worker int32
	// Node is the request that it is for.
	Node          int32
	Blocks, Bytes int64
	// SubmittedMS, and EndMS, NaN while it is under way.
	SubmittedMS, EndMS float64
	// Entries are what the host cache moves, as its owner sees fit.
	Entries []int32

	blocks []int32
	// firstMS is when the first byte moves, left the bytes that are still to move, rate and eventMS the motion at the
	// clock of the service.
	firstMS, left, rate, eventMS float64
}

// Recorder takes the rows of jobs that ended or were cut off.
type Recorder interface {
	StorageTransfer(j *Job)
}

// Counters are what the report says beside the jobs.
type Counters struct {
	Probes, Hits, PendingHits, Evictions, ForeignBlocks, Bypassed int64
}

// worker is an owner of the service.
type worker struct {
	// moving counts its moving jobs by kind in the present step, done has its completed jobs that it has not
	// seen, seen the completions of anybody that it knows of.
	moving [2]int32
	done   []int32
	seen   uint64
}

// Tier is the storage of a deployment.
type Tier struct {
	Counters
	spec       schemas.G3OffloadSpec
	blockBytes int64
	record     Recorder
	ordinal    int64
	stores     []*store
	workers    []worker
	jobs       []Job
	free       []int32
	// flying are the jobs that have not completed, in order of submission; nowMS is the clock of the service.
	// settled says that the last advance left nothing to do at nowMS, known that nextMS is the next event.
	flying         []int32
	nowMS, nextMS  float64
	settled, known bool
	completions    uint64
}

// New makes empty storage for blocks of so many bytes; record may be nil.
func New(spec schemas.G3OffloadSpec, blockBytes int64, record Recorder) *Tier {
	t := &Tier{spec: spec, blockBytes: blockBytes, record: record}
	if spec.Shared {
		t.stores = []*store{newStore(spec.Blocks)}
	}
	return t
}

// Join adds the worker with the next number.
func (t *Tier) Join() {
	t.workers = append(t.workers, worker{seen: t.completions})
	if !t.spec.Shared {
		t.stores = append(t.stores, newStore(t.spec.Blocks))
	}
}

func (t *Tier) store(worker int32) *store {
	if t.spec.Shared {
		return t.stores[0]
	}
	return t.stores[worker]
}

// Probe looks a block up for a worker; one that can be read becomes the youngest.
func (t *Tier) Probe(worker int32, key uint64) Found {
	t.ordinal++
	t.Probes++
	s := t.store(worker)
	b := s.find(key)
	switch {
	case b < 0:
		return Absent
	case s.blocks[b].pending:
		t.PendingHits++
		return Pending
	}
	t.Hits++
	s.touch(b, t.ordinal)
	return Resident
}

// Holds reports whether a worker's store has or expects a block. It is no probe.
func (t *Tier) Holds(worker int32, key uint64) bool { return t.store(worker).find(key) >= 0 }

// Write offers blocks to the worker's store, at nowMS. What the store has or expects already is left out, and so is what
// does not fit. written gets the places of the others in keys; without any there is no job, -1.
func (t *Tier) Write(worker, node int32, keys []uint64, nowMS float64, written []int) (int32, []int) {
	t.Advance(nowMS)
	s := t.store(worker)
	s.offer++
	spared := int64(0)
	for i, key := range keys {
		b := s.find(key)
		if b < 0 {
			written = append(written, i)
			continue
		}
		x := &s.blocks[b]
		if x.offer != s.offer && !x.pending && x.reads == 0 {
			spared++
		}
		x.offer = s.offer
	}
	fit, gone := s.makeRoom(int64(len(written)), spared)
	t.Evictions += gone
	written = written[:fit]
	if fit == 0 {
		return -1, written
	}
	j := t.submit(schemas.G3Write, worker, node, fit, nowMS)
	x := &t.jobs[j]
	for _, i := range written {
		x.blocks = append(x.blocks, s.add(keys[i], worker))
	}
	return j, written
}

// Read submits the read of blocks that a probe found resident, at nowMS.
func (t *Tier) Read(worker, node int32, keys []uint64, nowMS float64) int32 {
	s := t.store(worker)
	j := t.submit(schemas.G3Read, worker, node, int64(len(keys)), nowMS)
	x := &t.jobs[j]
	for _, key := range keys {
		b := s.find(key)
		if s.blocks[b].writer != worker {
			t.ForeignBlocks++
		}
		s.pin(b)
		x.blocks = append(x.blocks, b)
	}
	return j
}

// Job is a job by its handle.
func (t *Tier) Job(j int32) *Job { return &t.jobs[j] }

// submit adds a job to the service.
func (t *Tier) submit(kind schemas.G3TransferKind, worker, node int32, blocks int64, nowMS float64) int32 {
	t.Advance(nowMS)
	t.ordinal++
	var j int32
	if n := len(t.free); n > 0 {
		j = t.free[n-1]
		t.free = t.free[:n-1]
	} else {
		j = int32(len(t.jobs))
		t.jobs = append(t.jobs, Job{})
	}
	x := &t.jobs[j]
	*x = Job{
		ID: t.ordinal, Kind: kind, Worker: worker, Node: node, Blocks: blocks, Bytes: blocks * t.blockBytes,
		SubmittedMS: nowMS, EndMS: math.NaN(), Entries: x.Entries[:0], blocks: x.blocks[:0],
		firstMS: nowMS + t.spec.LatencyMS,
	}
	x.left = float64(x.Bytes)
	t.flying = append(t.flying, j)
	t.settled, t.known = false, false
	return j
}

// complete makes what a job moved usable.
func (t *Tier) complete(j int32) {
	x := &t.jobs[j]
	s := t.store(x.Worker)
	x.EndMS = t.nowMS
	t.ordinal++
	t.completions++
	for _, b := range x.blocks {
		if x.Kind == schemas.G3Write {
			s.written(b, t.ordinal)
		} else {
			s.unpin(b, t.ordinal)
		}
	}
	w := &t.workers[x.Worker]
	w.done = append(w.done, j)
}

// Done moves the service to nowMS and returns the worker's jobs that it has not seen complete, in order of completion,
// and whether anybody's completed since it looked. Each of them has to be dropped.
func (t *Tier) Done(worker int32, nowMS float64) (own []int32, any bool) {
	t.Advance(nowMS)
	w := &t.workers[worker]
	any = w.seen != t.completions
	w.seen = t.completions
	own = w.done
	w.done = nil
	return own, any
}

// Unseen reports whether anybody's job completed since a worker looked.
func (t *Tier) Unseen(worker int32) bool { return t.workers[worker].seen != t.completions }

// Completions is the number of jobs that have completed.
func (t *Tier) Completions() uint64 { return t.completions }

// Drop forgets a job that its worker has seen to complete, and records it.
func (t *Tier) Drop(j int32) {
	if t.record != nil {
		t.record.StorageTransfer(&t.jobs[j])
	}
	t.free = append(t.free, j)
}

// InFlight reports whether a worker has jobs whose end it has not seen.
func (t *Tier) InFlight(worker int32) bool {
	return len(t.workers[worker].done) > 0 ||
		slices.ContainsFunc(t.flying, func(j int32) bool { return t.jobs[j].Worker == worker })
}

// Unfinished records the jobs that the end of the run cut off.
func (t *Tier) Unfinished() {
	if t.record == nil {
		return
	}
	for _, j := range t.flying {
		t.record.StorageTransfer(&t.jobs[j])
	}
}

// Gauges are the blocks of all stores that can be read, and those still being written.
func (t *Tier) Gauges() (resident, pending int64) {
	for _, s := range t.stores {
		resident += int64(len(s.byKey)) - s.pending
		pending += s.pending
	}
	return resident, pending
}
