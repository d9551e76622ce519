package layout

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestArrows walks the imports of the whole project.
func TestArrows(t *testing.T) {
	packages, err := Load(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, p := range packages {
		seen[strings.TrimPrefix(p.Path, Module+"/")] = true
	}
	for _, want := range []string{"schemas", "ingest", "lower", "simulate", "metrics", "queries", "cmd/dynosim"} {
		if !seen[want] {
			t.Errorf("package %s is not among the %d that were found", want, len(packages))
		}
	}
	for _, line := range Check(packages) {
		t.Error(line)
	}
}

// TestCheckFinds has packages that break one rule each, and their neighbours that do not.
func TestCheckFinds(t *testing.T) {
	for _, c := range []struct {
		from, to string
		broken   bool
	}{
		{"schemas", "ingest", true},
		{"schemas", "internal/cmath", true},
		{"schemas", "schemas/strict", false},
		{"schemas/strict", "encoding/json", false},
		{"ingest", "schemas", false},
		{"ingest", "internal/chacha", false},
		{"ingest", "lower", true},
		{"ingest", "internal/pipeline", true},
		{"lower", "schemas", false},
		{"lower", "ingest", true},
		{"lower", "simulate", true},
		{"simulate", "lower", false},
		{"simulate", "schemas", false},
		{"simulate", "simulate/kv", false},
		{"simulate/kv", "simulate/timing", false},
		{"simulate", "internal/cmath", false},
		{"simulate", "internal/rundir", true},
		{"simulate", "ingest", true},
		{"simulate", "metrics", true},
		{"simulate", "os", true},
		{"simulate/kv", "os/exec", true},
		{"simulate/kv", "encoding/json", true},
		{"simulate/kv", "io/fs", true},
		{"simulate/timing", "net/http", true},
		{"simulate/timing", "flag", true},
		{"simulate/timing", "github.com/apache/arrow-go/v18/arrow", true},
		{"simulate/timing", "math", false},
		{"simulate/timing", "fmt", false},
		{"metrics", "schemas", false},
		{"metrics", "internal/rundir", false},
		{"metrics", "simulate", true},
		{"queries", "schemas", false},
		{"queries", "simulate/kv", true},
		{"queries", "metrics", true},
		{"internal/rundir", "schemas", true},
		{"internal/rundir", "internal/cmath", false},
		{"internal/rundir", "internal/pipeline", true},
		{"internal/pipeline", "simulate", false},
		{"internal/differential", "internal/parity", false},
		{"internal/differential", "schemas", true},
		{"cmd/dynosim", "internal/pipeline", false},
		{"cmd/dynosim", "simulate/kv", false},
		{"plugins", "schemas", true},
	} {
		to := c.to
		if first, _, _ := strings.Cut(to, "/"); map[string]bool{"schemas": true, "ingest": true, "lower": true, "simulate": true, "metrics": true, "queries": true, "internal": true}[first] {
			to = Module + "/" + to
		}
		found := Check([]Package{{Path: Module + "/" + c.from, Imports: []string{to}}})
		if len(found) > 0 != c.broken {
			t.Errorf("%s imports %s: want it refused: %v, got %q", c.from, c.to, c.broken, found)
		}
	}
}

func TestProgramsImportEverything(t *testing.T) {
	p := Package{Path: Module + "/internal/tool", Imports: []string{Module + "/simulate"}, Program: true}
	if found := Check([]Package{p}); len(found) > 0 {
		t.Errorf("a program: %q", found)
	}
	p.Program = false
	if found := Check([]Package{p}); len(found) != 1 {
		t.Errorf("the same package as a library: want one line, got %q", found)
	}
}

func TestPrints(t *testing.T) {
	const source = `package x

import f "fmt"

func x() string {
	f.Println("a")
	println("b")
	f.Printf("c")
	return f.Sprint("d")
}
`
	path := filepath.Join(t.TempDir(), "x.go")
	if err := os.WriteFile(path, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	positions, err := findPrints(path)
	if err != nil || len(positions) != 3 {
		t.Fatalf("want three calls, got %q, %v", positions, err)
	}
	for _, c := range []struct {
		folder string
		want   int
	}{{"simulate/kv", 3}, {"cmd/dynosim", 0}} {
		if found := Check([]Package{{Path: Module + "/" + c.folder, Prints: positions}}); len(found) != c.want {
			t.Errorf("%s prints: want %d lines, got %q", c.folder, c.want, found)
		}
	}
}
