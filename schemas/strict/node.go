package strict

import (
	"math"
	"strconv"
)

// Kind is the type of a value in a document.
type Kind uint8

// The kinds of value.
const (
	NullKind Kind = iota
	BoolKind
	IntKind
	FloatKind
	TextKind
	MappingKind
	ListKind
	// Date is a YAML 1.1 timestamp; no field takes one.
	DateKind
)

// Node is a value of a document with its place. Nodes may be shared (YAML aliases), so
// they are never changed in place.
type Node struct {
	Kind Kind
	// Line and Column are where the value starts, from 1; 0 in an override.
	Line, Column int
	// Text is the value of a Text; the literal of an Int (decimal digits with an
	// optional minus sign, of any length) or of a Float (what strconv.ParseFloat
	// reads); "true" or "false" of a Bool.
	Text    string
	Members []Member
	Items   []*Node

	file  string
	order int
}

// Member is one entry of a mapping. Keys of a mapping are distinct.
type Member struct {
	Key string
	// Line and Column are where the key starts.
	Line, Column int
	Value        *Node
}

// get is the member with the key, nil when there is none.
func (n *Node) get(key string) *Member {
	if n == nil || n.Kind != MappingKind {
		return nil
	}
	for i := range n.Members {
		if n.Members[i].Key == key {
			return &n.Members[i]
		}
	}
	return nil
}

// Empty is a value of a kind, without content, at the place of n.
func (n *Node) Empty(kind Kind) *Node {
	return &Node{Kind: kind, Line: n.Line, Column: n.Column, file: n.file, order: n.order}
}

// IsMapping reports whether n is a mapping.
func (n *Node) IsMapping() bool { return n.Kind == MappingKind }

// Describe names a value in a message: `the text "x"`, `1.5`, `a list`.
func (n *Node) Describe() string {
	switch n.Kind {
	case NullKind:
		return "null"
	case BoolKind, IntKind, FloatKind:
		return shortened(n.Text)
	case TextKind:
		return "the text " + quoted(n.Text)
	case DateKind:
		return "the date " + quoted(n.Text)
	case ListKind:
		if len(n.Items) == 0 {
			return "an empty list"
		}
		return "a list"
	default:
		return "a mapping"
	}
}

// float is the value of an Int or Float, the nearest double.
func (n *Node) float() float64 {
	f, _ := strconv.ParseFloat(n.Text, 64) // out of range gives an infinity, which is what is wanted
	return f
}

// IsText reports whether n is the text s.
func (n *Node) IsText(s string) bool { return n.Kind == TextKind && n.Text == s }

// Number is the value of a finite number.
func (n *Node) Number() (v float64, ok bool) {
	if n.Kind != IntKind && n.Kind != FloatKind {
		return 0, false
	}
	v = n.float()
	return v, !math.IsNaN(v) && !math.IsInf(v, 0)
}

// Member is the value of a mapping's key, nil when n is no mapping or does not have it.
func (n *Node) Member(key string) *Node {
	if m := n.get(key); m != nil {
		return m.Value
	}
	return nil
}

// List is the entries of a list; nil when n is nil or no list.
func (n *Node) List() []*Node {
	if n == nil || n.Kind != ListKind {
		return nil
	}
	return n.Items
}

// Len is the number of members of a mapping.
func (n *Node) Len() int { return len(n.Members) }
