package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"math"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/dynosim/dynosim/schemas"
)

const dynamoSchema = "dynamo.request.trace.v1"

// Members of a record, or of the line around it.
const (
	recordEvent = iota
	recordType
	recordSchema
	recordTime
	recordRequest
	recordContext
	recordTool
	recordMembers
)

var recordNames = [recordMembers]string{"event", "event_type", "schema", "event_time_unix_ms", "request", "agent_context", "tool"}

// dynamoRecord is what a request record says.
type dynamoRecord struct {
	id                         []byte
	start, end                 int64
	blockTokens, input, output uint64
	hashes                     []uint64
	// agentic rows have a context; the rest is theirs.
	agentic                bool
	session, parent, model string
	hasParent              bool
	dependencies           []graphEdge
	// tool is what a tool record says about a subagent; its child is empty when it says nothing.
	tool dynamoTool
	// tools is 1 for a tool record with a context.
	tools int
}

// dynamoTool is a tool call that ran a subagent (spec 02 section 5, step 3).
type dynamoTool struct {
	session, source, consumer, child string
	shard                            int32
	line                             int64
}

// dynamoParser reads lines of the format dynamo (spec 01 section 3.6). As in the reference a
// line is read as a whole first, so every number must be in range, strings valid Unicode, and of
// members given twice the last one counts.
type dynamoParser struct {
	json   jsonValue
	strict *jsontext.Decoder
	buf    bytes.Buffer
	text   []byte
	rec    dynamoRecord
}

// depthLimit is how deep values of a line may be nested.
const depthLimit = 127

// validate checks a whole line.
func (p *dynamoParser) validate(line []byte) error {
	p.buf = *bytes.NewBuffer(line)
	if p.strict == nil {
		p.strict = jsontext.NewDecoder(&p.buf, jsontext.AllowDuplicateNames(true))
	} else {
		p.strict.Reset(&p.buf, jsontext.AllowDuplicateNames(true))
	}
	for {
		switch p.strict.PeekKind() {
		case '{', '[', '}', ']':
			if _, err := p.strict.ReadToken(); err != nil {
				return p.json.syntax(err)
			}
			if p.strict.StackDepth() > depthLimit {
				return fmt.Errorf("nested deeper than %d levels", depthLimit)
			}
		default:
			raw, err := p.strict.ReadValue()
			if err != nil {
				return p.json.syntax(err)
			}
			if raw.Kind() == '0' {
				if _, err := number("a number", raw); err != nil {
					return err
				}
			}
		}
		if p.strict.StackDepth() == 0 {
			break
		}
	}
	rest := line[p.strict.InputOffset():]
	if len(bytes.Trim(rest, " \t\r\n")) > 0 {
		return errors.New("not valid JSON: more than one value on the line")
	}
	return nil
}

// fields finds the members of an object: got[i] is the last value of names[i], nil when it is absent or
// null. present has those that are there, null or not.
func (p *dynamoParser) fields(what string, object []byte, names []string, got []jsontext.Value) (present members, err error) {
	clear(got)
	p.json.reset(object)
	err = p.json.object(what, func(name []byte) error {
		for i := range names {
			if string(name) != names[i] {
				continue
			}
			raw, err := p.json.value()
			if err != nil {
				return err
			}
			present |= 1 << i
			// The decoder's text is valid for a moment only, the line stays.
			end := int(p.json.dec.InputOffset())
			if got[i] = object[end-len(raw) : end]; raw.Kind() == 'n' {
				got[i] = nil
			}
			return nil
		}
		return p.json.skip()
	})
	return present, err
}

// str reads a string member that must be there, and is not blank.
func (p *dynamoParser) str(name string, raw jsontext.Value, blankAllowed bool) (string, error) {
	if raw == nil {
		return "", fmt.Errorf("%s is missing", name)
	}
	var err error
	if p.text, err = str(name, p.text[:0], raw); err != nil {
		return "", err
	}
	if !blankAllowed && len(bytes.TrimSpace(p.text)) == 0 {
		return "", fmt.Errorf("%s must not be blank", name)
	}
	return string(p.text), nil
}

// parse reads a line. request says that p.rec is a request, otherwise the line does not matter.
func (p *dynamoParser) parse(line []byte) (request bool, err error) {
	if err := p.validate(line); err != nil {
		return false, err
	}
	if bytes.TrimLeft(line, " \t\r\n")[0] != '{' {
		return false, nil
	}
	var outer, got [recordMembers]jsontext.Value
	wrapped, err := p.fields("a line", line, recordNames[:], outer[:])
	if err != nil {
		return false, err
	}
	got = outer
	if event := outer[recordEvent]; wrapped.has(recordEvent) {
		if got = [recordMembers]jsontext.Value{}; event.Kind() == '{' {
			if _, err := p.fields("event", event, recordNames[:], got[:]); err != nil {
				return false, err
			}
		}
	}
	kind := got[recordType]
	if kind.Kind() != '"' {
		kind = outer[recordType]
	}
	switch string(kind) {
	case `"request_payload"`, `"tool_start"`:
		return false, nil
	case `"request_end"`, `"tool_end"`, `"tool_error"`:
	default:
		return false, fmt.Errorf("event_type must be request_end, tool_end, tool_error, tool_start or request_payload, got %s", given(kind))
	}
	if event := outer[recordEvent]; wrapped.has(recordEvent) && event.Kind() != '{' {
		return false, fmt.Errorf("event must be an object, got %s", given(event))
	}
	return p.record(&got)
}

