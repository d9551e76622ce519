package strict

import "strconv"

// List is a nonempty list of mappings of one form.
func List[T any](name string, dst *[]T, fields func(*T) *Object, doc string) *Field {
	return list(name, dst, fields, doc, 1, (*decoder).object)
}

// Items is a List that may be empty.
func Items[T any](name string, dst *[]T, fields func(*T) *Object, doc string) *Field {
	f := list(name, dst, fields, doc, 0, (*decoder).object)
	f.want = "a list of mappings"
	return f
}

// Sections is a List whose message about an item that is no mapping leaves out the keys.
func Sections[T any](name string, dst *[]T, fields func(*T) *Object, doc string) *Field {
	return list(name, dst, fields, doc, 1, func(d *decoder, path string, item *Node, o *Object) {
		if item.Kind != MappingKind {
			d.fail(path, item, "got %s, want a mapping", item.Describe())
			return
		}
		d.object(path, item, o)
	})
}

func list[T any](name string, dst *[]T, fields func(*T) *Object, doc string, least int, decode func(*decoder, string, *Node, *Object)) *Field {
	f := &Field{name: name, doc: doc, want: "a nonempty list of mappings"}
	f.decode = func(d *decoder, path string, n *Node) {
		if n.Kind != ListKind || len(n.Items) < least {
			d.mismatch(path, n, f)
			return
		}
		*dst = make([]T, len(n.Items))
		for i, item := range n.Items {
			decode(d, path+"["+strconv.Itoa(i)+"]", item, fields(&(*dst)[i]))
		}
	}
	f.schema = func() map[string]any {
		return map[string]any{"type": "array", "minItems": least, "items": objectSchema(fields(new(T)))}
	}
	f.reset = func() { *dst = nil }
	return f
}

// Named is a mapping from names to mappings of one form.
func Named[T any](name string, dst *map[string]T, fields func(*T) *Object, doc string) *Field {
	f := mappings(name, dst, fields, doc, func(key string) (string, bool) { return key, true })
	f.schema = func() map[string]any {
		return map[string]any{"type": "object", "additionalProperties": objectSchema(fields(new(T)))}
	}
	return f
}

// Map is a mapping from whole numbers, written as text keys, to mappings of one form.
func Map[T any](name string, dst *map[int64]T, fields func(*T) *Object, doc string) *Field {
	f := mappings(name, dst, fields, doc, func(key string) (int64, bool) {
		n, err := strconv.ParseInt(key, 10, 64)
		return n, err == nil && n >= 0 && strconv.FormatInt(n, 10) == key
	})
	f.schema = func() map[string]any {
		return map[string]any{
			"type": "object", "additionalProperties": false,
			"patternProperties": map[string]any{"^(0|[1-9][0-9]*)$": objectSchema(fields(new(T)))},
		}
	}
	return f
}

// mappings is a mapping to mappings of one form; only whole numbers are keys that can be wrong.
func mappings[K comparable, T any](name string, dst *map[K]T, fields func(*T) *Object, doc string, keyOf func(string) (K, bool)) *Field {
	f := &Field{name: name, doc: doc, want: "a mapping"}
	f.decode = func(d *decoder, path string, n *Node) {
		if n.Kind != MappingKind {
			d.mismatch(path, n, f)
			return
		}
		*dst = make(map[K]T, len(n.Members))
		for _, m := range n.Members {
			key, ok := keyOf(m.Key)
			if !ok {
				d.failKey(join(path, m.Key), n, m, "want a whole number of at least 0 as the key")
				continue
			}
			var v T
			d.object(join(path, m.Key), m.Value, fields(&v))
			(*dst)[key] = v
		}
	}
	f.reset = func() { *dst = nil }
	return f
}
