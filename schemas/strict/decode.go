package strict

import (
	"fmt"
	"strconv"
	"strings"
)

// maxProblems is how many problems of one document are reported; a document with more
// gets a last line that says so.
const maxProblems = 100

// Report collects the problems of one document while it is decoded and checked.
type Report struct {
	root     *Node
	problems Problems
	dropped  int
}

// Decode stores the document in the places that obj is bound to: values that are given,
// defaults for the rest. Everything that breaks the table's rules is in the report.
func Decode(root *Node, obj *Object) *Report {
	d := &decoder{Report: &Report{root: root}}
	d.object("", root, obj)
	return d.Report
}

// Problems is everything reported so far, in order of position.
func (r *Report) Problems() Problems {
	out := r.problems.sorted()
	if r.dropped > 0 {
		out = append(out, Problem{File: r.root.file, Message: fmt.Sprintf("%d more problems are not shown", r.dropped)})
	}
	return out
}

// Include adds problems that were found before the document was decoded.
func (r *Report) Include(ps Problems) {
	for _, p := range ps {
		r.add(p)
	}
}

// Has reports whether the document gives a value, other than null, for the path.
func (r *Report) Has(path string) bool {
	n := r.root
	for key := range strings.SplitSeq(path, ".") {
		m := n.get(key)
		if m == nil {
			return false
		}
		n = m.Value
	}
	return n.Kind != NullKind
}

// Given reports whether the document has the key, with null or any other value.
func (r *Report) Given(key string) bool { return r.root.get(key) != nil }

// OK reports whether nothing was reported at, under or around any of the paths, so that a
// check that depends on them makes sense.
func (r *Report) OK(paths ...string) bool {
	for _, path := range paths {
		for i := range r.problems {
			p := r.problems[i].Path
			if r.problems[i].beside {
				continue
			}
			if p == path || path == "" || within(p, path) {
				return false
			}
			if within(path, p) { // about an enclosing mapping, hence about all of it
				return false
			}
		}
	}
	return true
}

// within reports whether path lies under outer.
func within(path, outer string) bool {
	return len(path) > len(outer) && strings.HasPrefix(path, outer) && (path[len(outer)] == '.' || path[len(outer)] == '[')
}

// Fail reports a problem with the value at the path, at its key's place or, when it is
// not given, at the nearest enclosing key that is.
func (r *Report) Fail(path, format string, args ...any) {
	n, line, column := r.root, r.root.Line, r.root.Column
	for key := range strings.SplitSeq(path, ".") {
		key, index, listed := strings.Cut(key, "[")
		m := n.get(key)
		if m == nil {
			break
		}
		n, line, column = m.Value, m.Line, m.Column
		if i, err := strconv.Atoi(strings.TrimSuffix(index, "]")); listed && err == nil && i < len(n.Items) {
			n = n.Items[i]
			line, column = n.Line, n.Column
		}
	}
	r.add(Problem{File: n.file, Line: line, Column: column, Path: path, Message: fmt.Sprintf(format, args...), order: n.order})
}

func (r *Report) add(p Problem) {
	if len(r.problems) >= maxProblems {
		r.dropped++
		return
	}
	r.problems = append(r.problems, p)
}

// decoder walks a document along an Object.
type decoder struct{ *Report }

func (d *decoder) fail(path string, n *Node, format string, args ...any) {
	d.add(Problem{File: n.file, Line: n.Line, Column: n.Column, Path: path, Message: fmt.Sprintf(format, args...), order: n.order})
}

// failKey reports a problem at a key of the mapping n.
func (d *decoder) failKey(path string, n *Node, m Member, format string, args ...any) {
	at := *n
	at.Line, at.Column = m.Line, m.Column
	if m.Value.order != n.order {
		at = *m.Value
	}
	d.add(Problem{File: at.file, Line: at.Line, Column: at.Column, Path: path, Message: fmt.Sprintf(format, args...), order: at.order, beside: true})
}

func (d *decoder) mismatch(path string, n *Node, f *Field) {
	d.fail(path, n, "got %s, want %s", n.Describe(), f.expectation())
}

// object decodes a mapping.
func (d *decoder) object(path string, n *Node, obj *Object) {
	obj.Reset()
	if n.Kind != MappingKind {
		d.fail(path, n, "got %s, want a mapping%s", n.Describe(), obj.withKeys())
		return
	}
	tag, tagOK := "", true
	if obj.Tag != "" {
		f := obj.field(obj.Tag)
		if m := n.get(obj.Tag); m != nil {
			before := len(d.problems) + d.dropped
			d.value(join(path, obj.Tag), f, m.Value)
			tagOK = len(d.problems)+d.dropped == before
		} else if f.required {
			tagOK = false // reported below
		}
		if tag = f.tagValue(); !tagOK {
			tag = ""
		}
		for _, other := range obj.Fields { // a table inside may depend on the tag
			if other != f && other.reset != nil {
				other.reset()
			}
		}
	}
	for _, m := range n.Members {
		f := obj.field(m.Key)
		switch {
		case f == nil && obj.Open:
		case f == nil && obj.Hints[m.Key] != "":
			d.failKey(join(path, m.Key), n, m, "%s", obj.Hints[m.Key])
		case f == nil:
			d.failKey(join(path, m.Key), n, m, "%s", unknownKey(m.Key, obj.names(tag)))
		case f.name == obj.Tag:
		case !f.appliesTo(tag):
			if m.Value.Kind == NullKind {
				continue // as the reference, which takes null for "not given" here
			}
			d.failKey(join(path, m.Key), n, m, "not allowed with %s: %s, only with %s; allowed: %s",
				obj.Tag, tag, strings.Join(f.tags, ", "), obj.keys(tag))
		default:
			d.value(join(path, m.Key), f, m.Value)
		}
	}
	for _, f := range obj.Fields {
		if f.required && f.appliesTo(tag) && (tagOK || f.tags == nil) && n.get(f.name) == nil {
			with := ""
			if f.tags != nil {
				with = " with " + obj.Tag + ": " + tag
			}
			d.fail(join(path, f.name), n, "required key is missing%s; want %s", with, f.expectation())
		}
	}
}

// value decodes one value, null included.
func (d *decoder) value(path string, f *Field, n *Node) {
	if n.Kind == NullKind {
		switch {
		case f.nullAs:
			f.null()
			return
		case f.nullable:
			return
		}
	}
	f.decode(d, path, n)
}

// Reset stores every field's default where the table is bound to.
func (o *Object) Reset() {
	for _, f := range o.Fields {
		if f.reset != nil {
			f.reset()
		}
	}
}

// field is the field with the name, nil when there is none.
func (o *Object) field(name string) *Field {
	for _, f := range o.Fields {
		if f.name == name {
			return f
		}
	}
	return nil
}

// names lists the keys that apply under the tag.
func (o *Object) names(tag string) []string {
	var out []string
	for _, f := range o.Fields {
		if f.appliesTo(tag) {
			out = append(out, f.name)
		}
	}
	return out
}

// keys is names for a message.
func (o *Object) keys(tag string) string { return listed(o.names(tag)) }

// withKeys is " with the keys ..." when they are few.
func (o *Object) withKeys() string {
	if len(o.Fields) > 12 {
		return ""
	}
	return " with the keys " + o.keys("")
}
