package engine

import (
	"github.com/dynosim/dynosim/simulate/heap"
	"github.com/dynosim/dynosim/simulate/timing"
)

// Finish says at which step of its rank something happens to a steady request, such as its
// last token. Join is its place in the running list.
type Finish struct {
	Step, Join int64
	Slot       int32
}

// Before orders finishes by step, then by place in the running list.
func (f *Finish) Before(g *Finish) bool {
	return f.Step < g.Step || f.Step == g.Step && f.Join < g.Join
}

// Finishes is a heap of finishes, the earliest first.
type Finishes = heap.Heap[Finish, *Finish]

// Phases counts the steady requests by the step, modulo the block size, at which they begin
// a block. Block sizes beyond denseBlock use a map: nobody should pay for an array of that size.
type Phases struct {
	block  int64
	counts []int32
	sparse map[int64]int32
}

const denseBlock = 1 << 16

// NewPhases makes empty counts for blocks of block tokens. Those of few tokens are kept in near, all zero.
func NewPhases(block int64, near []int32) Phases {
	if block <= int64(len(near)) {
		return Phases{block: block, counts: near[:block]}
	}
	if block > denseBlock {
		return Phases{block: block, sparse: map[int64]int32{}}
	}
	return Phases{block: block, counts: make([]int32, block)}
}

// key of a request that has computed tokens at a step: it begins a block at every step s
// with s = key modulo the block size.
func (p *Phases) key(computed, step int64) int64 {
	k := (step - computed) % p.block
	if k < 0 {
		k += p.block
	}
	return k
}

// Add counts n more requests (or fewer) that have computed tokens at a step.
func (p *Phases) Add(computed, step int64, n int32) {
	k := p.key(computed, step)
	if p.sparse == nil {
		p.counts[k] += n
	} else if p.sparse[k] += n; p.sparse[k] == 0 {
		delete(p.sparse, k)
	}
}

// At is the number of requests that begin a block at the step.
func (p *Phases) At(step int64) int64 {
	if p.sparse != nil {
		return int64(p.sparse[step%p.block])
	}
	return int64(p.counts[step%p.block])
}

// Steady is what passes that only advance a rank's steady requests depend on: their number and summed length, the step of the next
// pass and the one at which the first of them ends, the blocks that can be had, and the end of the last pass in milliseconds.
type Steady struct {
	Requests, Length, Step, Finish, Free int64
	EndMS                                float64
}

// Forecast appends the durations of the next passes to ahead, which must have room for them; see Rank.
func (p *Phases) Forecast(model *timing.Model, s Steady, untilMS float64, ahead []float64) []float64 {
	for ; s.Step < s.Finish && s.EndMS < untilMS && len(ahead) < cap(ahead); s.Step++ {
		s.Free -= p.At(s.Step)
		ms, ok := model.DecodeAhead(s.Requests, s.Length)
		if s.Free < 0 || !ok || !(s.EndMS+ms > s.EndMS) || !(ms < MaxPassMS) {
			break
		}
		ahead = append(ahead, ms)
		s.EndMS += ms
		s.Length += s.Requests
	}
	return ahead
}
