package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// wekaRequest is a request of a trace object (spec 02 section 2.2). Times are seconds.
type wekaRequest struct {
	// outer is the index in the object's list, inner that in a subagent's, -1 at the top level.
	outer, inner int32
	// t is the start, on the play's clock once the basis is applied; api the service time, 0 when hasAPI
	// is false.
	t, api  float64
	hasAPI  bool
	in, out int64
	model   int32
	// leaf is the list of hash ids, -1 for an empty one.
	leaf int32
}

func (r *wekaRequest) end() float64 { return r.t + r.api }

// wekaAgent is a subagent marker that has requests.
type wekaAgent struct {
	outer       int32
	t           float64
	id          string
	blocking    bool
	durationMS  float64
	hasDuration bool
	// from and to bound its requests in wekaTrace.nested.
	from, to int32
}

// wekaTrace is one trace object.
type wekaTrace struct {
	id          string
	blockTokens int64
	models      []string
	modelOf     map[string]int32
	requests    []wekaRequest
	agents      []wekaAgent
	// nested holds the requests of all subagents back to back.
	nested []wekaRequest
	tree   blockTree
	// atFault is the request that an error is about, as far as it is known.
	atFault string
}

func (t *wekaTrace) reset() {
	t.id, t.blockTokens, t.models = "", 0, t.models[:0]
	if t.modelOf == nil {
		t.modelOf = map[string]int32{}
	}
	clear(t.modelOf)
	t.requests, t.agents, t.nested, t.atFault = t.requests[:0], t.agents[:0], t.nested[:0], ""
	t.tree.reset()
}

// model numbers the models in order of first use.
func (t *wekaTrace) model(name []byte) int32 {
	if m, ok := t.modelOf[string(name)]; ok {
		return m
	}
	m := int32(len(t.models))
	t.models = append(t.models, string(name))
	t.modelOf[t.models[m]] = m
	return m
}

// wekaParser reads trace objects from a stream.
type wekaParser struct {
	json  jsonValue
	trace wekaTrace
	// declared are the models of the object, nil when it names none.
	declared map[string]bool
	ids      []uint64
	text     []byte
}

// open starts reading a file.
func (p *wekaParser) open(in io.Reader) {
	if p.json.dec == nil {
		p.json.dec = jsontext.NewDecoder(in, jsonOptions...)
		return
	}
	p.json.dec.Reset(in, jsonOptions...)
}

// known finds a member and refuses the second of a name.
type known struct{ seen uint32 }

func (k *known) once(names []string, name []byte) (int, error) {
	for i, n := range names {
		if string(name) == n {
			if k.seen>>i&1 != 0 {
				return 0, fmt.Errorf("%s is given twice", n)
			}
			k.seen |= 1 << i
			return i, nil
		}
	}
	return -1, nil
}

func (k *known) has(i int) bool { return k.seen>>i&1 != 0 }

// require names the first of the members that is missing.
func (k *known) require(names []string, members ...int) error {
	for _, m := range members {
		if !k.has(m) {
			return fmt.Errorf("%s is missing", names[m])
		}
	}
	return nil
}

const (
	traceID = iota
	traceModels
	traceBlockSize
	traceScope
	traceToolTokens
	traceSystemTokens
	traceTotals
	traceRequests
)

var traceNames = []string{"id", "models", "block_size", "hash_id_scope", "tool_tokens", "system_tokens", "totals", "requests"}

// object reads the next trace object into p.trace.
func (p *wekaParser) object() error {
	t := &p.trace
	t.reset()
	p.declared = nil
	var k known
	err := p.json.object("a trace", func(name []byte) error {
		m, err := k.once(traceNames, name)
		if err != nil {
			return err
		}
		switch m {
		case -1, traceTotals:
			return p.json.skip()
		case traceModels:
			p.declared = map[string]bool{}
			return p.strings("models", func(s []byte) error {
				if len(bytes.TrimSpace(s)) == 0 {
					return errors.New("models must not have a blank entry")
				}
				p.declared[string(s)] = true
				return nil
			})
		case traceRequests:
			return p.list("requests", func(i int) error { return p.entry(int32(i)) })
		}
		raw, err := p.json.value()
		if err != nil {
			return err
		}
		switch m {
		case traceID:
			if err = p.string("id", raw); err == nil {
				t.id = string(p.text)
			}
		case traceBlockSize:
			var n uint64
			n, err = count("block_size", raw, math.MaxInt32)
			t.blockTokens = int64(n)
		case traceScope:
			if err = p.string("hash_id_scope", raw); err == nil && string(p.text) != "local" {
				err = fmt.Errorf("hash_id_scope must be local, got %q", p.text)
			}
		case traceToolTokens, traceSystemTokens:
			_, err = count(traceNames[m], raw, math.MaxUint64)
		}
		return err
	})
	if err != nil {
		return err
	}
	t.atFault = ""
	if err := k.require(traceNames, traceID, traceBlockSize, traceScope, traceRequests); err != nil {
		return err
	}
	return p.check()
}

// check is the rules across members of a trace.
func (p *wekaParser) check() error {
	t := &p.trace
	switch {
	case len(bytes.TrimSpace([]byte(t.id))) == 0:
		return errors.New("id must not be blank")
	case t.blockTokens < 1:
		return errors.New("block_size must be at least 1, got 0")
	case len(t.requests) == 0:
		return errors.New("the trace has no top-level request")
	}
	if len(p.declared) > 0 {
		for _, model := range t.models {
			if !p.declared[model] {
				return fmt.Errorf("a request has the model %q, which models does not list", model)
			}
		}
	}
	return nil
}

// string reads a string, which must be valid Unicode, into p.text.
func (p *wekaParser) string(name string, raw jsontext.Value) (err error) {
	if p.text, err = str(name, p.text[:0], raw); err != nil {
		return err
	}
	if !utf8.Valid(p.text) {
		return fmt.Errorf("%s must be valid UTF-8", name)
	}
	return nil
}

// strings reads an array of strings.
func (p *wekaParser) strings(name string, each func(s []byte) error) error {
	return p.list(name, func(i int) error {
		raw, err := p.json.value()
		if err != nil {
			return err
		}
		if err := p.string(name+"["+strconv.Itoa(i)+"]", raw); err != nil {
			return err
		}
		return each(p.text)
	})
}

// list reads an array; each reads the value of an element.
func (p *wekaParser) list(name string, each func(i int) error) error {
	dec := p.json.dec
	if dec.PeekKind() != '[' {
		raw, err := p.json.value()
		if err != nil {
			return err
		}
		return fmt.Errorf("%s must be an array, got %s", name, excerpt(raw))
	}
	if _, err := dec.ReadToken(); err != nil {
		return p.json.syntax(err)
	}
	for i := 0; dec.PeekKind() != ']'; i++ {
		if dec.PeekKind() == 0 {
			_, err := dec.ReadToken()
			return p.json.syntax(err)
		}
		if err := each(i); err != nil {
			return err
		}
	}
	_, err := dec.ReadToken()
	return p.json.syntax(err)
}
