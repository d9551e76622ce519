package ingest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/dynosim/dynosim/schemas"
)

// drawTrace draws a trace object as a corpus has it: conversations that interleave, go on, are cut back and change models, with
// subagents, on a coarse clock, so that times coincide.
func drawTrace(t *rapid.T) map[string]any {
	lists := [][]uint64{nil}
	request := func(clock float64, label string) map[string]any {
		base := rapid.SampledFrom(lists).Draw(t, label+" base")
		list := slices.Clone(base[:rapid.IntRange(0, len(base)).Draw(t, label+" kept")])
		for range rapid.IntRange(0, 3).Draw(t, label+" more") {
			list = append(list, rapid.Uint64Range(0, 6).Draw(t, label+" id"))
		}
		lists = append(lists, list)
		r := map[string]any{
			"type": rapid.SampledFrom([]string{"n", "s"}).Draw(t, label+" type"), "t": clock, "model": rapid.SampledFrom([]string{"a", "a", "a", "b"}).Draw(t, label+" model"),
			"in": rapid.IntRange(1, 30).Draw(t, label+" in"), "out": rapid.SampledFrom([]int{0, 3, 64, 65, 100}).Draw(t, label+" out"), "hash_ids": orEmpty(list),
		}
		if api := rapid.IntRange(-1, 6).Draw(t, label+" api"); api >= 0 {
			r["api_time"] = float64(api) / 2
		}
		return r
	}
	step := func(label string) float64 {
		return rapid.SampledFrom([]float64{0, 0, 0.5, 1, 2.5, 0.0000004, 4000}).Draw(t, label)
	}
	clock := 0.0
	entries := []any{request(clock, "first")}
	for i := range rapid.IntRange(0, 9).Draw(t, "entries") {
		label := fmt.Sprint(i)
		clock += step(label + " step")
		if rapid.IntRange(0, 3).Draw(t, label+" kind") > 0 {
			entries = append(entries, request(clock, label))
			continue
		}
		marker := map[string]any{"type": "subagent", "t": clock, "agent_id": "ag" + label, "subagent_type": "x", "status": rapid.SampledFrom([]string{"completed", "async_launched"}).Draw(t, label+" status")}
		if rapid.Bool().Draw(t, label+" timed") {
			marker["duration_ms"] = rapid.IntRange(0, 6000).Draw(t, label+" duration")
		}
		nested, inner := []any{}, clock
		for k := range rapid.IntRange(1, 4).Draw(t, label+" nested") {
			inner += step(fmt.Sprint(label, ".", k, " step"))
			nested = append(nested, request(inner, fmt.Sprint(label, ".", k)))
		}
		marker["requests"] = nested
		entries = append(entries, marker)
	}
	return map[string]any{"id": "p", "block_size": 4, "hash_id_scope": "local", "requests": entries}
}

func orEmpty(list []uint64) []uint64 {
	if list == nil {
		return []uint64{}
	}
	return list
}

// plainRequest is a request for the plain rules below.
type plainRequest struct {
	wekaRequest
	ids []uint64
}

