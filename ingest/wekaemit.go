package ingest

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"strconv"

	"github.com/zeebo/blake3"

	"github.com/dynosim/dynosim/schemas"
)

// Domains of block identities.
const (
	domainFull = "weka-full-block"
	domainTail = "weka-partial-tail"
)

// hash is the 64-bit hash of the identity in h.text, which begins with its domain: of no other identity of the play.
func (h *wekaHashes) hash() uint64 {
	n := len(h.text)
	for nonce := uint64(0); ; nonce++ {
		h.text = strconv.AppendUint(append(h.text[:n], 0), nonce, 10)
		sum := blake3.Sum256(h.text)
		u := binary.LittleEndian.Uint64(sum[:8])
		if _, taken := h.taken[u]; !taken {
			h.taken[u] = struct{}{}
			return u
		}
	}
}

// begin starts an identity.
func (h *wekaHashes) begin(domain string) {
	h.text = append(append(h.text[:0], domain...), 0)
}

// block is the hash of a block with an id of its own.
func (h *wekaHashes) block(source string, id uint64) uint64 {
	if u, ok := h.full[id]; ok {
		return u
	}
	h.begin(domainFull)
	h.text = append(append(append(h.text, "source:"...), source...), ':')
	h.text = strconv.AppendUint(h.text, id, 10)
	u := h.hash()
	h.full[id] = u
	return u
}

// missing is the hash of a full block without an id.
func (h *wekaHashes) missing(request []byte, k int64) uint64 {
	h.begin(domainFull)
	h.text = append(append(append(h.text, "private:missing:"...), request...), ':')
	h.text = strconv.AppendInt(h.text, k, 10)
	return h.hash()
}

// tail is the hash of the last block of a prompt when it is not full.
func (h *wekaHashes) tail(request []byte, full, in int64) uint64 {
	h.begin(domainTail)
	h.text = append(append(h.text, request...), ':')
	h.text = append(strconv.AppendInt(h.text, full, 10), ':')
	h.text = strconv.AppendInt(h.text, in, 10)
	return h.hash()
}

// namespace starts the names of an object's play.
func namespace(source string) []byte {
	sum := blake3.Sum256([]byte(source))
	return append([]byte("weka:"), hex.EncodeToString(sum[:8])...)
}

// emit fills the batch with the play that the graph holds, requests in the order of the object with those of
// subagents where their markers stand.
func (r *wekaReader) emit(b *schemas.RequestBatch) {
	g, t, w := &r.graph, &r.parser.trace, &r.w
	source := r.sourceName()
	ns := namespace(source)
	r.hashes.reset()
	w.reset(b, t.blockTokens, len(g.all))
	zero := math.Inf(1)
	for i := range g.all {
		zero = min(zero, g.all[i].t)
	}
	// Predecessors may come later in this order, so rows are numbered first.
	row := g.rows()
	for _, q := range g.order(row) {
		i := w.next(int64(row[q]) + 1)
		r.emitRow(i, q, row, ns, source, zero)
		w.end(i)
	}
	w.finish(schemas.SourcePlay{ID: string(ns) + ":play:" + t.id, Source: source, Ordinal: r.ordinal()})
	r.request += int64(len(g.all))
}

// ordinal is the source ordinal of the play at hand: plays are numbered in the order in which they are read.
func (r *wekaReader) ordinal() int64 {
	r.plays++
	return r.plays - 1
}

// rows numbers the requests of the play in the order of the object.
func (g *wekaGraph) rows() []int32 {
	row := make([]int32, len(g.all))
	n, agent, top := int32(0), 0, len(g.trace.requests)
	for i := range g.trace.requests {
		for agent < len(g.trace.agents) && g.trace.agents[agent].outer < g.trace.requests[i].outer {
			a := &g.trace.agents[agent]
			for k := a.from; k < a.to; k++ {
				row[top+int(k)] = n
				n++
			}
			agent++
		}
		row[i] = n
		n++
	}
	for ; agent < len(g.trace.agents); agent++ {
		a := &g.trace.agents[agent]
		for k := a.from; k < a.to; k++ {
			row[top+int(k)] = n
			n++
		}
	}
	return row
}

// order is the inverse of rows.
func (g *wekaGraph) order(row []int32) []int32 {
	order := make([]int32, len(row))
	for q, i := range row {
		order[i] = int32(q)
	}
	return order
}

// emitRow fills row i with request q.
func (r *wekaReader) emitRow(i int, q int32, row []int32, ns []byte, source string, zero float64) {
	g, t, w := &r.graph, &r.parser.trace, &r.w
	b, a, request := w.b, w.a, &g.all[q]
	from := len(w.text)
	w.text = appendWekaID(append(append(w.text, ns...), ":request:"...), request)
	w.str(&b.RequestID[i], from)
	id := w.text[from:]
	b.InputTokens[i], b.OutputTokens[i] = request.in, request.out
	b.TimestampMS[i] = milliseconds(request.t - zero)
	apiMS := math.NaN()
	if request.hasAPI {
		apiMS = milliseconds(request.api)
	}
	w.recorded(i, apiMS)
	a.Model[i] = t.models[request.model]
	r.blocks(i, request, id, source)
	for _, e := range g.edges[q] {
		a.Edges = append(a.Edges, schemas.SourceEdge{
			Predecessor: r.request + int64(row[e.from]), Trigger: e.trigger, Relation: e.relation, DelayMS: e.delayMS,
		})
	}
	r.emitSession(i, g.session[q], ns)
}

// blocks fills the block list of row i: shared blocks, then those that only this request has.
func (r *wekaReader) blocks(i int, request *wekaRequest, id []byte, source string) {
	t, h, b := &r.parser.trace, &r.hashes, r.w.b
	full := request.in / t.blockTokens
	shared := min(full, int64(t.tree.length(request.leaf)))
	leaf := t.tree.cut(request.leaf, int32(shared))
	t.tree.emit(b, i, leaf, r.request+int64(i), func(id uint64) uint64 { return h.block(source, id) })
	for k := shared; k < full; k++ {
		b.Blocks = append(b.Blocks, h.missing(id, k))
	}
	if request.in%t.blockTokens != 0 {
		b.Blocks = append(b.Blocks, h.tail(id, full, request.in))
	}
}

// emitSession names the session of row i.
func (r *wekaReader) emitSession(i int, s sessionRef, ns []byte) {
	t, w := &r.parser.trace, &r.w
	from := len(w.text)
	w.text = append(append(w.text, ns...), ":session:"...)
	if s.agent < 0 {
		w.text = append(w.text, "root"...)
	} else {
		a := &t.agents[s.agent]
		w.text = strconv.AppendInt(append(w.text, "subagent:"...), int64(a.outer), 10)
		w.text = append(append(w.text, ':'), a.id...)
	}
	if s.stream > 0 {
		w.text = strconv.AppendInt(append(w.text, ":worker:"...), int64(s.stream)-1, 10)
	}
	w.str(&w.b.SessionID[i], from)
}
