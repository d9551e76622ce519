package ingest

import "math"

// parsePlain reads a row that is written the way almost all are: an object of known
// members, each once, with whole numbers, plain decimals, and strings without escapes. It
// gives up (ok false) on everything else, valid or not, and leaves it to the strict
// parser, which it must agree with on every row it takes. It is several times faster.
func parsePlain(line []byte, i int, w *batchWriter) (present members, ok bool) {
	s := &scanner{line, 0}
	if !s.take('{') {
		return 0, false
	}
	for {
		name, ok := s.quoted()
		if !ok || !s.take(':') {
			return 0, false
		}
		m := memberOf(name)
		if m < 0 || present.has(m) || !s.member(m, i, w) {
			return 0, false
		}
		present |= 1 << m
		if s.take(',') {
			continue
		}
		return present, s.take('}') && s.atEnd()
	}
}

// scanner walks over a line.
type scanner struct {
	line []byte
	at   int
}

// space skips white space. The byte after it is returned, 0 at the end of the line.
func (s *scanner) space() byte {
	for s.at < len(s.line) {
		switch c := s.line[s.at]; c {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return c
		}
	}
	return 0
}

func (s *scanner) atEnd() bool {
	s.space()
	return s.at == len(s.line)
}

// take skips white space and the byte c.
func (s *scanner) take(c byte) bool {
	if s.space() != c {
		return false
	}
	s.at++
	return true
}

// quoted reads a string without escapes and control characters.
func (s *scanner) quoted() ([]byte, bool) {
	if !s.take('"') {
		return nil, false
	}
	for from := s.at; s.at < len(s.line); s.at++ {
		switch c := s.line[s.at]; {
		case c == '"':
			s.at++
			return s.line[from : s.at-1], true
		case c == '\\' || c < ' ':
			return nil, false
		}
	}
	return nil, false
}

// whole reads digits, at most 19 of them, so that they fit 64 bits.
func (s *scanner) whole() (n uint64, ok bool) {
	s.space()
	from, line := s.at, s.line
	at := from
	for ; at < len(line); at++ {
		d := uint64(line[at] - '0')
		if d > 9 {
			break
		}
		n = n*10 + d
	}
	s.at = at
	digits := at - from
	return n, digits > 0 && digits <= 19 && (digits == 1 || line[from] != '0') && at < len(line) && line[at] != '.' && line[at]|0x20 != 'e'
}

// real reads digits, and a point and digits if there are any.
func (s *scanner) real() (v float64, ok bool) {
	s.space()
	from := s.at
	n, ok := s.whole()
	if ok {
		return float64(n), true
	}
	if s.at == from || s.at >= len(s.line) || s.line[s.at] != '.' || s.line[from] == '0' && s.at > from+1 {
		return 0, false
	}
	s.at++
	point := s.at
	for s.at < len(s.line) && s.line[s.at]-'0' < 10 {
		s.at++
	}
	if s.at == point || s.at == len(s.line) || s.line[s.at]|0x20 == 'e' {
		return 0, false
	}
	return realNumber(s.line[from:s.at])
}

// member reads the value of member m of row i.
func (s *scanner) member(m, i int, w *batchWriter) (ok bool) {
	b := w.b
	switch m {
	case memberHashIDs:
		b.Blocks, ok = list(s, b.Blocks, math.MaxUint64)
		return ok
	case memberOutputIDs:
		b.Authored, ok = list(s, b.Authored, math.MaxUint32)
		return ok
	case memberTimestamp:
		b.HasTimestamp[i] = true
		b.TimestampMS[i], ok = s.real()
		return ok
	case memberDelay:
		b.HasDelay[i] = true
		b.DelayMS[i], ok = s.real()
		return ok
	case memberRequestID, memberSessionID, memberPolicyClass:
		v, ok := s.quoted()
		if ok {
			w.setString(m, i, v)
		}
		return ok
	}
	n, ok := s.whole()
	switch m {
	case memberInput:
		b.InputTokens[i] = int64(n)
		return ok && n <= math.MaxInt64
	case memberOutput:
		b.OutputTokens[i] = int64(n)
		return ok && n <= math.MaxInt64
	case memberPriority:
		b.Priority[i] = int32(n)
		return ok && n <= math.MaxInt32
	case memberStrictPriority:
		b.StrictPriority[i] = uint32(n)
		return ok && n <= math.MaxUint32
	}
	return false
}

// list appends an array of whole numbers up to max to dst. Most of a trace is such
// arrays, so this loop keeps everything in registers and takes the usual ", " first.
func list[T uint32 | uint64](s *scanner, dst []T, max uint64) ([]T, bool) {
	if !s.take('[') {
		return dst, false
	}
	if s.take(']') {
		return dst, true
	}
	line, at := s.line, s.at
	for {
		for at < len(line) && line[at] <= ' ' {
			if !jsonSpace(line[at]) {
				return dst, false
			}
			at++
		}
		from, n := at, uint64(0)
		for at < len(line) && line[at]-'0' < 10 {
			n = n*10 + uint64(line[at]-'0')
			at++
		}
		digits := at - from
		if digits == 0 || n > max || digits > 1 && line[from] == '0' {
			return dst, false
		}
		if digits > 19 {
			// The sum may have overflowed.
			var ok bool
			if n, ok = integer(line[from:at], max); !ok {
				return dst, false
			}
		}
		dst = append(dst, T(n))
		for at < len(line) && jsonSpace(line[at]) {
			at++
		}
		if at == len(line) {
			return dst, false
		}
		at++
		switch line[at-1] {
		case ',':
		case ']':
			s.at = at
			return dst, true
		default:
			return dst, false
		}
	}
}

func jsonSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }
