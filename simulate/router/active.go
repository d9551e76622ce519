package router

// active knows the blocks of the requests that run on the targets, each distinct block of a
// target once (spec 06 section 7). A request has a prefix of its path, so what a target has
// of a chain is the most blocks that one of its requests has of it. The list of a chain has
// an entry for each target and number of blocks; nearly always it is short.
type active struct {
	// first entry of a chain, -1 for none; chains beyond have none.
	first   []int32
	entries []activeEntry
	free    int32
}

type activeEntry struct {
	target int32
	// blocks is how many blocks of the chain requests requests have.
	blocks, requests int32
	next             int32
}

func newActive() active { return active{free: -1} }

// add counts a request with the leading blocks of a path on a target. It returns how many
// of them the target did not have.
func (a *active) add(s shape, target int32, path []int32, blocks int64) (added int64) {
	done := int64(0)
	for e := 0; done < blocks; e++ {
		end := min(s.before(int64(e)+1), blocks)
		if n := int32(end - done); n > 0 {
			added += a.addTo(path[e], target, n)
		}
		done = end
	}
	return added
}

func (a *active) addTo(chain, target, n int32) int64 {
	for int(chain) >= len(a.first) {
		grown := make([]int32, max(int(chain)+1, 2*len(a.first)))
		for i := copy(grown, a.first); i < len(grown); i++ {
			grown[i] = -1
		}
		a.first = grown
	}
	most, same := int32(0), int32(-1)
	for i := a.first[chain]; i >= 0; i = a.entries[i].next {
		if x := &a.entries[i]; x.target == target {
			most = max(most, x.blocks)
			if x.blocks == n {
				same = i
			}
		}
	}
	if same >= 0 {
		a.entries[same].requests++
		return 0
	}
	i := a.free
	if i >= 0 {
		a.free = a.entries[i].next
	} else {
		i = int32(len(a.entries))
		a.entries = append(a.entries, activeEntry{})
	}
	a.entries[i] = activeEntry{target, n, 1, a.first[chain]}
	a.first[chain] = i
	return int64(max(n-most, 0))
}

// remove takes a request back that add counted. It returns how many of its blocks the target
// no longer has.
func (a *active) remove(s shape, target int32, path []int32, blocks int64) (removed int64) {
	done := int64(0)
	for e := 0; done < blocks; e++ {
		end := min(s.before(int64(e)+1), blocks)
		if n := int32(end - done); n > 0 {
			removed += a.removeFrom(path[e], target, n)
		}
		done = end
	}
	return removed
}

func (a *active) removeFrom(chain, target, n int32) int64 {
	other := int32(0)
	for link := &a.first[chain]; *link >= 0; {
		x := &a.entries[*link]
		if x.target == target && x.blocks == n {
			if x.requests--; x.requests == 0 {
				i := *link
				*link = x.next
				x.next = a.free
				a.free = i
				continue
			}
		}
		if x.target == target {
			other = max(other, x.blocks)
		}
		link = &x.next
	}
	return int64(max(n-other, 0))
}

// shared sets out, one number a target, to the leading blocks of the path that the target
// has among its active ones, blocks at most.
func (a *active) shared(s shape, path []int32, blocks int64, out []int32) {
	clear(out)
	done := int64(0)
	for e := 0; done < blocks; e++ {
		end := min(s.before(int64(e)+1), blocks)
		n := int32(end - done)
		if n == 0 {
			continue
		}
		chain := path[e]
		if int(chain) >= len(a.first) || a.first[chain] < 0 {
			return
		}
		for i := a.first[chain]; i >= 0; {
			x := &a.entries[i]
			out[x.target] = max(out[x.target], int32(done)+min(x.blocks, n))
			i = x.next
		}
		done = end
	}
}
