package simulate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dynosim/dynosim/lower"
	"github.com/dynosim/dynosim/schemas"
)

// rows keeps every row of a run as text, gaps summed up.
type rows struct {
	results, passes, admissions, routing, candidates, transfers []string
	lifecycle, ticks                                            []string
	hosts                                                       []string
	gaps                                                        map[float64]int64
}

func collect() (*rows, schemas.Sink) {
	r := &rows{gaps: map[float64]int64{}}
	return r, schemas.Sink{
		Results: keep[schemas.ResultBatch](func(b *schemas.ResultBatch) {
			for i := range b.N {
				r.results = append(r.results, fmt.Sprint(b.Node[i], b.CreationOrdinal[i], b.ArrivalMS[i], b.FirstAdmitMS[i], b.FirstTokenMS[i],
					b.SecondTokenMS[i], b.LastTokenMS[i], b.TerminalMS[i], b.Status[i], b.InputTokens[i], b.RequestedOutputTokens[i],
					b.OutputTokens[i], b.ReusedInputTokens[i], b.FirstAdmissionReused[i], b.Worker[i], b.AdmissionCount[i], b.ReadmissionCount[i], b.PrefillWorker[i], b.PrefillAdmitMS[i], b.SourceHeldMS[i],
					b.DestinationReservedMS[i], b.DestinationActivatedMS[i], b.DecodeAdmitMS[i], b.SourceReleasedMS[i], b.DecodeReusedInputTokens[i]))
			}
			b.Clear()
		}),
		Passes: keep[schemas.PassBatch](func(b *schemas.PassBatch) {
			for i := range b.N {
				r.passes = append(r.passes, fmt.Sprint(b.Pool[i], b.Worker[i], b.Rank[i], b.Pass[i], b.StartMS[i], b.PrefillMS[i], b.DecodeMS[i], b.EndMS[i],
					b.PrefillRequests[i], b.PrefillTokens[i], b.PrefillKVTokens[i], b.DecodeRequests[i], b.DecodeKVTokens[i], b.OutputTokens[i],
					b.Admitted[i], b.Preempted[i], b.Completed[i], b.Rejected[i], b.Running[i], b.Waiting[i], b.ActiveBlocks[i], b.IdleBlocks[i]))
			}
			b.Clear()
		}),
		Gaps: keep[schemas.GapBatch](func(b *schemas.GapBatch) {
			for i := range b.N {
				r.gaps[b.GapMS[i]] += b.Count[i]
			}
			b.Clear()
		}),
		Admissions: keep[schemas.AdmissionBatch](func(b *schemas.AdmissionBatch) {
			for i := range b.N {
				r.admissions = append(r.admissions, fmt.Sprint(b.Node[i], b.Ordinal[i], b.PoolOrdinal[i], b.Pool[i], b.Worker[i], b.AtMS[i], b.ReusedInputTokens[i]))
			}
			b.Clear()
		}),
		Routing: keep[schemas.RoutingBatch](func(b *schemas.RoutingBatch) {
			for i := range b.N {
				r.routing = append(r.routing, fmt.Sprint(b.Node[i], b.Pool[i], b.Worker[i], b.Scheduler[i], b.Rank[i], b.QueuedMS[i], b.ReleasedMS[i],
					b.SelectedOverlapBlocks[i], b.BestOverlapBlocks[i]))
			}
			b.Clear()
		}),
		Candidates: keep[schemas.CandidateBatch](func(b *schemas.CandidateBatch) {
			for i := range b.N {
				r.candidates = append(r.candidates, fmt.Sprint(b.Node[i], b.Ordinal[i], b.Pool[i], b.DecidedMS[i], b.Scheduler[i], b.Chosen[i], b.OverlapBlocks[i],
					b.SharedBlocks[i], b.PrefillTokens[i], b.ActiveBlocks[i], b.ActiveRequests[i], b.Cost[i]))
			}
			b.Clear()
		}),
		Transfers: keep[schemas.TransferBatch](func(b *schemas.TransferBatch) {
			for i := range b.N {
				r.transfers = append(r.transfers, fmt.Sprint(b.Node[i], b.Handoff[i], b.PrefillScheduler[i], b.DecodeScheduler[i], b.Tokens[i], b.Bytes[i], b.StartMS[i], b.EndMS[i]))
			}
			b.Clear()
		}),
		G3Transfers: schemas.DiscardSink().G3Transfers, G3Run: schemas.DiscardSink().G3Run,
		HostTransfers: keep[schemas.HostTransferBatch](func(b *schemas.HostTransferBatch) {
			for i := range b.N {
				r.hosts = append(r.hosts, fmt.Sprint("transfer ", b.Pool[i], b.Scheduler[i], b.Domain[i], b.Node[i], b.Transfer[i], b.Kind[i], b.Blocks[i], b.Bytes[i], b.CreatedMS[i], b.SubmittedMS[i],
					b.FirstByteMS[i], b.CompletedMS[i], b.CanceledMS[i], b.SeenMS[i]))
			}
			b.Clear()
		}),
		HostEvictions: keep[schemas.HostEvictionBatch](func(b *schemas.HostEvictionBatch) {
			for i := range b.N {
				r.hosts = append(r.hosts, fmt.Sprint("eviction ", b.Pool[i], b.Scheduler[i], b.Domain[i], b.Transfer[i], b.AtMS[i], b.Key[i]))
			}
			b.Clear()
		}),
		HostDomains: keep[schemas.HostDomainBatch](func(b *schemas.HostDomainBatch) {
			for i := range b.N {
				r.hosts = append(r.hosts, fmt.Sprint("domain ", b.Domain[i], b.CapacityBlocks[i], b.ResidentBlocks[i], b.UsedBlocks[i]))
			}
			b.Clear()
		}),
		HostFences: keep[schemas.HostFenceBatch](func(b *schemas.HostFenceBatch) {
			for i := range b.N {
				r.hosts = append(r.hosts, fmt.Sprint("fence ", b.Pool[i], b.Worker[i], b.Rank[i], b.Pass[i], b.StartMS[i], b.FenceMS[i]))
			}
			b.Clear()
		}),
		Lifecycle: keep[schemas.LifecycleBatch](func(b *schemas.LifecycleBatch) {
			for i := range b.N {
				r.lifecycle = append(r.lifecycle, fmt.Sprint(b.Operation[i], b.Position[i], b.AtMS[i], b.Pool[i], b.Cause[i], b.Tick[i], b.Origin[i], b.Released[i],
					b.Worker[i], b.Prior[i], b.State[i], b.OwnOrigins[i]))
			}
			b.Clear()
		}),
		Ticks: keep[schemas.TickBatch](func(b *schemas.TickBatch) {
			for i := range b.N {
				r.ticks = append(r.ticks, fmt.Sprint(b.Tick[i], b.Kind[i], b.Ordinal[i], b.AtMS[i], b.StartMS[i], b.Arriving[i], b.Completed[i], b.InputTokens[i], b.OutputTokens[i],
					b.TTFTRequests[i], b.TTFTSumMS[i], b.ITLRequests[i], b.ITLSumMS[i], b.DecodeForwards[i], b.Accepted[i], b.TargetDecode[i], b.NextTickMS[i],
					b.Decode.Preemptions[i], b.Decode.CacheHitTokens[i], b.Decode.CacheTotalTokens[i]))
			}
			b.Clear()
		}),
		TickWorkers: keep[schemas.TickWorkerBatch](func(b *schemas.TickWorkerBatch) {
			for i := range b.N {
				r.ticks = append(r.ticks, fmt.Sprint("worker ", b.Tick[i], b.Pool[i], b.Worker[i], b.Rank[i], b.State[i], b.ActiveBlocks[i], b.IdleBlocks[i], b.TotalBlocks[i], b.Running[i], b.Waiting[i]))
			}
			b.Clear()
		}),
		TickPasses: keep[schemas.TickPassBatch](func(b *schemas.TickPassBatch) {
			for i := range b.N {
				r.ticks = append(r.ticks, fmt.Sprint("pass ", b.Tick[i], b.Worker[i], b.Rank[i], b.DurationMS[i], b.PrefillRequests[i], b.PrefillTokens[i], b.PrefillKVTokens[i], b.PrefillVariance[i],
					b.DecodeRequests[i], b.DecodeKVTokens[i], b.DecodeVariance[i], b.QueuedPrefillRequests[i], b.QueuedPrefillTokens[i], b.QueuedPrefillVariance[i],
					b.QueuedDecodeRequests[i], b.QueuedDecodeKVTokens[i], b.QueuedDecodeVariance[i]))
			}
			b.Clear()
		}),
	}
}

