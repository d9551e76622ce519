package simulate

import (
	"context"
	"fmt"
	"math"
	"syscall"
	"testing"

	"github.com/dynosim/dynosim/lower"
	"github.com/dynosim/dynosim/schemas"
)

// evenLoad is requests requests of equal shape that arrive at even distances.
func evenLoad(requests int, perSecond float64) *lower.Workload {
	w := &lower.Workload{}
	n := &w.Nodes
	for i := range requests {
		n.ReleaseMS = append(n.ReleaseMS, float64(i)*1000/perSecond)
		n.DelayMS = append(n.DelayMS, 0)
		n.InputTokens, n.OutputTokens = append(n.InputTokens, 512), append(n.OutputTokens, int32(64+i%64))
		n.Chain, n.ChainTokens = append(n.Chain, -1), append(n.ChainTokens, 0)
		n.RequestIndex = append(n.RequestIndex, int32(i))
	}
	return w
}

func benchSpec(pools []schemas.PoolSpec) *schemas.RunSpec {
	return &schemas.RunSpec{Pools: pools, TimeLimitMS: math.Inf(1), Stack: schemas.StackDynamo}
}

func benchEngine() schemas.EngineSpec {
	return schemas.EngineSpec{
		Backend: schemas.BackendVLLM, BlockTokens: 64, NumBlocks: 4096, MaxSequences: 256, MaxBatchedTokens: 8192, MaxModelLen: schemas.Unlimited,
		PrefixCaching: true, ChunkedPrefill: true, PrefillScheduleInterval: 1, Preemption: schemas.PreemptLIFO, SpeedupRatio: 1, DecodeSpeedupRatio: 1,
		Timing: schemas.TimingSpec{Kind: schemas.TimingPolynomial}, DataParallelRanks: 1, TensorParallel: 1, PipelineParallel: 1,
	}
}

// cpuNS is the processor time of the process: it means something on a busy machine too.
func cpuNS(b *testing.B) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// BenchmarkWorkers simulates the same load a worker on clusters of different sizes: the cost of a pass
// should not grow with the number of workers. Arrivals closer than passes keep workers from running
// ahead of the clock, as they do in a large cluster whatever its simulator.
func BenchmarkWorkers(b *testing.B) {
	const requests = 32 << 10
	for _, workers := range []int{4, 64, 1024} {
		aggregated := benchSpec(schemas.AggregatedPool(benchEngine(), workers))
		split := benchSpec([]schemas.PoolSpec{
			{Pool: schemas.PoolPrefill, Engine: benchEngine(), Workers: workers / 2},
			{Pool: schemas.PoolDecode, Engine: benchEngine(), Workers: workers / 2},
		})
		watched := *aggregated
		watched.TelemetryIntervalMS = 1000
		watched.Scaling = schemas.ScalingSpec{Enabled: true, EveryMS: 5000}
		hosted := benchSpec(schemas.AggregatedPool(benchEngine(), workers))
		hosted.Pools[0].Engine.Host = schemas.HostOffloadSpec{Enabled: true, Blocks: 1 << 14, BlockBytes: 8 << 20, D2HGBps: 32, H2DGBps: 32}
		for _, c := range []struct {
			name string
			spec *schemas.RunSpec
		}{{"aggregated", aggregated}, {"disaggregated", split}, {"watched", &watched}, {"hosted", hosted}} {
			b.Run(fmt.Sprintf("%s-%d", c.name, workers), func(b *testing.B) {
				load := evenLoad(requests, 4*float64(workers))
				passes, begin := int64(0), cpuNS(b)
				b.ReportAllocs()
				for b.Loop() {
					outcome, err := Run(context.Background(), c.spec, load, schemas.DiscardSink(), nil)
					if err != nil {
						b.Fatal(err)
					}
					passes += outcome.Passes
				}
				b.ReportMetric(float64(cpuNS(b)-begin)/float64(passes), "cpu-ns/pass")
				b.ReportMetric(float64(passes)/float64(b.N)/requests, "passes/request")
			})
		}
	}
}
