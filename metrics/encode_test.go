package metrics

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dynosim/dynosim/internal/rundir"
	"github.com/dynosim/dynosim/schemas"
)

// everyType has a column of each kind that a table may have.
var everyType = schemas.Table{Name: "passes", Version: 1, Columns: []schemas.Column{
	{Name: "node", Type: arrow.PrimitiveTypes.Int32},
	{Name: "i32_null", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
	{Name: "count", Type: arrow.PrimitiveTypes.Int64},
	{Name: "i64_null", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "u32", Type: arrow.PrimitiveTypes.Uint32},
	{Name: "u64", Type: arrow.PrimitiveTypes.Uint64},
	{Name: "gap_ms", Type: arrow.PrimitiveTypes.Float64},
	{Name: "f64_null", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
	{Name: "text", Type: arrow.BinaryTypes.String},
	{Name: "text_null", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "owner", Type: arrow.PrimitiveTypes.Int64},
	{Name: "position", Type: arrow.PrimitiveTypes.Int32},
}}

// drawNumbers draws columns such as tables have: constant, counting, in runs, near each other, or anything.
func drawNumbers(rt *rapid.T, n int, name string) []int64 {
	values := make([]int64, n)
	kind := rapid.SampledFrom([]string{"constant", "counting", "runs", "near", "any", "extreme"}).Draw(rt, name)
	at := rapid.Int64Range(-3, 1<<40).Draw(rt, name+" from")
	seed := rapid.Uint64().Draw(rt, name+" seed")
	for i := range values {
		seed = seed*6364136223846793005 + 1442695040888963407
		random := int64(seed >> 20)
		switch kind {
		case "counting":
			at++
		case "runs":
			if random%11 == 0 {
				at = random % 500
			}
		case "near":
			at += random % 9
		case "any":
			at = random
		case "extreme":
			at = []int64{math.MinInt64, math.MaxInt64, math.MinInt32, math.MaxInt32, 0, -1}[uint64(random)%6]
		}
		values[i] = at
	}
	return values
}

// TestColumnsComeBack writes random columns of every type in random portions and reads them with the
// Parquet library. Other portions must leave the same bytes.
func TestColumnsComeBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.SampledFrom([]int{1, 2, 7, 128, 129, 1000}).Draw(rt, "rows")
		if rapid.IntRange(0, 60).Draw(rt, "many") == 60 {
			n = rowGroupRows + 77
		}
		numbers := map[string][]int64{}
		for _, c := range everyType.Columns {
			numbers[c.Name] = drawNumbers(rt, n, c.Name)
		}
		holes := drawNumbers(rt, n, "holes")
		null := func(i int) bool { return holes[i]%3 == 0 }
		text := func(v int64) string { return "ü" + string(rune('a'+uint64(v)%700)) }
		want := map[string][]any{}
		owner, position := int64(0), int64(0)
		for i := range n {
			// Lists of random lengths.
			if position++; i == 0 || numbers["owner"][i]%5 == 0 || position > 5000 {
				owner, position = int64(i)%97, 0
			}
			numbers["owner"][i], numbers["position"][i] = owner, position
			for _, c := range everyType.Columns {
				v := numbers[c.Name][i]
				var value any
				switch {
				case c.Nullable && null(i):
				case c.Type.ID() == arrow.INT32:
					value = int32(v)
				case c.Type.ID() == arrow.UINT32:
					value = uint32(v)
				case c.Type.ID() == arrow.UINT64:
					value = uint64(v)
				case c.Type.ID() == arrow.FLOAT64:
					value = float64(v) / 3
				case c.Type.ID() == arrow.STRING:
					value = text(v)
				default:
					value = v
				}
				if value == int32(-1) && c.Nullable || value == int64(-1) && c.Nullable {
					value = nil
				}
				want[c.Name] = append(want[c.Name], value)
			}
		}
		write := func(portion int) (dir string, content []byte) {
			d := create(t, rundir.Options{})
			w, err := newTableWriter(d, &everyType)
			if err != nil {
				rt.Fatal(err)
			}
			for from := 0; from < n; from += portion {
				to := min(n, from+portion)
				err := w.write(to-from, func(lo, hi int) {
					lo, hi = from+lo, from+hi
					i32 := func(name string, mark bool) (out []int32) {
						for i := lo; i < hi; i++ {
							if v := int32(numbers[name][i]); mark && null(i) {
								out = append(out, -1)
							} else {
								out = append(out, v)
							}
						}
						return out
					}
					i64 := func(name string, mark bool) (out []int64) {
						for i := lo; i < hi; i++ {
							if v := numbers[name][i]; mark && null(i) {
								out = append(out, -1)
							} else {
								out = append(out, v)
							}
						}
						return out
					}
					f64 := func(name string) (out []float64, has []bool) {
						for i := lo; i < hi; i++ {
							out, has = append(out, float64(numbers[name][i])/3), append(has, !null(i))
						}
						return out, has
					}
					w.i32(i32("node", false))
					w.i32Null(i32("i32_null", true))
					w.i64(i64("count", false))
					w.i64Null(i64("i64_null", true))
					w.i32(i32("u32", false))
					w.i64(i64("u64", false))
					times, _ := f64("gap_ms")
					w.f64(times)
					w.f64Has(f64("f64_null"))
					w.str(hi-lo, false, func(i int) (string, bool) { return text(numbers["text"][lo+i]), true })
					w.str(hi-lo, true, func(i int) (string, bool) { return text(numbers["text_null"][lo+i]), !null(lo + i) })
					owner, position := w.next(), w.next()
					for i := lo; i < hi; {
						from := i
						for i++; i < hi && numbers["position"][i] != 0; i++ {
						}
						owner.addRun(numbers["owner"][from], i-from)
						position.addCounter(int(numbers["position"][from]), i-from)
					}
				})
				if err != nil {
					rt.Fatal(err)
				}
			}
			if err := w.finish(); err != nil {
				rt.Fatal(err)
			}
			if err := d.Publish(w.out); err != nil {
				rt.Fatal(err)
			}
			content, err = os.ReadFile(filepath.Join(d.Path(), "passes.parquet"))
			if err != nil {
				rt.Fatal(err)
			}
			return d.Path(), content
		}
		dir, content := write(n)
		defer os.RemoveAll(dir)
		if got := readTable(t, dir, &everyType); !reflect.DeepEqual(got, want) {
			rt.Fatal(cmp.Diff(want, got))
		}
		// Lists that are cut into portions are the same lists.
		dir, again := write(rapid.IntRange(max(1, n/20), n).Draw(rt, "portion"))
		defer os.RemoveAll(dir)
		if !bytes.Equal(content, again) {
			rt.Fatal("other portions left other bytes")
		}
	})
}
