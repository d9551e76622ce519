package vllm

import (
	"fmt"
	"testing"

	"github.com/dynosim/dynosim/lower"
	"github.com/dynosim/dynosim/schemas"
	"github.com/dynosim/dynosim/simulate/engine"
)

// benchEngine has room for every request of the benchmarks at once.
func benchEngine() *schemas.EngineSpec {
	return &schemas.EngineSpec{
		Backend: schemas.BackendVLLM, BlockTokens: 64, NumBlocks: 1 << 40, MaxSequences: schemas.Unlimited,
		MaxBatchedTokens: schemas.Unlimited, MaxModelLen: schemas.Unlimited, PrefixCaching: true, ChunkedPrefill: true,
		Preemption: schemas.PreemptLIFO, SpeedupRatio: 1, DecodeSpeedupRatio: 1,
		Timing: schemas.TimingSpec{Kind: schemas.TimingPolynomial},
	}
}

// newBatch makes a rank with n requests that decode forever.
func newBatch(n int) (*Rank, float64) {
	w := &lower.Workload{Nodes: lower.Nodes{Chain: make([]int32, n), ChainTokens: make([]int32, n)}}
	table := &engine.Table{}
	e := benchEngine()
	content := engine.NewContent(w, e.BlockTokens)
	k := NewRank(NewConfig(e, schemas.PoolAggregated, content.PathTokens(), false), e, 0, table, content, func(float64, int64) {})
	for i := range n {
		w.Nodes.Chain[i] = -1
		k.Submit(table.New(int32(i), int64(100+i), 1<<40, 0))
	}
	end := k.Decide(0, 0)
	k.Emit(end)
	return k, end
}

// BenchmarkDecodePass measures one pass of a steady batch: its cost must not grow with the
// number of requests.
func BenchmarkDecodePass(b *testing.B) {
	for _, n := range []int{1, 16, 256, 4096} {
		b.Run(fmt.Sprintf("batch=%d", n), func(b *testing.B) {
			k, now := newBatch(n)
			b.ReportAllocs()
			for b.Loop() {
				end := k.Decide(now, 1)
				k.Emit(end)
				now = end
			}
		})
	}
}
