package simulate

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/dynosim/dynosim/lower"
	"github.com/dynosim/dynosim/schemas"
)

// curve is a timing model that depends on the shape of every pass; above limit cached tokens a
// request it has no data.
type curve struct{ limit int64 }

var errNoData = errors.New("nothing was measured that far")

func (c curve) PrefillMS(requests, newTokens, cachedTokens int64) (float64, error) {
	return 0.25*float64(requests*newTokens) + 0.0625*float64(cachedTokens), nil
}

func (c curve) DecodeMS(requests, kvTokens int64) (float64, error) {
	if kvTokens > c.limit {
		return 0, errNoData
	}
	return 0.5 + 0.125*float64(requests) + 0.03125*float64(kvTokens), nil
}

func (c curve) MinDecodeMS() float64       { return 0.5 }
func (c curve) Private() schemas.PassTimes { return c }
func (c curve) String() string             { return "curve" }

// measured are the two forms of a measured timing model: the dynamo stack's and the engine
// stack's (spec 09 section 8).
func measured(limit int64) []schemas.TimingSpec {
	return []schemas.TimingSpec{
		{Kind: schemas.TimingDefault, Passes: curve{limit}, KVOffset: 1, DecodeFloorMS: 1},
		{Kind: schemas.TimingDefault, Passes: curve{limit}},
	}
}

// oneRequest is a workload of one request without blocks.
func oneRequest(input, output int32) *lower.Workload {
	w := &lower.Workload{BlockTokens: 4}
	w.Nodes = lower.Nodes{
		ReleaseMS: []float64{0}, DelayMS: []float64{0}, InputTokens: []int32{input}, OutputTokens: []int32{output},
		Chain: []int32{-1}, ChainTokens: []int32{0}, RequestIndex: []int32{0},
	}
	return w
}

func oneWorker(timing schemas.TimingSpec) *schemas.RunSpec {
	e := schemas.EngineSpec{
		Backend: schemas.BackendVLLM, BlockTokens: 4, NumBlocks: 100, MaxSequences: 8, MaxBatchedTokens: 8, MaxModelLen: schemas.Unlimited,
		ChunkedPrefill: true, SpeedupRatio: 1, DecodeSpeedupRatio: 1, DataParallelRanks: 1, PrefillScheduleInterval: 1, Timing: timing,
	}
	return &schemas.RunSpec{Pools: schemas.AggregatedPool(e, 1), TimeLimitMS: math.Inf(1)}
}

// TestMeasured follows one request: two chunks of its prompt, then decode passes at the lengths that
// each stack asks for.
func TestMeasured(t *testing.T) {
	for i, want := range []float64{
		// 8 new tokens; 4 new after 8; lengths 13 + 1, 14 + 1.
		8*0.25 + (4*0.25 + 8*0.0625) + (0.625 + 14*0.03125) + (0.625 + 15*0.03125),
		// No offset: lengths 13, 14.
		8*0.25 + (4*0.25 + 8*0.0625) + (0.625 + 13*0.03125) + (0.625 + 14*0.03125),
	} {
		out, err := Run(context.Background(), oneWorker(measured(100)[i]), oneRequest(12, 3), schemas.DiscardSink(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(out.LastInstantMS-want) > 1e-5 {
			t.Errorf("form %d: the run ends at %v ms, want %v", i, out.LastInstantMS, want)
		}
	}
}

// TestMeasuredFloor wants at least 1 ms for a decode pass of the dynamo stack.
func TestMeasuredFloor(t *testing.T) {
	out, err := Run(context.Background(), oneWorker(measured(100)[0]), oneRequest(1, 3), schemas.DiscardSink(), nil)
	if want := 0.25 + 1 + 1; err != nil || math.Abs(out.LastInstantMS-want) > 1e-9 {
		t.Errorf("the run ends at %v ms with %v, want %v", out.LastInstantMS, err, want)
	}
}

// TestUnmeasured wants the run to end with one line about the pass that has no data.
func TestUnmeasured(t *testing.T) {
	_, err := Run(context.Background(), oneWorker(measured(20)[0]), oneRequest(12, 30), schemas.DiscardSink(), nil)
	if !errors.Is(err, errNoData) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "decode pass of 1 requests with 21 cached tokens") {
		t.Errorf("got %v, want an error that names the pass", err)
	}
}
