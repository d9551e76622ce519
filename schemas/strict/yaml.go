package strict

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// MaxYAMLBytes and MaxJSONBytes are the longest documents that are read. The documents of
// this program are a few kilobytes; the bounds keep a wrong file name (a trace, a disk
// image) from being parsed as one.
const (
	MaxYAMLBytes = 1 << 18
	MaxJSONBytes = 1 << 22
)

// maxDepth bounds the nesting of a document, maxMerged the members that merge keys copy,
// maxTokens the words and signs of a YAML document, since the time that the YAML library
// takes grows with their square.
const (
	maxDepth  = 64
	maxMerged = 20_000
	maxTokens = 20_000
)

// source is where nodes come from: a name, and its place in the order of problems.
type source struct {
	file  string
	order int
}

func (s source) problem(line, column int, format string, args ...any) Problem {
	return Problem{File: s.file, Line: line, Column: column, Message: fmt.Sprintf(format, args...), order: s.order}
}

// ReadYAML parses one YAML document. Anchors, aliases and merge keys work as in YAML
// 1.1; plain scalars are read as PyYAML's safe loader does (see resolvePlain), plus 1e3
// as a float. Refused, each as one problem: more than MaxYAMLBytes, text that is not UTF-8 or
// holds control characters, several documents, tags, keys that are not text, a key given
// twice, deep nesting. An empty document is a Null node.
func ReadYAML(name string, data []byte) (*Node, Problems) {
	return source{file: name}.readYAML(data)
}

func (s source) readYAML(data []byte) (*Node, Problems) {
	if p := s.checkText(data, MaxYAMLBytes); p != nil {
		return nil, Problems{*p}
	}
	file, problem := s.parse(strings.TrimPrefix(string(data), "\ufeff"))
	if problem != nil {
		return nil, Problems{*problem}
	}
	var body ast.Node
	for i, doc := range file.Docs {
		if i > 0 {
			line, column := 0, 0
			if doc.Start != nil {
				line, column = doc.Start.Position.Line, doc.Start.Position.Column
			} else if doc.Body != nil {
				line, column = place(doc.Body)
			}
			return nil, Problems{s.problem(line, column, "a second YAML document starts here; the file must hold exactly one")}
		}
		body = doc.Body
	}
	c := converter{source: s, anchors: map[string]*Node{}}
	root := c.convert(body, 0)
	if len(c.problems) > 0 {
		return nil, c.problems.sorted()
	}
	return root, nil
}

// checkText refuses what no text document holds.
func (s source) checkText(data []byte, most int) *Problem {
	if len(data) > most {
		p := s.problem(0, 0, "the document has %d bytes; at most %d are read", len(data), most)
		return &p
	}
	line, column := 1, 1
	for rest := data; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		switch {
		case r == utf8.RuneError && size == 1:
			p := s.problem(line, column, "the byte 0x%02x is not valid UTF-8", rest[0])
			return &p
		case r < ' ' && r != '\t' && r != '\n' && r != '\r', r == 0x7f:
			p := s.problem(line, column, "the control character 0x%02x is not allowed", r)
			return &p
		case r == '\n':
			line, column = line+1, 0
		}
		rest = rest[size:]
		column++
	}
	return nil
}

