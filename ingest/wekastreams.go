package ingest

import (
	"cmp"
	"slices"
	"strconv"
)

// wekaEpsilon is the tolerance of comparisons of recorded times, seconds (spec 02 section 2.3).
const wekaEpsilon = 1e-6

// wekaID is the source id of a request.
func wekaID(r *wekaRequest) string { return string(appendWekaID(nil, r)) }

func appendWekaID(dst []byte, r *wekaRequest) []byte {
	dst = strconv.AppendInt(append(dst, "outer:"...), int64(r.outer), 10)
	if r.inner >= 0 {
		dst = strconv.AppendInt(append(dst, ":inner:"...), int64(r.inner), 10)
	}
	return dst
}

// wekaStream is a conversation: requests that follow each other. Requests are indexes into a list that has the
// requests of a whole play.
type wekaStream struct {
	requests []int32
	// fork is the request that the stream branched off, -1 for none.
	fork int32
}

// wekaChain is a stream in the making.
type wekaChain struct {
	requests []int32
	// tail is the last request with hash ids, -1 for none.
	tail int32
	// fork, depth and forkTime say where the chain branched off; fork is -1 for none.
	fork, depth int32
	forkTime    float64
	// into is the chain that this one was spliced into, -1 for none.
	into int32
	// next links the chains whose tails end at one node of the tree.
	next int32
}

// streamer splits the requests of one scope into streams (spec 02 section 2.4).
type streamer struct {
	tree *blockTree
	all  []wekaRequest
	// order is the scope in request order.
	order  []int32
	chains []wekaChain
	// tails has, for nodes of the tree, the first of the chains whose tail ends there, -1 for none.
	tails []int32
	// stamps marks nodes on the path of the request at hand.
	stamps []int32
	stamp  int32
	// holder is the chain of each request.
	holder map[int32]int32
	// registered are the chains that branched off a request.
	registered map[int32][]int32
}

// before is the order of requests: by start, then by place in their list.
func (s *streamer) before(a, b int32) int {
	x, y := &s.all[a], &s.all[b]
	return cmp.Or(cmp.Compare(x.t, y.t), cmp.Compare(x.outer, y.outer), cmp.Compare(x.inner, y.inner))
}

// split splits the requests from up to, not including, to; the main stream comes first, then the workers.
func (s *streamer) split(from, to int32) []wekaStream {
	s.order, s.chains = s.order[:0], s.chains[:0]
	for r := from; r < to; r++ {
		s.order = append(s.order, r)
	}
	slices.SortStableFunc(s.order, s.before)
	for len(s.tails) < len(s.tree.parent) {
		s.tails, s.stamps = append(s.tails, -1), append(s.stamps, 0)
	}
	s.holder, s.registered = map[int32]int32{}, map[int32][]int32{}
	rest, preamble := s.order, int32(-1)
	if s.preamble() {
		preamble, rest = s.order[0], s.order[1:]
	}
	for _, r := range rest {
		s.place(r)
	}
	for i := range s.chains {
		s.unmark(int32(i))
	}
	s.seams()
	return s.finish(preamble)
}

// preamble reports whether the first request stands alone before the conversation (rule A).
func (s *streamer) preamble() bool {
	if len(s.order) < 2 {
		return false
	}
	first := &s.all[s.order[0]]
	if first.leaf < 0 {
		return false
	}
	start := s.tree.cut(first.leaf, 1)
	for _, r := range s.order[1:] {
		if s.tree.cut(s.all[r].leaf, 1) == start {
			return false
		}
	}
	if first.out <= 64 {
		return true
	}
	ids := map[uint64]bool{}
	for n := first.leaf; n >= 0; n = s.tree.parent[n] {
		ids[s.tree.id[n]] = true
	}
	for _, r := range s.order[1:] {
		for n := s.all[r].leaf; n >= 0; n = s.tree.parent[n] {
			if ids[s.tree.id[n]] {
				return false
			}
		}
	}
	return true
}

// unmark takes a chain out of the list at its tail.
func (s *streamer) unmark(c int32) {
	tail := s.chains[c].tail
	if tail < 0 {
		return
	}
	at := &s.tails[s.all[tail].leaf]
	for *at >= 0 && *at != c {
		at = &s.chains[*at].next
	}
	if *at == c {
		*at = s.chains[c].next
	}
}

// append gives a request to a chain; one with hash ids becomes its tail.
func (s *streamer) append(c, r int32) {
	chain := &s.chains[c]
	chain.requests = append(chain.requests, r)
	s.holder[r] = c
	leaf := s.all[r].leaf
	if leaf < 0 {
		return
	}
	s.unmark(c)
	chain = &s.chains[c]
	chain.tail, chain.next = r, s.tails[leaf]
	s.tails[leaf] = c
}

// open makes a chain.
func (s *streamer) open() int32 {
	s.chains = append(s.chains, wekaChain{tail: -1, fork: -1, into: -1, next: -1})
	return int32(len(s.chains) - 1)
}

// place finds the chain of a request (rule B).
func (s *streamer) place(r int32) {
	request := &s.all[r]
	switch {
	case len(s.chains) == 0:
		s.append(s.open(), r)
		return
	case request.leaf < 0:
		s.append(0, r)
		return
	}
	if c := s.extended(request); c >= 0 {
		s.append(c, r)
		return
	}
	tails := false
	for i := range s.chains {
		tails = tails || s.chains[i].tail >= 0
	}
	if !tails {
		s.append(0, r)
		return
	}
	from, depth := s.forked(request)
	c := s.open()
	if from >= 0 {
		chain := &s.chains[c]
		chain.fork, chain.depth, chain.forkTime = s.chains[from].tail, depth, request.t
		s.registered[chain.fork] = append(s.registered[chain.fork], c)
	}
	s.append(c, r)
}

