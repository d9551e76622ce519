package simulate

import (
	"math"

	"github.com/dynosim/dynosim/schemas"
	"github.com/dynosim/dynosim/simulate/engine"
	"github.com/dynosim/dynosim/simulate/router"
)

// Rows per batch: passes dominate, the other tables follow requests.
const (
	passRows    = 8192
	requestRows = 2048
	tickRows    = 256
	gapSlots    = 1 << 12
)

// recorder appends rows to the batches of a sink. The first error sticks in err.
type recorder struct {
	sink       schemas.Sink
	results    *schemas.ResultBatch
	passes     *schemas.PassBatch
	gaps       *schemas.GapBatch
	admissions *schemas.AdmissionBatch
	routing    *schemas.RoutingBatch
	chosenFrom *schemas.CandidateBatch
	transfers  *schemas.TransferBatch
	// hosts is nil without host caches.
	hosts *hostRows
	err   error
	// originMS is the time from which on rows are kept, measured the sink of what happens then.
	originMS float64
	measured schemas.Sink

	lifecycle   *schemas.LifecycleBatch
	ticks       *schemas.TickBatch
	tickWorkers *schemas.TickWorkerBatch
	tickPasses  *schemas.TickPassBatch

	// slots gathers equal gaps before they become rows: a gap replaces another one that
	// falls on the same slot. That bounds the memory and needs no second pass.
	slots [gapSlots]struct {
		gapMS float64
		count int64
	}
}

func newRecorder(sink schemas.Sink) *recorder {
	return &recorder{
		sink:       sink,
		results:    schemas.NewResultBatch(requestRows),
		passes:     schemas.NewPassBatch(passRows),
		gaps:       schemas.NewGapBatch(passRows),
		admissions: schemas.NewAdmissionBatch(requestRows),
		routing:    schemas.NewRoutingBatch(requestRows),
		chosenFrom: schemas.NewCandidateBatch(requestRows),
		transfers:  schemas.NewTransferBatch(requestRows),

		lifecycle:   schemas.NewLifecycleBatch(tickRows),
		ticks:       schemas.NewTickBatch(tickRows),
		tickWorkers: schemas.NewTickWorkerBatch(tickRows),
		tickPasses:  schemas.NewTickPassBatch(tickRows),
	}
}

// take hands a batch over when it is full, or when it must go.
func take[T any](r *recorder, to schemas.Recorder[T], b **T) {
	next, err := to.Take(*b)
	if err != nil && r.err == nil {
		r.err = err
	}
	if next != nil {
		*b = next
	}
}

// gap counts count gaps of gapMS.
func (r *recorder) gap(gapMS float64, count int64) {
	if count == 0 {
		return
	}
	s := &r.slots[math.Float64bits(gapMS)*0x9E3779B97F4A7C15>>52]
	if s.gapMS != gapMS && s.count > 0 {
		r.gapRow(s.gapMS, s.count)
		s.count = 0
	}
	s.gapMS = gapMS
	s.count += count
}

func (r *recorder) gapRow(gapMS float64, count int64) {
	b := r.gaps
	b.GapMS[b.N], b.Count[b.N] = gapMS, count
	if b.N++; b.N == len(b.GapMS) {
		take(r, r.sink.Gaps, &r.gaps)
		r.gaps.Clear()
	}
}

// pass records a completed pass of one rank.
func (r *recorder) pass(pool schemas.Pool, worker, rank int32, ordinal int64, p *engine.Pass, active, idle int64) {
	b := r.passes
	i := b.N
	b.Pool[i], b.Worker[i], b.Rank[i], b.Pass[i] = pool, worker, rank, ordinal
	b.StartMS[i], b.PrefillMS[i], b.DecodeMS[i], b.EndMS[i] = p.StartMS, p.PrefillMS, p.DecodeMS, p.EndMS
	b.PrefillRequests[i], b.PrefillTokens[i], b.PrefillKVTokens[i] = int32(p.PrefillRequests), p.PrefillTokens, p.PrefillCached
	b.DecodeRequests[i], b.DecodeKVTokens[i] = int32(p.DecodeRequests), p.DecodeTokens
	b.OutputTokens[i] = int32(p.OutputTokens)
	b.Admitted[i], b.Preempted[i] = int32(len(p.Admitted)), p.Preempted
	rejected := int32(0)
	for _, e := range p.Ended {
		if e.Status == schemas.StatusRejected {
			rejected++
		}
	}
	b.Completed[i], b.Rejected[i] = int32(len(p.Ended))-rejected, rejected
	b.Running[i], b.Waiting[i] = p.Running, p.Waiting
	b.ActiveBlocks[i], b.IdleBlocks[i] = int32(active), int32(idle)
	if b.N++; b.N == len(b.Worker) {
		take(r, r.sink.Passes, &r.passes)
		r.passes.Clear()
	}
}

