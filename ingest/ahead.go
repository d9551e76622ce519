package ingest

import "github.com/dynosim/dynosim/schemas"

// aheadBatches is how many batches a reader may be ahead of who takes them.
const aheadBatches = 3

// Ahead reads from on another goroutine, a few batches ahead, so that parsing and what is done with the
// rows run side by side. It delivers what from would deliver. From belongs to it: close only
// the Reader returned, which waits for the goroutine.
func Ahead(from Reader) Reader {
	a := &ahead{from: from, free: make(chan *schemas.RequestBatch, aheadBatches), full: make(chan filled, aheadBatches), done: make(chan struct{})}
	for range aheadBatches {
		a.free <- new(schemas.RequestBatch)
	}
	go a.read()
	return a
}

// filled is the outcome of one call of Next.
type filled struct {
	batch *schemas.RequestBatch
	err   error
}

type ahead struct {
	from Reader
	free chan *schemas.RequestBatch
	full chan filled
	// done is closed when the goroutine has ended.
	done   chan struct{}
	err    error
	closed bool
}

// read fills free batches until there are no more, or from ends.
func (a *ahead) read() {
	defer close(a.done)
	for batch := range a.free {
		err := a.from.Next(batch)
		a.full <- filled{batch, err}
		if err != nil {
			return
		}
	}
}

func (a *ahead) Next(batch *schemas.RequestBatch) error {
	if a.err != nil {
		batch.N = 0
		return a.err
	}
	f := <-a.full
	// The memory of both batches stays in use: they change places.
	*batch, *f.batch = *f.batch, *batch
	if a.err = f.err; f.err == nil {
		a.free <- f.batch
	}
	return f.err
}

func (a *ahead) Progress() (done, total int64) { return a.from.Progress() }

// Lines implements LineCounter: nil when the reader behind does not. It is valid after the last row.
func (a *ahead) Lines() []int64 {
	if counter, ok := a.from.(LineCounter); ok {
		return counter.Lines()
	}
	return nil
}

func (a *ahead) Close() error {
	if !a.closed {
		a.closed = true
		close(a.free)
		<-a.done
	}
	return a.from.Close()
}
