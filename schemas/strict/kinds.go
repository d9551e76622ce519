package strict

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Integer is the type of a field that holds a whole number.
type Integer interface{ ~int64 | ~uint64 }

// Int is a field for a whole number. 1.0, "1" and true are refused.
func Int[T Integer](name string, dst *T, doc string) *Field {
	return intField(name, doc, func(v T) { *dst = v })
}

// OptionalInt is a whole number that may be left out; *dst is nil then.
func OptionalInt[T Integer](name string, dst **T, doc string) *Field {
	f := intField(name, doc, func(v T) { *dst = &v }).Nullable()
	f.reset = func() { *dst = nil }
	return f
}

func intField[T Integer](name, doc string, store func(T)) *Field {
	f := &Field{name: name, doc: doc, noun: "integer"}
	unsigned := ^T(0) > 0
	f.decode = func(d *decoder, path string, n *Node) {
		if n.Kind != IntKind {
			d.mismatch(path, n, f)
			return
		}
		v, err := parseInteger[T](n.Text, !unsigned)
		switch {
		case err != nil && f.inBounds(n.float()) && n.float() > 0:
			most := greatest(!unsigned)
			if f.limit != nil {
				most = number(*f.limit)
			}
			d.fail(path, n, "%s is too large; the greatest value is %s", n.Describe(), most)
		case err != nil || !f.inBounds(float64(v)):
			d.mismatch(path, n, f)
		case f.limit != nil && float64(v) > *f.limit:
			d.fail(path, n, "%s is too large; the greatest value is %s", n.Describe(), number(*f.limit))
		default:
			store(v)
		}
	}
	f.schema = func() map[string]any { return f.withWords(f.bounds(map[string]any{"type": "integer"})) }
	return f
}

func parseInteger[T Integer](text string, signed bool) (T, error) {
	if signed {
		v, err := strconv.ParseInt(text, 10, 64)
		return T(v), err
	}
	if text == "-0" {
		text = "0"
	}
	v, err := strconv.ParseUint(text, 10, 64)
	return T(v), err
}

func greatest(signed bool) string {
	if signed {
		return strconv.FormatInt(math.MaxInt64, 10)
	}
	return strconv.FormatUint(math.MaxUint64, 10)
}

// Float is a field for a finite number; whole numbers are fine, text and booleans are not.
func Float(name string, dst *float64, doc string) *Field {
	return floatField(name, doc, func(v float64) { *dst = v })
}

// OptionalFloat is a finite number that may be left out; *dst is nil then.
func OptionalFloat(name string, dst **float64, doc string) *Field {
	f := floatField(name, doc, func(v float64) { *dst = &v }).Nullable()
	f.reset = func() { *dst = nil }
	return f
}

func floatField(name, doc string, store func(float64)) *Field {
	f := &Field{name: name, doc: doc, noun: "number"}
	f.decode = func(d *decoder, path string, n *Node) {
		if n.Kind != IntKind && n.Kind != FloatKind {
			d.mismatch(path, n, f)
			return
		}
		v := n.float()
		switch {
		case math.IsNaN(v) || math.IsInf(v, 0):
			d.fail(path, n, "%s is not a finite number; want %s", n.Describe(), f.expectation())
		case !f.inBounds(v):
			d.mismatch(path, n, f)
		default:
			store(v)
		}
	}
	f.schema = func() map[string]any { return f.withWords(f.bounds(map[string]any{"type": "number"})) }
	return f
}

// Or lets a word stand in place of the number: set is called when it does.
func (f *Field) Or(word string, set func()) *Field {
	f.words = append(f.words, word)
	number := f.decode
	f.decode = func(d *decoder, path string, n *Node) {
		if n.Kind == TextKind && n.Text == word {
			set()
			return
		}
		number(d, path, n)
	}
	return f
}

// NullAs gives an explicit null a meaning of its own.
func (f *Field) NullAs(set func()) *Field { f.nullAs, f.null = true, set; return f }

// Default sets the value of a key that is not given. The value is stored by set and
// shown in documentation as v.
func (f *Field) Default(v any, set func()) *Field {
	f.def, f.reset = v, set
	return f
}

// DefaultInt is Int with a default.
func DefaultInt[T Integer](name string, dst *T, v T, doc string) *Field {
	return Int(name, dst, doc).Default(v, func() { *dst = v })
}

// DefaultFloat is Float with a default.
func DefaultFloat(name string, dst *float64, v float64, doc string) *Field {
	return Float(name, dst, doc).Default(v, func() { *dst = v })
}

// Flag is true or false (also yes, no, on and off in YAML), with a default.
func Flag(name string, dst *bool, v bool, doc string) *Field {
	f := &Field{name: name, doc: doc, want: "true or false"}
	f.decode = func(d *decoder, path string, n *Node) {
		if n.Kind != BoolKind {
			d.mismatch(path, n, f)
			return
		}
		*dst = n.Text == "true"
	}
	f.schema = func() map[string]any { return map[string]any{"type": "boolean"} }
	return f.Default(v, func() { *dst = v })
}

// String is a field for text that is not empty. Unquoted numbers and dates are refused,
// since 0.10 as a number would lose its zero.
func String(name string, dst *string, doc string) *Field {
	f := &Field{name: name, doc: doc, want: "text that is not empty"}
	f.decode = func(d *decoder, path string, n *Node) {
		switch {
		case n.Kind == TextKind && n.Text != "":
			*dst = n.Text
		case n.Kind == IntKind || n.Kind == FloatKind || n.Kind == BoolKind || n.Kind == DateKind:
			d.fail(path, n, "got %s, want text; put it in quotes", n.Describe())
		default:
			d.mismatch(path, n, f)
		}
	}
	f.schema = func() map[string]any { return map[string]any{"type": "string", "minLength": 1} }
	f.reset = func() { *dst = "" }
	return f
}