// shared is the number of leading ids that two lists have in common.
func shared(a, b []uint64) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// plainStreams splits requests by the rules as they are written, comparing every request with every chain.
func plainStreams(all []plainRequest) [][]int {
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	before := func(a, b int) int {
		x, y := &all[a], &all[b]
		return cmp.Or(cmp.Compare(x.t, y.t), cmp.Compare(x.outer, y.outer), cmp.Compare(x.inner, y.inner))
	}
	slices.SortStableFunc(order, before)
	preamble := -1
	if first := &all[order[0]]; len(order) > 1 && len(first.ids) > 0 {
		alone := true
		for _, r := range order[1:] {
			alone = alone && shared(first.ids, all[r].ids) == 0
			for _, id := range all[r].ids {
				alone = alone && !(first.out > 64 && slices.Contains(first.ids, id))
			}
		}
		if alone {
			preamble, order = order[0], order[1:]
		}
	}
	type chain struct {
		requests          []int
		tail, fork, depth int
		forkTime          float64
		spliced           bool
	}
	var chains []*chain
	holder := map[int]*chain{}
	add := func(c *chain, r int) {
		c.requests = append(c.requests, r)
		holder[r] = c
		if len(all[r].ids) > 0 {
			c.tail = r
		}
	}
	for _, r := range order {
		ids := all[r].ids
		best, tails := -1, false
		for i, c := range chains {
			tails = tails || c.tail >= 0
			if c.tail < 0 || len(ids) == 0 {
				continue
			}
			tail := all[c.tail].ids
			if shared(tail, ids) == len(tail) && all[c.tail].model == all[r].model && all[c.tail].end() <= all[r].t+1e-6 &&
				(best < 0 || len(tail) > len(all[chains[best].tail].ids)) {
				best = i
			}
		}
		switch {
		case len(chains) == 0:
			chains = append(chains, &chain{tail: -1, fork: -1})
			add(chains[0], r)
		case best >= 0:
			add(chains[best], r)
		case len(ids) == 0 || !tails:
			add(chains[0], r)
		default:
			c := &chain{tail: -1, fork: -1}
			length := -1
			for _, other := range chains {
				if other.tail < 0 {
					continue
				}
				d := shared(all[other.tail].ids, ids)
				if d > 0 && (d > c.depth || d == c.depth && len(all[other.tail].ids) > length) {
					c.fork, c.depth, length = other.tail, d, len(all[other.tail].ids)
				}
			}
			c.forkTime = all[r].t
			chains = append(chains, c)
			add(c, r)
		}
	}
	work := map[int]bool{}
	for _, c := range chains {
		if c.fork >= 0 {
			work[c.fork] = true
		}
	}
	for len(work) > 0 {
		source := -1
		for r := range work {
			if source < 0 || wekaID(&all[r].wekaRequest) < wekaID(&all[source].wekaRequest) {
				source = r
			}
		}
		delete(work, source)
		owner := holder[source]
		if owner.tail != source {
			continue
		}
		var elected *chain
		var others []*chain
		for _, c := range chains {
			if c.fork != source || c.spliced {
				continue
			}
			others = append(others, c)
			first := &all[c.requests[0]]
			if c.depth > 0 && all[source].end() <= first.t+1e-6 && all[source].model == first.model &&
				!(first.t-all[source].end() > 3600 && float64(c.depth)/float64(max(1, len(all[source].ids))) < 0.5) &&
				(elected == nil || c.depth > elected.depth || c.depth == elected.depth && c.forkTime < elected.forkTime) {
				elected = c
			}
		}
		if elected == nil {
			continue
		}
		for _, r := range elected.requests {
			owner.requests = append(owner.requests, r)
			holder[r] = owner
		}
		owner.tail, elected.spliced = elected.tail, true
		for _, c := range others {
			first := &all[c.requests[0]]
			if d := shared(all[owner.tail].ids, first.ids); !c.spliced && all[owner.tail].t <= first.t+1e-6 && d > 0 {
				c.fork, c.depth = owner.tail, d
				work[owner.tail] = true
			}
		}
	}
	var streams [][]int
	for _, c := range chains {
		if !c.spliced {
			streams = append(streams, c.requests)
		}
	}
	slices.SortStableFunc(streams, func(a, b []int) int { return before(a[0], b[0]) })
	if preamble >= 0 {
		streams[0] = append(streams[0], preamble)
	}
	slices.SortStableFunc(streams[0], before)
	return streams
}

// plainBarriers are the barriers of a scope, comparing every request with every other.
func plainBarriers(all []plainRequest, streams [][]int) map[[2]int]bool {
	out := map[[2]int]bool{}
	for own, stream := range streams {
		for _, target := range stream {
			var picked []int
			for k, other := range streams {
				best := -1
				for _, r := range other {
					if k == own || !(all[r].t < all[target].t) || !(all[r].end() <= all[target].t+1e-6) {
						continue
					}
					if best < 0 || cmp.Or(cmp.Compare(all[r].end(), all[best].end()), cmp.Compare(all[r].t, all[best].t),
						strings.Compare(wekaID(&all[r].wekaRequest), wekaID(&all[best].wekaRequest))) > 0 {
						best = r
					}
				}
				if best >= 0 {
					picked = append(picked, best)
				}
			}
			for _, c := range picked {
				if !slices.ContainsFunc(picked, func(d int) bool { return all[c].t < all[d].t && all[c].end() <= all[d].t+1e-6 }) {
					out[[2]int{c, target}] = true
				}
			}
		}
	}
	return out
}