// parse runs the YAML library, which is guarded against input it does not survive.
func (s source) parse(text string) (file *ast.File, problem *Problem) {
	defer func() {
		if r := recover(); r != nil {
			p := s.problem(0, 0, "malformed YAML")
			file, problem = nil, &p
		}
	}()
	tokens := lexer.Tokenize(text)
	if p := s.checkTokens(tokens); p != nil {
		return nil, p
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err == nil {
		return file, nil
	}
	line, column, what := 0, 0, err.Error()
	if syntax, ok := errors.AsType[yaml.Error](err); ok {
		what = syntax.GetMessage()
		if tk := syntax.GetToken(); tk != nil {
			line, column = tk.Position.Line, tk.Position.Column
		}
	}
	what, _, _ = strings.Cut(what, "\n")
	p := s.problem(line, column, "malformed YAML: %s", message(what))
	return nil, &p
}

// checkTokens bounds the nesting before the library's recursive parser sees it, and
// refuses tabs as indentation with a message that says so.
func (s source) checkTokens(tokens token.Tokens) *Problem {
	if len(tokens) > maxTokens {
		p := s.problem(0, 0, "the document has %d YAML tokens; at most %d are read", len(tokens), maxTokens)
		return &p
	}
	flow, opened, line := 0, 0, 0
	for _, tk := range tokens {
		if tk.Position.Line != line {
			line, opened = tk.Position.Line, 0
		}
		switch tk.Type {
		case token.MappingStartType, token.SequenceStartType:
			flow++
		case token.MappingEndType, token.SequenceEndType:
			flow--
		case token.SequenceEntryType, token.MappingKeyType, token.AnchorType, token.TagType:
			opened++
		case token.MappingValueType:
			if flow <= 0 {
				opened++
			}
		case token.InvalidType:
			what := tk.Error
			if strings.ContainsRune(what, '\t') {
				what = "a tab cannot indent; use spaces"
			}
			p := s.problem(tk.Position.Line, tk.Position.Column, "malformed YAML: %s", message(what))
			return &p
		}
		// A block level needs a deeper column or one more opener on the same line.
		block := flow <= 0 && (tk.Position.Column > 16*maxDepth && opened > 1 || tk.Position.IndentNum > 16*maxDepth)
		if flow > maxDepth || opened > 16*maxDepth || block {
			p := s.problem(tk.Position.Line, tk.Position.Column, "nested too deeply; at most %d levels are read", maxDepth)
			return &p
		}
	}
	return nil
}

// converter turns the library's tree into Nodes.
type converter struct {
	source
	anchors  map[string]*Node
	merged   int
	problems Problems
}

func (c *converter) fail(line, column int, format string, args ...any) {
	if len(c.problems) < maxProblems {
		c.problems = append(c.problems, c.problem(line, column, format, args...))
	}
}

// place is where a syntax node starts.
func place(n ast.Node) (line, column int) {
	for {
		switch v := n.(type) {
		case *ast.MappingNode:
			if v.IsFlowStyle || len(v.Values) == 0 {
				return position(v.Start)
			}
			n = v.Values[0]
			continue
		case *ast.MappingValueNode:
			if v.Key == nil {
				return position(v.Start)
			}
			n = v.Key
			continue
		case nil:
			return 0, 0
		}
		return position(n.GetToken())
	}
}

func position(tk *token.Token) (line, column int) {
	if tk == nil || tk.Position == nil {
		return 0, 0
	}
	return tk.Position.Line, tk.Position.Column
}

// convert turns n into a Node; what it cannot convert it reports and returns as Null.
func (c *converter) convert(n ast.Node, depth int) *Node {
	line, column := place(n)
	out := &Node{Line: line, Column: column, file: c.file, order: c.order}
	if depth > maxDepth {
		c.fail(line, column, "nested too deeply; at most %d levels are read", maxDepth)
		return out
	}
	switch v := n.(type) {
	case nil, *ast.NullNode, *ast.CommentGroupNode, *ast.CommentNode:
	case *ast.MappingNode:
		c.mapping(out, v.Values, depth)
	case *ast.MappingValueNode:
		c.mapping(out, []*ast.MappingValueNode{v}, depth)
	case *ast.SequenceNode:
		out.Kind = ListKind
		for _, item := range v.Values {
			out.Items = append(out.Items, c.convert(item, depth+1))
		}
	case *ast.AnchorNode:
		value := c.convert(v.Value, depth+1)
		c.anchors[text(v.Name)] = value
		return value
	case *ast.AliasNode:
		value, ok := c.anchors[text(v.Value)]
		if !ok {
			c.fail(line, column, "the alias *%s has no anchor before it", shortened(text(v.Value)))
			return out
		}
		at := *value // shares the members, points to where it is used
		at.Line, at.Column = line, column
		return &at
	case *ast.TagNode:
		c.fail(line, column, "the tag %s is not allowed; write the value without a tag", shortened(v.Start.Value))
	case *ast.LiteralNode:
		out.Kind = TextKind
		if v.Value != nil {
			out.Text = v.Value.Value
		}
	case *ast.StringNode:
		switch v.Token.Type {
		case token.SingleQuoteType, token.DoubleQuoteType:
			out.Kind, out.Text = TextKind, v.Value
		default:
			resolvePlain(out, strings.TrimSpace(v.Value))
		}
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		resolvePlain(out, strings.TrimSpace(n.GetToken().Value))
	case *ast.MergeKeyNode:
		out.Kind, out.Text = TextKind, "<<"
	default:
		c.fail(line, column, "malformed YAML: a %s is not a value", strings.ToLower(n.Type().String()))
	}
	return out
}

// text is the plain text of an anchor's or alias's name.
func text(n ast.Node) string {
	if n == nil || n.GetToken() == nil {
		return ""
	}
	return n.GetToken().Value
}

// mapping fills out with the entries; merged members come after the mapping's own, which
// win over them.
func (c *converter) mapping(out *Node, entries []*ast.MappingValueNode, depth int) {
	out.Kind = MappingKind
	first := make(map[string]int, len(entries))
	var merges []*Node
	for _, entry := range entries {
		line, column := place(entry)
		value := c.convert(entry.Value, depth+1)
		if _, isMerge := entry.Key.(*ast.MergeKeyNode); isMerge {
			merges = append(merges, value)
			continue
		}
		key, ok := c.key(entry.Key)
		if !ok {
			continue
		}
		if at, seen := first[key]; seen {
			c.fail(line, column, "the key %s is given twice; it is given first on line %d", plain(key), at)
			continue
		}
		first[key] = line
		out.Members = append(out.Members, Member{Key: key, Line: line, Column: column, Value: value})
	}
	for _, m := range merges {
		c.merge(out, first, m)
	}
}

// key is the text of a mapping key. A key like `on` or `1` is taken as it is written,
// since every key of this program's documents is text.
func (c *converter) key(n ast.Node) (string, bool) {
	line, column := place(n)
	switch v := n.(type) {
	case *ast.StringNode:
		return v.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode, *ast.NullNode:
		return n.GetToken().Value, true
	case *ast.LiteralNode:
		if v.Value != nil {
			return v.Value.Value, true
		}
	}
	c.fail(line, column, "a key must be plain text")
	return "", false
}

// merge adds the members of the mapping, or of the mappings in the list, that out does not have.
func (c *converter) merge(out *Node, have map[string]int, from *Node) {
	sources := []*Node{from}
	if from.Kind == ListKind {
		sources = from.Items
	}
	for _, m := range sources {
		if m.Kind != MappingKind {
			c.fail(from.Line, from.Column, "the merge key << takes a mapping or a list of mappings, got %s", m.Describe())
			return
		}
		if c.merged += len(m.Members); c.merged > maxMerged {
			c.fail(from.Line, from.Column, "the merge keys copy more than %d members", maxMerged)
			return
		}
		for _, member := range m.Members {
			if _, seen := have[member.Key]; !seen {
				have[member.Key] = member.Line
				out.Members = append(out.Members, member)
			}
		}
	}
}
