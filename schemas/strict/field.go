package strict

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Object is the table of the keys that a mapping accepts.
type Object struct {
	// Doc says in a line what the mapping is.
	Doc string
	// Fields are the keys, in the order in which documentation lists them.
	Fields []*Field
	// Tag names the field (a Choice) whose value selects which other fields apply: those
	// marked with For take part only under the tags they name. Empty: all apply.
	Tag string
	// Hints says, for keys that the table does not have, what to do instead.
	Hints map[string]string
	// Open mappings accept and ignore keys that the table does not have.
	Open bool
}

// Field is one key of an Object: its rules and the place where its value goes. Make one
// with Int, Float, Bool, String, Choice and so on, and narrow it with the methods, which
// return the field itself.
type Field struct {
	name, doc string
	want      string   // what a valid value is, for messages
	tags      []string // tags of the object under which the field applies; nil for all
	tagValue  func() string

	required, nullable, nullAs bool

	def    any    // default, for documentation; nil when there is none
	reset  func() // stores the default
	null   func() // stores what an explicit null means, with nullAs
	decode func(d *decoder, path string, n *Node)
	object func() *Object // the table of a mapping, bound to nothing in particular
	schema func() map[string]any

	// Bounds of numbers.
	low, high *float64
	limit     *float64 // like high, but of this program rather than of the matter
	lowOpen   bool
	words     []string
	noun      string
}

// Name is the key.
func (f *Field) Name() string { return f.name }

// Required makes a missing key a problem (under the tags of For, if any).
func (f *Field) Required() *Field { f.required = true; return f }

// Nullable makes an explicit null mean the same as leaving the key out.
func (f *Field) Nullable() *Field { f.nullable = true; return f }

// For restricts the field to some values of the object's tag.
func (f *Field) For(tags ...string) *Field { f.tags = tags; return f }

// Min sets the smallest value of a number.
func (f *Field) Min(v float64) *Field { f.low = &v; return f }

// Above sets a bound that a number must exceed.
func (f *Field) Above(v float64) *Field { f.low, f.lowOpen = &v, true; return f }

// Max sets the greatest value of a number.
func (f *Field) Max(v float64) *Field { f.high = &v; return f }

// Limit sets the greatest value that this program can hold; messages mention it only when
// a value is above it.
func (f *Field) Limit(v float64) *Field { f.limit = &v; return f }

// Positive is Min(1) for a whole number.
func (f *Field) Positive() *Field { return f.Min(1) }

// appliesTo reports whether the field takes part under the tag.
func (f *Field) appliesTo(tag string) bool {
	if f.tags == nil || tag == "" {
		return true
	}
	for _, t := range f.tags {
		if t == tag {
			return true
		}
	}
	return false
}

// expectation is what a valid value is, in words.
func (f *Field) expectation() string {
	if f.want != "" {
		return f.want
	}
	want := f.noun
	article := "a "
	if strings.HasPrefix(want, "i") {
		article = "an "
	}
	switch {
	case f.noun == "integer" && f.low != nil && *f.low == 1 && f.high == nil:
		want = "a positive integer"
	case f.low != nil && f.high != nil && f.lowOpen:
		want = fmt.Sprintf("%s%s above %s, at most %s", article, want, number(*f.low), number(*f.high))
	case f.low != nil && f.high != nil:
		want = fmt.Sprintf("%s%s from %s to %s", article, want, number(*f.low), number(*f.high))
	case f.low != nil && f.lowOpen:
		want = fmt.Sprintf("%s%s above %s", article, want, number(*f.low))
	case f.low != nil:
		want = fmt.Sprintf("%s%s of at least %s", article, want, number(*f.low))
	case f.high != nil:
		want = fmt.Sprintf("%s%s of at most %s", article, want, number(*f.high))
	default:
		want = article + want
	}
	for _, w := range f.words {
		want += " or " + w
	}
	if f.nullAs {
		want += " or null"
	}
	return want
}

// number prints a bound: whole numbers without an exponent.
func number(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
		return strconv.FormatInt(int64(v), 10)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// inBounds reports whether a number satisfies the field's bounds; NaN does not.
func (f *Field) inBounds(v float64) bool {
	if math.IsNaN(v) {
		return false
	}
	if f.low != nil && (v < *f.low || f.lowOpen && v == *f.low) {
		return false
	}
	return f.high == nil || v <= *f.high
}

// bounds adds the field's bounds to a schema.
func (f *Field) bounds(s map[string]any) map[string]any {
	if f.low != nil && f.lowOpen {
		s["exclusiveMinimum"] = *f.low
	} else if f.low != nil {
		s["minimum"] = *f.low
	}
	if f.high != nil {
		s["maximum"] = *f.high
	} else if f.limit != nil {
		s["maximum"] = *f.limit
	}
	return s
}

// withWords adds the words a number may be replaced with to a schema.
func (f *Field) withWords(s map[string]any) map[string]any {
	if len(f.words) == 0 {
		return s
	}
	return map[string]any{"anyOf": []any{s, map[string]any{"enum": anys(f.words)}}}
}

func anys(words []string) []any {
	out := make([]any, len(words))
	for i, w := range words {
		out[i] = w
	}
	return out
}
