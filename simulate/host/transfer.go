package host

import (
	"math"

	"github.com/dynosim/dynosim/schemas"
)

// Kind is the direction of a transfer.
type Kind uint8

// Kinds of transfers, in the order in which they complete at one time.
const (
	// Store writes blocks of a GPU to the host.
	Store Kind = iota
	// Load reads blocks of the host to a GPU.
	Load
)

// Transfer is a transfer as the run's tables have it. Times are virtual milliseconds, NaN until
// they happen.
type Transfer struct {
	// ID counts the transfers of a domain in order of creation.
	ID   int64
	Kind Kind
	// Domain numbers the shared caches, -1 for the private one of the rank.
	Domain    int32
	Pool      schemas.Pool
	Scheduler int32
	// Node is the request that the transfer is for.
	Node                          int32
	Blocks, Bytes                 int64
	CreatedMS, SubmittedMS, EndMS float64
	// FirstByteMS is when it begins to move, SeenMS when its owner saw that it was complete.
	FirstByteMS, SeenMS float64
	Cancelled           bool
}

// Eviction is a block that had to make room for a store.
type Eviction struct {
	Domain    int32
	Pool      schemas.Pool
	Scheduler int32
	// Store is the ID of the transfer that it made room for.
	Store int64
	AtMS  float64
	Key   uint64
}

// Recorder takes the rows of transfers that ended and of evictions.
type Recorder interface {
	HostTransfer(t *Transfer)
	HostEviction(e *Eviction)
}

// Job is a transfer that has not ended, or whose end its owner has not seen.
type Job struct {
	Transfer
	// Slot is the request, Sources what a store reads on the GPU, as the owner sees fit.
	Slot    int32
	Sources []int32
	owner   *Owner
	entries []int32
	// left is the bytes of a shared pool's job that are still to move, rate and eventMS its motion at
	// the clock of the pool.
	left, rate, eventMS float64
	live                bool
}

// rate is a bandwidth in bytes per millisecond.
func rate(gbps float64) float64 {
	if gbps == 0 {
		return math.Inf(1)
	}
	return gbps * 1e6
}