// keep is a recorder that reads the batch and uses it again.
type keep[T any] func(*T)

func (k keep[T]) Take(b *T) (*T, error) { k(b); return b, nil }

// drawWorkload draws prompts over few blocks, so that prefixes are shared, as a list or as
// sessions, open or closed.
func drawWorkload(t *rapid.T) *lower.Workload {
	w := &lower.Workload{BlockTokens: rapid.Int64Range(1, 9).Draw(t, "trace block")}
	requests := rapid.IntRange(1, 25).Draw(t, "requests")
	type prefix struct {
		parent int32
		block  uint32
	}
	chains := map[prefix]int32{}
	at := 0.0
	delays := []float64{0, 0, 1, 2.5, 10}
	for i := range requests {
		leaf := int32(-1)
		blocks := rapid.IntRange(0, 6).Draw(t, "blocks")
		for depth := range blocks {
			p := prefix{leaf, rapid.Uint32Range(0, 2).Draw(t, "block")}
			id, known := chains[p]
			if !known {
				id = int32(len(chains))
				chains[p] = id
				w.Chains.Parent = append(w.Chains.Parent, p.parent)
				w.Chains.Block = append(w.Chains.Block, p.block)
				w.Chains.Depth = append(w.Chains.Depth, int32(depth))
			}
			leaf = id
		}
		covered := max(int64(blocks)*w.BlockTokens-rapid.Int64Range(0, w.BlockTokens-1).Draw(t, "cut"), 0)
		tail := rapid.Int64Range(0, 8).Draw(t, "tail")
		if covered == 0 {
			leaf, tail = -1, tail+1
		}
		at += rapid.SampledFrom(delays).Draw(t, "gap")
		n := &w.Nodes
		n.ReleaseMS = append(n.ReleaseMS, at)
		n.DelayMS = append(n.DelayMS, rapid.SampledFrom(delays).Draw(t, "delay"))
		n.InputTokens = append(n.InputTokens, int32(covered+tail))
		n.OutputTokens = append(n.OutputTokens, rapid.Int32Range(0, 30).Draw(t, "output"))
		n.Chain, n.ChainTokens = append(n.Chain, leaf), append(n.ChainTokens, int32(covered))
		n.RequestIndex = append(n.RequestIndex, int32(i))
	}
	if rapid.Bool().Draw(t, "closed") {
		w.Concurrency = rapid.Int64Range(1, 6).Draw(t, "concurrency")
	}
	if rapid.Bool().Draw(t, "sessions") {
		w.Sessions = &lower.Sessions{First: []int32{0}}
		for first := 0; first < requests; {
			first = min(requests, first+rapid.IntRange(1, 4).Draw(t, "turns"))
			w.Sessions.First = append(w.Sessions.First, int32(first))
		}
	}
	return w
}

