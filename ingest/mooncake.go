package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/go-json-experiment/json/jsontext"
)

// Members of a mooncake row, in the order they have in a row that is an array (spec 01
// sections 3.1 and 3.2).
const (
	memberRequestID = iota
	memberSessionID
	memberInput
	memberOutput
	memberOutputIDs
	memberHashIDs
	memberTimestamp
	memberDelay
	memberPriority
	memberStrictPriority
	memberPolicyClass
	memberCount
)

var memberNames = [memberCount]string{
	"request_id", "session_id", "input_length", "output_length", "output_token_ids",
	"hash_ids", "timestamp", "delay", "priority", "strict_priority", "policy_class",
}

// memberOf finds a member by name or alias, -1 for an unknown one.
func memberOf(name []byte) int {
	switch string(name) {
	case "request_id":
		return memberRequestID
	case "session_id":
		return memberSessionID
	case "input_length", "input_tokens":
		return memberInput
	case "output_length", "output_tokens":
		return memberOutput
	case "output_token_ids":
		return memberOutputIDs
	case "hash_ids":
		return memberHashIDs
	case "timestamp", "created_time":
		return memberTimestamp
	case "delay", "delay_ms":
		return memberDelay
	case "priority":
		return memberPriority
	case "strict_priority":
		return memberStrictPriority
	case "policy_class":
		return memberPolicyClass
	}
	return -1
}

// members is a set of members.
type members uint16

func (m members) has(member int) bool { return m>>member&1 != 0 }

// mooncakeParser reads rows of the formats mooncake and mooncake-delta.
type mooncakeParser struct {
	json jsonValue
	str  []byte
}

func newMooncakeParser() *mooncakeParser { return &mooncakeParser{} }

func (p *mooncakeParser) resume(*batchWriter) bool { return false }

func (p *mooncakeParser) parse(line []byte, number, blockTokens int64, w *batchWriter) (bool, error) {
	i := w.add(number)
	from := w.mark()
	present, plain := parsePlain(line, i, w)
	if !plain {
		w.rollback(from)
		w.b.N = i
		w.add(number)
		var err error
		if present, err = p.strict(line, i, w); err != nil {
			return false, err
		}
	}
	return false, checkMooncake(i, present, from, blockTokens, w)
}

// checkMooncake applies the rules of spec 01 section 3.2 that concern one row, and closes it.
func checkMooncake(i int, present members, from mark, blockTokens int64, w *batchWriter) error {
	b := w.b
	blocks, authored := int64(len(b.Blocks)-from.blocks), int64(len(b.Authored)-from.authored)
	capacity := int64(math.MaxInt64)
	if hi, lo := bits.Mul64(uint64(blocks), uint64(blockTokens)); hi == 0 && lo <= math.MaxInt64 {
		capacity = int64(lo)
	}
	switch {
	case !present.has(memberHashIDs):
		return errors.New("hash_ids is missing")
	case !present.has(memberOutput):
		return errors.New("output_length is missing")
	}
	if !present.has(memberInput) {
		b.InputTokens[i] = capacity
	}
	switch {
	case b.InputTokens[i] > capacity:
		return fmt.Errorf("input_length %d exceeds the %d tokens of hash_ids (%d blocks of %d)", b.InputTokens[i], capacity, blocks, blockTokens)
	case present.has(memberOutputIDs) && authored != b.OutputTokens[i]:
		return fmt.Errorf("output_length %d does not match the %d tokens of output_token_ids", b.OutputTokens[i], authored)
	case b.InputTokens[i] < 1 && blocks == 0 && !present.has(memberInput):
		return errors.New("input_length must be at least 1, but hash_ids is empty")
	case b.InputTokens[i] < 1:
		return fmt.Errorf("input_length must be at least 1, got %d", b.InputTokens[i])
	}
	b.HasAuthored[i] = present.has(memberOutputIDs)
	w.end(i)
	return nil
}

