package pipeline

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/dynosim/dynosim/queries"
	"github.com/dynosim/dynosim/schemas"
)

// TestNamedQueriesOfPlays asks small runs whose times can be followed by hand. "file NAME" writes a file, "run" runs the
// configuration given, "query NAME" asks that run a named query.
func TestNamedQueriesOfPlays(t *testing.T) {
	home, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	ctx := context.Background()
	datadriven.RunTest(t, filepath.Join(home, "testdata", "plays"), func(t *testing.T, d *datadriven.TestData) string {
		switch d.Cmd {
		case "file":
			if err := os.WriteFile(d.CmdArgs[0].Key, []byte(d.Input+"\n"), 0o666); err != nil {
				t.Fatal(err)
			}
			return ""
		case "run":
			document, err := schemas.ParsePrediction("config.yaml", []byte(d.Input), schemas.StackDynamo)
			if err != nil {
				t.Fatal(err)
			}
			spec, err := document.RunSpec()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Run(ctx, Options{Spec: spec, Dir: "run", Overwrite: true, Optional: OptionalTables}); err != nil {
				return err.Error()
			}
			return ""
		case "query":
			engine, err := queries.Open(ctx, []string{"run"}, queries.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer engine.Close()
			var out bytes.Buffer
			if err := engine.Named(ctx, d.CmdArgs[0].Key, &out, queries.QueryOptions{Format: queries.FormatCSV}); err != nil {
				t.Fatal(err)
			}
			return out.String()
		}
		t.Fatalf("unknown command %s", d.Cmd)
		return ""
	})
}
