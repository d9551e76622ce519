package metrics

import (
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dynosim/dynosim/internal/rundir"
	"github.com/dynosim/dynosim/schemas"
)

// wholeFolder writes a folder with every table that a stage reads again, and returns it.
func wholeFolder(t testing.TB) (string, *rundir.Manifest) {
	t.Helper()
	dir := create(t, rundir.Options{})
	r, err := Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Abort()
	rows := []request{{Line: 1, HasSession: true, Session: "s", Blocks: []uint64{1, math.MaxUint64}, HasAuthored: true, Authored: []uint32{5}}, {Line: 2, Blocks: []uint64{1}}}
	steps := []error{
		r.WriteRequests(pack(rows)),
		r.WriteNodes(NodeColumns{
			SessionName: func(int) string { return "s" }, Session: []int32{0, 0}, Turn: []int32{0, 1}, ReleaseMS: []float64{1, math.NaN()},
			InputTokens: []int32{3, 4}, OutputTokens: []int32{1, 2}, Chain: []int32{-1, 0}, ChainTokens: []int32{0, 512},
		}),
		r.WriteEdges(EdgeColumns{Predecessor: []int32{0}, Successor: []int32{1}, DelayMS: []float64{2.5}}),
		r.WriteChains(ChainColumns{Parent: []int32{-1, 0}, Block: []uint32{0, 1}}),
		r.WriteNodeOutputs(NodeOutputColumns{Start: []int64{0, 1, 1}, Tokens: []uint32{5}}),
		r.WriteRun(RunRow{Stack: "dynamo", SLA: schemas.NoSLA()}),
		r.Close(),
		dir.WriteManifest(rundir.Manifest{}),
	}
	if err := errors.Join(steps...); err != nil {
		t.Fatal(err)
	}
	m, err := rundir.ReadManifest(dir.Path())
	if err != nil {
		t.Fatal(err)
	}
	return dir.Path(), m
}

// readEvery reads all tables of a folder that a stage reads again.
func readEvery(f *Folder) error {
	errs := []error{}
	note := func(err error) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	_, err := f.Nodes(func(int32, []byte) {})
	note(err)
	note(f.Edges(func(*EdgeColumns) error { return nil }))
	_, err = f.Chains()
	note(err)
	_, _, err = f.NodeOutputs(2)
	note(err)
	_, err = f.Run()
	note(err)
	r, err := f.Requests(8)
	if err == nil {
		var b schemas.RequestBatch
		for err == nil {
			err = r.Next(&b)
		}
		_ = r.Close()
	}
	if !errors.Is(err, io.EOF) {
		note(err)
	}
	if len(errs) == 0 {
		return nil
	}
	return errs[0]
}

// oneLine fails unless an error names a file and is one line.
func oneLine(t testing.TB, dir string, err error) {
	t.Helper()
	if err != nil && (strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), dir)) {
		t.Fatalf("not one line that names the file: %v", err)
	}
}

var readTables = []string{"requests", "blocks", "authored_outputs", "nodes", "edges", "chains", "node_outputs", "run"}

// FuzzTables puts any bytes in the place of a table, and any number of rows into the manifest: one line that
// names the file, or other rows, and no panic.
func FuzzTables(f *testing.F) {
	dir, m := wholeFolder(f)
	for i, name := range readTables {
		whole, err := os.ReadFile(filepath.Join(dir, name+".parquet"))
		if err != nil {
			f.Fatal(err)
		}
		rows := OpenFolder(dir, m).rows[name]
		f.Add(i, whole, rows)
		f.Add(i, whole[:len(whole)/2], rows)
		f.Add(i, whole, int64(math.MaxInt64))
		f.Add(i, whole, int64(-1))
		f.Add((i+1)%len(readTables), whole, rows)
		changed := append([]byte{}, whole...)
		changed[len(changed)/2] ^= 0x11
		f.Add(i, changed, rows)
	}
	f.Fuzz(func(t *testing.T, table int, content []byte, rows int64) {
		if table < 0 || len(content) > 1<<20 {
			t.Skip()
		}
		name, own := readTables[table%len(readTables)], t.TempDir()
		for _, other := range readTables {
			if other == name {
				if err := os.WriteFile(filepath.Join(own, name+".parquet"), content, 0o666); err != nil {
					t.Fatal(err)
				}
				continue
			}
			if err := os.Link(filepath.Join(dir, other+".parquet"), filepath.Join(own, other+".parquet")); err != nil {
				t.Fatal(err)
			}
		}
		folder := OpenFolder(own, m)
		folder.rows[name] = rows
		oneLine(t, own, readEvery(folder))
	})
}

// TestWholeFolder makes sure that the folder of the fuzz target is a good one.
func TestWholeFolder(t *testing.T) {
	dir, m := wholeFolder(t)
	if err := readEvery(OpenFolder(dir, m)); err != nil {
		t.Fatal(err)
	}
}
