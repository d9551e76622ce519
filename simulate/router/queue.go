package router

import (
	"fmt"
	"math"

	"github.com/dynosim/dynosim/schemas"
	"github.com/dynosim/dynosim/simulate/heap"
)

// ticket is a waiting request in its class's queue, the best one first (spec 06 section 8).
type ticket struct {
	strict uint32
	score  float64
	// order numbers the requests that ever waited.
	order uint64
	slot  int32
}

// Before is the order of a queue.
func (t *ticket) Before(o *ticket) bool {
	if t.strict != o.strict {
		return t.strict > o.strict
	}
	if t.score != o.score {
		return t.score > o.score
	}
	return t.order < o.order
}

// class is a policy class with what waits in it and its account of the round robin.
type class struct {
	schemas.RouterClass
	queue heap.Heap[ticket, *ticket]
	// waiting, raw and cached are what the limits bound.
	waiting, raw, cached int64
	deficit              int64
}

// queues are the policy classes of a router with their deficit round robin (spec 06 section 9.3).
type queues struct {
	classes []class
	bound   []int32
	buckets []int64
	// cursor is where a round begins; carry is the class that may go on, -1 for none.
	cursor  int
	carry   int
	waiting int
	order   uint64
	// ready is the working memory of a release.
	ready []bool
}

func newQueues(c *schemas.RouterClasses) queues {
	q := queues{bound: c.Bound, buckets: c.BucketTokens, carry: -1, ready: make([]bool, len(c.Classes))}
	for _, x := range c.Classes {
		q.classes = append(q.classes, class{RouterClass: x})
	}
	return q
}

// family of a name, and the explicit class it names, each -1 for none (spec 06 section 9.1).
func resolve(c *schemas.RouterClasses, name string) (family, explicit int32) {
	family, explicit = -1, -1
	for i := range c.Classes {
		if c.Classes[i].Explicit && c.Classes[i].Name == name {
			explicit = int32(i)
		}
	}
	for i, f := range c.Families {
		if f == name {
			family = int32(i)
		}
	}
	return family, explicit
}

// classOf is the class of a request of a family with that many uncached prompt tokens.
func (q *queues) classOf(family int32, uncached int64) int32 {
	if len(q.buckets) == 0 {
		return 0
	}
	bucket := 0
	for bucket+1 < len(q.buckets) && q.buckets[bucket+1] <= uncached {
		bucket++
	}
	return q.bound[int(max(family, 0))*len(q.buckets)+bucket]
}

// score orders a queue (spec 06 section 8). s is the arrival in seconds, price the uncached tokens.
func score(policy schemas.QueuePolicy, priority int32, s float64, price int64) float64 {
	p := float64(max(priority, 0))
	switch policy {
	case schemas.QueueLCFS:
		return p + s
	case schemas.QueueWSPT:
		return (1 + p) / float64(price)
	}
	return p - s
}

// LimitError is a class whose queue is full, which ends the run (spec 06 section 9.2).
type LimitError struct {
	Class, What    string
	Current, Limit int64
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("router policy class %q queue %s limit reached (current=%d, limit=%d)", e.Class, e.What, e.Current, e.Limit)
}

// push lets a request wait, unless a limit is reached.
func (q *queues) push(c int32, t ticket, tokens, cached int64, targets int) error {
	x := &q.classes[c]
	for _, bound := range []struct {
		what           string
		limit, current int64
	}{
		{"requests", x.RequestLimit, x.waiting},
		{"raw_isl_tokens", x.RawTokenLimit, x.raw},
		{"cached_tokens", x.CachedTokenLimit, x.cached},
	} {
		if bound.limit < 0 {
			continue
		}
		limit := int64(math.MaxInt64)
		if n := int64(targets); n == 0 || bound.limit <= math.MaxInt64/n {
			limit = bound.limit * n
		}
		if bound.current >= limit {
			return &LimitError{x.Name, bound.what, bound.current, limit}
		}
	}
	t.order = q.order
	q.order++
	x.queue.Push(t)
	x.count(1, tokens, cached)
	q.waiting++
	return nil
}

func (c *class) count(n, tokens, cached int64) {
	c.waiting += n
	c.raw += n * tokens
	c.cached += n * cached
}

// headPrice is what the best request of a class costs, in tokens.
func (r *Router) headPrice(c *class) int64 { return r.requests[c.queue[0].slot].price }

// next takes the next request out of the queues, -1 when none may go: one release of the deficit
// round robin.
func (r *Router) next(nowNS int64) int32 {
	q := &r.queues
	if q.waiting == 0 {
		q.carry = -1
		return -1
	}
	n := len(q.classes)
	if n == 1 {
		if c := &q.classes[0]; !r.busy(c, nowNS) {
			return q.take(0, 0)
		}
		return -1
	}
	if c := q.carry; c >= 0 {
		q.carry = -1
		switch x := &q.classes[c]; {
		case len(x.queue) == 0:
			x.deficit = 0
		case !r.busy(x, nowNS):
			if p := r.headPrice(x); p <= x.deficit {
				return q.take(c, p)
			}
		}
	}
	some := false
	for i := range n {
		c := (q.cursor + i) % n
		x := &q.classes[c]
		q.ready[c] = len(x.queue) > 0 && !r.busy(x, nowNS)
		if !q.ready[c] {
			if len(x.queue) == 0 {
				x.deficit = 0
			}
			continue
		}
		some = true
		p := r.headPrice(x)
		if p <= x.deficit {
			return q.take(c, p)
		}
		if x.deficit += x.Quantum; p <= x.deficit {
			return q.take(c, p)
		}
	}
	if !some {
		return -1
	}
	rounds := int64(math.MaxInt64)
	for c := range q.classes {
		if x := &q.classes[c]; q.ready[c] {
			missing := max(r.headPrice(x)-x.deficit, 0)
			rounds = min(rounds, (missing+x.Quantum-1)/x.Quantum)
		}
	}
	for c := range q.classes {
		if x := &q.classes[c]; q.ready[c] {
			x.deficit += rounds * x.Quantum
		}
	}
	for i := range n {
		c := (q.cursor + i) % n
		if !q.ready[c] {
			continue
		}
		if p := r.headPrice(&q.classes[c]); p <= q.classes[c].deficit {
			return q.take(c, p)
		}
	}
	return -1
}

// take takes the best request of a class at a price.
func (q *queues) take(c int, price int64) int32 {
	x := &q.classes[c]
	slot := x.queue.Pop().slot
	q.waiting--
	q.cursor = (c + 1) % len(q.classes)
	x.deficit = max(x.deficit-price, 0)
	q.carry = -1
	if len(x.queue) == 0 {
		x.deficit = 0
	} else if x.deficit > 0 {
		q.carry = c
	}
	return slot
}

// cancel takes a request out of the queue of its class.
func (q *queues) cancel(c int32, slot int32) {
	x := &q.classes[c]
	old := append([]ticket(nil), x.queue...)
	x.queue = x.queue[:0]
	for _, t := range old {
		if t.slot != slot {
			x.queue.Push(t)
		}
	}
	q.waiting--
}
