package simulate

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dynosim/dynosim/lower"
	"github.com/dynosim/dynosim/schemas"
)

// TestFallbackLatency gives hand-offs a latency instead of a bandwidth, which the documents have
// no words for (spec 05 section 7.4): the latency counts from the time at which the source is
// held and the destination reserved, and an activation waits for the end of a pass.
func TestFallbackLatency(t *testing.T) {
	e := schemas.EngineSpec{
		Backend: schemas.BackendVLLM, BlockTokens: 64, NumBlocks: 4096, MaxSequences: 256, MaxBatchedTokens: 8192, MaxModelLen: schemas.Unlimited,
		PrefixCaching: true, ChunkedPrefill: true, PrefillScheduleInterval: 1, SpeedupRatio: 1, DecodeSpeedupRatio: 1, DataParallelRanks: 1,
		Timing: schemas.TimingSpec{Kind: schemas.TimingFixed, PrefillMS: 10, DecodeMS: 2},
	}
	spec := &schemas.RunSpec{
		Pools:       []schemas.PoolSpec{{Pool: schemas.PoolPrefill, Engine: e, Workers: 1}, {Pool: schemas.PoolDecode, Engine: e, Workers: 1}},
		Transfer:    schemas.TransferSpec{Timing: schemas.TransferFull, FallbackMS: 7.5},
		TimeLimitMS: math.Inf(1),
	}
	w := &lower.Workload{Nodes: lower.Nodes{
		ReleaseMS: []float64{0, 3, 40}, DelayMS: make([]float64, 3), InputTokens: []int32{64, 64, 128}, OutputTokens: []int32{3, 2, 0},
		Chain: []int32{-1, -1, -1}, ChainTokens: make([]int32, 3), RequestIndex: []int32{0, 1, 2},
	}}
	sink := schemas.DiscardSink()
	got := map[int32]string{}
	sink.Results = keep[schemas.ResultBatch](func(b *schemas.ResultBatch) {
		for i := range b.N {
			got[b.Node[i]] = fmt.Sprintf("held %g, activated %g, first token %g, ends %g", b.SourceHeldMS[i], b.DestinationActivatedMS[i], b.FirstTokenMS[i], b.TerminalMS[i])
		}
		b.Clear()
	})
	if _, err := Run(context.Background(), spec, w, sink, nil); err != nil {
		t.Fatal(err)
	}
	want := map[int32]string{
		0: "held 10, activated 17.5, first token 19.5, ends 23.5",
		1: "held 20, activated 29, first token 31, ends 33",
		2: "held 50, activated 57.5, first token NaN, ends 57.5",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
