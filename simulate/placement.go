package simulate

import (
	"github.com/dynosim/dynosim/schemas"
)

// placed says where a request goes.
type placed struct {
	worker, rank int32
	// overlapTokens is the part of the prompt that the policy believes cached there.
	overlapTokens int32
	// selectedBlocks and bestBlocks are cached blocks on the chosen and on the best worker,
	// -1 when the policy does not look.
	selectedBlocks, bestBlocks int32
	// queuedMS and releasedMS are the times in the policy's queue, NaN when placed at once.
	queuedMS, releasedMS float64
}

// placement decides where requests go when that is not round robin, which is nil. One call
// a placement and a few a pass go through it, none per token.
type placement interface {
	// place asks for a rank of a pool for a request. With queued, the policy keeps the
	// request and hands it over through released.
	place(pool schemas.Pool, slot int32, nowMS float64) (to placed, queued bool, err error)
	// released takes the next request out of a pool's queue that may go on, ok false when
	// there is none. It is asked after every place and left.
	released(pool schemas.Pool, nowMS float64) (slot int32, to placed, ok bool)
	// prefilled tells that a request got its first token and goes on; left that it left the
	// pool: it ended, or its prompt has moved on.
	prefilled(pool schemas.Pool, slot int32, nowMS float64)
	left(pool schemas.Pool, slot int32, nowMS float64)
	// passed tells of the end of a rank's pass, before its outputs: what is cached there
	// may have changed.
	passed(pool schemas.Pool, worker, rank int32, nowMS float64)
	// changed tells of workers that became active, then draining, then were removed.
	changed(pool schemas.Pool, active, draining, removed []int32, nowMS float64)
	// queued is the number of requests in a pool's queue.
	queued(pool schemas.Pool) int
}
