package engine

import "github.com/dynosim/dynosim/internal/chacha"

// Accepted draws how many tokens a pass yields: one, and one more for each draft accepted before
// the first that is not (spec 03 section 8, spec 04 section 10). rates has the chance of each draft.
func Accepted(rates []float64, random *chacha.Source) int64 {
	n := int64(1)
	for _, rate := range rates {
		if rate != 1 && random.Uint64() >= uint64(rate*(1<<64)) {
			break
		}
		n++
	}
	return n
}
