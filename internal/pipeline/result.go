package pipeline

import (
	"io"
	"time"

	"github.com/dynosim/dynosim/queries"
)

// Result is a run that ended well.
type Result struct {
	Summary *queries.Summary
	// Dir is the run directory.
	Dir string
	// SimulateMS is the real time of the simulation alone in milliseconds, Wall that of all stages.
	SimulateMS float64
	Wall       time.Duration
	// Aborted is an *AbortedError when a warm-up failed: the report then says so, and nothing was measured.
	Aborted error
}

// WriteJSON writes the summary as one line of JSON.
func (r *Result) WriteJSON(w io.Writer) error {
	text, err := r.Summary.MarshalJSON()
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

// WriteTable writes the metrics table for a terminal of width columns, the times and the path.
func (r *Result) WriteTable(w io.Writer, width int) error {
	return queries.WriteMetrics(w, r.Summary, width, r.Dir)
}
