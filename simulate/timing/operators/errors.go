package operators

import (
	"errors"
	"fmt"
)

// What a query can fail with. The first is what a fallback pair recovers from (spec 09 section
// 3.3); a table without any row is refused when the worker is built (section 7).
var (
	ErrMissingData       = errors.New("performance data missing")
	ErrMissingArithmetic = errors.New("throughput missing")
	ErrMissingTable      = errors.New("performance table missing")
)

// dataError is one of the errors above with what was asked for.
type dataError struct {
	kind error
	text string
}

func (e *dataError) Error() string { return e.text }
func (e *dataError) Unwrap() error { return e.kind }

func missing(format string, args ...any) error {
	return &dataError{ErrMissingData, fmt.Sprintf(format, args...)}
}

// flops is the throughput of a format's arithmetic. A query for a format that the system has no
// throughput for fails even where measured rows would answer it.
func (t *Tables) flops(q Quant) (float64, error) {
	if f := t.hardware.FLOPS[q.Arithmetic()]; f > 0 {
		return f, nil
	}
	return 0, &dataError{ErrMissingArithmetic, fmt.Sprintf("missing system flops: quant mode '%s' needs %s throughput, which %s does not have",
		q, q.Arithmetic(), t.hardware.Name)}
}

// MissingTable is the error for a table that has no row at all.
func (t *Tables) MissingTable(table Table) error {
	return &dataError{ErrMissingTable, fmt.Sprintf("required op-level data unavailable: %s of %s %s has no %s table",
		t.hardware.Name, t.backend, t.version, table)}
}
