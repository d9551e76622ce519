package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/dynosim/dynosim/ingest"
	"github.com/dynosim/dynosim/internal/rundir"
	"github.com/dynosim/dynosim/lower"
	"github.com/dynosim/dynosim/metrics"
	"github.com/dynosim/dynosim/schemas"
)

// front is what the stages before the simulation leave.
type front struct {
	workload *lower.Workload
	inputs   []rundir.InputEntry
	ingest   *rundir.IngestStage
	lower    *rundir.LowerStage
	// from is the folder that holds the tables, nil when they are in the folder that is being made.
	from *folder
}

// manifest is the manifest of a folder of these stages.
func (f *front) manifest(stages ...string) rundir.Manifest {
	m := rundir.Manifest{Program: programName, Inputs: f.inputs, Ingest: f.ingest, Lower: f.lower}
	for _, stage := range stages {
		m.Stages = append(m.Stages, rundir.StageEntry{Name: stage, State: rundir.StateComplete})
	}
	return m
}

// requestReader yields the rows of ingest, from a source or from its tables.
type requestReader interface {
	Next(*schemas.RequestBatch) error
	Progress() (done, total int64)
	Close() error
}

// pump hands the rows of a reader to each of the functions, and returns what a block id stands for.
func pump(ctx context.Context, reader requestReader, observer Observer, each ...func(*schemas.RequestBatch) error) (blockTokens int64, err error) {
	var batch schemas.RequestBatch
	for {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		err := reader.Next(&batch)
		if batch.N > 0 {
			blockTokens = max(blockTokens, batch.BlockTokens)
			for _, do := range each {
				if err := do(&batch); err != nil {
					return 0, err
				}
			}
		}
		if errors.Is(err, io.EOF) {
			return blockTokens, nil
		}
		if err != nil {
			return 0, err
		}
		observer.Reading(reader.Progress())
	}
}

// readSource reads the source and hands its rows to each of the functions; in gets the digests.
func readSource(ctx context.Context, spec *schemas.RunSpec, in *inputs, joined bool, observer Observer, each ...func(*schemas.RequestBatch) error) (*front, error) {
	reader, err := ingest.OpenWith(&spec.Source, spec.BlockTokens(), ingest.Options{Joined: joined, Tap: in.tap})
	if err != nil {
		return nil, err
	}
	source := reader
	reader = ingest.Ahead(reader)
	defer reader.Close()
	settings := sourceSettings(spec)
	stage := &rundir.IngestStage{Settings: settings}
	if stage.BlockTokens, err = pump(ctx, reader, observer, each...); err != nil {
		return nil, err
	}
	entries, err := in.wait()
	if err != nil {
		return nil, err
	}
	if counter, ok := reader.(ingest.LineCounter); ok && len(entries) > 1 {
		for i, n := range counter.Lines() {
			entries[i].Lines = n
		}
	}
	if graph, ok := source.(ingest.GraphReader); ok {
		if source, ok := graph.GraphSource(); ok {
			stage.Graph = &rundir.GraphEntry{Format: source.Format, Digest: source.Digest, NestedTimestampBasis: source.NestedTimestampBasis}
		}
	}
	stage.Digest = digestIngest(settings, entries)
	return &front{inputs: entries, ingest: stage}, nil
}

// finishLower completes what the builder was given and writes its tables. A graph of plays is kept in memory only when keep
// says so: then, and for flat sources, the workload is set.
func (f *front) finishLower(spec *schemas.RunSpec, builder *lower.Builder, recorder *metrics.Recorders, keep bool) (err error) {
	settings := loadSettings(spec)
	f.lower = &rundir.LowerStage{Digest: digestLower(f.ingest.Digest, spec.Source.Format, settings), Settings: settings}
	if builder.Agentic() {
		return f.finishGraph(builder, recorder, keep)
	}
	if f.workload, err = builder.Finish(); err != nil {
		return err
	}
	f.lower.BlockTokens, f.lower.Delta = f.workload.BlockTokens, f.workload.Delta
	return writeLowered(recorder, f.workload, spec.Source.Requests)
}

// finishGraph is finishLower for an agentic source.
func (f *front) finishGraph(builder *lower.Builder, recorder *metrics.Recorders, keep bool) error {
	if g := f.ingest.Graph; g != nil {
		builder.SetGraphSource(schemas.GraphSource{Format: g.Format, Digest: g.Digest, NestedTimestampBasis: g.NestedTimestampBasis})
	}
	write := func(p *lower.GraphPart) error { return writeGraphPart(recorder, p) }
	var g *lower.Graph
	var err error
	if keep {
		if f.workload, err = builder.FinishAgentic(write); err == nil {
			g = f.workload.Graph
		}
	} else {
		g, err = builder.FinishParts(write)
	}
	if err != nil {
		return err
	}
	nodes := 0
	for i := range g.Plays {
		nodes += int(g.Plays[i].Nodes)
	}
	f.lower.BlockTokens = g.BlockTokens
	f.lower.Graph = &rundir.LoweredGraph{Digest: g.Digest, BlockTokens: g.BlockTokens, Nodes: nodes, Plays: len(g.Plays), Models: g.Models}
	return recorder.WritePlays(playColumns(g))
}

// fuse reads the source and lowers it in one go, writing the tables of both stages.
func fuse(ctx context.Context, spec *schemas.RunSpec, observer Observer, recorder *metrics.Recorders) (*front, error) {
	builder := lower.NewBuilder(spec)
	defer builder.Close()
	f, err := readSource(ctx, spec, readInputs(&spec.Source), false, observer, recorder.WriteRequests, builder.Add)
	if err != nil {
		return nil, err
	}
	return f, f.finishLower(spec, builder, recorder, true)
}

// lowerFolder lowers an ingested folder, writing the tables of lower. keep is that of finishLower.
func lowerFolder(ctx context.Context, in *folder, spec *schemas.RunSpec, observer Observer, recorder *metrics.Recorders, keep bool) (*front, error) {
	stage := in.manifest.Ingest
	reader, err := in.tables().Requests(stage.BlockTokens)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	// Messages name the files that were ingested, not those of the configuration.
	named := *spec
	named.Source.Paths = nil
	for _, e := range in.manifest.Inputs {
		named.Source.Paths = append(named.Source.Paths, e.Path)
	}
	builder := lower.NewBuilder(&named)
	defer builder.Close()
	builder.NamePlaces(in.place)
	if _, err := pump(ctx, reader, observer, builder.Add); err != nil {
		return nil, err
	}
	f := &front{inputs: in.manifest.Inputs, ingest: stage}
	return f, f.finishLower(spec, builder, recorder, keep)
}

// otherPlace checks that a stage does not write where it reads.
func otherPlace(from, to string) error {
	a, err := os.Stat(from)
	if err != nil {
		return nil
	}
	if b, err := os.Stat(to); err == nil && os.SameFile(a, b) {
		return &InputError{fmt.Errorf("%s is both the input and the output folder: name another output", to)}
	}
	return nil
}
