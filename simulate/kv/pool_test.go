package kv

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// content is an identity of the model.
type content struct{ chain, position int32 }

// block is a cached block of the model.
type block struct {
	entry int32
	what  content
	refs  int
}

// model is the pool as spec 03 section 4 words it, with lists and searches.
type model struct {
	total, free, private int
	cached               []*block
	// idle is in order of release; a nil block is one that nothing can ask for.
	idle []*block
}

func (m *model) oldest(c content) *block {
	for _, b := range m.cached {
		if b.what == c {
			return b
		}
	}
	return nil
}

func (m *model) take(n int) bool {
	if n > m.free+len(m.idle) {
		return false
	}
	for range max(0, n-m.free) {
		b := m.idle[0]
		m.idle = m.idle[1:]
		m.cached = slices.DeleteFunc(m.cached, func(x *block) bool { return b != nil && x == b })
		m.free++
	}
	m.free -= n
	m.private += n
	return true
}

// TestPoolAgainstModel runs random operations on the pool and on the model and compares
// what can be seen after each.
func TestPoolAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const positions = 3
		total := rapid.IntRange(1, 30).Draw(t, "total")
		p, m := New(int64(total), positions, true), &model{total: total, free: total}
		draw := func() content {
			return content{rapid.Int32Range(0, 12).Draw(t, "chain"), rapid.Int32Range(0, positions-1).Draw(t, "position")}
		}
		held := func() []*block {
			var out []*block
			for _, b := range m.cached {
				if b.refs > 0 {
					out = append(out, b)
				}
			}
			return out
		}
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				n := rapid.IntRange(0, 6).Draw(t, "n")
				if got, want := p.Take(int64(n)), m.take(n); got != want {
					t.Fatalf("Take(%d) = %v, want %v", n, got, want)
				}
			},
			"store": func(t *rapid.T) {
				if m.private == 0 {
					t.Skip("no private block")
				}
				c := draw()
				m.private--
				m.cached = append(m.cached, &block{p.Store(p.Page(c.chain), c.position), c, 1})
			},
			"use": func(t *rapid.T) {
				b := m.oldest(draw())
				if b == nil {
					t.Skip("not cached")
				}
				p.Use(b.entry)
				if b.refs == 0 {
					m.idle = slices.DeleteFunc(m.idle, func(x *block) bool { return x == b })
				}
				b.refs++
			},
			"release": func(t *rapid.T) {
				blocks := held()
				if len(blocks) == 0 {
					t.Skip("nothing held")
				}
				b := rapid.SampledFrom(blocks).Draw(t, "block")
				p.Release(b.entry)
				if b.refs--; b.refs == 0 {
					m.idle = append(m.idle, b)
				}
			},
			"release run": func(t *rapid.T) {
				n := rapid.IntRange(0, m.private).Draw(t, "n")
				p.ReleaseRun(int64(n))
				m.private -= n
				m.idle = append(m.idle, make([]*block, n)...)
			},
			"free": func(t *rapid.T) {
				n := rapid.IntRange(0, m.private).Draw(t, "n")
				p.Free(int64(n))
				m.private -= n
				m.free += n
			},
			"": func(t *rapid.T) {
				if got, want := p.Idle(), int64(len(m.idle)); got != want {
					t.Fatalf("idle %d, want %d", got, want)
				}
				if got, want := p.Available(), int64(m.free+len(m.idle)); got != want {
					t.Fatalf("available %d, want %d", got, want)
				}
				for chain := range int32(13) {
					page := p.Find(chain)
					for position := range int32(positions) {
						got, want := None, None
						if page >= 0 {
							got = p.Head(page, position)
						}
						b := m.oldest(content{chain, position})
						if b != nil {
							want = b.entry
						}
						if got != want {
							t.Fatalf("chain %d position %d: entry %d, want %d", chain, position, got, want)
						}
						if b != nil && p.InUse(got) != (b.refs > 0) {
							t.Fatalf("chain %d position %d: in use %v, want %v", chain, position, p.InUse(got), b.refs > 0)
						}
					}
				}
			},
		})
	})
}

// TestPrivatePage checks that content of a private page lives until it is evicted, is never
// found by chain, and that the page's memory is used again.
func TestPrivatePage(t *testing.T) {
	p := New(2, 2, true)
	for range 1000 {
		p.Take(2)
		pg := p.PrivatePage()
		e := p.Store(pg, 1)
		p.Free(1)
		p.Release(e)
		if p.Head(pg, 1) != e || p.Head(pg, 0) != None || p.Find(0) != None {
			t.Fatal("the block must be found on its page only")
		}
		p.Take(2)
		if p.Head(pg, 1) != None {
			t.Fatal("an evicted block must not be found")
		}
		p.Unpin(pg)
		p.Free(2)
	}
	if len(p.pages) > 2 || len(p.entries) > 2 {
		t.Fatalf("%d pages and %d entries for one at a time", len(p.pages), len(p.entries))
	}
}
