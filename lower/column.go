package lower

// chunkBits makes chunks of 65,536 elements: large enough that a column of a long trace has
// few, small enough that the unused end of the last one does not count.
const (
	chunkBits = 16
	chunkSize = 1 << chunkBits
)

// column is a growing array that never moves what it holds: growing by doubling would hold
// three times the memory for a moment.
type column[T any] struct {
	chunks [][]T
	n      int
}

func (c *column[T]) push(v T) {
	if last := len(c.chunks) - 1; last >= 0 && len(c.chunks[last]) < chunkSize {
		c.chunks[last] = append(c.chunks[last], v)
	} else {
		// The first chunk grows as it fills, for small workloads.
		size := chunkSize
		if last < 0 {
			size = 64
		}
		c.chunks = append(c.chunks, append(make([]T, 0, size), v))
	}
	c.n++
}

func (c *column[T]) at(i int) T { return c.chunks[i>>chunkBits][i&(chunkSize-1)] }

func (c *column[T]) set(i int, v T) { c.chunks[i>>chunkBits][i&(chunkSize-1)] = v }

// flat hands the elements over as one slice, in the order of perm (nil for their own), and
// empties the column.
func (c *column[T]) flat(perm []int32) []T {
	out := make([]T, 0, c.n)
	if perm != nil {
		for _, i := range perm {
			out = append(out, c.at(int(i)))
		}
	} else {
		for i, chunk := range c.chunks {
			out = append(out, chunk...)
			c.chunks[i] = nil
		}
	}
	*c = column[T]{}
	return out
}
