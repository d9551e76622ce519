package ingest

import (
	"context"
	"fmt"
	"os"

	"github.com/lanrat/extsort"
)

// sortAt is how many values a sorter holds before it puts them, sorted, into a temporary file.
const sortAt = 1 << 16

// sorter sorts more values than memory holds. Values go in with add, and come out in order with next once finish was
// called. A comparison that never calls two values equal makes the order the same in every run.
type sorter[T any] struct {
	in     chan T
	out    <-chan T
	errs   <-chan error
	sorted chan struct{}
	cancel context.CancelFunc
	closed bool
	err    error
}

// newSorter makes a sorter that keeps limit values in memory, sortAt of them when limit is 0. The functions are called
// by several goroutines at once.
func newSorter[T any](limit int, encode func(T) ([]byte, error), decode func([]byte) (T, error), compare func(a, b T) int) *sorter[T] {
	if limit == 0 {
		limit = sortAt
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &sorter[T]{in: make(chan T, 1024), sorted: make(chan struct{}), cancel: cancel}
	task, out, errs := extsort.Generic(s.in, decode, encode, compare, &extsort.Config{
		ChunkSize: limit, NumWorkers: 1, SortedChanBuffSize: 1024, TempFilesDir: os.TempDir(),
	})
	s.out, s.errs = out, errs
	go func() {
		defer close(s.sorted)
		task.Sort(ctx)
	}()
	return s
}

// add gives a value to the sorter.
func (s *sorter[T]) add(v T) error {
	select {
	case s.in <- v:
		return nil
	case <-s.sorted:
		// Before the end of the values only a failure ends the sorting.
		return s.failure()
	}
}

// finish ends the adding.
func (s *sorter[T]) finish() {
	if !s.closed {
		s.closed = true
		close(s.in)
	}
	<-s.sorted
}

// next returns the next value in order, false after the last one.
func (s *sorter[T]) next() (v T, ok bool, err error) {
	if v, ok = <-s.out; ok {
		return v, true, nil
	}
	return v, false, s.failure()
}

// failure is why the sorting ended, nil when it ended well.
func (s *sorter[T]) failure() error {
	if err := <-s.errs; err != nil {
		s.err = fmt.Errorf("cannot sort: using a temporary file in %s: %w", os.TempDir(), cause(err))
	}
	return s.err
}

// close gives up what is left. It may be called twice, and on a sorter that was never made.
func (s *sorter[T]) close() {
	if s == nil {
		return
	}
	s.cancel()
	s.finish()
	for range s.out {
		// The merging goroutine closes its files when it has seen the end.
	}
}
