package lower_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/dynosim/dynosim/internal/agentcorpus/corpus"
	"github.com/dynosim/dynosim/schemas"
)

// BenchmarkCorpus reads and lowers a synthetic weka corpus of 16 MB, its digests included.
func BenchmarkCorpus(b *testing.B) {
	path := filepath.Join(b.TempDir(), "corpus.jsonl")
	file, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	shape := corpus.Shape{Plays: 16, Requests: 320, Blocks: 950, Seed: 1}
	if err := shape.Write(file, 0, shape.Plays); err != nil {
		b.Fatal(err)
	}
	size, err := file.Seek(0, 1)
	if err != nil || file.Close() != nil {
		b.Fatal(err)
	}
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		w, err := buildGraph(&schemas.RunSpec{
			Source: schemas.SourceSpec{Kind: schemas.SourceTrace, Format: schemas.FormatWeka, Paths: []string{path}},
			Load:   schemas.LoadSpec{Kind: schemas.LoadTraceTimestamps, Speedup: 1},
		})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(w.Nodes.Len()), "requests")
	}
}