// given is the text of a value for a message.
func given(raw jsontext.Value) string {
	if raw == nil {
		return "none"
	}
	return excerpt(raw)
}

// record checks a record of a kind that matters.
func (p *dynamoParser) record(got *[recordMembers]jsontext.Value) (request bool, err error) {
	schema, eventType, eventTime := got[recordSchema], got[recordType], got[recordTime]
	body, context, tool := got[recordRequest], got[recordContext], got[recordTool]
	switch {
	case string(schema) != `"`+dynamoSchema+`"`:
		return false, fmt.Errorf("schema must be %s, got %s", dynamoSchema, given(schema))
	case eventType.Kind() != '"':
		return false, fmt.Errorf("event_type must be a string, got %s", given(eventType))
	case eventTime == nil:
		return false, errors.New("event_time_unix_ms is missing")
	}
	at, err := count("event_time_unix_ms", eventTime, math.MaxUint64)
	if err != nil {
		return false, err
	}
	p.rec = dynamoRecord{hashes: p.rec.hashes[:0], id: p.rec.id[:0], model: "unknown"}
	if context != nil {
		p.rec.agentic = true
		if err := p.context(context, tool != nil); err != nil {
			return false, err
		}
	}
	if body != nil {
		if err := p.request(body, at); err != nil {
			return false, err
		}
	}
	if string(eventType) == `"request_end"` {
		if body == nil {
			return false, errors.New("request is missing: a request_end record needs it")
		}
		return true, p.checkID()
	}
	if tool != nil {
		err = p.tool(tool, at, context != nil)
	}
	return false, err
}

func (p *dynamoParser) checkID() error {
	if len(bytes.TrimSpace(p.rec.id)) == 0 {
		return errors.New("request_id must not be blank")
	}
	return nil
}

// context checks an agent context.
func (p *dynamoParser) context(raw jsontext.Value, used bool) error {
	var got [2]jsontext.Value
	if _, err := p.fields("agent_context", raw, []string{"session_id", "parent_session_id"}, got[:]); err != nil {
		return err
	}
	if got[1] != nil {
		parent, err := p.str("parent_session_id", got[1], true)
		if err != nil {
			return err
		}
		p.rec.parent, p.rec.hasParent = parent, true
	}
	session, err := p.str("session_id", got[0], !used)
	p.rec.session = session
	return err
}

// tool checks a tool record; it has no effect otherwise.
func (p *dynamoParser) tool(raw jsontext.Value, eventTime uint64, used bool) error {
	var got [6]jsontext.Value
	names := []string{"tool_call_id", "tool_class", "started_at_unix_ms", "ended_at_unix_ms", "duration_ms", "claude"}
	if _, err := p.fields("tool", raw, names, got[:]); err != nil {
		return err
	}
	for i, name := range names[:2] {
		if _, err := p.str(name, got[i], !used); err != nil {
			return err
		}
	}
	start, end := uint64(0), eventTime
	for i, into := range []*uint64{&start, &end} {
		if got[2+i] == nil {
			continue
		}
		n, err := count(names[2+i], got[2+i], math.MaxUint64)
		if err != nil {
			return err
		}
		*into = n
	}
	if got[4] != nil {
		d, err := number("duration_ms", got[4])
		if err != nil {
			return err
		}
		if used && d < 0 {
			return fmt.Errorf("duration_ms must be at least 0, got %v", d)
		}
	}
	if used && got[2] != nil && end < start {
		return fmt.Errorf("the tool ends at %d, before it starts at %d", end, start)
	}
	if used {
		p.rec.tools++
	}
	if !used || got[5] == nil {
		return nil
	}
	return p.subagent(got[5])
}

// subagent reads what a tool record says about the subagent that the call ran.
func (p *dynamoParser) subagent(raw jsontext.Value) error {
	var got [4]jsontext.Value
	names := []string{"child_session_id", "source_request_id", "execution_mode", "consumer_request_id"}
	if _, err := p.fields("tool.claude", raw, names, got[:]); err != nil || got[0] == nil {
		return err
	}
	t := &p.rec.tool
	var mode string
	for i, into := range []*string{&t.child, &t.source, &mode, &t.consumer} {
		if i == 3 && got[i] == nil {
			continue
		}
		s, err := p.str("tool.claude."+names[i], got[i], false)
		if err != nil {
			return err
		}
		*into = s
	}
	if mode != "blocking" && mode != "background" {
		return fmt.Errorf("tool.claude.execution_mode must be blocking or background, got %q", mode)
	}
	t.session = p.rec.session
	return nil
}

