package engine

// Wait says what a request of a rank waits for, in a run that cannot go on.
type Wait struct {
	Slot int32
	Why  string
	// Behind says that it waits for another one, whose own reason says more.
	Behind bool
}