// admission records the admission of a request, which had before admissions in other pools.
func (r *recorder) admission(q *engine.Request, pool schemas.Pool, before int32, atMS float64, a *engine.Admission) {
	b := r.admissions
	i := b.N
	b.Node[i], b.Ordinal[i], b.PoolOrdinal[i] = q.Node, before+q.Admissions-1, q.Admissions-1
	b.Pool[i], b.Worker[i] = pool, q.Worker
	b.AtMS[i], b.ReusedInputTokens[i] = atMS, a.Reused
	b.G1Reused[i], b.HostReused[i] = levels(a.Reused, a.Host)
	if b.N++; b.N == len(b.Node) {
		take(r, r.sink.Admissions, &r.admissions)
		r.admissions.Clear()
	}
}

// routingRow is a row of routing. Times are NaN where they did not happen; numbers are -1 where the
// request was not placed, blocks also where the policy does not look.
type routingRow struct {
	node, ordinal                 int32
	pool                          schemas.Pool
	queuedMS, releasedMS, waitMS  float64
	worker, rank, scheduler       int32
	overlapTokens, selected, best int32
}

// placed records an immediate placement by round robin; ordinal counts those of the request.
func (r *recorder) placed(node, ordinal int32, p *pool, worker, rank int32) {
	r.routed(&routingRow{node: node, ordinal: ordinal, pool: p.role, queuedMS: math.NaN(), releasedMS: math.NaN(),
		worker: worker, rank: rank, scheduler: worker*int32(p.ranks) + rank, selected: -1, best: -1})
}

// routed records a placement.
func (r *recorder) routed(row *routingRow) {
	b := r.routing
	i := b.N
	b.Node[i], b.Ordinal[i], b.Pool[i] = row.node, row.ordinal, row.pool
	b.QueuedMS[i], b.ReleasedMS[i], b.QueueWaitMS[i] = row.queuedMS, row.releasedMS, row.waitMS
	b.Worker[i], b.Scheduler[i], b.Rank[i], b.OverlapTokens[i] = row.worker, row.scheduler, row.rank, row.overlapTokens
	b.SelectedOverlapBlocks[i], b.BestOverlapBlocks[i], b.OverlapRegretBlocks[i] = row.selected, row.best, max(row.best-row.selected, 0)
	if row.selected < 0 {
		b.OverlapRegretBlocks[i] = -1
	}
	if b.N++; b.N == len(b.Node) {
		take(r, r.sink.Routing, &r.routing)
		r.routing.Clear()
	}
}

// candidates records what a placement was chosen from.
func (r *recorder) candidates(row *routingRow, nowMS float64, ranks int, from []router.Candidate) {
	for k := range from {
		c, b := &from[k], r.chosenFrom
		i := b.N
		b.Node[i], b.Ordinal[i], b.Pool[i], b.DecidedMS[i] = row.node, row.ordinal, row.pool, nowMS
		b.Worker[i], b.Scheduler[i], b.Rank[i], b.Chosen[i] = c.Worker, c.Worker*int32(ranks)+c.Rank, c.Rank, 0
		if b.Scheduler[i] == row.scheduler {
			b.Chosen[i] = 1
		}
		b.OverlapBlocks[i], b.SharedBlocks[i] = c.Overlap, c.Shared
		b.PrefillTokens[i], b.ActiveBlocks[i], b.ActiveRequests[i] = c.PrefillTokens, c.ActiveBlocks, c.ActiveRequests
		b.PrefillCost[i], b.DecodeBlocks[i], b.Cost[i] = c.PrefillCost, c.DecodeBlocks, c.Cost
		if b.N++; b.N == len(b.Node) {
			take(r, r.sink.Candidates, &r.chosenFrom)
			r.chosenFrom.Clear()
		}
	}
}

// transfer records a movement of KV.
func (r *recorder) transfer(q *engine.Request, h *handoff, bytesPerToken, tokens int64, startMS, endMS float64) {
	b := r.transfers
	i := b.N
	b.Node[i], b.Handoff[i], b.PrefillScheduler[i], b.DecodeScheduler[i] = q.Node, h.ordinal, h.prefillWorker, q.Worker
	b.Tokens[i], b.Bytes[i] = tokens, -1
	if bytesPerToken > 0 {
		b.Bytes[i] = tokens * bytesPerToken
	}
	b.StartMS[i], b.EndMS[i] = startMS, endMS
	if b.N++; b.N == len(b.Node) {
		take(r, r.sink.Transfers, &r.transfers)
		r.transfers.Clear()
	}
}

