package strict

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// tree is a Node without its places: scalars as kind and text.
func tree(n *Node) any {
	switch n.Kind {
	case MappingKind:
		out := map[string]any{}
		for _, m := range n.Members {
			out[m.Key] = tree(m.Value)
		}
		return out
	case ListKind:
		out := []any{}
		for _, item := range n.Items {
			out = append(out, tree(item))
		}
		return out
	case IntKind, FloatKind:
		return "number " + strconv.FormatFloat(n.float(), 'g', -1, 64)
	}
	return fmt.Sprintf("%d %s", n.Kind, n.Text)
}

// value draws a JSON value.
func value(t *rapid.T, depth int) any {
	kinds := []string{"null", "bool", "int", "float", "text"}
	if depth > 0 {
		kinds = append(kinds, "mapping", "list")
	}
	text := rapid.StringMatching(`[ -~é€]{0,12}`)
	switch rapid.SampledFrom(kinds).Draw(t, "kind") {
	case "bool":
		return rapid.Bool().Draw(t, "bool")
	case "int":
		return rapid.Int64().Draw(t, "int")
	case "float":
		return rapid.Float64().Draw(t, "float")
	case "text":
		return text.Draw(t, "text")
	case "mapping":
		out := map[string]any{}
		for range rapid.IntRange(0, 4).Draw(t, "members") {
			out[text.Draw(t, "key")] = value(t, depth-1)
		}
		return out
	case "list":
		out := []any{}
		for range rapid.IntRange(0, 4).Draw(t, "items") {
			out = append(out, value(t, depth-1))
		}
		return out
	}
	return nil
}

// TestJSONIsYAML: a JSON document is the same tree, at the same places, to both readers.
func TestJSONIsYAML(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := value(t, 4)
		var text strings.Builder
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false) // YAML has no such escape
		if rapid.Bool().Draw(t, "indent") {
			encoder.SetIndent("", "  ")
		}
		if err := encoder.Encode(v); err != nil {
			t.Fatal(err)
		}
		fromJSON, problems := ReadJSON("a", []byte(text.String()))
		if len(problems) > 0 {
			t.Fatalf("JSON: %v\n%s", problems, &text)
		}
		fromYAML, problems := ReadYAML("a", []byte(text.String()))
		if len(problems) > 0 {
			t.Fatalf("YAML: %v\n%s", problems, &text)
		}
		if diff := cmp.Diff(tree(fromJSON), tree(fromYAML)); diff != "" {
			t.Fatalf("%s\n%s", diff, &text)
		}
		same(t, fromJSON, fromYAML, text.String())
	})
}

// TestMinusZero checks that the integer zero is one number in both languages, whatever its sign.
func TestMinusZero(t *testing.T) {
	for _, read := range []func(string, []byte) (*Node, Problems){ReadJSON, ReadYAML} {
		n, problems := read("a", []byte("-0"))
		if len(problems) > 0 || n.Kind != IntKind || n.Text != "0" {
			t.Errorf("-0 is %+v, %v; want the integer 0", n, problems)
		}
	}
}

// same compares places.
func same(t *rapid.T, a, b *Node, text string) {
	if a.Line != b.Line || a.Column != b.Column {
		t.Fatalf("JSON says %d:%d, YAML %d:%d for %s\n%s", a.Line, a.Column, b.Line, b.Column, a.Describe(), text)
	}
	for i := range a.Items {
		same(t, a.Items[i], b.Items[i], text)
	}
	for _, m := range a.Members {
		other := b.get(m.Key)
		if m.Line != other.Line || m.Column != other.Column {
			t.Fatalf("JSON says %d:%d, YAML %d:%d for the key %q\n%s", m.Line, m.Column, other.Line, other.Column, m.Key, text)
		}
		same(t, m.Value, other.Value, text)
	}
}

// TestScalars fixes what plain scalars of YAML mean.
func TestScalars(t *testing.T) {
	for text, want := range map[string]Node{
		"":                     {Kind: NullKind},
		"~":                    {Kind: NullKind},
		"NULL":                 {Kind: NullKind},
		"nul":                  {Kind: TextKind, Text: "nul"},
		"yes":                  {Kind: BoolKind, Text: "true"},
		"Off":                  {Kind: BoolKind, Text: "false"},
		"y":                    {Kind: TextKind, Text: "y"},
		"0":                    {Kind: IntKind, Text: "0"},
		"-0":                   {Kind: IntKind, Text: "0"},
		"+12":                  {Kind: IntKind, Text: "12"},
		"1_000":                {Kind: IntKind, Text: "1000"},
		"0x_1F":                {Kind: IntKind, Text: "31"},
		"-0b101":               {Kind: IntKind, Text: "-5"},
		"017":                  {Kind: IntKind, Text: "15"},
		"018":                  {Kind: TextKind, Text: "018"},
		"0o17":                 {Kind: TextKind, Text: "0o17"},
		"1:30":                 {Kind: IntKind, Text: "90"},
		"-1:00:05":             {Kind: IntKind, Text: "-3605"},
		"1:60":                 {Kind: TextKind, Text: "1:60"},
		"99999999999999999999": {Kind: IntKind, Text: "99999999999999999999"},
		"1.":                   {Kind: FloatKind, Text: "1."},
		".5":                   {Kind: FloatKind, Text: ".5"},
		"1e3":                  {Kind: FloatKind, Text: "1e3"},
		"-1_0.5E+2":            {Kind: FloatKind, Text: "-10.5E+2"},
		".":                    {Kind: TextKind, Text: "."},
		"e3":                   {Kind: TextKind, Text: "e3"},
		".inf":                 {Kind: FloatKind, Text: "inf"},
		"-.INF":                {Kind: FloatKind, Text: "-inf"},
		".NaN":                 {Kind: FloatKind, Text: "nan"},
		"inf":                  {Kind: TextKind, Text: "inf"},
		"2024-01-31":           {Kind: DateKind, Text: "2024-01-31"},
		"2024-01-31 10:00:00":  {Kind: DateKind, Text: "2024-01-31 10:00:00"},
		"h200_sxm":             {Kind: TextKind, Text: "h200_sxm"},
	} {
		var got Node
		resolvePlain(&got, text)
		if got.Kind != want.Kind || got.Text != want.Text {
			t.Errorf("%q: got %+v, want %+v", text, got, want)
		}
	}
}

