// Package engine holds what all simulated engines share: the live requests and the
// identity of their content.
package engine

import (
	"math"

	"github.com/dynosim/dynosim/schemas"
)

// Request is a request that has arrived and not ended. Times are virtual milliseconds, NaN
// until they happen; lengths are tokens.
//
// A decoding request whose batch does not change is advanced lazily: while Steady is set,
// Output and Computed are what they were at step Base of its rank, and the request has
// gained one token with every step since. Settled readers go through its rank.
type Request struct {
	Node     int32
	Creation int32
	Worker   int32
	Status   schemas.Status
	Steady   bool
	// Authored requests produce tokens that other prompts may contain.
	Authored bool

	// Prompt is P, MaxOutput the output limit, Output the tokens produced, Computed the
	// tokens whose KV exists (spec 03 section 1). Requested is the output asked for, which an
	// engine may lower.
	Prompt, Requested, MaxOutput, Output, Computed int64
	// Allocated is the number of tokens the request owns blocks for where that differs from
	// Computed, Burst the tokens of its last pass: speculative decoding only.
	Allocated, Burst int64
	// Base is the step of the rank at which Output and Computed were true.
	Base int64
	// Join orders the running list: later joiners have larger numbers.
	Join int64

	// Identified is the number of leading full blocks that other requests may share.
	// Path has the chains that identify them; see Content.
	Identified int64
	Path       []int32
	PathKnown  bool
	// Blocks has the cached blocks the request holds, for its first len(Blocks) blocks;
	// the blocks behind them are private or can be found by nobody else.
	Blocks []int32
	// Anchor is the node of the radix tree that the request holds, Cached the tokens up to
	// its end; SGLang only.
	Anchor int32
	Cached int64
	// Advertised is the number of leading pages of which a KV router knows before they are
	// stored, 0 for none; SGLang only.
	Advertised int64
	// OwnPages identify, after a preemption, the blocks behind Identified that the request
	// had computed; OwnBlocks is their number.
	OwnPages  []int32
	OwnBlocks int64

	// Stage is where a request stands that another rank computed the prompt of, Accepted its
	// number in order of acceptance by the rank, Fresh the blocks reserved for it that hold
	// nothing yet.
	Stage           Stage
	Accepted, Fresh int64
	// Twin is the slot of the same request on the other side of its hand-off, -1 for none;
	// Source marks the side of the prefill.
	Twin   int32
	Source bool

	// Pass is the pass that scheduled the request last, with the tokens computed in it, the
	// prompt tokens among them, and where in the prompt it began.
	Pass                                    int64
	PassTokens, PassPromptTokens, PassStart int64

	// FirstHost is how much of FirstReused came from a host cache, -1 where there is none.
	Admissions, Reused, FirstReused, FirstHost int32
	ArrivalMS, AdmitMS                         float64
	FirstTokenMS, SecondTokenMS, LastTokenMS   float64
	// PrevTokenMS is the time of the token before the last; see Rank.LastToken.
	PrevTokenMS float64
	// GapFrom and GapTo are the steps of the rank whose gaps belong to the request, Gaps
	// the gaps beside them; used only when a time limit may cut the request off.
	GapFrom, GapTo int64
	Gaps           []float64
}

// Stage is how far the hand-off of a request to a decode rank is (spec 05 section 7).
type Stage uint8

// Stages of a destination.
const (
	// Plain requests wait, run or have ended like any other.
	Plain Stage = iota
	// Pending destinations are accepted and have no blocks.
	Pending
	// Reserved destinations have the blocks of their prompts, which hold nothing yet.
	Reserved
	// Activated destinations have their prompts computed and wait for a running slot.
	Activated
)

// Length is L: prompt and produced tokens.
func (r *Request) Length() int64 { return r.Prompt + r.Output }

// Produced is the number of tokens the request has produced when its rank is at step, those
// of a pass in flight included.
func (r *Request) Produced(step int64) int64 {
	if r.Steady {
		return r.Output + step - r.Base
	}
	return r.Output
}

// Sync makes the fields of a steady request true at step.
func (r *Request) Sync(step int64) {
	gained := step - r.Base
	r.Output += gained
	r.Computed += gained
	r.Base = step
}

// Table holds the live requests in slots that are used again.
type Table struct {
	Slots []Request
	free  []int32
	live  int
	next  int32
	// hosted has what a host cache knows of the requests, by slot; nil unless there is one.
	hosted []Hosted
	hosts  bool
}

// Live is the number of requests in the table.
func (t *Table) Live() int { return t.live }

// Created is the number of requests that ever arrived.
func (t *Table) Created() int32 { return t.next }

// New returns the slot of a new request. Pointers into Slots are invalid afterwards.
func (t *Table) New(node int32, prompt, output int64, arrivalMS float64) int32 {
	var slot int32
	if n := len(t.free); n > 0 {
		slot = t.free[n-1]
		t.free = t.free[:n-1]
	} else {
		slot = int32(len(t.Slots))
		t.Slots = append(t.Slots, Request{})
	}
	r := &t.Slots[slot]
	nan := math.NaN()
	*r = Request{
		Node: node, Creation: t.next, Worker: -1, Twin: -1, FirstHost: -1, Prompt: prompt, Requested: output, MaxOutput: output, Pass: -1,
		Path: r.Path[:0], Blocks: r.Blocks[:0], OwnPages: r.OwnPages[:0], Gaps: r.Gaps[:0],
		ArrivalMS: arrivalMS, AdmitMS: nan, FirstTokenMS: nan, SecondTokenMS: nan, LastTokenMS: nan, PrevTokenMS: nan,
	}
	t.next++
	t.live++
	if t.hosts {
		t.host(slot)
	}
	return slot
}

// NewTwin returns the slot of a copy of a request for its prefill elsewhere, with output
// tokens to produce there. It does not count as a request. Pointers into Slots are invalid
// afterwards.
func (t *Table) NewTwin(slot int32, output int64) int32 {
	live, next := t.live, t.next
	q := t.Slots[slot]
	twin := t.New(q.Node, q.Prompt, output, q.ArrivalMS)
	t.live, t.next = live, next
	r := &t.Slots[twin]
	r.Creation, r.Requested, r.Twin, r.Source = q.Creation, q.Requested, slot, true
	r.Identified, r.PathKnown, r.Authored = q.Identified, q.PathKnown, q.Authored
	r.Path = append(r.Path, q.Path...)
	t.Slots[slot].Twin = twin
	return twin
}

// DropTwin frees the slot of a copy.
func (t *Table) DropTwin(twin int32) {
	t.Slots[t.Slots[twin].Twin].Twin = -1
	t.live++
	t.Drop(twin)
}

// Drop frees a slot.
func (t *Table) Drop(slot int32) {
	t.Slots[slot].Node = -1
	t.free = append(t.free, slot)
	t.live--
}
