package sglang

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// plain is a radix tree as spec 04 section 4 describes it: edges are lists of page contents,
// compared one by one, and leaves are searched for.
type plain struct {
	root      *plainNode
	tick      int
	free      int
	evictable int
}

type plainNode struct {
	parent   *plainNode
	children map[string]*plainNode
	edge     []string
	lock     int
	tick     int
}

func (p *plain) draw() int { p.tick++; return p.tick }

func agree(a, b []string) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func (p *plain) split(n *plainNode, at int) *plainNode {
	u := &plainNode{parent: n.parent, children: map[string]*plainNode{n.edge[at]: n}, edge: slices.Clone(n.edge[:at]), lock: n.lock, tick: n.tick}
	n.parent.children[n.edge[0]] = u
	n.parent, n.edge = u, slices.Clone(n.edge[at:])
	return u
}

func (p *plain) match(keys []string) (n int) {
	at := p.root
	for n < len(keys) && at.children[keys[n]] != nil {
		at = at.children[keys[n]]
		m := agree(at.edge, keys[n:])
		if n += m; m < len(at.edge) {
			break
		}
	}
	return n
}

func (p *plain) take(keys []string) (int, *plainNode) {
	t, at, n := p.draw(), p.root, 0
	for n < len(keys) && at.children[keys[n]] != nil {
		child := at.children[keys[n]]
		m := agree(child.edge, keys[n:])
		if n += m; m < len(child.edge) {
			at = p.split(child, m)
			break
		}
		child.tick, at = t, child
	}
	p.lock(at, 1)
	return n, at
}

func (p *plain) insert(start *plainNode, keys []string) (at *plainNode, stored int) {
	if len(keys) == 0 {
		return start, 0
	}
	t := p.draw()
	for n := start; n != p.root; n = n.parent {
		n.tick = t
	}
	grow := func(parent *plainNode) (*plainNode, int) {
		child := &plainNode{parent: parent, children: map[string]*plainNode{}, edge: slices.Clone(keys), tick: p.draw()}
		parent.children[keys[0]] = child
		p.evictable += len(keys)
		return child, len(keys)
	}
	for at = start; len(keys) > 0; {
		if at != p.root && len(at.children) == 0 && (at.lock == 0 || at == start && at.lock == 1) {
			at.edge, at.tick = append(at.edge, keys...), t
			if at.lock == 0 {
				p.evictable += len(keys)
			}
			return at, len(keys)
		}
		child := at.children[keys[0]]
		if child == nil {
			return grow(at)
		}
		m := agree(child.edge, keys)
		if keys = keys[m:]; m < len(child.edge) {
			if at = p.split(child, m); len(keys) > 0 {
				return grow(at)
			}
			return at, 0
		}
		at, child.tick = child, t
	}
	return at, 0
}

func (p *plain) lock(n *plainNode, by int) {
	for ; n != p.root; n = n.parent {
		before := n.lock
		n.lock += by
		if before == 0 {
			p.evictable -= len(n.edge)
		} else if n.lock == 0 {
			p.evictable += len(n.edge)
		}
	}
}

func (p *plain) oldest(n, best *plainNode) *plainNode {
	if n != p.root && len(n.children) == 0 && n.lock == 0 && (best == nil || n.tick < best.tick) {
		best = n
	}
	for _, child := range n.children {
		best = p.oldest(child, best)
	}
	return best
}

func (p *plain) evict(n int) {
	for n > 0 {
		leaf := p.oldest(p.root, nil)
		if leaf == nil {
			return
		}
		cut := min(n, len(leaf.edge))
		n -= cut
		p.free += cut
		p.evictable -= cut
		if cut == len(leaf.edge) {
			delete(leaf.parent.children, leaf.edge[0])
		}
		leaf.edge = leaf.edge[:len(leaf.edge)-cut]
	}
}

// holder is a request that holds a node of both trees.
type holder struct {
	s           sequence
	keys        []string
	cached, mat int64
	at          int32
	plain       *plainNode
}

