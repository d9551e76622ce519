package strict

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode/utf8"
)

// ReadJSON parses one JSON value. Numbers keep their literal: one without a fraction or
// an exponent is an Int of any length (-0 is 0, as in YAML), any other a Float. Refused, each as one problem:
// more than MaxJSONBytes, text that is not UTF-8, anything after the value, a member given
// twice, deep nesting. Empty input is a Null node.
func ReadJSON(name string, data []byte) (*Node, Problems) {
	s := source{file: name}
	if p := s.checkText(data, MaxJSONBytes); p != nil {
		return nil, Problems{*p}
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	r := jsonReader{source: s, data: data, decoder: json.NewDecoder(bytes.NewReader(data)), line: 1}
	r.decoder.UseNumber()
	if len(bytes.TrimSpace(data)) == 0 {
		return &Node{Line: 1, Column: 1, file: name}, nil
	}
	root := r.value(0)
	if root != nil {
		if _, err := r.decoder.Token(); err != io.EOF {
			line, column := r.place(r.start(r.decoder.InputOffset()))
			r.problems = append(r.problems, s.problem(line, column, "malformed JSON: something follows the value"))
		}
	}
	if len(r.problems) > 0 {
		return nil, r.problems.sorted()
	}
	return root, nil
}

// jsonReader turns JSON tokens into Nodes.
type jsonReader struct {
	source
	data     []byte
	decoder  *json.Decoder
	problems Problems

	// line is the line of the byte at offset counted, whose line starts at lineStart.
	line, lineStart, counted int
}

// start is the offset of the next token after offset.
func (r *jsonReader) start(offset int64) int {
	i := int(offset)
	for i < len(r.data) && strings.IndexByte(" \t\r\n,:", r.data[i]) >= 0 {
		i++
	}
	return i
}

// place turns an offset into line and column; offsets must not decrease.
func (r *jsonReader) place(offset int) (line, column int) {
	for ; r.counted < offset && r.counted < len(r.data); r.counted++ {
		if r.data[r.counted] == '\n' {
			r.line, r.lineStart = r.line+1, r.counted+1
		}
	}
	end := min(offset, len(r.data))
	return r.line, utf8.RuneCount(r.data[min(r.lineStart, end):end]) + 1
}

// fail reports a syntax error and ends the reading.
func (r *jsonReader) fail(err error) *Node {
	offset := int(r.decoder.InputOffset())
	what := err.Error()
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		offset = max(offset, int(syntax.Offset)-1)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		offset, what = len(r.data), "the text ends early"
	}
	line, column := r.place(offset)
	r.problems = append(r.problems, r.problem(line, column, "malformed JSON: %s", message(what)))
	return nil
}

// value reads one value; nil after a syntax error.
func (r *jsonReader) value(depth int) *Node {
	line, column := r.place(r.start(r.decoder.InputOffset()))
	tk, err := r.decoder.Token()
	if err != nil {
		return r.fail(err)
	}
	out := &Node{Line: line, Column: column, file: r.file, order: r.order}
	switch v := tk.(type) {
	case nil:
	case bool:
		out.Kind, out.Text = BoolKind, "false"
		if v {
			out.Text = "true"
		}
	case string:
		out.Kind, out.Text = TextKind, v
	case json.Number:
		out.Kind, out.Text = IntKind, string(v)
		switch {
		case strings.ContainsAny(out.Text, ".eE"):
			out.Kind = FloatKind
		case out.Text == "-0": // the only integer that JSON spells in two ways
			out.Text = "0"
		}
	case json.Delim:
		if depth >= maxDepth {
			r.problems = append(r.problems, r.problem(line, column, "nested too deeply; at most %d levels are read", maxDepth))
			return nil
		}
		if v == '{' {
			return r.mapping(out, depth)
		}
		return r.list(out, depth)
	}
	return out
}

func (r *jsonReader) mapping(out *Node, depth int) *Node {
	out.Kind = MappingKind
	first := map[string]int{}
	for r.decoder.More() {
		line, column := r.place(r.start(r.decoder.InputOffset()))
		tk, err := r.decoder.Token()
		if err != nil {
			return r.fail(err)
		}
		key, _ := tk.(string) // the decoder accepts nothing else as a key
		value := r.value(depth + 1)
		if value == nil {
			return nil
		}
		if at, seen := first[key]; seen {
			r.problems = append(r.problems, r.problem(line, column, "the key %s is given twice; it is given first on line %d", plain(key), at))
			continue
		}
		first[key] = line
		out.Members = append(out.Members, Member{Key: key, Line: line, Column: column, Value: value})
	}
	if _, err := r.decoder.Token(); err != nil {
		return r.fail(err)
	}
	return out
}

func (r *jsonReader) list(out *Node, depth int) *Node {
	out.Kind = ListKind
	for r.decoder.More() {
		item := r.value(depth + 1)
		if item == nil {
			return nil
		}
		out.Items = append(out.Items, item)
	}
	if _, err := r.decoder.Token(); err != nil {
		return r.fail(err)
	}
	return out
}
