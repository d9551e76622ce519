package inspect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/dynosim/dynosim/internal/rundir"
	"github.com/dynosim/dynosim/metrics"
	"github.com/dynosim/dynosim/queries"
	"github.com/dynosim/dynosim/schemas"
)

// Folder describes a run directory or the folder of a stage.
type Folder struct {
	Manifest *rundir.Manifest `json:"manifest"`
	// Summary is the object summary of prediction.json, nil when there is none.
	Summary map[string]any `json:"summary,omitempty"`
	// Throughput is nil for a run without passes.
	Throughput *Chart `json:"throughput,omitempty"`
}

// folderGraph describes the plays of a folder that has the tables of ingest.
func (f *Finding) folderGraph(ctx context.Context, m *rundir.Manifest, o Options) (err error) {
	has := func(t *schemas.Table) bool {
		return slices.ContainsFunc(m.Tables, func(e rundir.TableEntry) bool { return e.Name == t.Name && e.Version == t.Version && e.Rows > 0 })
	}
	if m.Ingest == nil || m.Ingest.Graph == nil || !has(&schemas.SourcePlays) || !has(&schemas.SourceNodes) || !has(&schemas.Requests) {
		return nil
	}
	reader, err := metrics.OpenFolder(f.Path, m).Requests(m.Ingest.BlockTokens)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	format := schemas.TraceFormat(m.Ingest.Settings.Format)
	plays := newGraphSurvey(&schemas.SourceSpec{Kind: schemas.SourceTrace, Format: format})
	for batch := new(schemas.RequestBatch); ; {
		err := errors.Join(ctx.Err(), reader.Next(batch))
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = plays.builder.Add(batch)
		}
		if err != nil {
			return err
		}
		if o.Progress != nil {
			o.Progress(reader.Progress())
		}
	}
	e := m.Ingest.Graph
	source := schemas.GraphSource{Format: e.Format, Digest: e.Digest, NestedTimestampBasis: e.NestedTimestampBasis}
	f.Graph, err = plays.finish(source, format, false)
	return err
}

func (f *Folder) readRun(ctx context.Context, path string, o Options) error {
	var err error
	if f.Summary, err = readSummary(path); err != nil {
		return err
	}
	if !slices.ContainsFunc(f.Manifest.Tables, func(t rundir.TableEntry) bool { return t.Name == schemas.Passes.Name }) {
		return nil
	}
	return f.throughput(ctx, path, o.Slices)
}

// throughput asks for the output tokens of each slice of time.
func (f *Folder) throughput(ctx context.Context, path string, slices int) (err error) {
	engine, err := queries.Open(ctx, []string{path}, queries.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	sql := fmt.Sprintf(`with span as (select min(start_ms) a, max(end_ms) b from passes)
select any_value(a) a, any_value(b) b, least(%d - 1, floor((end_ms - a) / greatest(b - a, 1e-9) * %[1]d))::integer slice,
sum(output_tokens)::double tokens from passes, span group by slice order by slice`, slices)
	var out bytes.Buffer
	if err := engine.Query(ctx, sql, &out, queries.QueryOptions{Format: queries.FormatJSON}); err != nil {
		return err
	}
	var rows []struct {
		A, B, Tokens float64
		Slice        int
	}
	if err := json.Unmarshal(out.Bytes(), &rows); err != nil {
		return fmt.Errorf("cannot read the passes of %s: %w", path, err)
	}
	if len(rows) == 0 || rows[0].B <= rows[0].A {
		return nil
	}
	width := (rows[0].B - rows[0].A) / float64(slices)
	f.Throughput = &Chart{Title: "output tokens per second", StartMS: rows[0].A, SliceMS: width, Values: make([]float64, slices)}
	for _, r := range rows {
		if r.Slice >= 0 && r.Slice < slices {
			f.Throughput.Values[r.Slice] = r.Tokens / width * 1000
		}
	}
	return nil
}
