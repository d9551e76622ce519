package sglang

import (
	"fmt"
	"testing"

	"github.com/dynosim/dynosim/lower"
	"github.com/dynosim/dynosim/schemas"
	"github.com/dynosim/dynosim/simulate/engine"
)

// newBatch makes a rank with n requests that decode forever and, if blocked, one more that
// waits for pages all the time.
func newBatch(n int, page int64, blocked bool) (*Rank, float64) {
	w := &lower.Workload{Nodes: lower.Nodes{Chain: make([]int32, n+1), ChainTokens: make([]int32, n+1)}}
	for i := range w.Nodes.Chain {
		w.Nodes.Chain[i] = -1
	}
	table := &engine.Table{}
	e := &schemas.EngineSpec{
		Backend: schemas.BackendSGLang, BlockTokens: page, NumBlocks: 1 << 40, MaxSequences: schemas.Unlimited,
		MaxModelLen: schemas.Unlimited, PrefixCaching: true, SpeedupRatio: 1, DecodeSpeedupRatio: 1, DataParallelRanks: 1,
		Timing: schemas.TimingSpec{Kind: schemas.TimingPolynomial},
		SGLang: schemas.SGLangSpec{MaxPrefillTokens: 1 << 40, ChunkTokens: 1 << 40, ClipNewTokens: 4096, Conservativeness: 1},
	}
	content := engine.NewContent(w, e.BlockTokens)
	k := NewRank(NewConfig(e, schemas.PoolAggregated, content.PathTokens(), false), e, 0, NewGroup(1), table, content, func(float64, int64) {})
	for i := range n {
		k.Submit(table.New(int32(i), int64(100+i), 1<<40, 0))
	}
	end := k.Decide(0, 0)
	k.Emit(end)
	if blocked {
		k.Submit(table.New(int32(n), 1<<41*page, 1, 0))
	}
	return k, end
}

// BenchmarkDecodePass measures one pass of a steady batch: its cost must not grow with the
// number of requests.
func BenchmarkDecodePass(b *testing.B) {
	for _, blocked := range []bool{false, true} {
		for _, page := range []int64{1, 64} {
			for _, n := range []int{1, 16, 256, 4096} {
				b.Run(fmt.Sprintf("blocked=%v/page=%d/batch=%d", blocked, page, n), func(b *testing.B) {
					k, now := newBatch(n, page, blocked)
					b.ReportAllocs()
					for b.Loop() {
						end := k.Decide(now, 1)
						k.Emit(end)
						now = end
					}
				})
			}
		}
	}
}
