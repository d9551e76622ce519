package pipeline

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dynosim/dynosim/internal/limits"
	"github.com/dynosim/dynosim/internal/rundir"
	"github.com/dynosim/dynosim/schemas"
	"github.com/dynosim/dynosim/simulate"
)

// fullHost is a machine whose memory is used up as soon as a simulation begins.
type fullHost struct {
	silent
	full atomic.Bool
}

func (h *fullHost) Memory() (total, available int64) { return 8e9, 8e9 }
func (h *fullHost) CPUs() int                        { return 2 }

func (h *fullHost) Resident() int64 {
	if h.full.Load() {
		return 9e9
	}
	return 1e6
}

// Simulating waits until the watch has had time to look.
func (h *fullHost) Simulating(*simulate.Progress, int64) (stop func()) {
	h.full.Store(true)
	time.Sleep(300 * time.Millisecond)
	return func() {}
}

// TestLimitKeepsWhatIsComplete stops a run at the start of its simulation: the tables before it stay, and the
// simulation can go on from them.
func TestLimitKeepsWhatIsComplete(t *testing.T) {
	spec := &schemas.RunSpec{
		Source: schemas.SourceSpec{Kind: schemas.SourceSynthetic, InputTokens: 20, OutputTokens: 3, Count: 50, Turns: 1},
		Load:   schemas.LoadSpec{Kind: schemas.LoadConcurrency, Concurrency: 4, Speedup: 1},
		Pools: schemas.AggregatedPool(schemas.EngineSpec{
			Backend: schemas.BackendVLLM, BlockTokens: 16, NumBlocks: 100, MaxSequences: 8, MaxBatchedTokens: 512, MaxModelLen: schemas.Unlimited,
			PrefixCaching: true, ChunkedPrefill: true, PrefillScheduleInterval: 1, Preemption: schemas.PreemptLIFO, SpeedupRatio: 1, DecodeSpeedupRatio: 1,
			Timing: schemas.TimingSpec{Kind: schemas.TimingFixed, PrefillMS: 10, DecodeMS: 1}, DataParallelRanks: 1, TensorParallel: 1, PipelineParallel: 1,
		}, 1),
		TimeLimitMS: math.Inf(1), SLA: schemas.NoSLA(), Stack: schemas.StackDynamo, Resources: schemas.DefaultResources(),
	}
	dir := t.TempDir()
	stopped := filepath.Join(dir, "stopped")
	host := &fullHost{}
	_, err := runOn(context.Background(), Options{Spec: spec, Dir: stopped, Optional: OptionalTables, Observer: host}, host)
	if _, ok := errors.AsType[*limits.Reached](err); !ok || !strings.Contains(err.Error(), "memory_limit_gb") {
		t.Fatalf("the run ends with %v", err)
	}
	text, err := os.ReadFile(filepath.Join(stopped, "resource-runtime.json"))
	if err != nil || !strings.Contains(string(text), `"peak_observed_rss_bytes": 9000000000`) || !strings.Contains(string(text), `"memory_limit_bytes": 7000000000`) {
		t.Errorf("resource-runtime.json is %s, error %v", text, err)
	}
	m, err := rundir.ReadManifest(stopped)
	if err != nil || len(m.Stages) != 3 || m.Stages[2].State != rundir.StateFailed {
		t.Fatalf("stages %+v, error %v", m.Stages, err)
	}
	if _, err := os.Stat(filepath.Join(stopped, "passes.parquet")); err == nil {
		t.Error("a table of the simulation that was stopped is there")
	}
	fused, resumed := filepath.Join(dir, "fused"), filepath.Join(dir, "resumed")
	if _, err := Run(context.Background(), Options{Spec: spec, Dir: fused, Optional: OptionalTables}); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(context.Background(), Options{Spec: spec, Dir: resumed, Optional: OptionalTables, From: stopped}); err != nil {
		t.Fatal(err)
	}
	if names := differ(contents(t, resumed), contents(t, fused)); len(names) > 0 {
		t.Errorf("the resumed run differs: %s", strings.Join(names, ", "))
	}
}
