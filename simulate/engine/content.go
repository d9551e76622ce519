package engine

import (
	"encoding/binary"

	"github.com/dynosim/dynosim/lower"
)

// Content knows which blocks of which requests hold the same tokens (spec 01 section 7).
//
// A request's path identifies its leading full blocks. For prompts that are given whole,
// path elements are the chains of the lowered workload, and a block is identified by the
// chain its last token lies in and its number among the blocks that end there: two blocks
// agree exactly when all hash ids up to that token agree. When prompts grow out of earlier
// turns (mooncake-delta), or outputs are authored and may occur in other prompts, chains
// do not exist before the run: then blocks are interned one by one as the requests arrive,
// and path elements are the interned numbers of whole engine blocks.
type Content struct {
	workload *lower.Workload
	block    int64
	interned bool
	numbers  map[string]int32
	next     int32
	key      []byte
	sessions map[int32]*history
	// keys is nil unless a host cache asks for hashes.
	keys *keys
}

// history is a token sequence that grows.
type history struct {
	tokens int64
	// blocks has the numbers of the full blocks, tail the tokens behind them.
	blocks []int32
	tail   []stretch
	// unique says that the sequence holds generated tokens: what follows matches nothing.
	unique bool
}

// stretch is a token repeated.
type stretch struct {
	token uint32
	count int64
}

// NewContent prepares the identities of a workload for engine blocks of blockTokens tokens.
func NewContent(w *lower.Workload, blockTokens int64) *Content {
	c := &Content{workload: w, block: blockTokens, interned: w.Delta || w.Authored != nil}
	if c.interned {
		c.numbers = map[string]int32{}
	}
	if w.Delta {
		c.sessions = map[int32]*history{}
	}
	return c
}

// Interned reports whether path elements are whole engine blocks numbered during the run.
func (c *Content) Interned() bool { return c.interned }

// Keeps reports whether the content of an ended request may be asked for again, generated
// tokens included.
func (c *Content) Keeps() bool { return c.workload.Delta }

// PathTokens is the number of tokens one path element stands for.
func (c *Content) PathTokens() int64 {
	if c.interned || c.workload.BlockTokens <= 0 {
		return c.block
	}
	return c.workload.BlockTokens
}

// Fill computes the path of a request when it is first looked up. Requests of growing
// sessions have theirs from Dispatch.
func (c *Content) Fill(r *Request) {
	r.PathKnown = true
	nodes := &c.workload.Nodes
	leaf := nodes.Chain[r.Node]
	if leaf < 0 && !c.interned {
		return
	}
	if c.interned {
		var h history
		c.appendPrompt(&h, r.Node)
		c.finishPath(r, &h)
		return
	}
	t := c.workload.BlockTokens
	r.Identified = min(int64(nodes.ChainTokens[r.Node]), r.Prompt) / c.block
	n := int32((r.Identified*c.block + t - 1) / t)
	depth := c.workload.Chains.Depth[leaf]
	for ; depth >= n; depth-- {
		leaf = c.workload.Chains.Parent[leaf]
	}
	if int(n) > cap(r.Path) {
		r.Path = make([]int32, n, 2*n)
	}
	r.Path = r.Path[:n]
	for ; depth >= 0; depth-- {
		r.Path[depth] = leaf
		leaf = c.workload.Chains.Parent[leaf]
	}
}

// Prompt returns the prompt length a node has when it is dispatched now: with growing
// sessions the session's history and the node's input together (spec 01 section 7.5).
func (c *Content) Prompt(node, session int32) int64 {
	input := int64(c.workload.Nodes.InputTokens[node])
	if h := c.sessions[session]; h != nil {
		return h.tokens + input
	}
	return input
}

// Dispatch extends the session's history by the node's input and gives the request its path.
// It does nothing unless sessions grow.
func (c *Content) Dispatch(r *Request, session int32) {
	if !c.workload.Delta {
		return
	}
	h := c.sessions[session]
	if h == nil {
		h = &history{}
		c.sessions[session] = h
	}
	c.appendPrompt(h, r.Node)
	r.PathKnown = true
	c.finishPath(r, h)
}