// Choice is one of a fixed set of words, with a default; the zero value of T as the
// default means that there is none.
func Choice[T ~string](name string, dst *T, v T, words []T, doc string) *Field {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = string(w)
	}
	f := &Field{name: name, doc: doc, want: "one of " + strings.Join(list, ", ")}
	if len(list) == 1 {
		f.want = list[0]
	}
	f.decode = func(d *decoder, path string, n *Node) {
		if n.Kind != TextKind || !slices.Contains(list, n.Text) {
			near := ""
			if n.Kind == TextKind && len(list) > 1 {
				near = suggestion(n.Text, list)
			}
			d.fail(path, n, "got %s, want %s%s", n.Describe(), f.expectation(), near)
			return
		}
		*dst = T(n.Text)
	}
	f.schema = func() map[string]any { return map[string]any{"enum": anys(list)} }
	f.tagValue = func() string { return string(*dst) }
	f.reset = func() { *dst = v }
	if v != "" {
		f.def = string(v)
	}
	return f
}

// Synonym lets one more spelling stand for a word of a Choice; it is not documented.
func (f *Field) Synonym(spelling, word string) *Field {
	choice := f.decode
	f.decode = func(d *decoder, path string, n *Node) {
		if n.Kind == TextKind && n.Text == spelling {
			same := *n
			same.Text = word
			n = &same
		}
		choice(d, path, n)
	}
	return f
}

// Refuse adds a hint to the message about a word that a Choice does not have.
func (f *Field) Refuse(word, hint string) *Field {
	choice := f.decode
	f.decode = func(d *decoder, path string, n *Node) {
		if n.Kind == TextKind && n.Text == word {
			d.fail(path, n, "got %s, want %s; %s", n.Describe(), f.expectation(), hint)
			return
		}
		choice(d, path, n)
	}
	return f
}

// Strings is a nonempty list of nonempty texts.
func Strings(name string, dst *[]string, doc string) *Field {
	f := &Field{name: name, doc: doc, want: "a nonempty list of texts"}
	f.decode = func(d *decoder, path string, n *Node) {
		if n.Kind != ListKind || len(n.Items) == 0 {
			d.mismatch(path, n, f)
			return
		}
		*dst = nil
		for i, item := range n.Items {
			if item.Kind != TextKind || item.Text == "" {
				d.fail(path+"["+strconv.Itoa(i)+"]", item, "got %s, want text that is not empty", item.Describe())
				continue
			}
			*dst = append(*dst, item.Text)
		}
	}
	f.schema = func() map[string]any {
		return map[string]any{"type": "array", "minItems": 1, "items": map[string]any{"type": "string", "minLength": 1}}
	}
	f.reset = func() { *dst = nil }
	return f
}

// Section is a mapping that may be left out; *dst is nil then.
func Section[T any](name string, dst **T, fields func(*T) *Object, doc string) *Field {
	f := &Field{name: name, doc: doc, want: "a mapping"}
	f.object = func() *Object { return fields(new(T)) }
	f.decode = func(d *decoder, path string, n *Node) {
		v := new(T)
		*dst = v // kept after problems too, so that later checks see what is right
		d.object(path, n, fields(v))
	}
	f.reset = func() { *dst = nil }
	return f
}

// Group is a mapping that is always there: leaving it out means an empty one.
func Group[T any](name string, dst *T, fields func(*T) *Object, doc string) *Field {
	f := &Field{name: name, doc: doc, want: "a mapping"}
	f.object = func() *Object { return fields(new(T)) }
	f.decode = func(d *decoder, path string, n *Node) { d.object(path, n, fields(dst)) }
	f.reset = func() { fields(dst).Reset() }
	return f
}

// Raw is a value that the table does not describe; *dst is nil when it is not given.
func Raw(name string, dst **Node, want, doc string) *Field {
	f := &Field{name: name, doc: doc, want: want}
	f.decode = func(_ *decoder, _ string, n *Node) { *dst = n }
	f.reset = func() { *dst = nil }
	f.schema = func() map[string]any { return map[string]any{} }
	return f
}

// OptionalFlag is true or false, or left out; *dst is nil then. An explicit null is refused.
func OptionalFlag(name string, dst **bool, doc string) *Field {
	f := &Field{name: name, doc: doc, want: "true or false"}
	f.decode = func(d *decoder, path string, n *Node) {
		if n.Kind != BoolKind {
			d.mismatch(path, n, f)
			return
		}
		v := n.Text == "true"
		*dst = &v
	}
	f.schema = func() map[string]any { return map[string]any{"type": "boolean"} }
	f.reset = func() { *dst = nil }
	return f
}

// OptionalString is text, empty or not, that may be left out; *dst is nil then.
func OptionalString(name string, dst **string, doc string) *Field {
	f := &Field{name: name, doc: doc, want: "text"}
	f.decode = func(d *decoder, path string, n *Node) {
		if n.Kind != TextKind {
			d.mismatch(path, n, f)
			return
		}
		v := n.Text
		*dst = &v
	}
	f.schema = func() map[string]any { return map[string]any{"type": "string"} }
	f.reset = func() { *dst = nil }
	return f.Nullable()
}
