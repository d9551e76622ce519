package tabledoc

import (
	"path/filepath"
	"testing"

	"github.com/dynosim/dynosim/internal/golden"
)

// TestTablesPage fails when docs/tables.md is not what the schemas say; go generate ./internal/tabledoc writes it.
func TestTablesPage(t *testing.T) {
	golden.File(t, filepath.Join("..", "..", "docs", "tables.md"), Markdown())
}
