package ingest_test

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/dynosim/dynosim/ingest"
	"github.com/dynosim/dynosim/schemas"
)

// TestData reads the sources of the files in testdata and shows their rows, or the error.
//
//	trace format=F block=T    the input is the trace
//	file name=N               the input becomes a file for later traces, packed by its name
//	synthetic in=.. out=..    a generator
//
// quoted says that every line of the input is a Go string, and that nothing comes between
// them.
func TestData(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		if strings.Contains(path, "fuzz") {
			return
		}
		t.Chdir(t.TempDir())
		datadriven.RunTest(t, filepath.Join(home, path), run)
	})
}

// home is the folder of the package; cases run elsewhere, so that messages show short paths.
var home, _ = os.Getwd()

func run(t *testing.T, d *datadriven.TestData) string {
	switch d.Cmd {
	case "file":
		var name string
		d.ScanArgs(t, "name", &name)
		write(t, name, input(t, d))
		return "ok"
	case "trace":
		source := &schemas.SourceSpec{Kind: schemas.SourceTrace, Format: schemas.FormatMooncake, BlockTokens: 4}
		scan(t, d, "format", &source.Format)
		scan(t, d, "block", &source.BlockTokens)
		scan(t, d, "groups", &source.PrefixGroups)
		scan(t, d, "ratio", &source.SharedPrefixRatio)
		for _, arg := range d.CmdArgs {
			if arg.Key == "paths" {
				source.Paths = arg.Vals
			}
		}
		if d.HasArg("none") {
			source.Paths = nil
		} else if source.Paths == nil {
			source.Paths = []string{"t"}
			write(t, "t", input(t, d))
		}
		return show(source, 0)
	case "synthetic":
		source := &schemas.SourceSpec{Kind: schemas.SourceSynthetic, InputTokens: 8, OutputTokens: 2, Count: 2, Turns: 1}
		block := int64(4)
		scan(t, d, "in", &source.InputTokens)
		scan(t, d, "out", &source.OutputTokens)
		scan(t, d, "count", &source.Count)
		scan(t, d, "turns", &source.Turns)
		scan(t, d, "ratio", &source.SharedPrefixRatio)
		scan(t, d, "groups", &source.PrefixGroups)
		scan(t, d, "delay", &source.InterTurnDelayMS)
		scan(t, d, "block", &block)
		return show(source, block)
	}
	d.Fatalf(t, "unknown command %q", d.Cmd)
	return ""
}

// scan sets an argument when it is given.
func scan(t *testing.T, d *datadriven.TestData, key string, into any) {
	if !d.HasArg(key) {
		return
	}
	var text string
	d.ScanArgs(t, key, &text)
	var err error
	switch into := into.(type) {
	case *schemas.TraceFormat:
		*into = schemas.TraceFormat(text)
	case *int64:
		*into, err = strconv.ParseInt(text, 10, 64)
	case *float64:
		*into, err = strconv.ParseFloat(text, 64)
	}
	if err != nil {
		d.Fatalf(t, "%s: %v", key, err)
	}
}

func input(t *testing.T, d *datadriven.TestData) string {
	if !d.HasArg("quoted") {
		return d.Input
	}
	var out strings.Builder
	for line := range strings.Lines(d.Input) {
		text, err := strconv.Unquote(strings.TrimSpace(line))
		if err != nil {
			d.Fatalf(t, "%s: %v", line, err)
		}
		out.WriteString(text)
	}
	return out.String()
}

func write(t *testing.T, name, text string) {
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	var out io.WriteCloser = f
	switch filepath.Ext(name) {
	case ".gz":
		out = gzip.NewWriter(f)
	case ".zst":
		if out, err = zstd.NewWriter(f); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := io.WriteString(out, text); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

// show reads a source and writes one line a row.
func show(source *schemas.SourceSpec, engineBlock int64) string {
	reader, err := ingest.Open(source, engineBlock)
	if err != nil {
		return "error: " + err.Error()
	}
	defer reader.Close()
	var out strings.Builder
	batch := new(schemas.RequestBatch)
	for {
		err := reader.Next(batch)
		if err != nil {
			if again := reader.Next(batch); again == nil || again.Error() != err.Error() || batch.N != 0 {
				return fmt.Sprintf("after %v comes %v", err, again)
			}
		}
		if errors.Is(err, io.EOF) {
			return out.String()
		}
		if err != nil {
			return out.String() + "error: " + err.Error()
		}
		for i := range batch.N {
			out.WriteString(row(batch, i) + "\n")
		}
	}
}

func row(b *schemas.RequestBatch, i int) string {
	out := fmt.Sprintf("%d: %d in, %d out", b.Line[i], b.InputTokens[i], b.OutputTokens[i])
	add := func(has bool, format string, args ...any) {
		if has {
			out += fmt.Sprintf(format, args...)
		}
	}
	blocks, authored := 0, 0
	if i > 0 {
		blocks, authored = b.BlockEnd[i-1], b.AuthoredEnd[i-1]
	}
	add(b.HasTimestamp[i], ", at %s", exact(b.TimestampMS[i]))
	add(b.HasDelay[i], ", delay %s", exact(b.DelayMS[i]))
	add(b.HasSession[i], ", session %q", b.SessionID[i])
	add(b.HasRequest[i], ", request %q", b.RequestID[i])
	add(b.Priority[i] != 0, ", priority %d", b.Priority[i])
	add(b.StrictPriority[i] != 0, ", strict priority %d", b.StrictPriority[i])
	add(b.HasPolicyClass[i], ", policy class %q", b.PolicyClass[i])
	add(b.BlockEnd[i] > blocks, ", blocks of %d %x", b.BlockTokens, b.Blocks[blocks:b.BlockEnd[i]])
	add(b.HasAuthored[i], ", authored %d", b.Authored[authored:b.AuthoredEnd[i]])
	return out
}

// exact writes a float so that it can be read back, and the sign of zero.
func exact(v float64) string {
	if v == 0 && math.Signbit(v) {
		return "-0"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
