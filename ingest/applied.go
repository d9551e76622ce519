package ingest

import (
	"fmt"
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/dynosim/dynosim/schemas"
)

// Members of a row of applied_compute_agentic, in the order they have in a row that is an
// array (spec 01 section 3.5).
const (
	appliedTurns = iota
	appliedPrompt
	appliedResponses
	appliedToolOutputs
	appliedLatencies
	appliedFinal
	appliedCount
)

var appliedNames = [appliedCount]string{
	"num_turns", "input_prompt_length", "assistant_response_length",
	"tool_call_output_length", "tool_call_latency", "final_assistant_response_length",
}

// appliedParser reads rows of the format applied_compute_agentic. A row is a session; every
// turn becomes a row of the batch.
type appliedParser struct {
	json   jsonValue
	ratio  float64
	groups uint64
	// fresh is the next block id that no session has used.
	fresh uint64

	// The row that is being read: its members, and the turn that comes next.
	line                                int64
	blockTokens                         int64
	turns, prompt, final                uint64
	responses, toolOutputs              []uint64
	latencies                           []float64
	turn, tokens, shared, firstSharedID uint64
	name                                []byte
}

func newAppliedParser(source *schemas.SourceSpec) (rowParser, error) {
	if q := source.SharedPrefixRatio; !(q >= 0 && q <= 1) {
		return nil, fmt.Errorf("the shared prefix ratio must be from 0 to 1, got %v", q)
	}
	if source.PrefixGroups < 0 || source.PrefixGroups > math.MaxUint32 {
		return nil, fmt.Errorf("the number of prefix groups must be from 0 to %d, got %d", uint32(math.MaxUint32), source.PrefixGroups)
	}
	return &appliedParser{ratio: source.SharedPrefixRatio, groups: uint64(source.PrefixGroups)}, nil
}

func (p *appliedParser) parse(line []byte, number, blockTokens int64, w *batchWriter) (more bool, err error) {
	p.line, p.blockTokens = number, blockTokens
	if err := p.read(line); err != nil {
		return false, err
	}
	if err := p.check(); err != nil {
		return false, err
	}
	p.turn, p.tokens, p.shared = 0, p.prompt, 0
	if p.ratio > 0 && p.groups > 0 {
		p.shared = uint64(sharedBlocks(int64(p.prompt), blockTokens, p.ratio))
		p.firstSharedID = sharedBlockBase(0xA63E, uint64(number-1)%p.groups)
	}
	return p.resume(w), nil
}

// read decodes the members.
func (p *appliedParser) read(line []byte) error {
	p.json.reset(line)
	var seen members
	var err error
	if p.json.dec.PeekKind() == '[' {
		seen, err = p.json.array(appliedNames[:], p.set)
	} else {
		err = p.json.object("a row", func(name []byte) error {
			m := appliedMember(name)
			if m < 0 {
				return p.json.skip()
			}
			if seen.has(m) {
				return fmt.Errorf("%s is given twice", name)
			}
			seen |= 1 << m
			raw, err := p.json.value()
			if err != nil {
				return err
			}
			return p.set(m, raw)
		})
	}
	if err != nil {
		return err
	}
	if err := p.json.end(); err != nil {
		return err
	}
	for m, name := range appliedNames {
		if !seen.has(m) {
			return fmt.Errorf("%s is missing", name)
		}
	}
	return nil
}

func appliedMember(name []byte) int {
	for m := range appliedNames {
		if string(name) == appliedNames[m] {
			return m
		}
	}
	return -1
}