// request reads the metrics of a request.
func (p *dynamoParser) request(raw jsontext.Value, eventTime uint64) error {
	var got [6]jsontext.Value
	names := []string{"request_id", "model", "replay", "request_received_ms", "total_time_ms", "output_tokens"}
	if _, err := p.fields("request", raw, names, got[:]); err != nil {
		return err
	}
	id, err := p.str(names[0], got[0], true)
	if err != nil {
		return err
	}
	p.rec.id = append(p.rec.id, id...)
	if got[1] != nil {
		if p.rec.model, err = p.str(names[1], got[1], true); err != nil {
			return err
		}
	}
	if got[2] == nil {
		return errors.New("replay is missing")
	}
	if err := p.replay(got[2]); err != nil {
		return err
	}
	var received *uint64
	if got[3] != nil {
		n, err := count(names[3], got[3], math.MaxUint64)
		if err != nil {
			return err
		}
		received = &n
	}
	var duration *int64
	if got[4] != nil {
		ms, err := number(names[4], got[4])
		if err != nil {
			return err
		}
		if ms < 0 {
			return fmt.Errorf("total_time_ms must be at least 0, got %v", ms)
		}
		n := clampMS(math.Round(ms))
		duration = &n
	}
	if got[5] == nil {
		return errors.New("output_tokens is missing")
	}
	p.rec.output, err = count(names[5], got[5], math.MaxUint64)
	p.rec.span(eventTime, received, duration)
	return err
}

// replay reads what the request is replayed from: an object, or its three members as an
// array.
func (p *dynamoParser) replay(raw jsontext.Value) error {
	var got [4]jsontext.Value
	names := []string{"trace_block_size", "input_length", "input_sequence_hashes", "dependencies"}
	if raw.Kind() == '[' {
		p.json.reset(raw)
		if _, err := p.json.array(names[:3], func(m int, v jsontext.Value) error {
			end := int(p.json.dec.InputOffset())
			got[m] = raw[end-len(v) : end]
			return nil
		}); err != nil {
			return err
		}
	} else if _, err := p.fields("replay", raw, names, got[:]); err != nil {
		return err
	}
	for i := range names[:3] {
		if got[i] == nil {
			return fmt.Errorf("replay.%s is missing", names[i])
		}
	}
	var err error
	if p.rec.blockTokens, err = count(names[0], got[0], math.MaxInt64); err != nil {
		return err
	}
	if p.rec.input, err = count(names[1], got[1], math.MaxInt64); err != nil {
		return err
	}
	if err := elements(names[2], got[2], math.MaxUint64, func(n uint64) { p.rec.hashes = append(p.rec.hashes, n) }); err != nil {
		return err
	}
	if got[3] == nil || !p.rec.agentic {
		return nil
	}
	return p.dependencies(got[3])
}

// dependencies reads the dependencies that the exporter of a trace knew.
func (p *dynamoParser) dependencies(raw jsontext.Value) error {
	if raw.Kind() != '[' {
		return fmt.Errorf("replay.dependencies must be an array, got %s", excerpt(raw))
	}
	dec := jsontext.NewDecoder(bytes.NewReader(raw), jsonOptions...)
	_, _ = dec.ReadToken()
	names := []string{"request_id", "relation", "trigger"}
	for dec.PeekKind() != ']' {
		v, err := dec.ReadValue()
		if err != nil {
			return err
		}
		var got [3]jsontext.Value
		if _, err := p.fields("a dependency", v.Clone(), names, got[:]); err != nil {
			return err
		}
		var e graphEdge
		if e.name, err = p.str("dependencies.request_id", got[0], false); err != nil {
			return err
		}
		if e.relation, err = oneOf[schemas.Relation]("dependencies.relation", got[1], schemas.RelationNames); err != nil {
			return err
		}
		if e.trigger, err = oneOf[schemas.Trigger]("dependencies.trigger", got[2], schemas.TriggerNames); err != nil {
			return err
		}
		p.rec.dependencies = append(p.rec.dependencies, e)
	}
	return nil
}

// span sets start and end (spec 01 section 3.6, rule 5).
func (r *dynamoRecord) span(eventTime uint64, received *uint64, duration *int64) {
	event := clampUint(eventTime)
	d := int64(0)
	if duration != nil {
		d = *duration
	}
	r.start, r.end = max(event-d, 0), event
	if received != nil {
		r.start = clampUint(*received)
		if duration != nil {
			r.end = r.start + min(d, math.MaxInt64-r.start)
		}
	}
}

func clampUint(n uint64) int64 { return int64(min(n, math.MaxInt64)) }

func clampMS(ms float64) int64 {
	if ms >= math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(ms)
}
