package strict

import "strconv"

// Sections is a nonempty list of mappings of one form.
func Sections[T any](name string, dst *[]T, fields func(*T) *Object, doc string) *Field {
	f := &Field{name: name, doc: doc, want: "a nonempty list of mappings"}
	f.decode = func(d *decoder, path string, n *Node) {
		if n.Kind != ListKind || len(n.Items) == 0 {
			d.mismatch(path, n, f)
			return
		}
		*dst = make([]T, len(n.Items))
		for i, item := range n.Items {
			at := path + "[" + strconv.Itoa(i) + "]"
			if item.Kind != MappingKind {
				d.fail(at, item, "got %s, want a mapping", item.Describe())
				continue
			}
			d.object(at, item, fields(&(*dst)[i]))
		}
	}
	f.schema = func() map[string]any {
		return map[string]any{"type": "array", "minItems": 1, "items": objectSchema(fields(new(T)))}
	}
	f.reset = func() { *dst = nil }
	return f
}
