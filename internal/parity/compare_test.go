package parity

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// reports are the shipped reports of the reference that are no refusals.
func reports(t *testing.T) []*Case {
	t.Helper()
	cases, err := Find(filepath.Join("..", "..", "testdata", "golden"))
	if err != nil {
		t.Fatal(err)
	}
	cases = slices.DeleteFunc(cases, func(c *Case) bool {
		expected, err := c.Expected()
		return err != nil || expected["error"] != nil || !Captured(expected)
	})
	if len(cases) < 50 {
		t.Fatalf("only %d shipped reports", len(cases))
	}
	return cases
}

func expectedOf(t *testing.T, c *Case) map[string]any {
	t.Helper()
	expected, err := c.Expected()
	if err != nil {
		t.Fatal(err)
	}
	return expected
}

// clone copies a JSON value.
func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := maps.Clone(v)
		for k := range out {
			out[k] = clone(out[k])
		}
		return out
	case []any:
		out := slices.Clone(v)
		for i := range out {
			out[i] = clone(out[i])
		}
		return out
	}
	return v
}

// leaf is a place in a JSON value that holds no object and no list.
type leaf struct {
	path string
	key  string
	get  func() any
	set  func(any)
	// remove takes the key away; nil for an element of a list.
	remove func()
}

func leaves(path string, v any) []leaf {
	var out []leaf
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			inner := path + "." + k
			switch v[k].(type) {
			case map[string]any, []any:
				out = append(out, leaves(inner, v[k])...)
			default:
				out = append(out, leaf{inner, k, func() any { return v[k] }, func(to any) { v[k] = to }, func() { delete(v, k) }})
			}
		}
	case []any:
		for i := range v {
			inner := fmt.Sprintf("%s[%d]", path, i)
			switch v[i].(type) {
			case map[string]any, []any:
				out = append(out, leaves(inner, v[i])...)
			default:
				out = append(out, leaf{inner, "", func() any { return v[i] }, func(to any) { v[i] = to }, nil})
			}
		}
	}
	return out
}

func literal(f float64) json.Number {
	text, err := json.Marshal(f)
	if err != nil {
		panic(err)
	}
	if !strings.ContainsAny(string(text), ".e") {
		text = append(text, ".0"...)
	}
	return json.Number(text)
}

// mutation is a change of one leaf and whether it must be found.
type mutation struct {
	what  string
	apply func(l leaf)
	found bool
}

// mutations are changes of a leaf on either side of each tolerance.
func mutations(l leaf) []mutation {
	set := func(what string, to any, found bool) mutation {
		return mutation{what, func(l leaf) { l.set(to) }, found && !ignored[l.key]}
	}
	var out []mutation
	switch v := l.get().(type) {
	case json.Number:
		n := parseNumber(v)
		out = append(out, set("null", nil, true), set("text", v.String(), true))
		if n.whole != nil {
			out = append(out, set("one more", json.Number(fmt.Sprint(n.whole.Int64()+1)), n.whole.Int64() < 1e8 || !strings.HasPrefix(l.path, "summary")))
			break
		}
		if strings.HasPrefix(l.path, "per_request") {
			out = append(out, set("one bit more", literal(math.Nextafter(n.float, math.Inf(1))), true))
			out = append(out, set("one bit less", literal(math.Nextafter(n.float, math.Inf(-1))), true))
			break
		}
		tolerance := toleranceOf(l.path)
		far := math.Abs(n.float) * tolerance * 1.5
		out = append(out, set("inside the tolerance", literal(n.float*(1+0.8*tolerance)), false), set("outside", literal(n.float+max(far, 2e-9)), true))
	case string:
		out = append(out, set("other text", v+"x", true), set("null", nil, true))
	case bool:
		out = append(out, set("negated", !v, true))
	case nil:
		out = append(out, set("a number", json.Number("17"), true))
	}
	if l.remove != nil {
		out = append(out, mutation{"removed", func(l leaf) { l.remove() }, !ignored[l.key] && !empty(l.get())})
	}
	return out
}

// TestCompareFindsEveryChange changes single values of reports and looks whether the
// comparison says so, and only then.
func TestCompareFindsEveryChange(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for i, c := range reports(t) {
		if i%12 != 0 {
			continue
		}
		t.Run(c.ID(), func(t *testing.T) {
			expected := expectedOf(t, c)
			if found := Compare(expected, expected); len(found) > 0 {
				t.Fatalf("the report differs from itself: %v", found)
			}
			count := len(compared(expected))
			for range 100 {
				prediction := clone(expected).(map[string]any)
				l := compared(prediction)[random.IntN(count)]
				all := mutations(l)
				m := all[random.IntN(len(all))]
				before := l.get()
				m.apply(l)
				if found := Compare(expected, prediction); len(found) > 0 != m.found {
					t.Errorf("%s was %v, changed to %s: want it found: %v, got %v", l.path, before, m.what, m.found, found)
				}
			}
		})
	}
}

// compared lists the leaves of a report that Compare looks at.
func compared(report map[string]any) []leaf {
	return append(leaves("summary", report["summary"]), leaves("per_request", report["per_request"])...)
}

// TestCompareAllows checks what may differ: the order of records, keys of our own, and the
// number of records only when they are not compared.
func TestCompareAllows(t *testing.T) {
	for _, c := range reports(t) {
		expected := expectedOf(t, c)
		prediction := clone(expected).(map[string]any)
		records := prediction["per_request"].([]any)
		slices.Reverse(records)
		for i, r := range records {
			record := r.(map[string]any)
			record["own_key"] = json.Number(fmt.Sprint(i))
			for _, a := range record["admission_history"].([]any) {
				a.(map[string]any)["own_inner_key"] = json.Number(fmt.Sprint(-i))
			}
		}
		prediction["summary"].(map[string]any)["own_key"] = "text"
		if found := Compare(expected, prediction); len(found) > 0 {
			t.Errorf("%s: other order and own keys: %v", c.ID(), found)
		}
		if len(records) == 0 {
			continue
		}
		prediction["per_request"] = records[1:]
		if found := Compare(expected, prediction); len(found) != 1 {
			t.Errorf("%s: a record fewer: want one difference, got %v", c.ID(), found)
		}
		prediction["per_request"] = nil
		if found := Compare(expected, prediction); len(found) != 1 {
			t.Errorf("%s: no records: want one difference, got %v", c.ID(), found)
		}
	}
}

func TestCompareNeedsAReport(t *testing.T) {
	if found := Compare(map[string]any{}, map[string]any{}); len(found) == 0 {
		t.Error("a reference's report without a summary: want a difference, got none")
	}
}

func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		a, b  json.Number
		equal bool
	}{
		{"2", "2.0", true},
		{"2", "20e-1", true},
		{"0", "-0.0", true},
		{"18446744073709551615", "18446744073709551615", true},
		{"18446744073709551615", "18446744073709551614", false},
		{"9007199254740993", "9007199254740992.0", false},
		{"9007199254740992", "9007199254740992.0", true},
		{"0.1", "0.1000000000000000055511151231257827", true},
		{"0.1", "0.10000000000000002", false},
		{"1e400", "1e300", false},
		{"1", "1e400", false},
	} {
		if got := parseNumber(c.a).equal(parseNumber(c.b)); got != c.equal {
			t.Errorf("%s equal to %s: want %v, got %v", c.a, c.b, c.equal, got)
		}
		same := string(appendCanonical(nil, c.a)) == string(appendCanonical(nil, c.b))
		if c.a != "0" && same != c.equal {
			t.Errorf("%s and %s have the same canonical text: want %v, got %v", c.a, c.b, c.equal, same)
		}
	}
}
