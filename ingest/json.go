package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// jsonValue reads one JSON value, member by member. Members that a row type does not
// know may say anything that is JSON, also twice; hence the lenient options, and the strict check
// of the strings that matter.
type jsonValue struct {
	dec  *jsontext.Decoder
	buf  bytes.Buffer
	name []byte
}

var jsonOptions = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// reset starts reading a line, which must be valid UTF-8.
func (j *jsonValue) reset(line []byte) {
	j.buf = *bytes.NewBuffer(line)
	if j.dec == nil {
		j.dec = jsontext.NewDecoder(&j.buf, jsonOptions...)
		return
	}
	j.dec.Reset(&j.buf, jsonOptions...)
}

// object calls member with the name of each member of the object that comes next. member
// reads the value. Anything but an object is an error.
func (j *jsonValue) object(what string, member func(name []byte) error) error {
	if kind := j.dec.PeekKind(); kind != '{' {
		raw, err := j.value()
		if err != nil {
			return err
		}
		return fmt.Errorf("%s must be an object, got %s", what, excerpt(raw))
	}
	if _, err := j.dec.ReadToken(); err != nil {
		return j.syntax(err)
	}
	for j.dec.PeekKind() != '}' {
		raw, err := j.value()
		if err != nil {
			return err
		}
		if raw[0] != '"' {
			return fmt.Errorf("not valid JSON: a member needs a name, got %s", excerpt(raw))
		}
		if j.name, err = text(j.name[:0], raw); err != nil {
			return fmt.Errorf("member name %w", err)
		}
		if err := member(j.name); err != nil {
			return err
		}
	}
	_, err := j.dec.ReadToken()
	return j.syntax(err)
}

// array reads a value that lists its members in the order of names without naming them, and
// calls member for each.
func (j *jsonValue) array(names []string, member func(m int, raw jsontext.Value) error) (present members, err error) {
	if _, err := j.dec.ReadToken(); err != nil {
		return 0, j.syntax(err)
	}
	for m := 0; j.dec.PeekKind() != ']'; m++ {
		raw, err := j.value()
		if err != nil {
			return 0, err
		}
		if m == len(names) {
			return 0, fmt.Errorf("a row that is an array has at most %d members, in the order %s", len(names), strings.Join(names, ", "))
		}
		present |= 1 << m
		if err := member(m, raw); err != nil {
			return 0, err
		}
	}
	_, err = j.dec.ReadToken()
	return present, j.syntax(err)
}

// value reads the next value and returns its text, valid until the next call.
func (j *jsonValue) value() (jsontext.Value, error) {
	raw, err := j.dec.ReadValue()
	return raw, j.syntax(err)
}

// skip reads over the next value.
func (j *jsonValue) skip() error { return j.syntax(j.dec.SkipValue()) }

// end checks that nothing follows the value.
func (j *jsonValue) end() error {
	if j.dec.PeekKind() != 0 {
		return errors.New("not valid JSON: more than one value on the line")
	}
	if _, err := j.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return j.syntax(err)
	}
	return nil
}

// syntax words an error of the decoder.
func (j *jsonValue) syntax(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("not valid JSON: the line ends in the middle of a value")
	}
	if s := (*jsontext.SyntacticError)(nil); errors.As(err, &s) {
		return fmt.Errorf("not valid JSON: column %d: %w", s.ByteOffset+1, s.Err)
	}
	return fmt.Errorf("not valid JSON: %s", strings.TrimPrefix(err.Error(), "jsontext: "))
}

// text appends what a JSON string says. Unlike the decoder it refuses halves of surrogate pairs.
func text(dst []byte, raw jsontext.Value) ([]byte, error) {
	if raw[0] != '"' {
		return dst, fmt.Errorf("must be a string, got %s", excerpt(raw))
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return append(dst, raw[1:len(raw)-1]...), nil
	}
	out, err := jsontext.AppendUnquote(dst, raw)
	if err != nil {
		return dst, fmt.Errorf("must be valid Unicode, got %s", excerpt(raw))
	}
	return out, nil
}

// excerpt shortens the text of a value for a message.
func excerpt(raw []byte) string {
	const limit = 40
	if len(raw) <= limit {
		return string(raw)
	}
	cut := limit
	for cut > 0 && !utf8.RuneStart(raw[cut]) {
		cut--
	}
	return string(raw[:cut]) + "..."
}

// count converts the value of a member that is a whole number of up to max.
func count(name string, raw jsontext.Value, max uint64) (uint64, error) {
	n, ok := integer(raw, max)
	if !ok {
		return 0, notWhole(name, raw, max)
	}
	return n, nil
}

// notWhole says why a value is not a whole number of up to max.
func notWhole(name string, raw []byte, max uint64) error {
	if len(bytes.Trim(raw, "0123456789")) == 0 {
		return fmt.Errorf("%s must be at most %d, got %s", name, max, excerpt(raw))
	}
	return fmt.Errorf("%s must be a whole number without sign, fraction and exponent, got %s", name, excerpt(raw))
}

// number converts the value of a member that is any number.
func number(name string, raw jsontext.Value) (float64, error) {
	if raw.Kind() != '0' {
		return 0, fmt.Errorf("%s must be a number, got %s", name, excerpt(raw))
	}
	v, ok := realNumber(raw)
	if !ok {
		return 0, fmt.Errorf("%s is out of range: %s", name, excerpt(raw))
	}
	return v, nil
}

// str converts the value of a member that is a string.
func str(name string, dst []byte, raw jsontext.Value) ([]byte, error) {
	dst, err := text(dst, raw)
	if err != nil {
		return dst, fmt.Errorf("%s %w", name, err)
	}
	return dst, nil
}

// elements splits the text of a valid JSON array of whole numbers up to max.
func elements(name string, raw jsontext.Value, max uint64, each func(n uint64)) error {
	if raw.Kind() != '[' {
		return fmt.Errorf("%s must be an array of whole numbers, got %s", name, excerpt(raw))
	}
	for i, at := 1, 0; ; at++ {
		i = skip(raw, i)
		if raw[i] == ']' {
			return nil
		}
		from := i
		for raw[i] != ',' && raw[i] != ']' && raw[i] > ' ' {
			i++
		}
		n, ok := integer(raw[from:i], max)
		if !ok {
			return notWhole(name+"["+strconv.Itoa(at)+"]", raw[from:i], max)
		}
		each(n)
		if i = skip(raw, i); raw[i] == ',' {
			i++
		}
	}
}

// skip returns the place of the next byte from i on that is no white space.
func skip(raw []byte, i int) int {
	for raw[i] <= ' ' {
		i++
	}
	return i
}
