package lower_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/dynosim/dynosim/lower"
	"github.com/dynosim/dynosim/schemas"
)

// home is the folder of the package; cases run elsewhere, so that messages show short paths.
var home, _ = os.Getwd()

// TestData lowers the sources of the files in testdata and shows the workload, or the error.
//
//	trace format=F block=T speedup=X concurrency=C     the input is the trace
//	synthetic in=.. count=.. turns=.. rate=.. interval=..
func TestData(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		if strings.Contains(path, "rapid") || strings.Contains(path, "graphs") {
			return
		}
		t.Chdir(t.TempDir())
		datadriven.RunTest(t, filepath.Join(home, path), func(t *testing.T, d *datadriven.TestData) string {
			w, err := build(specOf(t, d))
			if err != nil {
				return "error: " + err.Error()
			}
			return show(w)
		})
	})
}

func specOf(t *testing.T, d *datadriven.TestData) *schemas.RunSpec {
	spec := &schemas.RunSpec{Load: schemas.LoadSpec{Speedup: 1}}
	s, l := &spec.Source, &spec.Load
	spec.Pools = schemas.AggregatedPool(schemas.EngineSpec{BlockTokens: 4}, 1)
	s.Turns = 1
	switch d.Cmd {
	case "trace":
		s.Kind, s.Format, s.BlockTokens, s.Paths = schemas.SourceTrace, schemas.FormatMooncake, 4, []string{"t"}
		l.Kind = schemas.LoadTraceTimestamps
		if err := os.WriteFile("t", []byte(d.Input), 0o600); err != nil {
			t.Fatal(err)
		}
	case "synthetic":
		s.Kind, s.InputTokens, s.OutputTokens, s.Count = schemas.SourceSynthetic, 10, 2, 3
		l.Kind = schemas.LoadConstantInterval
	}
	for _, arg := range d.CmdArgs {
		value := strings.Join(arg.Vals, ",")
		n, _ := strconv.ParseInt(value, 10, 64)
		v, _ := strconv.ParseFloat(value, 64)
		switch arg.Key {
		case "format":
			s.Format = schemas.TraceFormat(value)
		case "block":
			s.BlockTokens = n
		case "speedup":
			l.Speedup = v
		case "concurrency":
			l.Kind, l.Concurrency = schemas.LoadConcurrency, n
		case "rate":
			l.Kind, l.RatePerSecond, l.Seed = schemas.LoadPoisson, v, 42
		case "interval":
			l.IntervalMS = v
		case "in":
			s.InputTokens = n
		case "count":
			s.Count = n
		case "turns":
			s.Turns = n
		case "delay":
			s.InterTurnDelayMS = v
		case "ratio":
			s.SharedPrefixRatio = v
		case "groups":
			s.PrefixGroups = n
		default:
			d.Fatalf(t, "unknown argument %s", arg.Key)
		}
	}
	return spec
}

// show writes a workload, one line a node.
func show(w *lower.Workload) string {
	var out strings.Builder
	if w.Concurrency > 0 {
		fmt.Fprintf(&out, "concurrency %d\n", w.Concurrency)
	}
	if w.Delta {
		fmt.Fprintln(&out, "delta")
	}
	if len(w.Chains.Parent) > 0 {
		fmt.Fprintf(&out, "chains of %d tokens:", w.BlockTokens)
		for c := range w.Chains.Parent {
			fmt.Fprintf(&out, " %d=%d+%d", c, w.Chains.Parent[c], w.Chains.Block[c])
		}
		fmt.Fprintln(&out)
	}
	session := 0
	for i := range w.Nodes.Len() {
		if w.Sessions != nil && int(w.Sessions.First[session]) == i {
			fmt.Fprintf(&out, "session %q\n", w.Sessions.Name(session))
			session++
		}
		n := &w.Nodes
		fmt.Fprintf(&out, "%d: row %d, ", i, n.RequestIndex[i])
		if !math.IsNaN(n.ReleaseMS[i]) {
			fmt.Fprintf(&out, "at %v, ", n.ReleaseMS[i])
		}
		if w.Sessions != nil && n.DelayMS[i] != 0 {
			fmt.Fprintf(&out, "delay %v, ", n.DelayMS[i])
		}
		fmt.Fprintf(&out, "%d in, %d out", n.InputTokens[i], n.OutputTokens[i])
		if n.Chain[i] >= 0 {
			fmt.Fprintf(&out, ", chain %d for %d", n.Chain[i], n.ChainTokens[i])
		}
		if w.AuthoredStart != nil {
			fmt.Fprintf(&out, ", authored %d", w.Authored[w.AuthoredStart[i]:w.AuthoredStart[i+1]])
		}
		fmt.Fprintln(&out)
	}
	return out.String()
}
