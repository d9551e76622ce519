package router

import "github.com/dynosim/dynosim/simulate/kv"

// lagged holds the events of a target that have not reached the router yet (spec 06 section
// 3.2). What a target holds concerns nobody else, so that each target has a queue of its own.
type lagged struct {
	batches []batch
	events  []kv.Event
	// taken counts the batches and events at the front that were applied.
	takenBatches, takenEvents int
}

// batch is count events that are due at a time.
type batch struct {
	dueMS float64
	count int
}

func (l *lagged) push(events []kv.Event, dueMS float64) {
	l.batches = append(l.batches, batch{dueMS, len(events)})
	l.events = append(l.events, events...)
}

// due takes the events out that are due at now, in order. They are valid until the next push.
func (l *lagged) due(nowMS float64) []kv.Event {
	from := l.takenEvents
	for l.takenBatches < len(l.batches) && l.batches[l.takenBatches].dueMS <= nowMS {
		l.takenEvents += l.batches[l.takenBatches].count
		l.takenBatches++
	}
	out := l.events[from:l.takenEvents]
	switch {
	case l.takenBatches == len(l.batches):
		l.batches, l.events, l.takenBatches, l.takenEvents = l.batches[:0], l.events[:0], 0, 0
	case 2*l.takenBatches > len(l.batches)+64:
		l.batches = append(l.batches[:0], l.batches[l.takenBatches:]...)
		l.events = append([]kv.Event(nil), l.events[l.takenEvents:]...)
		l.takenBatches, l.takenEvents = 0, 0
	}
	return out
}
