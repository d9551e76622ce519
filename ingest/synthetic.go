package ingest

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"sync/atomic"

	"github.com/dynosim/dynosim/internal/chacha"
	"github.com/dynosim/dynosim/schemas"
)

// contentSeed is the seed of the draws of prefix groups, whatever the seed of arrivals
// (spec 01 section 4.2).
const contentSeed = 42

// syntheticReader generates independent requests or sessions (spec 01 section 4).
type syntheticReader struct {
	source   *schemas.SourceSpec
	sessions bool
	// blockTokens is 0, and shared empty, when nothing is shared.
	blockTokens int64
	shared      int64
	draws       *chacha.Source
	w           batchWriter
	session     int64
	turn, turns int64
	group       uint64
	name        []byte
	done        atomic.Int64
}

func openSynthetic(source *schemas.SourceSpec, blockTokens int64) (Reader, error) {
	for _, c := range []struct {
		name  string
		value int64
	}{{"input tokens", source.InputTokens}, {"output tokens", source.OutputTokens}, {"count", source.Count}} {
		if c.value < 1 {
			return nil, fmt.Errorf("the synthetic %s must be at least 1, got %d", c.name, c.value)
		}
	}
	r := &syntheticReader{source: source, turns: 1}
	if !source.SessionMode() {
		return r, nil
	}
	ratio, delay := source.SharedPrefixRatio, source.InterTurnDelayMS
	switch {
	case source.Turns < 1:
		return nil, fmt.Errorf("the turns of synthetic sessions must be at least 1, got %d", source.Turns)
	case math.IsInf(delay, 0) || math.IsNaN(delay) || delay < 0:
		return nil, fmt.Errorf("the delay between turns must be a finite number of milliseconds of at least 0, got %v", delay)
	case !(ratio >= 0 && ratio <= 1):
		return nil, fmt.Errorf("the shared prefix ratio must be from 0 to 1, got %v", ratio)
	case source.PrefixGroups < 0 || source.PrefixGroups > math.MaxUint32:
		return nil, fmt.Errorf("the number of prefix groups must be from 0 to %d, got %d", uint32(math.MaxUint32), source.PrefixGroups)
	}
	r.sessions, r.turns = true, source.Turns
	if source.PrefixGroups > 0 && ratio > 0 {
		if blockTokens < 1 {
			return nil, fmt.Errorf("the engine block size must be at least 1 token, got %d", blockTokens)
		}
		r.draws, r.blockTokens = chacha.New(contentSeed), blockTokens
		r.shared = sharedBlocks(source.InputTokens, blockTokens, ratio)
	}
	return r, nil
}

// sharedBlocks is how many blocks of a prompt its group has in common, rounded half away from zero.
func sharedBlocks(tokens, blockTokens int64, ratio float64) int64 {
	n := ceilDiv(tokens, blockTokens)
	return min(n, int64(math.Round(float64(n)*ratio)))
}

func ceilDiv(a, b int64) int64 { return a/b + min(a%b, 1) }

func (r *syntheticReader) Progress() (done, total int64) {
	return r.done.Load(), r.source.Count * r.turns
}

func (r *syntheticReader) Close() error { return nil }

func (r *syntheticReader) Next(batch *schemas.RequestBatch) error {
	r.w.reset(batch, r.blockTokens)
	for !r.w.full() && r.session < r.source.Count {
		r.row()
	}
	r.w.finish()
	if batch.N == 0 {
		return io.EOF
	}
	r.done.Add(int64(batch.N))
	return nil
}

// row generates the next request.
func (r *syntheticReader) row() {
	b := r.w.b
	i := r.w.add(r.session*r.turns + r.turn + 1)
	b.InputTokens[i], b.OutputTokens[i] = r.source.InputTokens, r.source.OutputTokens
	if r.sessions {
		if r.turn == 0 && r.draws != nil {
			r.group = sharedBlockBase(0xD00D, uint64(r.draws.Below(uint32(r.source.PrefixGroups))))
		}
		r.name = strconv.AppendInt(append(r.name[:0], "session_"...), r.session, 10)
		b.HasSession[i] = true
		r.w.str(&b.SessionID[i], r.name)
		if r.turn > 0 {
			b.HasDelay[i], b.DelayMS[i] = true, r.source.InterTurnDelayMS
		}
		for block := range r.shared {
			b.Blocks = append(b.Blocks, r.group+uint64(block))
		}
	}
	r.w.end(i)
	if r.turn++; r.turn == r.turns {
		r.session, r.turn = r.session+1, 0
	}
}

// sharedBlockBase is the id of the first shared block of a group. Groups above 65,536 may
// coincide, as they do in the reference (spec 01 section 4.2).
func sharedBlockBase(kind, group uint64) uint64 { return kind<<48 | group<<32 }
