package kv

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestUnits compares the units that blocks get with a stack and a list of idle blocks as spec 10 section 5.1
// words them.
func TestUnits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.IntRange(1, 12).Draw(t, "total")
		p := New(int64(total), 1, true)
		p.NumberUnits()
		var free, idle []int32
		for i := range total {
			free = append(free, int32(i))
		}
		var private []int32
		// cached has the entries in use with their units.
		cached := map[int32]int32{}
		chain := int32(0)
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				n := rapid.IntRange(0, total).Draw(t, "n")
				ok := p.Take(int64(n))
				if want := n <= len(free)+len(idle); ok != want {
					t.Fatalf("Take(%d) = %v, want %v", n, ok, want)
				}
				if !ok {
					return
				}
				k := min(n, len(free))
				taken := slices.Clone(free[len(free)-k:])
				free = free[:len(free)-k]
				taken = append(taken, idle[:n-k]...)
				idle = idle[n-k:]
				slices.Reverse(taken)
				if got := p.AppendTaken(nil); !slices.Equal(got, taken) {
					t.Fatalf("blocks get the units %v, want %v", got, taken)
				}
				private = append(private, taken...)
			},
			"free": func(t *rapid.T) {
				if len(private) == 0 {
					t.Skip("nothing private")
				}
				u := private[len(private)-1]
				private = private[:len(private)-1]
				p.FreeUnit(u)
				free = append(free, u)
			},
			"release unit": func(t *rapid.T) {
				if len(private) == 0 {
					t.Skip("nothing private")
				}
				u := private[0]
				private = private[1:]
				p.ReleaseUnit(u)
				idle = append(idle, u)
			},
			"store": func(t *rapid.T) {
				if len(private) == 0 {
					t.Skip("nothing private")
				}
				u := private[0]
				private = private[1:]
				e := p.Store(p.Page(chain), 0)
				chain++
				p.SetUnit(e, u)
				cached[e] = u
			},
			"release": func(t *rapid.T) {
				least := int32(-1)
				for e := range cached {
					if least < 0 || e < least {
						least = e
					}
				}
				if least < 0 {
					t.Skip("nothing cached")
				}
				if p.Unit(least) != cached[least] {
					t.Fatalf("entry %d has unit %d, want %d", least, p.Unit(least), cached[least])
				}
				p.Release(least)
				idle = append(idle, cached[least])
				delete(cached, least)
			},
			"": func(t *rapid.T) {
				if p.Idle() != int64(len(idle)) || p.Available() != int64(len(free)+len(idle)) {
					t.Fatalf("%d idle of %d available, want %d of %d", p.Idle(), p.Available(), len(idle), len(free)+len(idle))
				}
			},
		})
	})
}
