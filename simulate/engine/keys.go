package engine

import (
	"encoding/binary"

	"github.com/zeebo/xxh3"

	"github.com/dynosim/dynosim/lower"
)

// hashSeed is the seed of all block and sequence hashes (spec 01 section 7.3).
const hashSeed = 1337

// keys knows the sequence hashes of blocks, which order equal ages in a host cache (spec 10
// section 3).
type keys struct {
	// known has the hashes of numbered blocks, or of blocks by chain and position with 0 for one
	// that nobody asked for.
	known []uint64
	// positions is the number of blocks that may end in one chain.
	positions int64
	buffer    []byte
	// tails has the number of the first block behind the chain of each node, numbers those of the chains' blocks,
	// where blocks that no chain covers are numbered too; nil elsewhere.
	tails, numbers []uint32
	// drawn says that prompts are those of independent synthetic requests.
	drawn bool
}

// covered reports whether chains identify all full blocks of all prompts.
func covered(w *lower.Workload, block int64) bool {
	for i, tokens := range w.Nodes.InputTokens {
		if w.Nodes.Chain[i] < 0 && int64(tokens) >= block || int64(w.Nodes.ChainTokens[i])/block < int64(tokens)/block {
			return false
		}
	}
	return true
}

// UseKeys makes the sequence hashes of prompts available; call it before any request arrives. whole is
// the workload that all nodes come from. Where chains do not identify all blocks of a prompt, the
// blocks are numbered one by one.
func (c *Content) UseKeys(whole *lower.Workload) {
	if !c.interned && !covered(whole, c.block) {
		c.interned = true
		c.numbers = map[string]int32{}
	}
	c.keys = &keys{positions: 1, buffer: make([]byte, 0, 4*c.block)}
	if c.interned && whole.Sessions != nil && !whole.Delta && (whole.BlockTokens == 0 || whole.BlockTokens == c.block) {
		c.keys.numberTails(whole, c.block)
	}
	c.keys.drawn = c.interned && whole.Sessions == nil && whole.Graph == nil && !whole.Delta && len(whole.Chains.Parent) == 0
	if t := c.PathTokens(); t > c.block {
		c.keys.positions = (t + c.block - 1) / c.block
	}
}

// numberTails numbers all blocks of all prompts in the order in which they occur, those behind the chains included: each of
// these occurs once (spec 01 sections 4.2 and 7.1).
func (k *keys) numberTails(w *lower.Workload, block int64) {
	next := uint32(0)
	known := map[uint32]uint32{}
	var path []uint32
	for i, tokens := range w.Nodes.InputTokens {
		path = path[:0]
		for chain := w.Nodes.Chain[i]; chain >= 0; chain = w.Chains.Parent[chain] {
			path = append(path, w.Chains.Block[chain])
		}
		for j := len(path) - 1; j >= 0; j-- {
			if _, there := known[path[j]]; !there {
				known[path[j]] = next
				next++
			}
		}
		k.tails = append(k.tails, next)
		next += uint32((int64(tokens)+block-1)/block) - uint32(len(path))
	}
	k.numbers = make([]uint32, len(known))
	for id, number := range known {
		for int(id) >= len(k.numbers) {
			k.numbers = append(k.numbers, 0)
		}
		k.numbers[id] = number
	}
}

// appendTail appends the tokens behind the chain of a node's prompt, blocks that nothing else has.
func (c *Content) appendTail(h *history, node int32, tokens int64) {
	if k := c.keys; k != nil && k.tails != nil && h.tokens%c.block == 0 {
		parent := int32(-1)
		if n := len(h.blocks); n > 0 {
			parent = h.blocks[n-1]
		}
		number := k.tails[node]
		for ; tokens >= c.block; tokens -= c.block {
			k.number(parent, []stretch{{number, c.block}})
			number++
			parent = c.next
			c.next++
			h.blocks = append(h.blocks, parent)
			h.tokens += c.block
		}
	}
	if k := c.keys; k != nil && k.drawn {
		request := uint64(c.workload.Nodes.RequestIndex[node]) << 32
		parent := int32(-1)
		for at := int64(0); at+c.block <= tokens; at += c.block {
			for j := range c.block {
				k.token(drawnToken(request^uint64(at+j)), 1)
			}
			k.numberBuffer(parent)
			parent = c.next
			c.next++
			h.blocks = append(h.blocks, parent)
		}
		h.tokens, tokens = tokens, 0
	}
	h.unique = true
	c.append(h, 0, tokens)
}

// drawnToken is the token of an independent synthetic request, given its number and its place in the prompt
// (spec 01 section 4.1).
func drawnToken(x uint64) uint32 {
	x += 0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return max(uint32(x^x>>31), 1)
}

// tokenOf is the token that a block of a chain is made of.
func (c *Content) tokenOf(block uint32) uint32 {
	if c.keys != nil && c.keys.numbers != nil {
		return c.keys.numbers[block]
	}
	return block
}

// sum is the hash of a block's tokens, the buffer, behind its parent; first says that it has none.
func (k *keys) sum(parent uint64, first bool) uint64 {
	local := xxh3.HashSeed(k.buffer, hashSeed)
	k.buffer = k.buffer[:0]
	if first {
		return local
	}
	var pair [16]byte
	binary.LittleEndian.PutUint64(pair[:8], parent)
	binary.LittleEndian.PutUint64(pair[8:], local)
	return xxh3.HashSeed(pair[:], hashSeed)
}

// token appends a token count times to the block that is hashed next.
func (k *keys) token(token uint32, count int64) {
	for range count {
		k.buffer = binary.LittleEndian.AppendUint32(k.buffer, token)
	}
}

// number notes the hash of a new numbered block: its tokens behind a parent, -1 for none.
func (k *keys) number(parent int32, tail []stretch) {
	for _, s := range tail {
		k.token(s.token, s.count)
	}
	k.numberBuffer(parent)
}

// numberBuffer notes the hash of a new numbered block whose tokens are in the buffer.
func (k *keys) numberBuffer(parent int32) {
	if parent < 0 {
		k.known = append(k.known, k.sum(0, true))
	} else {
		k.known = append(k.known, k.sum(k.known[parent], false))
	}
}

// unique notes a hash for a numbered block whose tokens nobody knows.
func (k *keys) unique() {
	k.buffer = binary.LittleEndian.AppendUint64(k.buffer[:0], uint64(len(k.known)))
	k.known = append(k.known, k.sum(0, true))
}

// AppendKeys appends the sequence hashes of a request's full prompt blocks. The path of the request is
// known afterwards.
func (c *Content) AppendKeys(r *Request, out []uint64) []uint64 {
	if !r.PathKnown {
		c.Fill(r)
	}
	n := r.Prompt / c.block
	if c.interned {
		for _, number := range r.Path[:n] {
			out = append(out, c.keys.known[number])
		}
		return out
	}
	w, k := c.workload, c.keys
	t := w.BlockTokens
	if chains := int64(len(w.Chains.Parent)) * k.positions; int64(len(k.known)) < chains {
		k.known = append(k.known, make([]uint64, chains-int64(len(k.known)))...)
	}
	parent := uint64(0)
	for i := range n {
		end := (i + 1) * c.block
		element := (end - 1) / t
		known := &k.known[int64(r.Path[element])*k.positions+i-element*t/c.block]
		if *known == 0 {
			for at := i * c.block; at < end; {
				stop := min(end, (at/t+1)*t)
				k.token(w.Chains.Block[r.Path[at/t]], stop-at)
				at = stop
			}
			*known = k.sum(parent, i == 0)
		}
		parent = *known
		out = append(out, parent)
	}
	return out
}
