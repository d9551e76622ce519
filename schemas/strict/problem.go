package strict

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Problem is one thing that is wrong with a document.
type Problem struct {
	// File is the document's name as the user knows it, or the override argument
	// ("--set a.b=1") that brought the value.
	File string
	// Line and Column count from 1, columns in characters; 0 when there is no place,
	// as in an override.
	Line, Column int
	// Path is the dotted path of the field, with [i] for entries of lists; empty for
	// the document as a whole.
	Path string
	// Message says what is wrong and what is allowed, without a final full stop.
	Message string

	order  int
	beside bool // about a key that has no business there, so nothing else depends on it
}

// Error is the one line "file:line:column: path: message"; parts without a value are left out.
func (p Problem) Error() string {
	var b strings.Builder
	if p.File != "" {
		b.WriteString(p.File)
		if p.Line > 0 {
			fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
		}
		b.WriteString(": ")
	}
	if p.Path != "" {
		b.WriteString(p.Path)
		b.WriteString(": ")
	}
	b.WriteString(p.Message)
	return b.String()
}

// Problems is every problem of one document, in order of position: those of the file
// first, then those of overrides in the order in which they were given. It is an error
// whose text has one line a problem. An empty Problems is not an error: use Err.
type Problems []Problem

// Error joins the problems, one a line.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Err is ps as an error, nil when there is no problem.
func (ps Problems) Err() error {
	if len(ps) == 0 {
		return nil
	}
	return ps
}

// sorted orders ps by position and drops exact repetitions.
func (ps Problems) sorted() Problems {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return slices.Compact(ps)
}

// maxQuoted is the longest piece of a user's text that a message repeats.
const maxQuoted = 60

// quoted is s in double quotes, shortened, with everything unprintable escaped.
func quoted(s string) string {
	return fmt.Sprintf("%q", cut(s, maxQuoted))
}

// shortened is s on one line, cut to maxQuoted characters.
func shortened(s string) string { return cut(oneLine(s), maxQuoted) }

// oneLine is s with a space for everything that is not printed.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, s)
}

// cut is the first n characters of s, with an ellipsis when there are more.
func cut(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i] + "…"
		}
		n--
	}
	return s
}

// message is the text of a library's error for a message.
func message(s string) string { return cut(oneLine(s), 200) }

// plain is a key as it appears in a path: as it is when it is an ordinary word, quoted otherwise.
func plain(key string) string {
	if key == "" || len(key) > maxQuoted {
		return quoted(key)
	}
	for _, r := range key {
		if r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return quoted(key)
		}
	}
	return key
}

// join appends a key to a path.
func join(path, key string) string {
	if path == "" {
		return plain(key)
	}
	return path + "." + plain(key)
}

// ExitCode is 2, a configuration error.
func (ps Problems) ExitCode() int { return 2 }