func drawSpec(t *rapid.T) *schemas.RunSpec {
	limits := []int64{1, 2, 3, 5, 8, 16, 33, schemas.Unlimited}
	e := schemas.EngineSpec{
		Backend: rapid.SampledFrom([]schemas.Backend{schemas.BackendVLLM, schemas.BackendVLLM, schemas.BackendTRTLLM}).Draw(t, "backend"), BlockTokens: rapid.Int64Range(2, 7).Draw(t, "block"),
		NumBlocks:    rapid.Int64Range(3, 40).Draw(t, "pool"),
		MaxSequences: rapid.SampledFrom(limits).Draw(t, "sequences"), MaxBatchedTokens: rapid.SampledFrom(limits).Draw(t, "budget"),
		MaxModelLen:    rapid.SampledFrom([]int64{20, 40, schemas.Unlimited, schemas.Unlimited}).Draw(t, "model length"),
		PrefixCaching:  rapid.Bool().Draw(t, "caching"),
		ChunkedPrefill: rapid.Bool().Draw(t, "chunked"),
		Preemption:     rapid.SampledFrom([]schemas.PreemptionMode{schemas.PreemptFIFO, schemas.PreemptLIFO}).Draw(t, "preemption"),
		SpeedupRatio:   1, DecodeSpeedupRatio: 1, DataParallelRanks: rapid.Int64Range(1, 3).Draw(t, "ranks"),
		PrefillScheduleInterval: rapid.Int64Range(1, 3).Draw(t, "interval"),
		Timing: rapid.SampledFrom(append(measured(math.MaxInt64), []schemas.TimingSpec{
			{Kind: schemas.TimingFixed, PrefillMS: 10, DecodeMS: 1}, {Kind: schemas.TimingFixed, PrefillMS: 0, DecodeMS: 2}, {Kind: schemas.TimingFixed, PrefillMS: 3.3},
			{Kind: schemas.TimingFixed}, {Kind: schemas.TimingPolynomial},
		}...)).Draw(t, "timing"),
	}
	if rapid.IntRange(0, 2).Draw(t, "sglang") == 0 {
		e.Backend = schemas.BackendSGLang
		e.BlockTokens = rapid.Int64Range(1, 7).Draw(t, "page")
		e.SGLang = schemas.SGLangSpec{
			LongestPrefixFirst: rapid.Bool().Draw(t, "lpm"),
			MaxPrefillTokens:   rapid.SampledFrom([]int64{30, 16384}).Draw(t, "prefill tokens"),
			ChunkTokens:        e.BlockTokens * rapid.SampledFrom([]int64{4, 9, 1000}).Draw(t, "chunk"),
			ClipNewTokens:      rapid.SampledFrom([]int64{0, 3, 10, 4096}).Draw(t, "clip"),
			Conservativeness:   rapid.SampledFrom([]float64{0, 0.3, 1, 2}).Draw(t, "conservativeness"),

			PrefillDecodeInterval: rapid.Int64Range(0, 3).Draw(t, "decode interval"),
		}
		e.NumBlocks += rapid.SampledFrom([]int64{0, 100 / e.BlockTokens, 400}).Draw(t, "more pages")
	}
	e.StartupMS = rapid.SampledFrom([]float64{0, 7, 15.5}).Draw(t, "startup")
	spec := &schemas.RunSpec{Pools: schemas.AggregatedPool(e, rapid.IntRange(1, 3).Draw(t, "workers")), Router: drawRouter(t), CaptureRouting: true,
		TimeLimitMS:         rapid.SampledFrom([]float64{math.Inf(1), math.Inf(1), 12.5, 60, 200}).Draw(t, "limit"),
		TelemetryIntervalMS: rapid.SampledFrom([]float64{0, 0, 5, 10, 33.3}).Draw(t, "telemetry"), Scaling: drawScaling(t)}
	if rapid.IntRange(0, 2).Draw(t, "disaggregated") > 0 {
		disaggregate(t, spec)
	}
	drawHosts(t, spec)
	return spec
}

