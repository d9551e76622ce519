package lower

import (
	"encoding/hex"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/zeebo/blake3"

	"github.com/dynosim/dynosim/schemas"
)

// digestPage is how much text is handed to the hash at a time.
const digestPage = 64 << 10

// graphDigest is the digest of a graph: of its nodes as compact JSON, in their order (spec 02 section 6.3).
type graphDigest struct {
	hash  *blake3.Hasher
	text  []byte
	nodes int64
}

func (d *graphDigest) begin(blockTokens int64) {
	d.hash = blake3.New()
	d.text = strconv.AppendInt(append(d.text, `{"block_size":`...), blockTokens, 10)
	d.text = append(d.text, `,"nodes":[`...)
}

// node adds node k of a play. Names are those of the whole graph.
func (d *graphDigest) node(whole *Graph, p *openPlay, k int32, authored []uint32) {
	g, row, play, text := p.graph, p.row[k], &p.graph.Plays[0], d.text
	if d.nodes++; d.nodes > 1 {
		text = append(text, ',')
	}
	text = AppendDigestText(append(text, `{"request_id":`...), g.requestID(int(k)))
	text = AppendDigestText(append(text, `,"play_id":`...), []byte(play.ID))
	if play.Ordinal >= 0 {
		text = strconv.AppendInt(append(text, `,"source_play_ordinal":`...), play.Ordinal, 10)
	}
	text = AppendDigestText(append(text, `,"session_id":`...), []byte(whole.Sessions[g.Session[k]]))
	text = AppendDigestText(append(text, `,"model":`...), []byte(whole.Models[g.Model[k]]))
	text = strconv.AppendInt(append(text, `,"input_length":`...), int64(p.rows.input[row]), 10)
	text = strconv.AppendInt(append(text, `,"max_output_tokens":`...), int64(p.rows.output[row]), 10)
	if p.rows.hasAuthored[row] == 0 {
		text = append(text, `,"output_token_ids":null,"replay_key":null`...)
	} else {
		text = append(text, `,"output_token_ids":[`...)
		for i, token := range authored {
			if i > 0 {
				text = append(text, ',')
			}
			text = strconv.AppendUint(text, uint64(token), 10)
		}
		text = AppendDigestText(append(text, `],"replay_key":`...), g.requestID(int(k)))
	}
	text = p.chains.hashes.append(append(text, `,"hash_ids":[`...), p.leaf[row])
	if len(text) >= digestPage {
		_, _ = d.hash.Write(text)
		text = text[:0]
	}
	text = AppendDigestFloat(append(text, `],"not_before_ms":`...), g.NotBeforeMS[k])
	if at := g.RecordedAPITimeMS[k]; !math.IsNaN(at) {
		text = AppendDigestFloat(append(text, `,"recorded_api_time_ms":`...), at)
	}
	text = strconv.AppendInt(append(text, `,"priority":`...), int64(g.Priority[k]), 10)
	text = strconv.AppendInt(append(text, `,"strict_priority":`...), int64(g.StrictPriority[k]), 10)
	text = append(text, `,"policy_class":`...)
	if class := g.PolicyClass[k]; class >= 0 {
		text = AppendDigestText(text, []byte(whole.PolicyClasses[class]))
	} else {
		text = append(text, "null"...)
	}
	text = g.appendDependencies(append(text, `,"dependencies":[`...), int(k))
	d.text = append(text, "]}"...)
}

// end is the digest in hexadecimal.
func (d *graphDigest) end() string {
	_, _ = d.hash.Write(append(d.text, "]}"...))
	return hex.EncodeToString(d.hash.Sum(nil))
}

// hashLists writes the hashes of prompts. Every distinct prefix is written once: chains that follow each other have
// their text in one piece.
type hashLists struct {
	parent []int32
	// first is the start of the piece that a chain is in, text has "hash," of each chain and at where it begins.
	first  []int32
	text   []byte
	at     []int64
	pieces []int32
}

func newHashLists(hash []uint64, parent []int32) *hashLists {
	l := &hashLists{parent: parent, first: make([]int32, len(parent)), at: make([]int64, 1, len(parent)+1)}
	for c := range parent {
		l.text = append(strconv.AppendUint(l.text, hash[c], 10), ',')
		l.at = append(l.at, int64(len(l.text)))
		if l.first[c] = int32(c); c > 0 && parent[c] == int32(c)-1 {
			l.first[c] = l.first[c-1]
		}
	}
	return l
}

// append writes the hashes up to a chain, -1 for none.
func (l *hashLists) append(dst []byte, chain int32) []byte {
	if chain < 0 {
		return dst
	}
	l.pieces = l.pieces[:0]
	for ; chain >= 0; chain = l.parent[l.first[chain]] {
		l.pieces = append(l.pieces, chain)
	}
	for i := len(l.pieces) - 1; i >= 0; i-- {
		c := l.pieces[i]
		dst = append(dst, l.text[l.at[l.first[c]]:l.at[c+1]]...)
	}
	return dst[:len(dst)-1]
}

func (g *Graph) appendDependencies(text []byte, node int) []byte {
	for e := g.EdgeFirst[node]; e < g.EdgeFirst[node+1]; e++ {
		if e > g.EdgeFirst[node] {
			text = append(text, ',')
		}
		text = AppendDigestText(append(text, `{"request_id":`...), g.requestID(int(g.Predecessor[e])))
		text = append(append(text, `,"trigger":"`...), schemas.TriggerNames[g.Trigger[e]]...)
		text = AppendDigestFloat(append(text, `","delay_ms":`...), g.DelayMS[e])
		text = append(append(text, `,"relation":"`...), schemas.RelationNames[g.Relation[e]]...)
		text = append(text, `"}`...)
	}
	return text
}

// AppendDigestFloat writes a number as digests want it: the shortest text that reads back, plain with a fraction
// from 1e-5 up to 1e16, else with an exponent (spec 02 section 1.3).
func AppendDigestFloat(dst []byte, x float64) []byte {
	if size := math.Abs(x); size >= 1e-5 && size < 1e16 || x == 0 {
		from := len(dst)
		dst = strconv.AppendFloat(dst, x, 'f', -1, 64)
		for _, c := range dst[from:] {
			if c == '.' {
				return dst
			}
		}
		return append(dst, ".0"...)
	}
	from := len(dst)
	dst = strconv.AppendFloat(dst, x, 'e', -1, 64)
	// Go pads the exponent to two digits.
	for i := from; i < len(dst); i++ {
		if dst[i] == 'e' && i+3 < len(dst) && dst[i+2] == '0' {
			return append(dst[:i+2], dst[i+3:]...)
		}
	}
	return dst
}

const hexDigits = "0123456789abcdef"

// AppendDigestText writes a string as JSON; characters beyond ASCII stay.
func AppendDigestText(dst, s []byte) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf || c >= ' ' && c != '"' && c != '\\' {
			dst = append(dst, c)
			i++
			continue
		}
		i++
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, `\b`...)
		case '\f':
			dst = append(dst, `\f`...)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\t':
			dst = append(dst, `\t`...)
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return append(dst, '"')
}
