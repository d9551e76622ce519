package parity

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/big"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Decode reads one JSON value and keeps its numbers as they are written, so that integers
// of any size stay exact: objects are map[string]any, lists []any, numbers json.Number.
func Decode(r io.Reader) (any, error) {
	d := json.NewDecoder(r)
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("more than one JSON value")
	}
	return v, nil
}

// ReadFile reads a file that holds one JSON object. Errors name the file.
func ReadFile(path string) (map[string]any, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	v, err := Decode(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s: want one JSON object", path)
	}
	return object, nil
}

// number is a JSON number by its value: an integer literal is exact, every other literal
// is the nearest float64.
type number struct {
	whole *big.Int // nil for a literal with a fraction or an exponent
	float float64
}

func parseNumber(n json.Number) number {
	s := n.String()
	if !strings.ContainsAny(s, ".eE") {
		if i, ok := new(big.Int).SetString(s, 10); ok {
			f, _ := new(big.Float).SetInt(i).Float64()
			return number{whole: i, float: f}
		}
	}
	f, _ := strconv.ParseFloat(s, 64) // out of range gives an infinity, which equals only itself
	return number{float: f}
}

// equal compares values, not spellings: 2 and 2.0 are equal.
func (a number) equal(b number) bool {
	switch {
	case a.whole != nil && b.whole != nil:
		return a.whole.Cmp(b.whole) == 0
	case a.whole != nil:
		return wholeEqual(a.whole, b.float)
	case b.whole != nil:
		return wholeEqual(b.whole, a.float)
	}
	return a.float == b.float
}

func wholeEqual(i *big.Int, f float64) bool {
	if math.IsInf(f, 0) || f != math.Trunc(f) {
		return false
	}
	whole, _ := big.NewFloat(f).Int(nil)
	return whole.Cmp(i) == 0
}

// near tells whether two numbers differ by at most rel times the larger one, or by at most
// noise.
func (a number) near(b number, rel, noise float64) bool {
	if math.IsInf(a.float, 0) || math.IsInf(b.float, 0) {
		return false
	}
	return math.Abs(a.float-b.float) <= max(rel*max(math.Abs(a.float), math.Abs(b.float)), noise)
}

// appendCanonical appends a text of the value that is equal for equal values. Members that
// are ignored or empty are left out: they may stand on one side only.
func appendCanonical(out []byte, v any) []byte {
	switch v := v.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k, member := range v {
			if !ignored[k] && !empty(member) {
				keys = append(keys, k)
			}
		}
		slices.Sort(keys)
		out = append(out, '{')
		for _, k := range keys {
			out = append(strconv.AppendQuote(out, k), ':')
			out = append(appendCanonical(out, v[k]), ',')
		}
		return append(out, '}')
	case []any:
		out = append(out, '[')
		for _, element := range v {
			out = append(appendCanonical(out, element), ',')
		}
		return append(out, ']')
	case json.Number:
		n := parseNumber(v)
		if n.whole == nil && !math.IsInf(n.float, 0) && n.float == math.Trunc(n.float) {
			n.whole, _ = big.NewFloat(n.float).Int(nil)
		}
		if n.whole != nil {
			return n.whole.Append(out, 10)
		}
		return strconv.AppendFloat(out, n.float, 'g', -1, 64)
	case string:
		return strconv.AppendQuote(out, v)
	}
	return fmt.Append(out, v)
}

// empty tells whether a value says no more than a missing one.
func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// brief is a value as a short text for messages.
func brief(v any) string {
	if n, ok := v.(json.Number); ok {
		return n.String()
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if len(text) > 60 {
		return string(text[:57]) + "..."
	}
	return string(text)
}