// drawHosts gives the pools of a vLLM cluster host caches, often.
func drawHosts(t *rapid.T, spec *schemas.RunSpec) {
	blocks := rapid.Int64Range(1, 40).Draw(t, "host blocks")
	bandwidth := rapid.SampledFrom([]float64{0, 0.1, 0.5, 1, 4})
	d2h, h2d := bandwidth.Draw(t, "shared d2h"), bandwidth.Draw(t, "shared h2d")
	for i := range spec.Pools {
		e := &spec.Pools[i].Engine
		if e.Backend != schemas.BackendVLLM || rapid.IntRange(0, 2).Draw(t, "host") == 0 {
			continue
		}
		e.PrefixCaching = true
		e.Host = schemas.HostOffloadSpec{
			Enabled: true, Shared: rapid.Bool().Draw(t, "shared"), Blocks: blocks, BlockBytes: 1_000_000,
			D2HGBps: bandwidth.Draw(t, "d2h"), H2DGBps: bandwidth.Draw(t, "h2d"), SharedD2HGBps: d2h, SharedH2DGBps: h2d,
			LatencyMS: rapid.SampledFrom([]float64{0, 0, 0.25, 3}).Draw(t, "latency"),
		}
	}
}

// disaggregate splits the workers into a prefill and a decode pool.
func disaggregate(t *rapid.T, spec *schemas.RunSpec) {
	prefill := spec.Pools[0]
	decode := prefill
	prefill.Pool, decode.Pool = schemas.PoolPrefill, schemas.PoolDecode
	decode.Workers = rapid.IntRange(1, 3).Draw(t, "decode workers")
	e := &decode.Engine
	e.NumBlocks += rapid.SampledFrom([]int64{0, 5, 60}).Draw(t, "more blocks")
	e.MaxSequences = rapid.SampledFrom([]int64{1, 2, 5, schemas.Unlimited}).Draw(t, "decode sequences")
	e.DataParallelRanks = rapid.Int64Range(1, 2).Draw(t, "decode ranks")
	e.PrefixCaching = rapid.Bool().Draw(t, "decode caching")
	if rapid.Bool().Draw(t, "decode timing") {
		e.Timing = schemas.TimingSpec{Kind: schemas.TimingFixed, DecodeMS: rapid.SampledFrom([]float64{0, 1, 2.5}).Draw(t, "decode time")}
	}
	spec.Pools = []schemas.PoolSpec{prefill, decode}
	spec.Transfer = schemas.TransferSpec{
		BandwidthGBPerSecond: rapid.SampledFrom([]float64{0, 0.001, 1}).Draw(t, "bandwidth"), BytesPerToken: 1000,
		Timing: rapid.SampledFrom([]schemas.TransferTiming{schemas.TransferFull, schemas.TransferMissing}).Draw(t, "transfer timing"),
	}
	for i := range spec.Scaling.Decisions {
		spec.Scaling.Decisions[i].Prefill = rapid.SampledFrom([]int32{-1, -1, 0, 1, 2, 3}).Draw(t, "prefill target")
	}
}