// TestTree compares the tree with the plain one over random prompts that share trace blocks,
// for pages smaller and larger than these, and counts the pages.
func TestTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		page, element := rapid.Int64Range(1, 5).Draw(t, "page"), rapid.Int64Range(1, 7).Draw(t, "element")
		const pages = 120
		tree := newTree(pages, page, element)
		model := &plain{root: &plainNode{children: map[string]*plainNode{}}, free: pages}
		chains := map[string]int32{}
		tick, owners := uint64(0), int32(0)
		draw := func() uint64 { tick++; return tick }
		sequenceOf := func() *holder {
			h := &holder{}
			owners++
			h.s.owner = owners
			tokens := []string{}
			blocks := rapid.SliceOfN(rapid.IntRange(0, 2), 0, 6).Draw(t, "blocks")
			prefix := ""
			for _, b := range blocks {
				prefix += fmt.Sprint(b)
				if _, known := chains[prefix]; !known {
					chains[prefix] = int32(len(chains))
				}
				h.s.path = append(h.s.path, chains[prefix])
				tokens = append(tokens, slices.Repeat([]string{fmt.Sprint(b)}, int(element))...)
			}
			if cut := rapid.IntRange(0, int(element)-1).Draw(t, "cut"); len(tokens) > 0 {
				tokens = tokens[:len(tokens)-cut]
			}
			h.s.shared = int64(len(tokens)) / page
			for i := range rapid.IntRange(0, 9).Draw(t, "own") {
				tokens = append(tokens, fmt.Sprintf("own%d-%d", owners, i))
			}
			for ; int64(len(tokens)) >= page; tokens = tokens[page:] {
				h.keys = append(h.keys, strings.Join(tokens[:page], " "))
			}
			return h
		}
		var holders []*holder
		same := func(what string, got, want any) {
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("%s: got %v, want %v", what, got, want)
			}
		}
		store := func(h *holder, to int64) {
			at, stored := tree.insert(h.at, &h.s, h.cached, to, draw())
			other, wanted := model.insert(h.plain, h.keys[h.cached:to])
			same("stored", stored, wanted)
			tree.free += to - h.cached - stored
			model.free += int(to-h.cached) - wanted
			tree.lock(at)
			tree.unlock(h.at)
			model.lock(other, 1)
			model.lock(h.plain, -1)
			h.at, h.plain, h.cached = at, other, to
		}
		t.Repeat(map[string]func(*rapid.T){
			"": func(*rapid.T) {
				same("free", tree.free, model.free)
				same("evictable", tree.evictable, model.evictable)
				held, private := int64(0), int64(0)
				for _, n := range tree.nodes[1:] {
					held += n.count
				}
				for _, h := range holders {
					private += h.mat - h.cached
				}
				for _, id := range tree.unused {
					held -= tree.nodes[id].count
				}
				same("all pages", tree.free+held+private, pages)
			},
			"look": func(*rapid.T) {
				h := sequenceOf()
				same("match", tree.match(&h.s, int64(len(h.keys))), model.match(h.keys))
			},
			"begin": func(*rapid.T) {
				h := sequenceOf()
				limit := rapid.IntRange(0, len(h.keys)).Draw(t, "limit")
				n, at := tree.take(&h.s, int64(limit), draw())
				m, other := model.take(h.keys[:limit])
				same("taken", n, m)
				h.at, h.plain, h.cached, h.mat = at, other, n, n
				holders = append(holders, h)
			},
			"compute": func(t *rapid.T) {
				if len(holders) == 0 {
					t.Skip("nobody")
				}
				h := rapid.SampledFrom(holders).Draw(t, "holder")
				n := rapid.Int64Range(0, int64(len(h.keys))-h.mat).Draw(t, "pages")
				if n > tree.available() {
					return
				}
				tree.evict(n - tree.free)
				model.evict(int(n) - model.free)
				same("free after eviction", tree.free, model.free)
				tree.free -= n
				model.free -= int(n)
				h.mat += n
				if rapid.Bool().Draw(t, "store") {
					store(h, h.mat)
				}
			},
			"end": func(t *rapid.T) {
				if len(holders) == 0 {
					t.Skip("nobody")
				}
				i := rapid.IntRange(0, len(holders)-1).Draw(t, "holder")
				h := holders[i]
				if rapid.Bool().Draw(t, "store") {
					store(h, h.mat)
				}
				tree.free += h.mat - h.cached
				model.free += int(h.mat - h.cached)
				tree.unlock(h.at)
				model.lock(h.plain, -1)
				holders = slices.Delete(holders, i, i+1)
			},
			"evict": func(t *rapid.T) {
				n := rapid.IntRange(0, 8).Draw(t, "pages")
				tree.evict(int64(n))
				model.evict(n)
			},
		})
	})
}
