package simulate

// class orders events of one instant (spec 05 section 2).
type class uint8

const (
	passEnd class = iota
	workerReady
	transferComplete
	telemetryTick
	scalingTick
)

// event is one entry of the queue: a plain value. Events of equal time are taken by class,
// then pool, then worker (or hand-off), then ordinal, as spec 05 section 2 orders them.
type event struct {
	at      float64
	class   class
	pool    uint8
	worker  int32
	ordinal int64
}

func (a *event) before(b *event) bool {
	if a.at != b.at {
		return a.at < b.at
	}
	if a.class != b.class {
		return a.class < b.class
	}
	if a.pool != b.pool {
		return a.pool < b.pool
	}
	if a.worker != b.worker {
		return a.worker < b.worker
	}
	return a.ordinal < b.ordinal
}

// eventQueue is a binary heap of events.
type eventQueue []event

func (q *eventQueue) push(e event) {
	s := append(*q, e)
	i := len(s) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !e.before(&s[up]) {
			break
		}
		s[i] = s[up]
		i = up
	}
	s[i] = e
	*q = s
}

func (q *eventQueue) pop() event {
	s := *q
	top := s[0]
	n := len(s) - 1
	e := s[n]
	s = s[:n]
	*q = s
	if n == 0 {
		return top
	}
	i := 0
	for {
		c := 2*i + 1
		if c >= n {
			break
		}
		if c+1 < n && s[c+1].before(&s[c]) {
			c++
		}
		if !s[c].before(&e) {
			break
		}
		s[i] = s[c]
		i = c
	}
	s[i] = e
	return top
}
