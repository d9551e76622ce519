// Package invariants says whether this build checks what must always hold, after every pass of
// every engine: go build -tags invariants. It costs time with every block of the pools, so other
// builds leave it out; a violation is a fault of the program and ends it.
package invariants

import "fmt"

// Violated ends the program with what does not hold.
func Violated(format string, a ...any) {
	panic("invariant violated: " + fmt.Sprintf(format, a...))
}
