package engine

import "math/bits"

// Moments are the count, the sum and the sum of squares of whole numbers: enough for mean and
// variance, and numbers can be taken out again.
type Moments struct{ N, Sum, Squares int64 }

// Add counts x in.
func (m *Moments) Add(x int64) {
	m.N++
	m.Sum += x
	m.Squares += x * x
}

// Drop counts x out.
func (m *Moments) Drop(x int64) {
	m.N--
	m.Sum -= x
	m.Squares -= x * x
}

// AddAll counts all numbers of o in.
func (m *Moments) AddAll(o *Moments) {
	m.N += o.N
	m.Sum += o.Sum
	m.Squares += o.Squares
}

// Step adds 1 to each of the numbers.
func (m *Moments) Step() {
	m.Squares += 2*m.Sum + m.N
	m.Sum += m.N
}

// Variance is the population variance, 0 without numbers. Numbers must not be negative.
func (m *Moments) Variance() float64 {
	if m.N < 2 {
		return 0
	}
	// n·Σx² − (Σx)², exactly: it is never negative.
	high, low := bits.Mul64(uint64(m.N), uint64(m.Squares))
	squareHigh, squareLow := bits.Mul64(uint64(m.Sum), uint64(m.Sum))
	low, borrow := bits.Sub64(low, squareLow, 0)
	high, _ = bits.Sub64(high, squareHigh, borrow)
	n := float64(m.N)
	return (float64(high)*(1<<64) + float64(low)) / n / n
}

// ForwardMetrics is what a scaling policy learns of a pass beside its counts of tokens (spec 03
// section 11.1, spec 04 section 13.2). All lengths are tokens.
type ForwardMetrics struct {
	// Prompts has the prompt lengths of requests that computed prompt tokens, Decoding the
	// lengths of those that only decoded.
	Prompts, Decoding Moments
	// QueuedPrompts has the prompt lengths of requests that wait for their first admission once
	// the pass is decided, QueuedDecoding the lengths of all others that wait.
	QueuedPrompts, QueuedDecoding Moments
}

// Waiting counts the requests of a queue as ForwardMetrics wants them. Requests go in and out
// with the same length: it does not change while they wait.
type Waiting struct{ Prompts, Decoding Moments }

// Enter counts a request that begins to wait; fresh ones wait for the prefill of their prompt.
func (w *Waiting) Enter(r *Request, fresh bool) {
	if fresh {
		w.Prompts.Add(r.Prompt)
	} else {
		w.Decoding.Add(r.Length())
	}
}

// Leave counts a request out, with what it entered as.
func (w *Waiting) Leave(r *Request, fresh bool) {
	if fresh {
		w.Prompts.Drop(r.Prompt)
	} else {
		w.Decoding.Drop(r.Length())
	}
}
