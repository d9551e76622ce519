package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Members of requests and of subagent markers.
const (
	entryType = iota
	entryT
	// Requests.
	entryModel
	entryIn
	entryOut
	entryHashIDs
	entryAPITime
	entryInputTypes
	entryOutputTypes
	entryStop
	entryThinkTime
	entryTTFT
	// Markers.
	entryAgentID
	entryAgentType
	entryStatus
	entryDuration
	entryRequests
	entryTotalTokens
	entryToolUses
	entryModels
	entryToolTokens
	entrySystemTokens
)

var entryNames = []string{
	"type", "t", "model", "in", "out", "hash_ids", "api_time", "input_types", "output_types", "stop", "think_time", "ttft",
	"agent_id", "subagent_type", "status", "duration_ms", "requests", "total_tokens", "tool_use_count", "models", "tool_tokens", "system_tokens",
}

// What an entry is, as far as its members told.
const (
	unknownEntry = iota
	requestEntry
	markerEntry
)

// late is a member that came before the type of its entry.
type late struct {
	member int
	raw    jsontext.Value
}

// entryParser is one entry of a list of requests.
type entryParser struct {
	p       *wekaParser
	k       known
	kind    int
	late    []late
	request wekaRequest
	marker  wekaAgent
	// nested says that the entry is in a subagent, where no marker may be.
	nested bool
}

// entry reads an entry of the list of top-level requests.
func (p *wekaParser) entry(outer int32) error {
	t := &p.trace
	t.atFault = "outer:" + strconv.Itoa(int(outer))
	e := entryParser{p: p, request: wekaRequest{outer: outer, inner: -1, leaf: -1}, marker: wekaAgent{outer: outer}}
	if err := e.read(); err != nil {
		return err
	}
	if e.kind == requestEntry {
		t.requests = append(t.requests, e.request)
		return nil
	}
	e.marker.to = int32(len(t.nested))
	switch {
	case len(t.requests) == 0:
		return errors.New("a subagent before the first top-level request has no owner")
	case e.marker.from < e.marker.to:
		t.agents = append(t.agents, e.marker)
	case e.marker.blocking:
		return errors.New("a completed subagent has no requests")
	}
	return nil
}

// read reads the entry and checks it.
func (e *entryParser) read() error {
	e.marker.from = int32(len(e.p.trace.nested))
	err := e.p.json.object("a request", func(name []byte) error {
		m, err := e.k.once(entryNames, name)
		if err != nil && e.kind == unknownEntry {
			return err
		}
		if m == -1 || err != nil && !e.uses(memberNamed(name)) {
			return e.p.json.skip()
		}
		if err != nil {
			return err
		}
		switch {
		case m > entryT && e.kind == unknownEntry:
			raw, err := e.p.json.value()
			if err != nil {
				return err
			}
			e.late = append(e.late, late{m, raw.Clone()})
			return nil
		case m > entryT && !e.uses(m):
			return e.p.json.skip()
		case m == entryRequests:
			return e.inner()
		}
		raw, err := e.p.json.value()
		if err != nil {
			return err
		}
		return e.member(m, raw)
	})
	if err != nil {
		return err
	}
	return e.finish()
}

// memberNamed is the member of a name that is known.
func memberNamed(name []byte) int {
	for i, n := range entryNames {
		if string(name) == n {
			return i
		}
	}
	return -1
}

// uses reports whether an entry of this kind has the member.
func (e *entryParser) uses(m int) bool {
	switch {
	case m <= entryT:
		return true
	case e.kind == requestEntry:
		return m < entryAgentID
	}
	return m >= entryAgentID
}

// finish reads the members that came before the type and checks what is missing.
func (e *entryParser) finish() error {
	if err := e.k.require(entryNames, entryType, entryT); err != nil {
		return err
	}
	for _, l := range e.late {
		if !e.uses(l.member) {
			continue
		}
		if l.member != entryRequests {
			if err := e.member(l.member, l.raw); err != nil {
				return err
			}
			continue
		}
		// The list was passed over when nobody knew what it was: read it from its copy.
		outside := e.p.json.dec
		e.p.json.dec = jsontext.NewDecoder(bytes.NewReader(l.raw), jsonOptions...)
		err := e.inner()
		e.p.json.dec = outside
		if err != nil {
			return err
		}
	}
	if e.kind == markerEntry {
		if len(bytes.TrimSpace([]byte(e.marker.id))) == 0 && e.k.has(entryAgentID) {
			return errors.New("agent_id must not be blank")
		}
		return e.k.require(entryNames, entryAgentID, entryAgentType, entryStatus, entryRequests)
	}
	if err := e.k.require(entryNames, entryModel, entryIn, entryOut); err != nil {
		return err
	}
	if e.request.in < 1 {
		return errors.New("in must be at least 1, got 0")
	}
	return nil
}

// inner reads the requests of a subagent.
func (e *entryParser) inner() error {
	t := &e.p.trace
	return e.p.list("requests", func(k int) error {
		t.atFault = fmt.Sprintf("outer:%d:inner:%d", e.marker.outer, k)
		n := entryParser{p: e.p, nested: true, request: wekaRequest{outer: e.marker.outer, inner: int32(k), leaf: -1}}
		if err := n.read(); err != nil {
			return err
		}
		t.nested = append(t.nested, n.request)
		t.atFault = fmt.Sprintf("outer:%d", e.marker.outer)
		return nil
	})
}