// Ended extends the session's history by what the request produced, or forgets the session
// when no turn follows.
func (c *Content) Ended(r *Request, session int32, last bool) {
	if !c.workload.Delta {
		return
	}
	if last {
		delete(c.sessions, session)
		return
	}
	h := c.sessions[session]
	if r.Output == 0 {
		return
	}
	if authored := c.authored(r.Node); authored != nil && !h.unique {
		for _, token := range authored[:r.Output] {
			c.append(h, token, 1)
		}
		return
	}
	h.unique = true
	h.blocks = append(h.blocks[:0], r.Path...)
	h.tokens += r.Output
	h.tail = nil
}

// Extend numbers the request's blocks up to, not including, block n. They hold generated
// tokens, so the numbers are new.
func (c *Content) Extend(r *Request, n int64) {
	for int64(len(r.Path)) < n {
		r.Path = append(r.Path, c.fresh())
	}
}

// finishPath sets the path from the sequence that ends with the request's prompt, authored
// output included.
func (c *Content) finishPath(r *Request, h *history) {
	r.Identified = h.tokens / c.block
	r.Path = append(r.Path[:0], h.blocks...)
	authored := c.authored(r.Node)
	if len(authored) == 0 || h.unique {
		return
	}
	r.Authored = true
	whole := history{tokens: h.tokens, tail: append([]stretch(nil), h.tail...), blocks: r.Path}
	for _, token := range authored {
		c.append(&whole, token, 1)
	}
	r.Path, r.Identified = whole.blocks, whole.tokens/c.block
}

// authored returns the authored output of a node, nil when it has none.
func (c *Content) authored(node int32) []uint32 {
	w := c.workload
	if w.AuthoredStart == nil {
		return nil
	}
	from, to := w.AuthoredStart[node], w.AuthoredStart[node+1]
	if from == to {
		return nil
	}
	return w.Authored[from:to:to]
}

// appendPrompt appends the input of a node.
func (c *Content) appendPrompt(h *history, node int32) {
	w := c.workload
	left, leaf := int64(w.Nodes.InputTokens[node]), w.Nodes.Chain[node]
	if leaf < 0 {
		c.appendTail(h, node, left)
		return
	}
	path := make([]int32, w.Chains.Depth[leaf]+1)
	for i := len(path) - 1; i >= 0; i-- {
		path[i] = leaf
		leaf = w.Chains.Parent[leaf]
	}
	covered := min(left, int64(w.Nodes.ChainTokens[node]))
	left -= covered
	for _, chain := range path {
		n := min(covered, w.BlockTokens)
		c.append(h, c.tokenOf(w.Chains.Block[chain]), n)
		covered -= n
	}
	if left > 0 {
		// Tokens beyond the chain match nothing.
		c.appendTail(h, node, left)
	}
}

// append appends a token count times and numbers the blocks that become full.
func (c *Content) append(h *history, token uint32, count int64) {
	room := c.block - h.tokens%c.block
	h.tokens += count
	for !h.unique && count >= room {
		h.push(token, room)
		count -= room
		room = c.block
		h.blocks = append(h.blocks, c.number(h))
		h.tail = h.tail[:0]
	}
	if !h.unique && count > 0 {
		h.push(token, count)
	}
	for h.unique && int64(len(h.blocks)) < h.tokens/c.block {
		h.blocks = append(h.blocks, c.fresh())
	}
}

func (h *history) push(token uint32, count int64) {
	if n := len(h.tail); n > 0 && h.tail[n-1].token == token {
		h.tail[n-1].count += count
		return
	}
	h.tail = append(h.tail, stretch{token, count})
}

// number returns the number of the block whose tokens are the tail and whose predecessor is
// the last block.
func (c *Content) number(h *history) int32 {
	parent := int32(-1)
	if n := len(h.blocks); n > 0 {
		parent = h.blocks[n-1]
	}
	c.key = binary.LittleEndian.AppendUint32(c.key[:0], uint32(parent))
	for _, s := range h.tail {
		c.key = binary.LittleEndian.AppendUint32(c.key, s.token)
		c.key = binary.AppendUvarint(c.key, uint64(s.count))
	}
	if n, ok := c.numbers[string(c.key)]; ok {
		return n
	}
	n := c.next
	c.next++
	if c.keys != nil {
		c.keys.number(parent, h.tail)
	}
	c.numbers[string(c.key)] = n
	return n
}

// fresh numbers a block whose content nothing else has.
func (c *Content) fresh() int32 {
	c.next++
	if c.keys != nil {
		c.keys.unique()
	}
	return c.next - 1
}
