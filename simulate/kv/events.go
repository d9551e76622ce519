package kv

// Event tells that a block became visible to look-ups on a rank, or ceased to be: what a KV
// router learns of it (spec 06 section 3.1). The block is named by the element of a request's
// path in which it ends and its position among the blocks that end there.
type Event struct {
	Element int32
	// Position is the complement of the position when the block was removed.
	Position int32
}

// Stored is the event of a block that became visible.
func Stored(element, position int32) Event { return Event{element, position} }

// Removed is the event of a block that nobody can find any more.
func Removed(element, position int32) Event { return Event{element, ^position} }

// Block is the block, and whether it was removed.
func (e Event) Block() (element, position int32, removed bool) {
	if e.Position < 0 {
		return e.Element, ^e.Position, true
	}
	return e.Element, e.Position, false
}

// Log gathers the events of a rank in the order in which they happen. A nil log gathers none.
type Log struct{ events []Event }

// Add appends an event.
func (l *Log) Add(e Event) {
	if l != nil {
		l.events = append(l.events, e)
	}
}

// Take returns the events since the last Take; they are valid until the next Add.
func (l *Log) Take() []Event {
	if l == nil {
		return nil
	}
	out := l.events
	l.events = l.events[:0]
	return out
}
