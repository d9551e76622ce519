package pipeline

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dynosim/dynosim/ingest"
	"github.com/dynosim/dynosim/lower"
	"github.com/dynosim/dynosim/schemas"
)

// TestExportComesBack exports drawn plays of every source: lowered for snapshots, what is read back is the graph of the
// original, recorded times included.
func TestExportComesBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir := t.TempDir()
		defer os.RemoveAll(dir)
		spec := &schemas.RunSpec{TimeLimitMS: math.Inf(1)}
		spec.Load.Speedup = 1
		drawPlays(rt, spec, rapid.SampledFrom([]string{"weka", "graph", "waits", "agents"}).Draw(rt, "source"), dir)
		spec.Load.Agentic = schemas.AgenticLoad{Snapshot: true}
		want, err := lowerAgain(spec)
		if err != nil {
			rt.Skip(err)
		}
		path := filepath.Join(dir, "export.jsonl")
		if _, err := ExportAgentic(context.Background(), spec.Source, path, false); err != nil {
			rt.Fatal(err)
		}
		back := *spec
		back.Source = schemas.SourceSpec{Kind: schemas.SourceTrace, Format: schemas.FormatAgenticMooncake, Paths: []string{path}, BlockTokens: 512}
		got, err := lowerAgain(&back)
		if err != nil {
			rt.Fatal(err)
		}
		type shown struct {
			Digest                  string
			NotBefore, Starts, Ends []float64
		}
		show := func(w *lower.Workload) shown {
			g := w.Graph
			ends := append([]float64(nil), g.RecordedEndMS...)
			for i := range ends {
				if math.IsNaN(ends[i]) {
					ends[i] = -1
				}
			}
			return shown{g.Digest, g.NotBeforeMS, g.RecordedStartMS, ends}
		}
		if diff := cmp.Diff(show(want), show(got)); diff != "" {
			rt.Fatalf("the original -, read back +:\n%s", diff)
		}
	})
}

// lowerAgain lowers a source, twice when its basis was found out on the way.
func lowerAgain(spec *schemas.RunSpec) (*lower.Workload, error) {
	w, err := lowerSource(context.Background(), spec)
	var basis *ingest.BasisError
	if errors.As(err, &basis) {
		return lowerSource(context.Background(), resolved(spec, err))
	}
	return w, err
}
