package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/dynosim/dynosim/schemas"
)

// readAll reads a trace given as text and checks what every accepted row promises.
func readAll(t *testing.T, source *schemas.SourceSpec, text []byte) {
	path := filepath.Join(t.TempDir(), "trace")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	source.Kind, source.Paths = schemas.SourceTrace, []string{path}
	reader, err := Open(source, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	batch := new(schemas.RequestBatch)
	for {
		err := reader.Next(batch)
		if err != nil {
			if !errors.Is(err, io.EOF) && !utf8.ValidString(err.Error()) {
				t.Fatalf("message %q", err)
			}
			return
		}
		checkBatch(t, batch)
	}
}

func checkBatch(t *testing.T, b *schemas.RequestBatch) {
	if b.N < 1 || b.N > BatchRows || b.BlockTokens < 1 {
		t.Fatalf("%d rows, blocks of %d", b.N, b.BlockTokens)
	}
	blocks, authored := 0, 0
	for i := range b.N {
		n := b.BlockEnd[i] - blocks
		if b.InputTokens[i] < 1 || b.OutputTokens[i] < 0 || n < 0 || float64(b.InputTokens[i]) > float64(n)*float64(b.BlockTokens) {
			t.Fatalf("row %d: %d tokens in %d blocks, %d out", i, b.InputTokens[i], n, b.OutputTokens[i])
		}
		if b.HasAuthored[i] && int64(b.AuthoredEnd[i]-authored) != b.OutputTokens[i] {
			t.Fatalf("row %d: %d authored tokens of %d", i, b.AuthoredEnd[i]-authored, b.OutputTokens[i])
		}
		for _, v := range []float64{b.TimestampMS[i], b.DelayMS[i]} {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Fatalf("row %d: time %v", i, v)
			}
		}
		for _, s := range []string{b.SessionID[i], b.RequestID[i], b.PolicyClass[i]} {
			if !utf8.ValidString(s) {
				t.Fatalf("row %d: string %q", i, s)
			}
		}
		blocks, authored = b.BlockEnd[i], b.AuthoredEnd[i]
	}
	if blocks != len(b.Blocks) || authored != len(b.Authored) {
		t.Fatal("lists do not end with the last row")
	}
}

// seeds adds the inputs of a file of testdata.
func seeds(f *testing.F, name string) {
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		f.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		f.Add(bytes.TrimSuffix(line, []byte("\n")))
	}
}

func FuzzMooncake(f *testing.F) {
	seeds(f, "mooncake")
	f.Fuzz(func(t *testing.T, text []byte) {
		readAll(t, &schemas.SourceSpec{Format: schemas.FormatMooncake, BlockTokens: 4}, text)
	})
}

func FuzzApplied(f *testing.F) {
	seeds(f, "applied")
	f.Fuzz(func(t *testing.T, text []byte) {
		// One token a block would make a line of a few bytes ask for gigabytes of ids.
		readAll(t, &schemas.SourceSpec{Format: schemas.FormatAppliedCompute, BlockTokens: 1 << 20, SharedPrefixRatio: 0.5, PrefixGroups: 2}, text)
	})
}

func FuzzDynamo(f *testing.F) {
	seeds(f, "dynamo")
	f.Fuzz(func(t *testing.T, text []byte) {
		readAll(t, &schemas.SourceSpec{Format: schemas.FormatDynamo}, text)
	})
}

// FuzzPlain holds the fast parser of plain rows against the strict one: what it takes, the strict
// one takes, with the same result.
func FuzzPlain(f *testing.F) {
	seeds(f, "mooncake")
	seeds(f, "numbers")
	f.Fuzz(func(t *testing.T, line []byte) { plainAgrees(t, line) })
}

func plainAgrees(t testing.TB, line []byte) {
	if !utf8.Valid(line) {
		return
	}
	parse := func(parser func(i int, w *batchWriter) (members, bool)) (*schemas.RequestBatch, members, bool) {
		w, b := &batchWriter{}, new(schemas.RequestBatch)
		w.reset(b, 4)
		i := w.add(1)
		present, ok := parser(i, w)
		w.end(i)
		w.finish()
		return b, present, ok
	}
	got, gotMembers, plain := parse(func(i int, w *batchWriter) (members, bool) { return parsePlain(line, i, w) })
	if !plain {
		return
	}
	want, wantMembers, ok := parse(func(i int, w *batchWriter) (members, bool) {
		present, err := newMooncakeParser().strict(line, i, w)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		return present, true
	})
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); !ok || diff != "" || gotMembers != wantMembers {
		t.Fatalf("%s: %b, want %b\n%s", line, gotMembers, wantMembers, diff)
	}
}

