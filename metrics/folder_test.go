package metrics

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dynosim/dynosim/internal/rundir"
	"github.com/dynosim/dynosim/schemas"
)

// request is one row of a batch, in a form that can be compared.
type request struct {
	Line                                int64
	Session, Request, Class             string
	HasSession, HasRequest, HasClass    bool
	Input, Output                       int64
	Timestamp, Delay                    float64
	HasTimestamp, HasDelay, HasAuthored bool
	Priority                            int32
	Strict                              uint32
	Blocks                              []uint64
	Authored                            []uint32
}

func drawRequest(rt *rapid.T) request {
	r := request{
		Line: rapid.Int64Range(1, 1e12).Draw(rt, "line"), Input: rapid.Int64Min(0).Draw(rt, "input"), Output: rapid.Int64Min(0).Draw(rt, "output"),
		HasSession: rapid.Bool().Draw(rt, "session"), HasRequest: rapid.Bool().Draw(rt, "request"), HasClass: rapid.Bool().Draw(rt, "class"),
		HasTimestamp: rapid.Bool().Draw(rt, "timestamp"), HasDelay: rapid.Bool().Draw(rt, "delay"), HasAuthored: rapid.Bool().Draw(rt, "authored"),
		Priority: rapid.Int32().Draw(rt, "priority"), Strict: rapid.Uint32().Draw(rt, "strict"),
		Blocks: rapid.SliceOfN(rapid.Uint64(), 0, 5).Draw(rt, "blocks"),
	}
	for _, s := range []struct {
		has bool
		to  *string
	}{{r.HasSession, &r.Session}, {r.HasRequest, &r.Request}, {r.HasClass, &r.Class}} {
		if s.has {
			*s.to = rapid.StringN(0, 6, -1).Draw(rt, "text")
		}
	}
	if r.HasTimestamp {
		r.Timestamp = rapid.Float64().Draw(rt, "timestamp_ms")
	}
	if r.HasDelay {
		r.Delay = rapid.Float64().Draw(rt, "delay_ms")
	}
	if r.HasAuthored {
		r.Authored = rapid.SliceOfN(rapid.Uint32(), 0, 5).Draw(rt, "tokens")
	}
	return r
}

func pack(rows []request) *schemas.RequestBatch {
	b := &schemas.RequestBatch{N: len(rows), BlockTokens: 8}
	for _, r := range rows {
		b.Line = append(b.Line, r.Line)
		b.SessionID, b.HasSession = append(b.SessionID, r.Session), append(b.HasSession, r.HasSession)
		b.RequestID, b.HasRequest = append(b.RequestID, r.Request), append(b.HasRequest, r.HasRequest)
		b.PolicyClass, b.HasPolicyClass = append(b.PolicyClass, r.Class), append(b.HasPolicyClass, r.HasClass)
		b.InputTokens, b.OutputTokens = append(b.InputTokens, r.Input), append(b.OutputTokens, r.Output)
		b.TimestampMS, b.HasTimestamp = append(b.TimestampMS, r.Timestamp), append(b.HasTimestamp, r.HasTimestamp)
		b.DelayMS, b.HasDelay = append(b.DelayMS, r.Delay), append(b.HasDelay, r.HasDelay)
		b.Priority, b.StrictPriority = append(b.Priority, r.Priority), append(b.StrictPriority, r.Strict)
		b.Blocks, b.Authored = append(b.Blocks, r.Blocks...), append(b.Authored, r.Authored...)
		b.BlockEnd, b.AuthoredEnd = append(b.BlockEnd, len(b.Blocks)), append(b.AuthoredEnd, len(b.Authored))
		b.HasAuthored = append(b.HasAuthored, r.HasAuthored)
	}
	return b
}

func unpack(b *schemas.RequestBatch) []request {
	var rows []request
	blocks, authored := 0, 0
	for i := range b.N {
		rows = append(rows, request{
			Line: b.Line[i], Session: strings.Clone(b.SessionID[i]), Request: strings.Clone(b.RequestID[i]), Class: strings.Clone(b.PolicyClass[i]),
			HasSession: b.HasSession[i], HasRequest: b.HasRequest[i], HasClass: b.HasPolicyClass[i],
			Input: b.InputTokens[i], Output: b.OutputTokens[i], Timestamp: b.TimestampMS[i], Delay: b.DelayMS[i],
			HasTimestamp: b.HasTimestamp[i], HasDelay: b.HasDelay[i], HasAuthored: b.HasAuthored[i],
			Priority: b.Priority[i], Strict: b.StrictPriority[i],
			Blocks: append([]uint64{}, b.Blocks[blocks:b.BlockEnd[i]]...), Authored: append([]uint32{}, b.Authored[authored:b.AuthoredEnd[i]]...),
		})
		blocks, authored = b.BlockEnd[i], b.AuthoredEnd[i]
	}
	return rows
}

var ingestTables = []string{"requests", "blocks", "authored_outputs"}

