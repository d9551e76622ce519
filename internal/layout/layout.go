// Package layout states which package of the project may import which, and finds what
// breaks that. Its test is what keeps the arrows of docs/architecture.md one-way.
package layout

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Module is the project's import path.
const Module = "github.com/dynosim/dynosim"

// Package is what the rules look at of a package.
type Package struct {
	// Path is the import path, Imports those of what its files import, test files apart.
	Path    string
	Imports []string
	// Program says that the package is a command, wherever it lies.
	Program bool
	// Prints lists the calls of fmt's functions that write to standard output, as positions.
	Prints []string
}

// room is a part of the house: packages under a folder and what they may import of the
// project. The first room that has a package is its room.
type room struct {
	folder string
	may    []string
}

// helpers are folders under internal that belong to no stage and import nothing of one.
const helpers = "internal/"

// rooms is the table of docs/architecture.md, special folders before those they lie in. "*" is
// everything, which programs may import wherever they lie. A package may always import
// packages of its own room.
var rooms = []room{
	{"cmd", []string{"*"}},
	{"internal/pipeline", []string{"*"}},
	{"internal/inspect", []string{"schemas", "ingest", "lower", "metrics", "queries", helpers}},
	{"internal/differential", []string{"internal/parity"}},
	{"internal/fakerun", []string{"schemas", "metrics", "internal/rundir"}},
	{"internal/tabledoc", []string{"schemas"}},
	{"internal/perfdata", []string{"simulate/timing/operators", helpers}},
	{"internal/perfmodel", []string{"schemas", "simulate/timing", "internal/perfdata"}},
	{"internal", []string{helpers}},
	{"schemas", nil},
	{"ingest", []string{"schemas", helpers}},
	{"lower", []string{"schemas", helpers}},
	{"simulate", []string{"schemas", "lower", helpers}},
	{"metrics", []string{"schemas", helpers}},
	{"queries", []string{"schemas", helpers}},
}

// closed lists packages that the simulator must not import, with everything below them: it
// knows no file, no flag, no JSON and no network.
var closed = []string{
	"bufio", "database", "embed", "encoding/csv", "encoding/json", "flag", "io", "log", "net", "os", "path", "syscall", "text/template",
	"github.com/apache/arrow-go", "github.com/duckdb", "github.com/go-json-experiment", "github.com/goccy", "github.com/spf13",
}

// simulatorHelpers are the helpers that simulate may import: numbers, nothing else.
var simulatorHelpers = []string{"internal/chacha", "internal/cmath"}

// Check lists what breaks the rules, one line each.
func Check(packages []Package) []string {
	var broken []string
	for _, p := range packages {
		folder := strings.TrimPrefix(strings.TrimPrefix(p.Path, Module), "/")
		at := roomOf(folder)
		if at < 0 {
			broken = append(broken, fmt.Sprintf("%s is in no room of the layout", p.Path))
			continue
		}
		for _, path := range p.Imports {
			if why := refuse(rooms[at], path); why != "" && !p.Program {
				broken = append(broken, fmt.Sprintf("%s imports %s: %s", p.Path, path, why))
			}
		}
		if rooms[at].folder == "simulate" {
			for _, position := range p.Prints {
				broken = append(broken, fmt.Sprintf("%s: the simulator prints", position))
			}
		}
	}
	return broken
}

// refuse says why a package in a room may not import a path, "" when it may.
func refuse(r room, path string) string {
	simulator := r.folder == "simulate"
	target, ours := strings.CutPrefix(path, Module+"/")
	if !ours {
		if simulator && slices.ContainsFunc(closed, func(c string) bool { return under(path, c) }) {
			return "the simulator knows no file, flag, JSON or network"
		}
		return ""
	}
	if slices.Contains(r.may, "*") || under(target, r.folder) && roomOf(target) == roomOf(r.folder) {
		return ""
	}
	for _, allowed := range r.may {
		switch {
		case allowed != helpers:
			if under(target, allowed) {
				return ""
			}
		case !isHelper(target):
		case !simulator:
			return ""
		case slices.Contains(simulatorHelpers, target):
			return ""
		default:
			return "of internal the simulator may import " + strings.Join(simulatorHelpers, " and ")
		}
	}
	return fmt.Sprintf("%s may import %s", r.folder, describe(r.may))
}

// isHelper tells whether a folder is one of the small helpers, which import no stage.
func isHelper(folder string) bool {
	at := roomOf(folder)
	return at >= 0 && rooms[at].folder == "internal"
}

// roomOf is the index of the room that has a folder, -1 when none has.
func roomOf(folder string) int {
	return slices.IndexFunc(rooms, func(r room) bool { return under(folder, r.folder) })
}

func describe(may []string) string {
	if len(may) == 0 {
		return "nothing of the project"
	}
	return strings.Join(may, ", ")
}

// under tells whether a path is the folder or lies below it.
func under(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}

// Load lists the packages under a directory with the go command.
func Load(dir string) ([]Package, error) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Name,Dir,Imports,GoFiles,CgoFiles", "./...")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return nil, fmt.Errorf("go list: %w: %s", err, exit.Stderr)
		}
		return nil, err
	}
	var packages []Package
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var listed struct {
			ImportPath, Name, Dir      string
			Imports, GoFiles, CgoFiles []string
		}
		if err := d.Decode(&listed); err == io.EOF {
			return packages, nil
		} else if err != nil {
			return nil, err
		}
		p := Package{Path: listed.ImportPath, Imports: listed.Imports, Program: listed.Name == "main"}
		for _, name := range append(listed.GoFiles, listed.CgoFiles...) {
			prints, err := findPrints(filepath.Join(listed.Dir, name))
			if err != nil {
				return nil, err
			}
			p.Prints = append(p.Prints, prints...)
		}
		packages = append(packages, p)
	}
}

// findPrints lists the calls of fmt.Print and its kin in a file, and of the built-in ones.
func findPrints(path string) (positions []string, err error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	name := ""
	for _, spec := range file.Imports {
		if imported, err := strconv.Unquote(spec.Path.Value); err == nil && imported == "fmt" {
			name = "fmt"
			if spec.Name != nil {
				name = spec.Name.Name
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		switch f := call.Fun.(type) {
		case *ast.SelectorExpr:
			of, ok := f.X.(*ast.Ident)
			if ok && name != "" && of.Name == name && strings.HasPrefix(f.Sel.Name, "Print") {
				positions = append(positions, files.Position(call.Pos()).String())
			}
		case *ast.Ident:
			if f.Name == "print" || f.Name == "println" {
				positions = append(positions, files.Position(call.Pos()).String())
			}
		}
		return true
	})
	return positions, nil
}