func TestNearest(t *testing.T) {
	known := []string{"input_tokens", "output_tokens", "type", "turns"}
	for word, want := range map[string]string{
		"input_token": "input_tokens", "inputtokens": "input_tokens", "OUTPUT_TOKENS": "output_tokens", "tpye": "type",
		"turn": "turns", "x": "", "": "", "completely_else": "", strings.Repeat("type", 100): "",
	} {
		if got := Nearest(word, known); got != want {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
}

// TestHugeDocuments: what is too long or too deep is refused before it costs anything.
func TestHugeDocuments(t *testing.T) {
	bomb := "a0: &a0 [x]\n"
	for i := range 60 {
		bomb += fmt.Sprintf("a%d: &a%d [*a%d, *a%d, *a%d]\n", i+1, i+1, i, i, i)
	}
	merges := "m0: &m0 {k0: 0}\n"
	for i := range 600 {
		merges += fmt.Sprintf("m%d: &m%d {<<: *m%d, k%d: 0}\n", i+1, i+1, i, i+1)
	}
	for name, c := range map[string]struct{ text, want string }{
		"bytes":    {strings.Repeat("#", MaxYAMLBytes+1), "at most 262144 are read"},
		"tokens":   {strings.Repeat("a,", 20_000), ""}, // one plain scalar
		"list":     {"[" + strings.Repeat("a,", 20_000) + "]", "YAML tokens"},
		"brackets": {strings.Repeat("[", 10_000), "nested too deeply"},
		"braces":   {strings.Repeat("{a: ", 10_000), "YAML tokens"},
		"dashes":   {strings.Repeat("- ", 10_000), "nested too deeply"},
		"keys":     {strings.Repeat("? ", 10_000), "nested too deeply"},
		"columns":  {strings.Repeat("a: ", 5_000), "nested too deeply"},
		"anchors":  {strings.Repeat("&a ", 9_000), "nested too deeply"},
		"bomb":     {bomb, ""},
		"merges":   {merges, "merge keys copy more than"},
		"number":   {strings.Repeat("9", 10_000), ""},
	} {
		_, problems := ReadYAML("a", []byte(c.text))
		if c.want == "" {
			if len(problems) > 0 {
				t.Errorf("%s: %v", name, problems)
			}
			continue
		}
		if len(problems) == 0 || !strings.Contains(problems[0].Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, problems, c.want)
		}
	}
	for name, text := range map[string]string{
		"bytes": strings.Repeat(" ", MaxJSONBytes+1), "lists": strings.Repeat("[", 10_000), "mappings": strings.Repeat(`{"a":`, 10_000),
	} {
		if _, problems := ReadJSON("a", []byte(text)); len(problems) == 0 {
			t.Errorf("JSON %s is taken", name)
		}
	}
}

// TestManyProblems: a report is cut, and says so.
func TestManyProblems(t *testing.T) {
	var text strings.Builder
	for i := range 500 {
		fmt.Fprintf(&text, "k%d: 1\n", i)
	}
	root, problems := ReadYAML("a", []byte(text.String()))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	got := Decode(root, &Object{}).Problems()
	if last := got[len(got)-1].Error(); len(got) != maxProblems+1 || last != "a: 400 more problems are not shown" {
		t.Errorf("%d problems, the last one: %s", len(got), last)
	}
}

func FuzzReadYAML(f *testing.F) {
	for _, text := range []string{"a: &x {b: [1, 2.5, ~]}\nc: {<<: *x}\n", "- |\n a\n- >\n b\n- 'c'\n", "? a\n: b\n", "{a: b}", "a: !!str 1", "%YAML 1.1\n---\na"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		n, problems := ReadYAML("a", data)
		if (n == nil) == (len(problems) == 0) {
			t.Fatalf("a value and problems, or neither: %v %v", n, problems)
		}
	})
}

func FuzzReadJSON(f *testing.F) {
	for _, text := range []string{`{"a": [1, 2.5e3, null, true, "x\u00e9"]}`, `[[[]]]`, `"a"`, "{\"a\":1\n,\"a\":2}", "\ufeff1"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		n, problems := ReadJSON("a", data)
		if (n == nil) == (len(problems) == 0) {
			t.Fatalf("a value and problems, or neither: %v %v", n, problems)
		}
		if n != nil && n.Kind != NullKind && !json.Valid(data) && !strings.HasPrefix(string(data), "\ufeff") {
			t.Fatalf("not JSON: %q", data)
		}
	})
}