// extended is the chain whose tail is the longest prefix of the request, -1 for none.
func (s *streamer) extended(r *wekaRequest) int32 {
	for n := r.leaf; n >= 0; n = s.tree.parent[n] {
		best := int32(-1)
		for c := s.tails[n]; c >= 0; c = s.chains[c].next {
			tail := &s.all[s.chains[c].tail]
			if tail.model == r.model && tail.end() <= r.t+wekaEpsilon && (best < 0 || c < best) {
				best = c
			}
		}
		if best >= 0 {
			return best
		}
	}
	return -1
}

// forked is the chain whose tail shares the longest prefix with the request, the longer tail
// of equals, and the length of that prefix; -1 when none shares any.
func (s *streamer) forked(r *wekaRequest) (chain, depth int32) {
	s.stamp++
	for n := r.leaf; n >= 0; n = s.tree.parent[n] {
		s.stamps[n] = s.stamp
	}
	chain = -1
	length := int32(0)
	for c := range s.chains {
		if s.chains[c].tail < 0 {
			continue
		}
		leaf := s.all[s.chains[c].tail].leaf
		n := leaf
		for n >= 0 && s.stamps[n] != s.stamp && s.tree.depth[n] >= depth {
			n = s.tree.parent[n]
		}
		if n < 0 || s.stamps[n] != s.stamp {
			continue
		}
		common, own := s.tree.length(n), s.tree.length(leaf)
		if common > depth || common == depth && own > length {
			chain, depth, length = int32(c), common, own
		}
	}
	return chain, depth
}

// into follows splices.
func (s *streamer) owner(c int32) int32 {
	for s.chains[c].into >= 0 {
		c = s.chains[c].into
	}
	return c
}

// seams splices chains that continue a conversation after a compaction (rule C).
func (s *streamer) seams() {
	if len(s.registered) == 0 {
		return
	}
	byID := func(a, b int32) int { return cmp.Compare(wekaID(&s.all[a]), wekaID(&s.all[b])) }
	var work []int32
	for source := range s.registered {
		work = append(work, source)
	}
	slices.SortFunc(work, byID)
	for len(work) > 0 {
		source := work[0]
		work = work[1:]
		owner := s.owner(s.holder[source])
		if s.chains[owner].tail != source {
			continue
		}
		var candidates []int32
		elected := int32(-1)
		for _, c := range s.registered[source] {
			chain := &s.chains[c]
			if chain.into >= 0 || c == owner || chain.fork != source {
				continue
			}
			candidates = append(candidates, c)
			if s.eligible(source, chain) && (elected < 0 || s.deeper(chain, &s.chains[elected])) {
				elected = c
			}
		}
		if elected < 0 {
			continue
		}
		s.splice(owner, elected)
		tail := s.chains[owner].tail
		for _, c := range candidates {
			chain := &s.chains[c]
			first := &s.all[chain.requests[0]]
			if c == elected || !(s.all[tail].t <= first.t+wekaEpsilon) {
				continue
			}
			d := s.tree.common(s.all[tail].leaf, first.leaf)
			if d == 0 {
				continue
			}
			chain.fork, chain.depth = tail, d
			s.registered[tail] = append(s.registered[tail], c)
			if i, found := slices.BinarySearchFunc(work, tail, byID); !found {
				work = slices.Insert(work, i, tail)
			}
		}
	}
}

// eligible reports whether a chain may continue after the request that it branched off.
func (s *streamer) eligible(source int32, chain *wekaChain) bool {
	from, first := &s.all[source], &s.all[chain.requests[0]]
	share := float64(chain.depth) / float64(max(1, s.tree.length(from.leaf)))
	return chain.depth > 0 && from.end() <= first.t+wekaEpsilon && from.model == first.model &&
		!(first.t-from.end() > 3600 && share < 0.5)
}

// deeper is the order of election; the chain of the lower number comes first among equals.
func (s *streamer) deeper(a, b *wekaChain) bool {
	return a.depth > b.depth || a.depth == b.depth && a.forkTime < b.forkTime
}

// splice makes a chain the end of its owner.
func (s *streamer) splice(owner, c int32) {
	to, from := &s.chains[owner], &s.chains[c]
	to.requests = append(to.requests, from.requests...)
	to.tail, from.into = from.tail, owner
}

// finish makes streams of the chains that are left (rule D).
func (s *streamer) finish(preamble int32) []wekaStream {
	var streams []wekaStream
	for i := range s.chains {
		if chain := &s.chains[i]; chain.into < 0 {
			streams = append(streams, wekaStream{slices.Clone(chain.requests), chain.fork})
		}
	}
	slices.SortStableFunc(streams, func(a, b wekaStream) int { return s.before(a.requests[0], b.requests[0]) })
	if preamble >= 0 {
		streams[0].requests = append(streams[0].requests, preamble)
	}
	// A splice may have put requests behind later ones without hashes; only the main stream is sorted.
	slices.SortStableFunc(streams[0].requests, s.before)
	return streams
}
