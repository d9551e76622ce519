package metrics

import (
	"math/bits"
	"sync"

	"github.com/apache/arrow-go/v18/arrow/memory"
)

// pool is an allocator that keeps what is freed for the next page: the Parquet writer
// takes and drops the same few sizes for every page of every column, and without a pool
// that garbage is five times the size of the files.
type pool struct {
	mu   sync.Mutex
	free [poolClasses][][]byte
}

// The pool keeps blocks of 2^poolMin to 2^(poolMin+poolClasses-1) bytes, at most poolKeep
// of each size; others come from and go to the garbage collector.
const (
	poolMin     = 8
	poolClasses = 13
	poolKeep    = 32
)

var _ memory.Allocator = (*pool)(nil)

// class is the size class of n bytes.
func class(n int) int {
	if n <= 1<<poolMin {
		return 0
	}
	return bits.Len(uint(n-1)) - poolMin
}

// Allocate gives n zero bytes.
func (p *pool) Allocate(n int) []byte {
	c := class(n)
	if c >= poolClasses {
		return make([]byte, n)
	}
	p.mu.Lock()
	if k := len(p.free[c]); k > 0 {
		b := p.free[c][k-1][:n]
		p.free[c] = p.free[c][:k-1]
		p.mu.Unlock()
		clear(b)
		return b
	}
	p.mu.Unlock()
	return make([]byte, n, 1<<(poolMin+c))
}

// Reallocate gives b with n bytes, zero beyond the old ones.
func (p *pool) Reallocate(n int, b []byte) []byte {
	if n <= cap(b) {
		old := len(b)
		b = b[:n]
		if n > old {
			clear(b[old:])
		}
		return b
	}
	grown := p.Allocate(n)
	copy(grown, b)
	p.Free(b)
	return grown
}

// Free takes b back.
func (p *pool) Free(b []byte) {
	n := cap(b)
	if n == 0 || n&(n-1) != 0 || n < 1<<poolMin {
		return
	}
	c := class(n)
	if c >= poolClasses {
		return
	}
	p.mu.Lock()
	if len(p.free[c]) < poolKeep {
		p.free[c] = append(p.free[c], b[:0])
	}
	p.mu.Unlock()
}
