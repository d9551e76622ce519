package strict

import (
	"slices"
	"strings"
)

// Override applies one PATH=VALUE argument to a document and returns the changed one;
// the given one is not touched. The path is dot-separated keys that obj knows, whatever
// the document holds; the value is YAML and replaces what is there, a mapping as a
// whole; null removes a mapping that may be left out. The nodes of the value name the
// argument in problems; ordinal says which argument it is, from 1.
func Override(root *Node, obj *Object, argument string, ordinal int) (*Node, Problems) {
	s := source{file: "--set " + shortened(argument), order: ordinal}
	fail := func(path, format string, args ...any) (*Node, Problems) {
		p := s.problem(0, 0, format, args...)
		p.Path = path
		return root, Problems{p}
	}
	target, text, found := strings.Cut(argument, "=")
	if !found {
		return fail("", "want PATH=VALUE, with the value in YAML")
	}
	target = strings.TrimSpace(target)
	if strings.ContainsAny(target, "[]") {
		return fail("", "a path has no list indexes; set the whole list")
	}
	keys := strings.Split(target, ".")
	path := ""
	var field *Field
	for i, key := range keys {
		if key == "" {
			return fail(path, "the path %s has an empty part; want keys separated by dots", quoted(target))
		}
		if i > 0 {
			if field.object == nil {
				return fail(path, "is not a mapping; there is nothing below it")
			}
			obj = field.object()
		}
		path = join(path, key)
		if field = obj.field(key); field == nil && obj.Hints[key] != "" {
			return fail(path, "%s", obj.Hints[key])
		} else if field == nil {
			return fail(path, "%s", unknownKey(key, obj.names("")))
		}
	}
	value, problems := s.readYAML([]byte(text))
	if len(problems) > 0 {
		for i := range problems { // places inside an argument help nobody
			problems[i].Line, problems[i].Column, problems[i].Path = 0, 0, path
		}
		return root, problems
	}
	withoutPlaces(value, map[*Node]bool{})
	remove := value.Kind == NullKind && field.object != nil && !field.required
	if remove {
		value = nil
	}
	return set(root, keys, value, s), nil
}

// withoutPlaces clears the positions of a value that came from an argument.
func withoutPlaces(n *Node, seen map[*Node]bool) {
	if seen[n] {
		return
	}
	seen[n] = true
	n.Line, n.Column = 0, 0
	for i := range n.Members {
		n.Members[i].Line, n.Members[i].Column = 0, 0
		withoutPlaces(n.Members[i].Value, seen)
	}
	for _, item := range n.Items {
		withoutPlaces(item, seen)
	}
}

// set is a copy of n with the value at the keys replaced, or removed when it is nil.
// Mappings on the way are made; anything else that is in the way stays and is found wrong later.
func set(n *Node, keys []string, value *Node, s source) *Node {
	if len(keys) == 0 {
		return value
	}
	if n == nil || n.Kind == NullKind {
		if value == nil {
			return n
		}
		n = &Node{Kind: MappingKind, file: s.file, order: s.order}
	}
	if n.Kind != MappingKind {
		return n
	}
	out := *n
	out.Members = slices.Clone(n.Members)
	at := slices.IndexFunc(out.Members, func(m Member) bool { return m.Key == keys[0] })
	switch {
	case at < 0 && value == nil:
	case at < 0:
		out.Members = append(out.Members, Member{Key: keys[0], Value: set(nil, keys[1:], value, s)})
	default:
		changed := set(out.Members[at].Value, keys[1:], value, s)
		if changed == nil {
			out.Members = slices.Delete(out.Members, at, at+1)
			break
		}
		out.Members[at].Value = changed
		if len(keys) == 1 {
			out.Members[at].Line, out.Members[at].Column = 0, 0
		}
	}
	return &out
}