// strict reads any valid row; what is not valid JSON or has a wrong type is an error.
func (p *mooncakeParser) strict(line []byte, i int, w *batchWriter) (present members, err error) {
	p.json.reset(line)
	if p.json.dec.PeekKind() == '[' {
		_, err = p.json.array(memberNames[:], func(m int, raw jsontext.Value) error {
			if raw.Kind() == 'n' {
				return nil
			}
			present |= 1 << m
			return p.set(m, memberNames[m], raw, i, w)
		})
	} else {
		present, err = p.object(i, w)
	}
	if err == nil {
		err = p.json.end()
	}
	return present, err
}

func (p *mooncakeParser) object(i int, w *batchWriter) (present members, err error) {
	var seen members
	var first [memberCount]string
	err = p.json.object("a row", func(name []byte) error {
		m := memberOf(name)
		if m < 0 {
			return p.json.skip()
		}
		if seen.has(m) {
			if string(name) == first[m] {
				return fmt.Errorf("%s is given twice", name)
			}
			return fmt.Errorf("%s and %s are the same member: give one of them", first[m], name)
		}
		seen |= 1 << m
		first[m] = memberNames[m]
		if string(name) != first[m] {
			first[m] = string(name)
		}
		raw, err := p.json.value()
		if err != nil || raw.Kind() == 'n' {
			return err
		}
		present |= 1 << m
		return p.set(m, first[m], raw, i, w)
	})
	return present, err
}

// set stores the value of a member of row i.
func (p *mooncakeParser) set(m int, name string, raw jsontext.Value, i int, w *batchWriter) (err error) {
	b := w.b
	var n uint64
	switch m {
	case memberRequestID, memberSessionID, memberPolicyClass:
		if p.str, err = str(name, p.str[:0], raw); err == nil {
			w.setString(m, i, p.str)
		}
	case memberInput:
		n, err = count(name, raw, math.MaxInt64)
		b.InputTokens[i] = int64(n)
	case memberOutput:
		n, err = count(name, raw, math.MaxInt64)
		b.OutputTokens[i] = int64(n)
	case memberOutputIDs:
		err = elements(name, raw, math.MaxUint32, func(n uint64) { b.Authored = append(b.Authored, uint32(n)) })
	case memberHashIDs:
		err = elements(name, raw, math.MaxUint64, func(n uint64) { b.Blocks = append(b.Blocks, n) })
	case memberTimestamp:
		b.HasTimestamp[i] = true
		b.TimestampMS[i], err = number(name, raw)
	case memberDelay:
		b.HasDelay[i] = true
		b.DelayMS[i], err = number(name, raw)
	case memberPriority:
		b.Priority[i], err = priority(name, raw)
	case memberStrictPriority:
		n, err = count(name, raw, math.MaxUint32)
		b.StrictPriority[i] = uint32(n)
	}
	return err
}

// setString stores one of the strings of row i.
func (w *batchWriter) setString(m, i int, value []byte) {
	b := w.b
	switch m {
	case memberRequestID:
		b.HasRequest[i] = true
		w.str(&b.RequestID[i], value)
	case memberSessionID:
		b.HasSession[i] = true
		w.str(&b.SessionID[i], value)
	case memberPolicyClass:
		b.HasPolicyClass[i] = true
		w.str(&b.PolicyClass[i], value)
	}
}

// priority converts a whole number of 32 bits with sign; "-0" is none.
func priority(name string, raw jsontext.Value) (int32, error) {
	digits, negative := bytes.CutPrefix(raw, []byte("-"))
	limit := uint64(math.MaxInt32)
	if negative {
		limit++
	}
	n, ok := integer(digits, limit)
	if !ok || negative && n == 0 {
		return 0, fmt.Errorf("%s must be a whole number from %d to %d without fraction and exponent, got %s", name, math.MinInt32, math.MaxInt32, excerpt(raw))
	}
	if negative {
		return int32(-int64(n)), nil
	}
	return int32(n), nil
}
