package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/dynosim/dynosim/schemas"
)

// Members of a row of agentic_mooncake. Aliases share a member.
const (
	rowRequestID = iota
	rowSessionID
	rowInput
	rowOutput
	rowOutputIDs
	rowHashIDs
	rowPriority
	rowStrictPriority
	rowPolicyClass
	// With a header.
	rowPlayID
	rowModel
	rowOrdinal
	rowNotBefore
	rowAPITime
	rowStart
	rowEnd
	rowDependencies
	// Without one.
	rowTimestamp
	rowDelay
	rowToolWait
	rowWaitFor
	rowMembers
)

var rowNames = [rowMembers]string{
	"request_id", "session_id", "input_length", "output_length", "output_token_ids", "hash_ids", "priority", "strict_priority", "policy_class",
	"play_id", "model", "source_play_ordinal", "not_before_ms", "recorded_api_time_ms", RecordedStart, RecordedEnd, "dependencies",
	"timestamp", "delay", "tool_wait_ms", "wait_for",
}

// RecordedStart and RecordedEnd are members of a row with a header that the format does not have: recorded times that are not the
// earliest start and that much service time later. Export writes them for snapshots, which alone use them; other programs skip
// them as unknown.
const (
	RecordedStart = "dynosim_recorded_start_ms"
	RecordedEnd   = "dynosim_recorded_end_ms"
)

func rowMember(name []byte) int {
	switch string(name) {
	case "input_tokens":
		return rowInput
	case "output_tokens":
		return rowOutput
	case "created_time":
		return rowTimestamp
	case "delay_ms":
		return rowDelay
	}
	for m, n := range rowNames {
		if string(name) == n {
			return m
		}
	}
	return -1
}

// nullable says which members may be null, which is then as if they were absent.
func nullable(m int) bool {
	switch m {
	case rowOrdinal, rowOutputIDs, rowAPITime, rowStart, rowEnd, rowPolicyClass, rowTimestamp, rowDelay:
		return true
	}
	return false
}

// members reads the members of a row; used says which the row type has.
func (r *agenticReader) members(line []byte, row *graphRow, used func(m int) bool, each func(m int, raw jsontext.Value) error) (present uint32, err error) {
	seen := uint32(0)
	r.json.reset(line)
	err = r.json.object("a row", func(name []byte) error {
		m := rowMember(name)
		if m < 0 || !used(m) {
			return r.json.skip()
		}
		if seen>>m&1 != 0 {
			return fmt.Errorf("%s is given twice", rowNames[m])
		}
		seen |= 1 << m
		if m == rowDependencies {
			present |= 1 << m
			return r.dependencies(row)
		}
		raw, err := r.json.value()
		if err != nil {
			return err
		}
		if raw.Kind() == 'n' && nullable(m) {
			return nil
		}
		present |= 1 << m
		return each(m, raw)
	})
	if err == nil {
		err = r.json.end()
	}
	return present, err
}

// common reads a member that both kinds of row have.
func (r *agenticReader) common(row *graphRow, m int, raw jsontext.Value) (err error) {
	name := rowNames[m]
	switch m {
	case rowRequestID:
		row.id, err = r.filled(name, raw)
	case rowInput, rowOutput:
		var n uint64
		n, err = count(name, raw, math.MaxInt32)
		if m == rowInput {
			row.input = int64(n)
		} else {
			row.output = int64(n)
		}
	case rowOutputIDs:
		row.hasAuthored = true
		err = elements(name, raw, math.MaxUint32, func(n uint64) { row.authored = append(row.authored, uint32(n)) })
	case rowHashIDs:
		r.ids = r.ids[:0]
		if err = elements(name, raw, math.MaxUint64, func(n uint64) { r.ids = append(r.ids, n) }); err == nil {
			for _, id := range r.ids {
				row.leaf = r.graph.tree.child(row.leaf, id)
			}
			row.blocks = int64(len(r.ids))
		}
	case rowPriority:
		var n int64
		if n, err = strconv.ParseInt(string(raw), 10, 32); err != nil || raw.Kind() != '0' {
			err = fmt.Errorf("priority must be a whole number of 32 bits, got %s", excerpt(raw))
		}
		row.priority = int32(n)
	case rowStrictPriority:
		var n uint64
		n, err = count(name, raw, math.MaxUint32)
		row.strict = uint32(n)
	case rowPolicyClass:
		if r.text, err = str(name, r.text[:0], raw); err == nil {
			row.class, row.hasClass = string(r.text), true
		}
	}
	return err
}

