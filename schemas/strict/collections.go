package strict

import "strconv"

// List is a nonempty list of mappings of one form.
func List[T any](name string, dst *[]T, fields func(*T) *Object, doc string) *Field {
	f := &Field{name: name, doc: doc, want: "a nonempty list of mappings"}
	f.decode = func(d *decoder, path string, n *Node) {
		if n.Kind != ListKind || len(n.Items) == 0 {
			d.mismatch(path, n, f)
			return
		}
		*dst = make([]T, len(n.Items))
		for i, item := range n.Items {
			d.object(path+"["+strconv.Itoa(i)+"]", item, fields(&(*dst)[i]))
		}
	}
	f.schema = func() map[string]any {
		return map[string]any{"type": "array", "minItems": 1, "items": objectSchema(fields(new(T)))}
	}
	f.reset = func() { *dst = nil }
	return f
}

// Named is a mapping from names to mappings of one form.
func Named[T any](name string, dst *map[string]T, fields func(*T) *Object, doc string) *Field {
	f := &Field{name: name, doc: doc, want: "a mapping"}
	f.decode = func(d *decoder, path string, n *Node) {
		if n.Kind != MappingKind {
			d.mismatch(path, n, f)
			return
		}
		*dst = make(map[string]T, len(n.Members))
		for _, m := range n.Members {
			var v T
			d.object(join(path, m.Key), m.Value, fields(&v))
			(*dst)[m.Key] = v
		}
	}
	f.schema = func() map[string]any {
		return map[string]any{"type": "object", "additionalProperties": objectSchema(fields(new(T)))}
	}
	f.reset = func() { *dst = nil }
	return f
}
