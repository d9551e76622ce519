// Package fakerun makes rows that look like those of a real run, for benchmarks and
// tests of the stages behind the simulator. The same arguments give the same rows.
package fakerun

import (
	"math"
	"math/rand/v2"

	"github.com/dynosim/dynosim/schemas"
)

// Shape says how many rows to make.
type Shape struct {
	Requests, Passes, Gaps int
	Workers                int
}

// Conversation is about the shape of a 59-minute chat trace on four workers.
var Conversation = Shape{Requests: 12_031, Passes: 1_000_000, Gaps: 900_000, Workers: 4}

// Times multiplies the number of rows.
func (s Shape) Times(n int) Shape {
	s.Requests, s.Passes, s.Gaps = s.Requests*n, s.Passes*n, s.Gaps*n
	return s
}

// Fill hands rows of the given shape to sink in batches of batchRows.
func Fill(sink schemas.Sink, s Shape, batchRows int) error {
	if err := fillPasses(sink.Passes, s, batchRows); err != nil {
		return err
	}
	if err := fillGaps(sink.Gaps, s, batchRows); err != nil {
		return err
	}
	return fillRequests(sink, s, batchRows)
}

func fillPasses(rec schemas.Recorder[schemas.PassBatch], s Shape, batchRows int) error {
	r := rand.New(rand.NewPCG(1, 2))
	type worker struct {
		now     float64
		pass    int64
		running int32
		kv      int64
	}
	workers := make([]worker, s.Workers)
	b := schemas.NewPassBatch(batchRows)
	var err error
	for range s.Passes {
		k := r.IntN(s.Workers)
		w := &workers[k]
		var prefillMS float64
		var prefill, cached int64
		var admitted, completed int32
		if w.running == 0 || r.IntN(90) == 0 {
			prefillMS = round9(r.Float64() * 500)
			prefill, cached, admitted = int64(1+r.IntN(16_000)), int64(r.IntN(16_000)/512*512), 1
			w.running++
			w.kv += 8000
		} else if r.IntN(90) == 0 && w.running > 1 {
			completed = 1
			w.running--
			w.kv -= 8000
		}
		w.kv += int64(w.running)
		decodeMS := round9(5 + float64(w.kv)*1e-5 + float64(w.running)*0.1)
		i := b.N
		b.N++
		b.Worker[i], b.Rank[i], b.Pass[i] = int32(k), 0, w.pass
		b.StartMS[i], b.PrefillMS[i], b.DecodeMS[i] = w.now, prefillMS, decodeMS
		w.now += prefillMS + decodeMS
		w.pass++
		b.EndMS[i] = w.now
		b.PrefillRequests[i], b.PrefillTokens[i], b.PrefillKVTokens[i] = admitted, prefill, cached
		b.DecodeRequests[i], b.DecodeKVTokens[i], b.OutputTokens[i] = w.running, w.kv, w.running
		b.Admitted[i], b.Preempted[i], b.Completed[i], b.Rejected[i] = admitted, 0, completed, 0
		b.Running[i], b.Waiting[i] = w.running, 0
		b.ActiveBlocks[i], b.IdleBlocks[i] = int32(w.kv/512), int32(16_000-w.kv/512)
		if b.N == batchRows {
			if b, err = rec.Take(b); err != nil {
				return err
			}
		}
	}
	_, err = rec.Take(b)
	return err
}

func fillGaps(rec schemas.Recorder[schemas.GapBatch], s Shape, batchRows int) error {
	r := rand.New(rand.NewPCG(3, 4))
	b := schemas.NewGapBatch(batchRows)
	var err error
	for range s.Gaps {
		gap := 5 + r.ExpFloat64()*3
		if r.IntN(90) == 0 {
			gap += r.Float64() * 500
		}
		b.GapMS[b.N], b.Count[b.N] = gap, int64(1+r.IntN(20))
		b.N++
		if b.N == batchRows {
			if b, err = rec.Take(b); err != nil {
				return err
			}
		}
	}
	_, err = rec.Take(b)
	return err
}

