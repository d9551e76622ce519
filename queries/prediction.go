package queries

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"

	"github.com/dynosim/dynosim/internal/rundir"
)

// Names of the report's files in a run directory.
const (
	PredictionName = "prediction.json"
	RequestsName   = "requests.jsonl"
)

// ReportOptions says what WriteReport writes.
type ReportOptions struct {
	// WallTimeMS is the real duration of the simulation.
	WallTimeMS float64
	// CapturePerRequest asks for requests.jsonl and the per_request records.
	CapturePerRequest bool
	// Metadata becomes the object metadata of prediction.json; nil is an empty object.
	Metadata map[string]any
	// DB bounds the database; zero fields take the report's own limits.
	DB Options
}

// WriteReport computes the report of the run whose tables are complete in dir and writes
// prediction.json, {summary, planner, per_request, coverage, metadata} of spec 07 section
// 7 and what writeTicks adds, and with CapturePerRequest requests.jsonl. The manifest is left to
// the caller.
//
// When the memory limit of the database is too small for a run, the report is computed
// again with more.
func WriteReport(ctx context.Context, dir *rundir.Dir, o ReportOptions) (*Summary, error) {
	// The database takes its memory outside of Go's heap, in place of what the simulation held.
	debug.FreeOSMemory()
	if o.DB.MemoryMB == 0 {
		o.DB.MemoryMB = reportMemoryMB
	}
	for {
		summary, err := writeReport(ctx, dir, o)
		if !outOfMemory(err) || o.DB.MemoryMB > maxReportMemoryMB {
			return summary, err
		}
		o.DB.MemoryMB *= 4
	}
}

func writeReport(ctx context.Context, dir *rundir.Dir, o ReportOptions) (*Summary, error) {
	r, err := OpenReport(ctx, dir.Path(), o.DB)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	summary, err := r.Summary(ctx, o.WallTimeMS)
	if err != nil {
		return nil, err
	}
	prediction, err := dir.NewFile(PredictionName)
	if err != nil {
		return nil, err
	}
	written := []*rundir.File{prediction}
	if o.CapturePerRequest {
		requests, err := dir.NewFile(RequestsName)
		if err != nil {
			prediction.Abort()
			return nil, err
		}
		written = append(written, requests)
	}
	if err := r.write(ctx, written, summary, o); err != nil {
		for _, f := range written {
			f.Abort()
		}
		return nil, err
	}
	return summary, dir.Publish(written...)
}

// write fills prediction.json and, as the second file, requests.jsonl.
func (r *Report) write(ctx context.Context, out []*rundir.File, summary *Summary, o ReportOptions) error {
	p := bufio.NewWriterSize(out[0], 64<<10)
	// Errors of the writers stay and come back from Flush.
	p.WriteString(`{"summary":`)
	p.Write(summary.append(nil))
	p.WriteString(`,"planner":null,"per_request":`)
	records := int64(0)
	if o.CapturePerRequest {
		lines := bufio.NewWriterSize(out[1], 64<<10)
		var err error
		p.WriteByte('[')
		first := true
		records, err = r.Records(ctx, func(record []byte) error {
			if !first {
				p.WriteByte(',')
			}
			first = false
			p.WriteString("\n")
			p.Write(record)
			lines.Write(record)
			return lines.WriteByte('\n')
		})
		if err != nil {
			return err
		}
		p.WriteByte(']')
		if err := lines.Flush(); err != nil {
			return err
		}
	} else {
		p.WriteString("null")
	}
	if err := r.writeTicks(ctx, p); err != nil {
		return err
	}
	metadata := o.Metadata
	if metadata == nil {
		metadata = map[string]any{}
	}
	m, err := json.Marshal(metadata)
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", PredictionName, err)
	}
	fmt.Fprintf(p, `,"coverage":{"capture_per_request":%t,"capture_planner_details":false,"per_request_records":%d},"metadata":%s}`+"\n",
		o.CapturePerRequest, records, m)
	return p.Flush()
}