func (p *appliedParser) set(m int, raw jsontext.Value) (err error) {
	name := appliedNames[m]
	switch m {
	case appliedTurns:
		p.turns, err = count(name, raw, math.MaxInt64)
	case appliedPrompt:
		p.prompt, err = count(name, raw, math.MaxInt64)
	case appliedFinal:
		p.final, err = count(name, raw, math.MaxInt64)
	case appliedResponses:
		p.responses = p.responses[:0]
		err = elements(name, raw, math.MaxInt64, func(n uint64) { p.responses = append(p.responses, n) })
	case appliedToolOutputs:
		p.toolOutputs = p.toolOutputs[:0]
		err = elements(name, raw, math.MaxInt64, func(n uint64) { p.toolOutputs = append(p.toolOutputs, n) })
	case appliedLatencies:
		p.latencies, err = numbers(name, raw, p.latencies[:0])
	}
	return err
}

// numbers splits the text of a valid JSON array of numbers.
func numbers(name string, raw jsontext.Value, dst []float64) ([]float64, error) {
	if raw.Kind() != '[' {
		return dst, fmt.Errorf("%s must be an array of numbers, got %s", name, excerpt(raw))
	}
	for i := 1; ; {
		i = skip(raw, i)
		if raw[i] == ']' {
			return dst, nil
		}
		from := i
		for raw[i] != ',' && raw[i] != ']' && raw[i] > ' ' {
			i++
		}
		v, err := number(name+"["+strconv.Itoa(len(dst))+"]", raw[from:i])
		if err != nil {
			return dst, err
		}
		dst = append(dst, v)
		if i = skip(raw, i); raw[i] == ',' {
			i++
		}
	}
}

// check applies the rules across members. Lengths are limited, so that a row cannot ask for
// more blocks than there is memory for.
func (p *appliedParser) check() error {
	for _, list := range []struct {
		member, n int
	}{{appliedResponses, len(p.responses)}, {appliedToolOutputs, len(p.toolOutputs)}, {appliedLatencies, len(p.latencies)}} {
		if uint64(list.n) != p.turns {
			return fmt.Errorf("%s has %d elements, but num_turns is %d", appliedNames[list.member], list.n, p.turns)
		}
	}
	if p.prompt < 1 {
		return fmt.Errorf("input_prompt_length must be at least 1, got 0")
	}
	for i, v := range p.latencies {
		if !(v >= 0) || math.IsInf(v*1000.0, 0) {
			return fmt.Errorf("tool_call_latency[%d] must be a finite number of at least 0, got %v", i, v)
		}
	}
	tokens := p.prompt
	for i := range p.responses {
		if tokens <= math.MaxInt32 && p.responses[i] <= math.MaxInt32 && p.toolOutputs[i] <= math.MaxInt32 {
			tokens += p.responses[i] + p.toolOutputs[i]
			continue
		}
		tokens = math.MaxInt64
	}
	if tokens > math.MaxInt32 || p.final > math.MaxInt32 {
		return fmt.Errorf("the session grows beyond %d tokens", math.MaxInt32)
	}
	return nil
}

// resume appends the next turn of the row.
func (p *appliedParser) resume(w *batchWriter) (more bool) {
	b := w.b
	i := w.add(p.line)
	p.name = strconv.AppendInt(append(p.name[:0], "applied_compute_agentic_session_"...), p.line, 10)
	b.HasSession[i] = true
	w.str(&b.SessionID[i], p.name)
	b.InputTokens[i] = int64(p.tokens)
	blocks := uint64(ceilDiv(int64(p.tokens), p.blockTokens))
	for block := range blocks {
		id := p.fresh + block
		if block < p.shared {
			id = p.firstSharedID + block
		}
		b.Blocks = append(b.Blocks, id)
	}
	w.end(i)
	if p.turn > 0 {
		b.HasDelay[i], b.DelayMS[i] = true, p.latencies[p.turn-1]*1000.0
	}
	if p.turn == p.turns {
		b.OutputTokens[i] = int64(p.final)
		p.fresh += blocks
		return false
	}
	b.OutputTokens[i] = int64(p.responses[p.turn])
	p.tokens += p.responses[p.turn] + p.toolOutputs[p.turn]
	p.turn++
	return true
}