func fillRequests(sink schemas.Sink, s Shape, batchRows int) error {
	r := rand.New(rand.NewPCG(5, 6))
	results := schemas.NewResultBatch(batchRows)
	admissions, routing := schemas.NewAdmissionBatch(batchRows), schemas.NewRoutingBatch(batchRows)
	arrival := 0.0
	var err error
	for n := range int32(s.Requests) {
		arrival += round9(r.ExpFloat64() * 294)
		worker := n % int32(s.Workers)
		i := results.N
		results.N++
		results.Node[i], results.CreationOrdinal[i], results.Worker[i] = n, n, worker
		results.InputTokens[i] = int32(1 + r.IntN(16_000))
		results.RequestedOutputTokens[i] = int32(2 + r.IntN(600))
		results.OutputTokens[i] = results.RequestedOutputTokens[i]
		results.ReusedInputTokens[i] = results.InputTokens[i] / 2
		results.FirstAdmissionReused[i] = results.InputTokens[i] / 2
		results.ArrivalMS[i], results.FirstAdmitMS[i] = arrival, arrival+round9(r.Float64()*10)
		results.FirstTokenMS[i] = results.FirstAdmitMS[i] + round9(r.Float64()*500)
		results.SecondTokenMS[i] = results.FirstTokenMS[i] + round9(5+r.Float64())
		results.LastTokenMS[i] = results.SecondTokenMS[i] + round9(8*float64(results.OutputTokens[i]-2))
		results.TerminalMS[i] = results.LastTokenMS[i]
		results.Status[i] = schemas.StatusCompleted
		nan := math.NaN()
		results.PrefillWorker[i], results.DecodeReusedInputTokens[i], results.PrefillRouteOverlapTokens[i], results.DecodeRouteOverlapTokens[i] = -1, -1, -1, -1
		results.PrefillAdmitMS[i], results.SourceHeldMS[i], results.DestinationReservedMS[i], results.DestinationActivatedMS[i] = nan, nan, nan, nan
		results.DecodeAdmitMS[i], results.SourceReleasedMS[i] = nan, nan
		results.AdmissionCount[i], results.ReadmissionCount[i] = 1, 0
		results.FirstAdmissionG1[i], results.FirstAdmissionHost[i] = -1, -1

		j := admissions.N
		admissions.N++
		admissions.Node[j], admissions.Ordinal[j], admissions.PoolOrdinal[j] = n, 0, 0
		admissions.Pool[j], admissions.Worker[j] = schemas.PoolAggregated, worker
		admissions.AtMS[j], admissions.ReusedInputTokens[j] = results.FirstAdmitMS[i], results.ReusedInputTokens[i]
		admissions.G1Reused[j], admissions.HostReused[j] = -1, -1

		k := routing.N
		routing.N++
		routing.Node[k], routing.Ordinal[k], routing.Pool[k] = n, 0, schemas.PoolAggregated
		routing.QueuedMS[k], routing.ReleasedMS[k], routing.QueueWaitMS[k] = math.NaN(), math.NaN(), 0
		routing.Worker[k], routing.Scheduler[k], routing.Rank[k] = worker, worker, 0
		routing.OverlapTokens[k] = 0
		routing.SelectedOverlapBlocks[k], routing.BestOverlapBlocks[k], routing.OverlapRegretBlocks[k] = -1, -1, -1

		if results.N == batchRows {
			if results, err = sink.Results.Take(results); err != nil {
				return err
			}
			if admissions, err = sink.Admissions.Take(admissions); err != nil {
				return err
			}
			if routing, err = sink.Routing.Take(routing); err != nil {
				return err
			}
		}
	}
	if _, err = sink.Results.Take(results); err != nil {
		return err
	}
	if _, err = sink.Admissions.Take(admissions); err != nil {
		return err
	}
	_, err = sink.Routing.Take(routing)
	return err
}

// round9 rounds to whole nanoseconds, as the simulator does with latencies.
func round9(ms float64) float64 { return math.Round(ms*1e6) / 1e6 }
