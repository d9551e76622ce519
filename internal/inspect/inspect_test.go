package inspect

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/dynosim/dynosim/internal/pipeline"
	"github.com/dynosim/dynosim/schemas"
)

// TestText shows what is printed of every kind of path. "write PATH" makes a file in the folder of the test,
// "pack PATH TO" compresses one as the ending of TO says, "stages" runs all stages over the configuration
// given, and "inspect PATH" prints.
func TestText(t *testing.T) {
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	datadriven.Walk(t, filepath.Join(root, "testdata"), func(t *testing.T, file string) {
		t.Chdir(t.TempDir())
		datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "write":
				write(t, d.CmdArgs[0].Key, []byte(d.Input+"\n"))
				return ""
			case "pack":
				plain, err := os.ReadFile(d.CmdArgs[0].Key)
				if err != nil {
					t.Fatal(err)
				}
				write(t, d.CmdArgs[1].Key, packed(t, d.CmdArgs[1].Key, plain))
				return ""
			case "stages":
				stages(t, d.Input)
				return ""
			case "inspect":
				o := Options{Slices: 30}
				d.MaybeScanArgs(t, "width", &o.Slices)
				d.MaybeScanArgs(t, "block", &o.BlockTokens)
				if d.HasArg("format") {
					var format string
					d.ScanArgs(t, "format", &format)
					o.Format = schemas.TraceFormat(format)
				}
				found, err := Inspect(context.Background(), d.CmdArgs[0].Key, o)
				if err != nil {
					return err.Error()
				}
				width := 100
				d.MaybeScanArgs(t, "width", &width)
				return printed(t, found, width)
			}
			t.Fatalf("unknown command %s", d.Cmd)
			return ""
		})
	})
}

// sizes are sizes of encoded files and columns, which a newer encoder may change.
var sizes = regexp.MustCompile(`(?m)^(bytes     )\d+$|^((?:│[^│\n]*){3,}│) *\d+ │$|^(│ [ab]   │) +\d+ │|^(\w+ +(?:ingest|lower|simulate) +\d+ +)\d+ $`)

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// packed compresses content as the ending of path says.
func packed(t *testing.T, path string, content []byte) []byte {
	t.Helper()
	if filepath.Ext(path) == ".zst" {
		w, err := zstd.NewWriter(nil)
		if err != nil {
			t.Fatal(err)
		}
		return w.EncodeAll(content, nil)
	}
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// tableLines are lines of tables of a folder; those of other tables than these are left out, so that a table
// more in the program is none here.
var (
	tableLines = regexp.MustCompile(`(?m)^(?:│ )?(\w+) +(?:│ )?(?:ingest|lower|simulate) .*\n`)
	tableNames = []string{"blocks", "chains", "nodes", "passes", "request_results", "requests", "token_gaps"}
)

func fewTables(out string) string {
	return tableLines.ReplaceAllStringFunc(out, func(line string) string {
		if m := tableLines.FindStringSubmatch(line); slices.Contains(tableNames, m[1]) || m[1] == "settings" || m[1] == "stage" {
			return line
		}
		return ""
	})
}

// printed is the text of a finding without such sizes. The JSON must be one line.
func printed(t *testing.T, found *Finding, width int) string {
	t.Helper()
	var out, asJSON bytes.Buffer
	if err := found.WriteText(&out, width); err != nil {
		t.Fatal(err)
	}
	if err := found.WriteJSON(&asJSON); err != nil {
		t.Fatal(err)
	}
	if !json.Valid(asJSON.Bytes()) || strings.Count(asJSON.String(), "\n") != 1 {
		t.Errorf("not one line of JSON: %s", asJSON.Bytes())
	}
	if found.Trace != nil || found.Folder == nil && found.Graph != nil {
		return out.String()
	}
	text, graph := out.String(), ""
	if at := strings.Index(text, "\nformat  "); at >= 0 {
		text, graph = text[:at+1], text[at+1:]
	}
	return sizes.ReplaceAllString(fewTables(text), "$1$2$3$4 N") + graph
}

// stages leaves the folders in, low and run.
func stages(t *testing.T, config string) {
	t.Helper()
	document, err := schemas.ParsePrediction("config.yaml", []byte(config), schemas.StackDynamo)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := document.RunSpec()
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	if _, err := pipeline.Ingest(ctx, pipeline.StageOptions{Spec: spec, Dir: "in"}); err != nil {
		t.Fatal(err)
	}
	if _, err := pipeline.Lower(ctx, pipeline.StageOptions{Spec: spec, From: "in", Dir: "low"}); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"run", "hive/run=a", "hive/run=b"} {
		if _, err := pipeline.Run(ctx, pipeline.Options{Spec: spec, Dir: dir, Optional: pipeline.OptionalTables}); err != nil {
			t.Fatal(err)
		}
	}
	write(t, "hive/run=c/.passes.parquet.tmp-0000abcd-3", []byte("PAR1"))
}