// TestStreamsAndBarriers compares the streams and the barriers of random traces with those of the plain rules.
func TestStreamsAndBarriers(t *testing.T) {
	var parser wekaParser
	var graph wekaGraph
	rapid.Check(t, func(t *rapid.T) {
		text, err := json.Marshal(drawTrace(t))
		if err != nil {
			t.Fatal(err)
		}
		parser.open(strings.NewReader(string(text)))
		if err := parser.object(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		tr := &parser.trace
		for i := range tr.agents {
			for k := tr.agents[i].from; k < tr.agents[i].to; k++ {
				tr.nested[k].t = max(tr.nested[k].t, tr.agents[i].t)
			}
		}
		graph.build(tr)
		all := make([]plainRequest, len(graph.all))
		for i := range all {
			all[i].wekaRequest = graph.all[i]
			for n := graph.all[i].leaf; n >= 0; n = tr.tree.parent[n] {
				all[i].ids = append(all[i].ids, tr.tree.id[n])
			}
			slices.Reverse(all[i].ids)
		}
		graph.scopes(func(agent int32, streams []wekaStream) {
			from, to := 0, len(tr.requests)
			if agent >= 0 {
				from, to = to+int(tr.agents[agent].from), to+int(tr.agents[agent].to)
			}
			want := plainStreams(all[from:to])
			if len(want) != len(streams) {
				t.Fatalf("%d streams, want %d\n%s", len(streams), len(want), text)
			}
			for k := range want {
				for i := range want[k] {
					want[k][i] += from
				}
				if got := fmt.Sprint(streams[k].requests); got != fmt.Sprint(want[k]) {
					t.Fatalf("stream %d is %s, want %v\n%s", k, got, want[k], text)
				}
			}
			barriers := plainBarriers(all, want)
			for to := from; to < len(all) && to < from+len(all[from:]); to++ {
				for _, e := range graph.edges[to] {
					if e.relation == schemas.RelationBarrier && graph.session[to].agent == agent {
						if !barriers[[2]int{int(e.from), to}] {
							t.Fatalf("a barrier from %s to %s\n%s", wekaID(&graph.all[e.from]), wekaID(&graph.all[to]), text)
						}
						delete(barriers, [2]int{int(e.from), to})
					}
				}
			}
			if len(barriers) > 0 {
				t.Fatalf("barriers are missing: %v\n%s", barriers, text)
			}
		})
	})
}

// TestBlockTree: lists come back from the tree, and are compared as lists are.
func TestBlockTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tree blockTree
		tree.reset()
		lists := rapid.SliceOfN(rapid.SliceOfN(rapid.Uint64Range(0, 3), 0, 8), 1, 12).Draw(t, "lists")
		leaves := make([]int32, len(lists))
		for i, list := range lists {
			leaves[i] = tree.list(list)
			if int(tree.length(leaves[i])) != len(list) {
				t.Fatalf("list %v has the length %d", list, tree.length(leaves[i]))
			}
		}
		b := &schemas.RequestBatch{Agentic: &schemas.AgenticColumns{PrefixRequest: make([]int64, len(lists)), PrefixBlocks: make([]int32, len(lists))}}
		var emitted [][]uint64
		for i := range lists {
			for k := range lists {
				if got, want := tree.common(leaves[i], leaves[k]), shared(lists[i], lists[k]); int(got) != want {
					t.Fatalf("%v and %v share %d, want %d", lists[i], lists[k], got, want)
				}
			}
			n := rapid.IntRange(0, len(lists[i])).Draw(t, "used")
			from := len(b.Blocks)
			tree.emit(b, i, tree.cut(leaves[i], int32(n)), int64(i), func(id uint64) uint64 { return id })
			var list []uint64
			if p := b.Agentic.PrefixRequest[i]; p >= 0 {
				list = append(list, emitted[p][:b.Agentic.PrefixBlocks[i]]...)
			}
			list = append(list, b.Blocks[from:]...)
			if !slices.Equal(list, lists[i][:n]) && n > 0 {
				t.Fatalf("%v is emitted as %v", lists[i][:n], list)
			}
			emitted = append(emitted, list)
		}
	})
}