// Rows drawn to be nearly plain are the cases that random bytes seldom reach.
func TestPlainAgrees(t *testing.T) {
	number := rapid.OneOf(rapid.StringMatching(`-?(0|[1-9][0-9]{0,22})(\.[0-9]{1,25})?([eE][+-]?[0-9]{1,3})?`),
		rapid.StringMatching(`[0-9]{1,20}`), rapid.Just("18446744073709551616"), rapid.Just("18446744073709551615"))
	value := rapid.OneOf(number, rapid.StringMatching(`"[a\\u0é\t]{0,4}"`), rapid.StringMatching(`\[[0-9 ,.]{0,8}\]`), rapid.Just("null"))
	name := rapid.OneOf(rapid.SampledFrom(memberNames[:]), rapid.SampledFrom([]string{"input_tokens", "created_time", "x", `dela\u0079`}))
	space := rapid.SampledFrom([]string{"", "", "", " ", "\t", "\v", "\u00a0"})
	ids := rapid.Custom(func(t *rapid.T) string {
		out := "["
		for i, v := range rapid.SliceOfN(number, 0, 4).Draw(t, "ids") {
			if i > 0 {
				out += space.Draw(t, "s") + "," + space.Draw(t, "s")
			}
			out += v
		}
		return out + "]"
	})
	rapid.Check(t, func(t *rapid.T) {
		line := "{"
		for i := range rapid.IntRange(0, 5).Draw(t, "members") {
			if i > 0 {
				line += ","
			}
			line += space.Draw(t, "s") + `"` + name.Draw(t, "name") + `"` + space.Draw(t, "s") + ":" + space.Draw(t, "s") + rapid.OneOf(value, ids).Draw(t, "value") + space.Draw(t, "s")
		}
		line += "}" + rapid.SampledFrom([]string{"", " ", "\r", ",", "x"}).Draw(t, "rest")
		plainAgrees(fatal{TB: nil, t: t}, []byte(line))
	})
}

// fatal lets plainAgrees fail a rapid test.
type fatal struct {
	testing.TB
	t *rapid.T
}

func (f fatal) Fatalf(format string, args ...any) { f.t.Fatalf(format, args...) }

// Literals of up to 15 digits and a small exponent have the usual value, longer ones are off by at
// most two units in the last place (one for the digits, one for the scaling).
func TestRealNumber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		literal := rapid.StringMatching(`-?(0|[1-9][0-9]{0,18})(\.[0-9]{1,18})?(e-?[0-9]{1,2})?`).Draw(t, "literal")
		want, err := strconv.ParseFloat(literal, 64)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := realNumber([]byte(literal))
		if !ok {
			t.Fatalf("%s is refused", literal)
		}
		digits := 0
		for _, c := range literal {
			if c == 'e' {
				break
			}
			if c >= '0' && c <= '9' {
				digits++
			}
		}
		if digits <= 15 && !bytes.ContainsRune([]byte(literal), 'e') && got != want {
			t.Fatalf("%s is %v, want %v", literal, got, want)
		}
		if ulps := math.Abs(float64(int64(math.Float64bits(math.Abs(got)) - math.Float64bits(math.Abs(want))))); digits <= 19 && ulps > 2 {
			t.Fatalf("%s is %v, want about %v", literal, got, want)
		}
	})
}

// Memory does not grow with the trace: a reader of many rows keeps nothing of earlier ones.
func TestReadersAllocateByTheBatch(t *testing.T) {
	allocs := func(rows int) float64 {
		var text bytes.Buffer
		for i := range rows {
			fmt.Fprintf(&text, `{"timestamp":%d.5,"input_length":8,"output_length":1,"hash_ids":[%d,2],"session_id":"s%d"}`+"\n", i, i, i)
		}
		path := filepath.Join(t.TempDir(), "trace")
		if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		batch := new(schemas.RequestBatch)
		return testing.AllocsPerRun(3, func() {
			reader, err := Open(&schemas.SourceSpec{Kind: schemas.SourceTrace, Format: schemas.FormatMooncake, Paths: []string{path}, BlockTokens: 4}, 0)
			if err != nil {
				t.Fatal(err)
			}
			for err == nil {
				err = reader.Next(batch)
			}
			if !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			if err := reader.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
	few, many := allocs(BatchRows), allocs(21*BatchRows)
	// One string for the names of each batch.
	if perBatch := (many - few) / 20; perBatch > 1.5 {
		t.Errorf("%.1f allocations a batch of %d rows", perBatch, BatchRows)
	}
}
