package metrics

import (
	"testing"

	"github.com/dynosim/dynosim/internal/fakerun"
	"github.com/dynosim/dynosim/internal/rundir"
	"github.com/dynosim/dynosim/schemas"
)

// keep collects the batches that fakerun makes, so that a benchmark times encoding alone.
type keep[T any] struct {
	all   []*T
	fresh func() *T
}

func (k *keep[T]) Take(b *T) (*T, error) {
	k.all = append(k.all, b)
	return k.fresh(), nil
}

func fakePasses(b *testing.B) []*schemas.PassBatch {
	rec := &keep[schemas.PassBatch]{fresh: func() *schemas.PassBatch { return schemas.NewPassBatch(BatchRows) }}
	sink := schemas.DiscardSink()
	sink.Passes = rec
	shape := fakerun.Conversation
	shape.Gaps, shape.Requests = 0, 0
	if err := fakerun.Fill(sink, shape, BatchRows); err != nil {
		b.Fatal(err)
	}
	return rec.all
}

// BenchmarkEncodePasses encodes a million passes a turn, without syncing.
func BenchmarkEncodePasses(b *testing.B) {
	batches := fakePasses(b)
	b.ReportAllocs()
	for b.Loop() {
		dir, err := rundir.Create(b.TempDir(), rundir.Options{Overwrite: true})
		if err != nil {
			b.Fatal(err)
		}
		w, err := newTableWriter(dir, &schemas.Passes)
		if err != nil {
			b.Fatal(err)
		}
		g := groups[schemas.PassBatch]{w: w, layout: passesLayout, rows: func(b *schemas.PassBatch) int { return b.N }, release: func(*schemas.PassBatch) {}}
		for _, p := range batches {
			if err := g.add(p); err != nil {
				b.Fatal(err)
			}
		}
		if err := w.finish(); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(w.out.Size())/1e6, "MB")
		w.out.Abort()
	}
}

// BenchmarkEncodeGaps encodes 900,000 gaps a turn, without syncing.
func BenchmarkEncodeGaps(b *testing.B) {
	rec := &keep[schemas.GapBatch]{fresh: func() *schemas.GapBatch { return schemas.NewGapBatch(BatchRows) }}
	sink := schemas.DiscardSink()
	sink.Gaps = rec
	shape := fakerun.Conversation
	shape.Passes, shape.Requests = 0, 0
	if err := fakerun.Fill(sink, shape, BatchRows); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		dir, err := rundir.Create(b.TempDir(), rundir.Options{Overwrite: true})
		if err != nil {
			b.Fatal(err)
		}
		w, err := newTableWriter(dir, &schemas.TokenGaps)
		if err != nil {
			b.Fatal(err)
		}
		g := groups[schemas.GapBatch]{w: w, layout: gapsLayout, rows: func(b *schemas.GapBatch) int { return b.N }, release: func(*schemas.GapBatch) {}}
		for _, p := range rec.all {
			if err := g.add(p); err != nil {
				b.Fatal(err)
			}
		}
		if err := w.finish(); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(w.out.Size())/1e6, "MB")
		w.out.Abort()
	}
}

// BenchmarkWholeRun makes and writes every table of a realistic run, syncs included.
func BenchmarkWholeRun(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		dir, err := rundir.Create(b.TempDir(), rundir.Options{Overwrite: true, Known: FileNames()})
		if err != nil {
			b.Fatal(err)
		}
		r, err := Open(dir, nil)
		if err != nil {
			b.Fatal(err)
		}
		if err := fakerun.Fill(r.Sink(), fakerun.Conversation, BatchRows); err != nil {
			b.Fatal(err)
		}
		if err := r.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