// drawScaling draws a script, or none.
func drawScaling(t *rapid.T) schemas.ScalingSpec {
	if rapid.Bool().Draw(t, "no scaling") {
		return schemas.ScalingSpec{}
	}
	s := schemas.ScalingSpec{Enabled: true, FirstMS: rapid.SampledFrom([]float64{0, 1, 10, 12.5}).Draw(t, "first tick"), EveryMS: rapid.SampledFrom([]float64{0, 5, 10, 33}).Draw(t, "every")}
	at := s.FirstMS
	for i := range rapid.IntRange(1, 6).Draw(t, "decisions") {
		d := schemas.ScalingDecision{Tick: -1, AtMS: at, Prefill: -1, Decode: rapid.SampledFrom([]int32{-1, 0, 1, 1, 2, 3, 4, 5}).Draw(t, "target"), NextTickMS: math.NaN()}
		if s.EveryMS > 0 {
			d.Tick = int64(i)
		}
		s.Decisions = append(s.Decisions, d)
		at += rapid.SampledFrom([]float64{1, 5, 10, 30}).Draw(t, "step")
	}
	return s
}

// TestShortCuts compares runs that advance decoding batches as a whole, and ahead of the
// clock, with runs that walk every request in every pass: no row may differ.
func TestShortCuts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec, w := drawSpec(t), drawWorkload(t)
		fast, sink := collect()
		outcome, err := Run(context.Background(), spec, w, sink, nil)
		slow, sink := collect()
		wanted, wantedErr := run(context.Background(), spec, w, sink, nil, true)

		var stuck *InvariantError
		if err != nil && !errors.As(err, &stuck) && !strings.Contains(err.Error(), "no active workers") || fmt.Sprint(err) != fmt.Sprint(wantedErr) {
			t.Fatalf("short cuts end with %v, exact passes with %v", err, wantedErr)
		}
		if err != nil {
			return
		}
		if got, want := outcome.DecodeWorkerSeconds, wanted.DecodeWorkerSeconds; math.Abs(got-want) > 1e-9*want {
			t.Fatalf("worker seconds %v, want %v", got, want)
		}
		if got, want := outcome.PrefillWorkerSeconds, wanted.PrefillWorkerSeconds; math.Abs(got-want) > 1e-9*want {
			t.Fatalf("prefill worker seconds %v, want %v", got, want)
		}
		outcome.DecodeWorkerSeconds, outcome.PrefillWorkerSeconds = wanted.DecodeWorkerSeconds, wanted.PrefillWorkerSeconds
		if outcome != wanted {
			t.Fatalf("outcome %+v, want %+v", outcome, wanted)
		}
		// Passes that ran ahead of the clock stand earlier in the table.
		slices.Sort(fast.passes)
		slices.Sort(slow.passes)
		if d := cmp.Diff(slow, fast, cmp.AllowUnexported(rows{})); d != "" {
			t.Fatalf("rows differ (- exact, + short cuts):\n%s", d)
		}
	})
}
