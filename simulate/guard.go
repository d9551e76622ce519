package simulate

import (
	"context"

	"github.com/dynosim/dynosim/simulate/timing"
)

// guarded visits all instants and completes the tables. A pass that cannot be timed ends the
// run with that error (spec 09 section 7).
func (c *cluster) guarded(ctx context.Context) (err error) {
	defer func() {
		switch failed := recover().(type) {
		case nil:
		case *timing.QueryError:
			err = failed.Err
		default:
			panic(failed)
		}
	}()
	if err := c.run(ctx); err != nil {
		return err
	}
	return c.finish()
}
