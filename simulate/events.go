package simulate

import "github.com/dynosim/dynosim/simulate/heap"

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

// Before is the order of spec 05 section 2.
func (a *event) Before(b *event) bool {
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

// eventQueue holds the events to come, the next one first.
type eventQueue = heap.Heap[event, *event]
