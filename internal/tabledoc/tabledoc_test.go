package tabledoc

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var rewrite = flag.Bool("rewrite", false, "write docs/tables.md anew")

// TestTablesPage fails when docs/tables.md is not what the schemas say.
func TestTablesPage(t *testing.T) {
	page := filepath.Join("..", "..", "docs", "tables.md")
	want := Markdown()
	if *rewrite {
		if err := os.WriteFile(page, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(got), want); diff != "" {
		t.Errorf("docs/tables.md is stale, run go generate ./internal/tabledoc (-file +schemas):\n%s", diff)
	}
}
