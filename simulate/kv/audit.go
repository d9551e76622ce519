package kv

import "github.com/dynosim/dynosim/simulate/invariants"

// Audit checks the pool against its own lists and counts the cached blocks in use and the
// references to them.
func (p *Pool) Audit() (used, references int64) {
	unused := make([]bool, len(p.entries))
	for e := p.freeEntry; e >= 0; e = p.entries[e].older {
		unused[e] = true
	}
	idle := int64(0)
	for e := range p.entries {
		switch x := &p.entries[e]; {
		case unused[e]:
		case x.page < 0:
			idle += int64(x.refs)
		case x.refs > 0:
			used++
			references += int64(x.refs)
		case x.refs == 0:
			idle++
		default:
			invariants.Violated("a block has %d references", x.refs)
		}
	}
	listed := int64(0)
	for e := p.oldest; e >= 0; e = p.entries[e].newer {
		if x := &p.entries[e]; x.page < 0 {
			listed += int64(x.refs)
		} else {
			listed++
		}
	}
	if p.free < 0 || p.idle < 0 || p.free+p.idle > p.total {
		invariants.Violated("%d free and %d idle of %d blocks", p.free, p.idle, p.total)
	}
	if idle != p.idle || listed != p.idle {
		invariants.Violated("%d blocks count as idle, %d have no reference, %d are in line for eviction", p.idle, idle, listed)
	}
	return used, references
}
