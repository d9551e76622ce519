// Package timing computes how long the prefill and the decode part of a forward pass
// take (spec 03 section 6).
package timing

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/dynosim/dynosim/schemas"
)

// Model is a timing model bound to one engine. The zero value is not usable; see New.
type Model struct {
	kind                      schemas.TimingKind
	prefillRatio, decodeRatio float64
	// poolTokens is the size of a rank's KV pool in tokens.
	poolTokens float64
	// fixedPrefill and fixedDecode are the final durations of a fixed model.
	fixedPrefill, fixedDecode float64
	// passes prices the passes of a measured model, kvOffset and decodeFloor are its rules.
	passes      schemas.PassTimes
	kvOffset    int64
	decodeFloor float64
}

// QueryError is a pass that the measured data cannot price. Durations have no error of their
// own: the query panics with a *QueryError, and what runs the simulation turns it into the
// error of the run (spec 09 section 7).
type QueryError struct{ Err error }

func (e *QueryError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *QueryError) Unwrap() error { return e.Err }

// New binds the engine's timing model to its pool size and speed-up ratios.
func New(e *schemas.EngineSpec) Model {
	m := Model{
		kind:         e.Timing.Kind,
		prefillRatio: e.SpeedupRatio,
		decodeRatio:  e.SpeedupRatio * e.DecodeSpeedupRatio,
		poolTokens:   float64(e.NumBlocks * e.BlockTokens),
	}
	switch m.kind {
	case schemas.TimingFixed:
		m.fixedPrefill = Step(e.Timing.PrefillMS, m.prefillRatio)
		m.fixedDecode = Step(e.Timing.DecodeMS, m.decodeRatio)
	case schemas.TimingDefault:
		m.passes, m.kvOffset, m.decodeFloor = e.Timing.Passes.Private(), e.Timing.KVOffset, e.Timing.DecodeFloorMS
	}
	return m
}

// measuredPrefill is PrefillMS from measured data: requests of mean length (spec 09 section 8).
func (m *Model) measuredPrefill(requests, prompt, cached int64) float64 {
	mean := cached / requests
	ms, err := m.passes.PrefillMS(requests, max(prompt/requests-mean, 0), mean)
	if err != nil {
		panic(&QueryError{fmt.Errorf("a prefill pass of %d requests with %d new tokens each after %d cannot be timed: %w", requests, prompt/requests-mean, mean, err)})
	}
	return Step(max(ms, 0), m.prefillRatio)
}

// measuredDecode is DecodeMS from measured data.
func (m *Model) measuredDecode(requests, tokens int64) (float64, error) {
	mean := tokens/requests + m.kvOffset
	ms, err := m.passes.DecodeMS(requests, mean)
	if err != nil {
		return 0, fmt.Errorf("a decode pass of %d requests with %d cached tokens each cannot be timed: %w", requests, mean, err)
	}
	return Step(max(ms, m.decodeFloor), m.decodeRatio), nil
}

// PrefillMS is the duration of the prefill part for requests requests whose computed and
// cached prompt tokens add up to prompt, of which cached were there before the pass
// (spec 03 section 6.2). Without requests it is 0.
func (m *Model) PrefillMS(requests, prompt, cached int64) float64 {
	if requests == 0 {
		return 0
	}
	if m.kind == schemas.TimingFixed {
		return m.fixedPrefill
	}
	if m.passes != nil {
		return m.measuredPrefill(requests, prompt, cached)
	}
	x := float64(requests * (prompt/requests - cached/requests))
	a := float64(4.209989e-07 * float64(x*x))
	b := float64(1.518344e-02 * x)
	return Step(float64(a+b)+1.650142e+01, m.prefillRatio)
}

// DecodeMS is the duration of the decode part for requests charged requests whose lengths
// add up to tokens (spec 03 section 6.3). Without requests it is 0.
func (m *Model) DecodeMS(requests, tokens int64) float64 {
	if requests == 0 {
		return 0
	}
	if m.kind == schemas.TimingFixed {
		return m.fixedDecode
	}
	if m.passes != nil {
		ms, err := m.measuredDecode(requests, tokens)
		if err != nil {
			panic(&QueryError{err})
		}
		return ms
	}
	u := min(float64(tokens)/m.poolTokens, 1.0)
	a := float64(-25.74 * float64(u*u))
	b := float64(54.01 * u)
	return Step(max(float64(a+b)+5.74, 1.0), m.decodeRatio)
}

// DecodeAhead is DecodeMS of a pass that may never run: ok is false where the measured data
// cannot price it, which is no error before it does.
func (m *Model) DecodeAhead(requests, tokens int64) (ms float64, ok bool) {
	if m.passes != nil && requests > 0 {
		ms, err := m.measuredDecode(requests, tokens)
		return ms, err == nil
	}
	return m.DecodeMS(requests, tokens), true
}

// MinDecodeMS is a lower bound on DecodeMS with at least one request.
func (m *Model) MinDecodeMS() float64 {
	if m.kind == schemas.TimingFixed {
		return m.fixedDecode
	}
	if m.passes != nil {
		return Step(max(m.passes.MinDecodeMS(), m.decodeFloor), m.decodeRatio)
	}
	return Step(1, m.decodeRatio)
}

// Step turns a raw duration into the duration of the simulated pass: whole nanoseconds,
// divided by ratio and rounded again when ratio is positive (spec 03 section 6.1). Both
// are milliseconds.
func Step(rawMS, ratio float64) float64 {
	ns := roundNanoseconds(rawMS / 1000.0)
	// Dividing by 1 gives the same nanoseconds back as long as the seconds keep them apart.
	if ratio > 0 && ns > 0 && (ratio != 1 || ns > 1e15) {
		ns = roundNanoseconds(seconds(ns) / ratio)
	}
	return seconds(ns) * 1000.0
}

// seconds converts whole nanoseconds in the two steps of the reference.
func seconds(ns uint64) float64 {
	return float64(ns/1e9) + float64(ns%1e9)/1e9
}

// roundNanoseconds rounds the exact value of sec seconds to whole nanoseconds, ties to
// even. Values outside of the uint64 range saturate.
func roundNanoseconds(sec float64) uint64 {
	p := sec * 1e9
	if p < 1<<51 {
		// The product and its rounding error together are exact; the error decides
		// where the rounded product looks like a tie.
		e := math.FMA(sec, 1e9, -p)
		r := math.RoundToEven(p)
		switch d := p - r; {
		case d == 0.5 && e > 0:
			r++
		case d == -0.5 && e < 0:
			r--
		}
		return uint64(r)
	}
	if !(sec < 1.8e10) {
		return math.MaxUint64
	}
	frac, exp := math.Frexp(sec)
	hi, lo := bits.Mul64(uint64(math.Ldexp(frac, 53)), 1e9)
	return shiftRound(hi, lo, 53-exp)
}

// shiftRound divides the 128-bit number hi:lo by 2^n, 0 <= n < 64, ties to even.
func shiftRound(hi, lo uint64, n int) uint64 {
	if n <= 0 {
		return lo << -n
	}
	q := hi<<(64-n) | lo>>n
	rest, half := lo&(1<<n-1), uint64(1)<<(n-1)
	if rest > half || rest == half && q&1 == 1 {
		q++
	}
	return q
}