// member reads one member that the entry uses.
func (e *entryParser) member(m int, raw jsontext.Value) (err error) {
	p, r := e.p, &e.request
	switch m {
	case entryType:
		return e.setType(raw)
	case entryT:
		r.t, err = seconds("t", raw)
		e.marker.t = r.t
	case entryModel:
		if err = p.string("model", raw); err == nil {
			if len(bytes.TrimSpace(p.text)) == 0 {
				return errors.New("model must not be blank")
			}
			r.model = p.trace.model(p.text)
		}
	case entryIn, entryOut:
		var n uint64
		n, err = count(entryNames[m], raw, math.MaxInt32)
		if m == entryIn {
			r.in = int64(n)
		} else {
			r.out = int64(n)
		}
	case entryHashIDs:
		if p.ids, err = hashIDs(p.ids[:0], raw); err == nil {
			r.leaf = p.trace.tree.list(p.ids)
		}
	case entryAPITime:
		if raw.Kind() != 'n' {
			r.hasAPI = true
			r.api, err = seconds("api_time", raw)
		}
	case entryThinkTime, entryTTFT:
		if raw.Kind() != 'n' {
			_, err = number(entryNames[m], raw)
		}
	case entryInputTypes, entryOutputTypes, entryModels:
		err = checkStrings(entryNames[m], raw)
	case entryStop, entryAgentType:
		err = p.string(entryNames[m], raw)
	case entryAgentID:
		if err = p.string("agent_id", raw); err == nil {
			e.marker.id = string(p.text)
		}
	case entryStatus:
		err = e.setStatus(raw)
	case entryDuration:
		if raw.Kind() == 'n' {
			return nil
		}
		var n uint64
		n, err = count("duration_ms", raw, math.MaxInt64)
		e.marker.durationMS, e.marker.hasDuration = float64(n), true
	case entryTotalTokens, entryToolUses:
		if raw.Kind() != 'n' {
			_, err = count(entryNames[m], raw, math.MaxUint64)
		}
	case entryToolTokens, entrySystemTokens:
		_, err = count(entryNames[m], raw, math.MaxUint64)
	}
	return err
}

func (e *entryParser) setType(raw jsontext.Value) error {
	switch string(raw) {
	case `"n"`, `"s"`:
		e.kind = requestEntry
		return nil
	case `"subagent"`:
		if !e.nested {
			e.kind = markerEntry
			return nil
		}
	}
	if e.nested {
		return fmt.Errorf(`type must be "n" or "s" inside a subagent, got %s`, excerpt(raw))
	}
	return fmt.Errorf(`type must be "n", "s" or "subagent", got %s`, excerpt(raw))
}

func (e *entryParser) setStatus(raw jsontext.Value) error {
	if err := e.p.string("status", raw); err != nil {
		return err
	}
	switch string(e.p.text) {
	case "completed":
		e.marker.blocking = true
	case "async_launched":
	default:
		return fmt.Errorf("status must be completed or async_launched, got %q", e.p.text)
	}
	return nil
}

// hashIDs appends the numbers of a valid JSON array. Blocks are by far the most of a corpus, so that numbers of up to 19 digits
// behind each other take a short way.
func hashIDs(dst []uint64, raw jsontext.Value) ([]uint64, error) {
	from := len(dst)
	if raw.Kind() != '[' {
		return dst, elements("hash_ids", raw, math.MaxUint64, func(uint64) {})
	}
	for i := 1; ; {
		start, n := i, uint64(0)
		for c := raw[i] - '0'; c <= 9; c = raw[i] - '0' {
			n = n*10 + uint64(c)
			i++
		}
		if digits := i - start; digits == 0 || digits > 19 || raw[i] != ',' && raw[i] != ']' {
			break
		}
		dst = append(dst, n)
		if raw[i] == ']' {
			return dst, nil
		}
		i++
	}
	dst = dst[:from]
	err := elements("hash_ids", raw, math.MaxUint64, func(n uint64) { dst = append(dst, n) })
	return dst, err
}

// seconds reads a time of at least 0.
func seconds(name string, raw jsontext.Value) (float64, error) {
	v, err := number(name, raw)
	if err != nil {
		return 0, err
	}
	if !(v >= 0) {
		return 0, fmt.Errorf("%s must be at least 0, got %s", name, excerpt(raw))
	}
	return v, nil
}

// checkStrings checks an array of strings that has no effect.
func checkStrings(name string, raw jsontext.Value) error {
	if raw.Kind() != '[' {
		return fmt.Errorf("%s must be an array of strings, got %s", name, excerpt(raw))
	}
	dec := jsontext.NewDecoder(bytes.NewReader(raw), jsonOptions...)
	_, _ = dec.ReadToken()
	for dec.PeekKind() != ']' {
		v, err := dec.ReadValue()
		if err != nil {
			return err
		}
		if v.Kind() != '"' {
			return fmt.Errorf("%s must be an array of strings, got the element %s", name, excerpt(v))
		}
	}
	return nil
}