// ingested writes rows into a new folder, n a batch, and opens it.
func ingested(t testing.TB, rows []request, n int) (string, *Folder) {
	t.Helper()
	dir := create(t, rundir.Options{})
	r, err := Open(dir, ingestTables)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Abort()
	for lo := 0; lo < len(rows); lo += n {
		if err := r.WriteRequests(pack(rows[lo:min(lo+n, len(rows))])); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := dir.WriteManifest(rundir.Manifest{}); err != nil {
		t.Fatal(err)
	}
	m, err := rundir.ReadManifest(dir.Path())
	if err != nil {
		t.Fatal(err)
	}
	return dir.Path(), OpenFolder(dir.Path(), m)
}

func readAll(f *Folder) (rows []request, err error) {
	r, err := f.Requests(8)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var b schemas.RequestBatch
	for {
		if err := r.Next(&b); err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return rows, err
		}
		if b.BlockTokens != 8 {
			return nil, fmt.Errorf("blocks of %d tokens", b.BlockTokens)
		}
		rows = append(rows, unpack(&b)...)
	}
}

// TestRequestsComeBack writes random requests in batches of any size and reads them again.
func TestRequestsComeBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rows := rapid.SliceOfN(rapid.Custom(drawRequest), 0, 40).Draw(rt, "rows")
		dir, f := ingested(t, rows, rapid.IntRange(1, 20).Draw(rt, "batch"))
		got, err := readAll(f)
		if err != nil {
			rt.Fatal(err)
		}
		// An empty list and none are the same here.
		if diff := cmp.Diff(got, unpack(pack(rows))); diff != "" {
			rt.Fatal(diff)
		}
		_ = os.RemoveAll(dir)
	})
}

// TestLongFoldersComeBack crosses row groups of every table at different rows.
func TestLongFoldersComeBack(t *testing.T) {
	rows := make([]request, rowGroupRows+5000)
	for i := range rows {
		rows[i] = request{Line: int64(i + 1), Input: int64(i), HasTimestamp: i%3 > 0, Blocks: make([]uint64, i%4), HasAuthored: i%5 == 0}
		if rows[i].HasTimestamp {
			rows[i].Timestamp = float64(i) / 3
		}
		for j := range rows[i].Blocks {
			rows[i].Blocks[j] = uint64(i * j)
		}
		if rows[i].HasAuthored {
			rows[i].Authored = make([]uint32, i%31)
		}
	}
	rows[70].Blocks = make([]uint64, 3*readElements) // a row that is larger than a batch
	_, f := ingested(t, rows, 1000)
	got, err := readAll(f)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range unpack(pack(rows)) {
		if i >= len(got) || !reflect.DeepEqual(got[i], want) {
			t.Fatalf("row %d of %d is not %+v", i, len(got), want)
		}
	}
}

// TestDamagedFiles cuts and changes a table at many places: reading ends with an error that names the
// file, or, where the change is in the data, with other rows, and never with a panic.
func TestDamagedFiles(t *testing.T) {
	rows := make([]request, 3000)
	for i := range rows {
		rows[i] = request{Line: int64(i + 1), HasSession: true, Session: fmt.Sprint("s", i%7), Blocks: []uint64{uint64(i), math.MaxUint64}}
	}
	dir, f := ingested(t, rows, 1000)
	for _, name := range []string{"requests.parquet", "blocks.parquet"} {
		path := filepath.Join(dir, name)
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 60 {
			at := len(whole) * i / 60
			if err := os.WriteFile(path, whole[:at], 0o666); err != nil {
				t.Fatal(err)
			}
			_, err := readAll(f)
			var damaged *DamagedError
			if !errors.As(err, &damaged) || damaged.Path != path || strings.Contains(err.Error(), "\n") {
				t.Fatalf("%s cut at %d of %d: error is %v", name, at, len(whole), err)
			}
			changed := append([]byte{}, whole...)
			changed[at] ^= 0x5A
			if err := os.WriteFile(path, changed, 0o666); err != nil {
				t.Fatal(err)
			}
			if _, err := readAll(f); err != nil && !errors.As(err, &damaged) {
				t.Fatalf("%s changed at %d: error is %v", name, at, err)
			}
		}
		if err := os.WriteFile(path, whole, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := readAll(f); err != nil || len(got) != len(rows) {
		t.Fatalf("%d rows, %v", len(got), err)
	}
}

// TestWrongCounts gives a folder lists that are longer or shorter than the counts say.
func TestWrongCounts(t *testing.T) {
	few, _ := ingested(t, []request{{Blocks: []uint64{1}}}, 1)
	many, f := ingested(t, []request{{Blocks: []uint64{1, 2}}}, 1)
	swap := func(from string, rows int64) error {
		t.Helper()
		dir := t.TempDir()
		for _, name := range ingestTables {
			source := many
			if name == "blocks" {
				source = from
			}
			if err := os.Link(filepath.Join(source, name+".parquet"), filepath.Join(dir, name+".parquet")); err != nil {
				t.Fatal(err)
			}
		}
		g := &Folder{path: dir, rows: map[string]int64{"requests": 1, "authored_outputs": 0, "blocks": rows}}
		_, err := readAll(g)
		return err
	}
	if err := swap(few, 1); err == nil || !strings.Contains(err.Error(), "requests.parquet: its lists are longer") {
		t.Errorf("error is %v", err)
	}
	if err := swap(few, 2); err == nil || !strings.Contains(err.Error(), "blocks.parquet: it has 1 rows, the manifest says 2") {
		t.Errorf("error is %v", err)
	}
	if f.Rows(&schemas.Blocks) != 2 || f.Rows(&schemas.Nodes) != 0 {
		t.Errorf("rows are %v", f.rows)
	}
}