// lengths checks the lists of a row against its lengths.
func (r *agenticReader) lengths(row *graphRow) error {
	if row.input < 1 {
		return errors.New("input_length must be at least 1, got 0")
	}
	if row.hasAuthored && int64(len(row.authored)) != row.output {
		return fmt.Errorf("output_token_ids has %d tokens, output_length is %d", len(row.authored), row.output)
	}
	if want := (row.input-1)/r.graph.blockTokens + 1; row.blocks != want {
		return fmt.Errorf("hash_ids has %d blocks, but input_length %d needs exactly %d of %d tokens", row.blocks, row.input, want, r.graph.blockTokens)
	}
	return nil
}

// need names the first of the members that is missing.
func need(present uint32, members ...int) error {
	for _, m := range members {
		if present>>m&1 == 0 {
			return fmt.Errorf("%s is missing", rowNames[m])
		}
	}
	return nil
}

// readRow reads a row of a file with a header.
func (r *agenticReader) readRow(line []byte, row *graphRow) error {
	start, end := unknown, unknown
	present, err := r.members(line, row, func(m int) bool { return m < rowTimestamp }, func(m int, raw jsontext.Value) (err error) {
		switch m {
		case rowSessionID:
			row.session, err = r.filled(rowNames[m], raw)
		case rowPlayID:
			row.play, err = r.filled(rowNames[m], raw)
		case rowModel:
			row.model, err = r.filled(rowNames[m], raw)
		case rowOrdinal:
			var n uint64
			n, err = count(rowNames[m], raw, math.MaxInt64)
			row.ordinal = int64(n)
		case rowNotBefore:
			row.notBefore, err = timeOf(rowNames[m], raw)
		case rowAPITime:
			row.api, err = timeOf(rowNames[m], raw)
		case rowStart:
			start, err = timeOf(rowNames[m], raw)
		case rowEnd:
			end, err = timeOf(rowNames[m], raw)
		default:
			err = r.common(row, m, raw)
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := need(present, rowRequestID, rowPlayID, rowSessionID, rowModel, rowInput, rowOutput, rowHashIDs, rowNotBefore); err != nil {
		return err
	}
	row.start, row.end = row.notBefore, row.notBefore+row.api
	if !math.IsNaN(start) {
		row.start, row.end = start, start+row.api
	}
	if !math.IsNaN(end) {
		row.end = end
	}
	if row.end < row.start {
		return fmt.Errorf("%s is %v, before the start at %v", RecordedEnd, row.end, row.start)
	}
	return r.lengths(row)
}

// timeOf reads milliseconds of at least 0.
func timeOf(name string, raw jsontext.Value) (float64, error) {
	v, err := number(name, raw)
	if err == nil && !(v >= 0) {
		err = fmt.Errorf("%s must be at least 0, got %s", name, excerpt(raw))
	}
	return v, err
}

var edgeNames = []string{"request_id", "trigger", "delay_ms", "relation"}

// dependencies reads the list of edges of a row.
func (r *agenticReader) dependencies(row *graphRow) error {
	dec := r.json.dec
	if dec.PeekKind() != '[' {
		raw, err := r.json.value()
		if err != nil {
			return err
		}
		return fmt.Errorf("dependencies must be an array, got %s", excerpt(raw))
	}
	if _, err := dec.ReadToken(); err != nil {
		return r.json.syntax(err)
	}
	for i := 0; dec.PeekKind() != ']'; i++ {
		if dec.PeekKind() == 0 {
			_, err := dec.ReadToken()
			return r.json.syntax(err)
		}
		if err := r.dependency(row); err != nil {
			return fmt.Errorf("dependencies[%d]: %w", i, err)
		}
	}
	_, err := dec.ReadToken()
	return r.json.syntax(err)
}

func (r *agenticReader) dependency(row *graphRow) error {
	var k known
	var e graphEdge
	err := r.json.object("a dependency", func(name []byte) error {
		m, err := k.once(edgeNames, name)
		if err != nil {
			return err
		}
		if m < 0 {
			return r.json.skip()
		}
		raw, err := r.json.value()
		if err != nil {
			return err
		}
		switch m {
		case 0:
			e.name, err = r.filled("request_id", raw)
		case 1:
			e.trigger, err = oneOf[schemas.Trigger]("trigger", raw, schemas.TriggerNames)
		case 2:
			e.delayMS, err = timeOf("delay_ms", raw)
		case 3:
			e.relation, err = oneOf[schemas.Relation]("relation", raw, schemas.RelationNames)
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := k.require(edgeNames, 0, 1, 2, 3); err != nil {
		return err
	}
	if e.trigger == schemas.TriggerDispatch && e.relation != schemas.RelationSpawn {
		return fmt.Errorf("the trigger dispatch is for the relation spawn only, got %s", schemas.RelationNames[e.relation])
	}
	row.edges = append(row.edges, e)
	return nil
}

// oneOf reads a string that is one of names.
func oneOf[T ~uint8](name string, raw jsontext.Value, names []string) (T, error) {
	for i, n := range names {
		if string(raw) == `"`+n+`"` {
			return T(i), nil
		}
	}
	return 0, fmt.Errorf("%s must be one of %s, got %s", name, joinOr(names), excerpt(raw))
}

func joinOr(names []string) string {
	var b bytes.Buffer
	for i, n := range names {
		switch {
		case i > 0 && i == len(names)-1:
			b.WriteString(" or ")
		case i > 0:
			b.WriteString(", ")
		}
		b.WriteString(n)
	}
	return b.String()
}

// readOldRow reads a row of a file without a header (spec 02 section 4).
func (r *agenticReader) readOldRow(line []byte, row *graphRow) error {
	var delay, toolWait float64
	var waitFor []string
	row.session, row.model = "agentic-session", "unknown"
	used := func(m int) bool { return m < rowPlayID || m >= rowTimestamp }
	present, err := r.members(line, row, used, func(m int, raw jsontext.Value) (err error) {
		switch m {
		case rowSessionID:
			if r.text, err = str(rowNames[m], r.text[:0], raw); err == nil {
				row.session = string(r.text)
			}
		case rowTimestamp:
			row.start, err = number(rowNames[m], raw)
		case rowDelay:
			delay, err = number(rowNames[m], raw)
		case rowToolWait:
			toolWait, err = timeOf(rowNames[m], raw)
		case rowWaitFor:
			waitFor, err = r.names(raw)
		default:
			err = r.common(row, m, raw)
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := need(present, rowRequestID, rowInput, rowOutput, rowHashIDs); err != nil {
		return err
	}
	if !(delay+toolWait >= 0) {
		return fmt.Errorf("delay and tool_wait_ms add up to %v, which must be at least 0", delay+toolWait)
	}
	relation := schemas.RelationSequence
	if len(waitFor) > 1 {
		relation = schemas.RelationJoin
	}
	for _, name := range waitFor {
		row.edges = append(row.edges, graphEdge{name: name, trigger: schemas.TriggerCompletion, relation: relation, delayMS: delay + toolWait})
	}
	if len(waitFor) == 0 {
		row.notBefore = row.start
	}
	return r.lengths(row)
}

// names reads an array of strings.
func (r *agenticReader) names(raw jsontext.Value) (names []string, err error) {
	if err := checkStrings("wait_for", raw); err != nil {
		return nil, err
	}
	dec := jsontext.NewDecoder(bytes.NewReader(raw), jsonOptions...)
	_, _ = dec.ReadToken()
	for dec.PeekKind() != ']' {
		v, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		if r.text, err = str("wait_for", r.text[:0], v); err != nil {
			return nil, err
		}
		names = append(names, string(r.text))
	}
	return names, nil
}