// result records the end of a request; terminalMS is NaN for one that was cut off.
func (r *recorder) result(q *engine.Request, terminalMS float64) {
	b, i := r.row(q, terminalMS)
	nan := math.NaN()
	b.PrefillWorker[i], b.DecodeReusedInputTokens[i], b.PrefillRouteOverlapTokens[i], b.DecodeRouteOverlapTokens[i] = -1, -1, -1, -1
	b.PrefillAdmitMS[i], b.SourceHeldMS[i], b.DestinationReservedMS[i], b.DestinationActivatedMS[i], b.DecodeAdmitMS[i], b.SourceReleasedMS[i] = nan, nan, nan, nan, nan, nan
	r.rowDone()
}

// handedOff records the end of a request of a disaggregated run.
func (r *recorder) handedOff(q *engine.Request, h *handoff) {
	b, i := r.row(q, h.terminalMS)
	b.PrefillWorker[i], b.PrefillAdmitMS[i], b.DecodeAdmitMS[i] = h.prefillWorker, h.prefillAdmitMS, q.AdmitMS
	b.SourceHeldMS[i], b.SourceReleasedMS[i] = h.heldMS, h.released
	b.DestinationReservedMS[i], b.DestinationActivatedMS[i] = h.reservedMS, h.activatedMS
	b.PrefillRouteOverlapTokens[i], b.DecodeRouteOverlapTokens[i] = h.prefillOverlap, h.decodeOverlap
	b.DecodeReusedInputTokens[i] = q.Reused
	if q.Admissions == 0 {
		b.DecodeReusedInputTokens[i] = -1
	}
	if h.prefillAdmissions > 0 {
		b.FirstAdmitMS[i] = h.prefillAdmitMS
	}
	b.ReusedInputTokens[i], b.FirstAdmissionReused[i] = h.reused, h.firstReused
	b.FirstAdmissionG1[i], b.FirstAdmissionHost[i] = levels(h.firstReused, h.firstHost)
	b.AdmissionCount[i] = h.prefillAdmissions + q.Admissions
	b.ReadmissionCount[i] += max(h.prefillAdmissions-1, 0)
	r.rowDone()
}

// row fills what results of all runs have in common.
func (r *recorder) row(q *engine.Request, terminalMS float64) (b *schemas.ResultBatch, i int) {
	b = r.results
	i = b.N
	b.Node[i], b.CreationOrdinal[i], b.Status[i] = q.Node, q.Creation, q.Status
	b.ArrivalMS[i], b.FirstAdmitMS[i], b.TerminalMS[i] = q.ArrivalMS, q.AdmitMS, terminalMS
	b.FirstTokenMS[i], b.SecondTokenMS[i], b.LastTokenMS[i] = q.FirstTokenMS, q.SecondTokenMS, q.LastTokenMS
	b.InputTokens[i], b.RequestedOutputTokens[i], b.OutputTokens[i] = int32(q.Prompt), int32(q.Requested), int32(q.Output)
	b.ReusedInputTokens[i], b.FirstAdmissionReused[i] = q.Reused, q.FirstReused
	b.Worker[i], b.AdmissionCount[i], b.ReadmissionCount[i] = q.Worker, q.Admissions, max(q.Admissions-1, 0)
	b.FirstAdmissionG1[i], b.FirstAdmissionHost[i] = levels(q.FirstReused, q.FirstHost)
	return b, i
}

// levels splits reused tokens into those of the GPU's cache and those of the host's, -1 for both without a
// host cache.
func levels(reused, fromHost int32) (gpu, host int32) {
	if fromHost < 0 {
		return -1, -1
	}
	return reused - fromHost, fromHost
}

func (r *recorder) rowDone() {
	if r.results.N++; r.results.N == len(r.results.Node) {
		take(r, r.sink.Results, &r.results)
		r.results.Clear()
	}
}

// close hands over what is left.
func (r *recorder) close() error {
	for i := range r.slots {
		if s := &r.slots[i]; s.count > 0 {
			r.gapRow(s.gapMS, s.count)
		}
	}
	take(r, r.sink.Results, &r.results)
	take(r, r.sink.Passes, &r.passes)
	take(r, r.sink.Gaps, &r.gaps)
	take(r, r.sink.Admissions, &r.admissions)
	take(r, r.sink.Routing, &r.routing)
	take(r, r.sink.Candidates, &r.chosenFrom)
	take(r, r.sink.Transfers, &r.transfers)
	r.closeHosts()
	take(r, r.sink.Lifecycle, &r.lifecycle)
	take(r, r.sink.Ticks, &r.ticks)
	take(r, r.sink.TickWorkers, &r.tickWorkers)
	take(r, r.sink.TickPasses, &r.tickPasses)
	return r.err
}
