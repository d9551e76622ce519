// Package limits keeps a run within a budget of memory (spec 07 section 8): it works out the budget,
// watches the memory of the process and of its children, and ends the run when the budget is used up.
package limits

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Settings are what was asked for. Zero limits are automatic.
type Settings struct {
	// MemoryBytes bounds the resident memory of the process and its children.
	MemoryBytes int64
	// ReserveBytes and ReserveFraction are memory of the host that stays free; the larger counts.
	ReserveBytes    int64
	ReserveFraction float64
	// CPUs is the number of processors to use.
	CPUs int
}

// Budget is what holds for a run.
type Budget struct {
	MemoryBytes  int64 `json:"memory_limit_bytes"`
	ReserveBytes int64 `json:"reserve_memory_bytes"`
	CPUs         int   `json:"cpu_limit"`
}

// Host is the machine, as far as limits look at it. Bytes that are not known are 0.
type Host interface {
	// Memory is the memory of the machine or of the container around the process, and how much of
	// it is available.
	Memory() (total, available int64)
	// Resident is the resident memory of the process and its children.
	Resident() int64
	// CPUs is the number of processors.
	CPUs() int
}

// automaticShare of the available memory is the automatic limit.
const automaticShare = 0.9

// New works out the budget on a host: automatic memory is 90 % of what is available now, but always
// less the reserve; automatic processors are all but one. A limit of 0 bytes is no limit: nothing is
// known of the host.
func New(s Settings, h Host) Budget {
	total, available := h.Memory()
	b := Budget{MemoryBytes: s.MemoryBytes, CPUs: s.CPUs, ReserveBytes: max(s.ReserveBytes, int64(s.ReserveFraction*float64(total)))}
	if b.MemoryBytes == 0 && available > 0 {
		b.MemoryBytes = max(1, min(int64(automaticShare*float64(available)), available-b.ReserveBytes))
	}
	if b.CPUs == 0 {
		b.CPUs = max(1, h.CPUs()-1)
	}
	return b
}

// Reached is the error of a run that a limit ended.
type Reached struct {
	// Reason says which limit, with figures.
	Reason string
	// TimedOut says that it was one of time.
	TimedOut bool
}

func (e *Reached) Error() string { return e.Outcome() + ": " + e.Reason }

// Outcome is what such a run is called.
func (e *Reached) Outcome() string {
	if e.TimedOut {
		return "timed_out"
	}
	return "resource_limited"
}

// Watch watches the memory of a run.
type Watch struct {
	budget Budget
	host   Host
	stop   context.CancelCauseFunc
	done   chan struct{}
	wait   sync.WaitGroup

	mu   sync.Mutex
	peak int64
}

// interval is the time between two looks. A simulator that allocates as fast as it can needs longer to
// fill the reserve.
const interval = 50 * time.Millisecond

// Start watches until Stop. The context it returns ends with a *Reached as its cause when a limit is
// reached, which is looked for at once.
func Start(ctx context.Context, b Budget, h Host) (context.Context, *Watch) {
	ctx, stop := context.WithCancelCause(ctx)
	w := &Watch{budget: b, host: h, stop: stop, done: make(chan struct{})}
	if !w.look() {
		return ctx, w
	}
	w.wait.Go(func() {
		t := time.NewTicker(interval)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				if !w.look() {
					return
				}
			case <-w.done:
				return
			}
		}
	})
	return ctx, w
}

// look compares the memory with the budget and ends the run when it is used up.
func (w *Watch) look() (within bool) {
	resident := w.host.Resident()
	total, available := w.host.Memory()
	w.mu.Lock()
	w.peak = max(w.peak, resident)
	w.mu.Unlock()
	switch {
	case total > 0 && available < w.budget.ReserveBytes:
		w.stop(&Reached{Reason: fmt.Sprintf("%s of the host's memory are available, %s must stay free (execution.resources.reserve_memory_gb)", gigabytes(available), gigabytes(w.budget.ReserveBytes))})
	case w.budget.MemoryBytes > 0 && resident >= w.budget.MemoryBytes:
		w.stop(&Reached{Reason: fmt.Sprintf("the run holds %s of memory, the limit is %s (execution.resources.memory_limit_gb)", gigabytes(resident), gigabytes(w.budget.MemoryBytes))})
	default:
		return true
	}
	return false
}

// Stop ends the watch and returns the largest resident memory it saw.
func (w *Watch) Stop() (peakBytes int64) {
	close(w.done)
	w.wait.Wait()
	w.stop(nil)
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.peak
}

// Patience ends the run when begun is not called within so many seconds.
func (w *Watch) Patience(seconds float64) (begun func()) {
	const century = 3e9 // what a time.Duration holds, and some
	if seconds <= 0 || seconds > century {
		return func() {}
	}
	t := time.AfterFunc(time.Duration(seconds*float64(time.Second)), func() {
		w.stop(&Reached{TimedOut: true, Reason: fmt.Sprintf("the simulation did not begin within %g s (execution.resources.initialization_timeout_seconds)", seconds)})
	})
	return func() { t.Stop() }
}

// Cause is the *Reached that ended ctx, nil when none did.
func Cause(ctx context.Context) *Reached {
	r, _ := errors.AsType[*Reached](context.Cause(ctx))
	return r
}

func gigabytes(n int64) string { return fmt.Sprintf("%.2f GB", float64(n)/1e9) }