// TestOneBadRowOfManyFiles: the error names the file, the play and the row.
func TestOneBadRowOfManyFiles(t *testing.T) {
	dir := t.TempDir()
	for i := range 100 {
		in := 8
		if i == 57 {
			in = 0
		}
		text := fmt.Sprintf(`{"id":"play-%d","block_size":4,"hash_id_scope":"local","requests":[
{"type":"n","t":0,"model":"m","in":8,"out":1},
{"type":"n","t":5,"model":"m","in":%d,"out":1}]}`, i, in)
		name := filepath.Join(dir, fmt.Sprintf("d%d", i%7), fmt.Sprintf("t%02d.json", i))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	reader, err := Open(&schemas.SourceSpec{Kind: schemas.SourceTrace, Format: schemas.FormatWeka, Paths: []string{dir}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	for batch := new(schemas.RequestBatch); err == nil; {
		err = reader.Next(batch)
	}
	want := filepath.Join(dir, "d1", "t57.json") + `:3: play "play-57", request outer:1: in must be at least 1, got 0`
	if err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// readGraph reads an agentic source to its end and checks what every play promises.
func readGraph(t *testing.T, format schemas.TraceFormat, name, text string) {
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	source := &schemas.SourceSpec{Kind: schemas.SourceTrace, Format: format, Paths: []string{path}}
	if format == schemas.FormatAgenticMooncake {
		source.BlockTokens = 4
	}
	reader, err := Open(source, 0)
	if err != nil {
		return
	}
	defer reader.Close()
	batch, requests := new(schemas.RequestBatch), int64(0)
	lengths := []int32{}
	for {
		err := reader.Next(batch)
		if errors.Is(err, io.EOF) || err != nil {
			return
		}
		a := batch.Agentic
		if a == nil {
			continue
		}
		first := requests
		requests += int64(batch.N)
		blocks := 0
		for i := range batch.N {
			own := batch.BlockEnd[i] - blocks
			blocks = batch.BlockEnd[i]
			if p := a.PrefixRequest[i]; p >= first+int64(i) || p >= 0 && a.PrefixBlocks[i] > lengths[p] {
				t.Fatalf("row %d begins with %d blocks of request %d", i, a.PrefixBlocks[i], p)
			}
			length := a.PrefixBlocks[i] + int32(own)
			lengths = append(lengths, length)
			if want := (batch.InputTokens[i]-1)/batch.BlockTokens + 1; int64(length) != want {
				t.Fatalf("row %d has %d blocks, want %d", i, length, want)
			}
		}
		for _, e := range a.Edges {
			if e.Predecessor < first || e.Predecessor >= requests {
				t.Fatalf("an edge from request %d, the play has %d to %d", e.Predecessor, first, requests-1)
			}
		}
	}
}

// goldenSeeds adds the traces of golden cases.
func goldenSeeds(f *testing.F, pattern string) {
	paths, err := filepath.Glob(filepath.Join("..", "testdata", "golden", "agentic", pattern))
	if err != nil || len(paths) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, path := range paths {
		if text, err := os.ReadFile(path); err == nil && len(text) < 20_000 {
			f.Add(string(text))
		}
	}
}

func FuzzWeka(f *testing.F) {
	goldenSeeds(f, "w*/*.json")
	f.Fuzz(func(t *testing.T, text string) { readGraph(t, schemas.FormatWeka, "t.jsonl", text) })
}

func FuzzAgenticMooncake(f *testing.F) {
	goldenSeeds(f, "[vy]*/*.jsonl")
	f.Fuzz(func(t *testing.T, text string) { readGraph(t, schemas.FormatAgenticMooncake, "t", text) })
}

func FuzzDynamoGraph(f *testing.F) {
	goldenSeeds(f, "d*/*.jsonl")
	f.Fuzz(func(t *testing.T, text string) { readGraph(t, schemas.FormatDynamo, "t", text) })
}
