package lower

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/dynosim/dynosim/schemas"
)

// graphBuilder gathers the rows of an agentic source, in its order. Of plays that are complete it keeps the names
// of their requests and a few numbers; the rest goes into a store until the nodes are numbered.
type graphBuilder struct {
	plays    []sourcePlay
	sessions nameList
	models   nameList
	classes  nameList

	// private says that no two plays share blocks: then each has chains of its own, which need not be
	// in memory together. Otherwise chains has those of all rows.
	private bool
	chains  chainList

	// rows is the play at hand, with the names of its requests back to back; open says that there is one.
	rows  playRows
	ids   []byte
	idEnd []int64
	open  bool
	store playStore
	// sorted has the rows of each play in the order of their names.
	sorted []int32

	// n counts rows, edges, blocks and authored what they have.
	n, edges, blocks, authored int64
	anyAuthored, anyRouting    bool
	// firstMS is the smallest earliest start of a row.
	firstMS float64
}

// sourcePlay is a play as the source has it: the rows from first up to end.
type sourcePlay struct {
	id, source string
	ordinal    int64
	first, end int32
	// names has the names of its requests: what all begin with, then the rest of each.
	names nameBlock
	// at is where the store has its rows, size how many bytes.
	at, size int64
}

// nameBlock holds names that begin alike: the ends of their rests, four bytes each, then the rests.
type nameBlock struct {
	prefix string
	n      int32
	block  []byte
}

// newNameBlock packs the names in text, of which the i-th ends at end[i].
func newNameBlock(text []byte, end []int64) nameBlock {
	common := text[:end[0]]
	for i := 1; i < len(end); i++ {
		name, k := text[end[i-1]:end[i]], 0
		for k < len(common) && k < len(name) && common[k] == name[k] {
			k++
		}
		common = common[:k]
	}
	skip, head := len(common), 4*len(end)
	b := nameBlock{prefix: string(common), n: int32(len(end)), block: make([]byte, head, head+len(text)-skip*len(end))}
	from := int64(0)
	for i, to := range end {
		b.block = append(b.block, text[from+int64(skip):to]...)
		binary.LittleEndian.PutUint32(b.block[4*i:], uint32(len(b.block)-head))
		from = to
	}
	return b
}

// append appends name i to dst.
func (b *nameBlock) append(dst []byte, i int32) []byte {
	from := uint32(0)
	if i > 0 {
		from = binary.LittleEndian.Uint32(b.block[4*(i-1):])
	}
	rest := b.block[4*b.n:]
	return append(append(dst, b.prefix...), rest[from:binary.LittleEndian.Uint32(b.block[4*i:])]...)
}

// nameList numbers names in order of first use.
type nameList struct {
	names []string
	of    map[string]int32
}

func (l *nameList) number(name string) int32 {
	if n, ok := l.of[name]; ok {
		return n
	}
	if l.of == nil {
		l.of = map[string]int32{}
	}
	n := int32(len(l.names))
	l.names = append(l.names, string(append([]byte(nil), name...)))
	l.of[l.names[n]] = n
	return n
}

func newGraphBuilder(format schemas.TraceFormat) *graphBuilder {
	// The identity of a block of a corpus has the name of its object in it (spec 02 section 2.7).
	return &graphBuilder{private: format == schemas.FormatWeka, firstMS: math.Inf(1)}
}

// add takes the plays of a batch.
func (g *graphBuilder) add(b *schemas.RequestBatch) error {
	if g.n+int64(b.N) >= math.MaxInt32 {
		return fmt.Errorf("more than %d requests", math.MaxInt32)
	}
	row := 0
	for _, play := range b.Agentic.Plays {
		if !play.Continued || !g.open {
			if err := g.endPlay(); err != nil {
				return err
			}
			g.begin(&play)
		}
		for ; row < play.End; row++ {
			if err := g.row(b, row); err != nil {
				return fmt.Errorf("%s:%d: play %q, request %q: %w", play.Source, b.Line[row], play.ID, b.RequestID[row], err)
			}
		}
	}
	return nil
}

func (g *graphBuilder) begin(play *schemas.SourcePlay) {
	source := play.Source
	if n := len(g.plays); n > 0 && g.plays[n-1].source == source {
		source = g.plays[n-1].source
	}
	g.plays = append(g.plays, sourcePlay{id: play.ID, source: source, ordinal: play.Ordinal, first: int32(g.n)})
	g.rows.reset()
	g.ids, g.idEnd, g.open = g.ids[:0], g.idEnd[:0], true
}

// endPlay puts the play at hand into the store.
func (g *graphBuilder) endPlay() error {
	if !g.open {
		return nil
	}
	g.open = false
	p := &g.plays[len(g.plays)-1]
	p.end = int32(g.n)
	if p.end == p.first {
		return fmt.Errorf("%s: play %q has no requests", p.source, p.id)
	}
	p.names = newNameBlock(g.ids, g.idEnd)
	from := len(g.sorted)
	for row := p.first; row < p.end; row++ {
		g.sorted = append(g.sorted, row)
	}
	id := func(row int32) []byte {
		at := int64(0)
		if row > p.first {
			at = g.idEnd[row-p.first-1]
		}
		return g.ids[at:g.idEnd[row-p.first]]
	}
	slices.SortFunc(g.sorted[from:], func(a, b int32) int { return bytes.Compare(id(a), id(b)) })
	var err error
	p.at, p.size, err = g.store.add(&g.rows)
	return err
}

// between is the part of a list that row i owns.
func between(end []int, i int) (lo, hi int) {
	if i > 0 {
		lo = end[i-1]
	}
	return lo, end[i]
}

func (g *graphBuilder) row(b *schemas.RequestBatch, i int) error {
	a, r := b.Agentic, &g.rows
	input, output := b.InputTokens[i], b.OutputTokens[i]
	switch {
	case input < 1:
		return fmt.Errorf("the input length must be at least 1, got %d", input)
	case input > math.MaxInt32 || output > math.MaxInt32:
		return fmt.Errorf("input length %d and output length %d must each be at most %d", input, output, math.MaxInt32)
	}
	g.ids = append(g.ids, b.RequestID[i]...)
	g.idEnd = append(g.idEnd, int64(len(g.ids)))
	class := int32(-1)
	if b.HasPolicyClass[i] {
		class = g.classes.number(b.PolicyClass[i])
	}
	r.line, r.class = append(r.line, b.Line[i]), append(r.class, class)
	r.session, r.model = append(r.session, g.sessions.number(b.SessionID[i])), append(r.model, g.models.number(a.Model[i]))
	r.input, r.output = append(r.input, int32(input)), append(r.output, int32(output))
	r.notBefore, r.start = append(r.notBefore, b.TimestampMS[i]), append(r.start, a.RecordedStartMS[i])
	r.end, r.apiTime = append(r.end, a.RecordedEndMS[i]), append(r.apiTime, a.RecordedAPITimeMS[i])
	r.priority, r.strict = append(r.priority, b.Priority[i]), append(r.strict, b.StrictPriority[i])
	g.firstMS = min(g.firstMS, b.TimestampMS[i])
	g.anyRouting = g.anyRouting || class >= 0 || b.Priority[i] != 0 || b.StrictPriority[i] != 0
	lo, hi := between(a.EdgeEnd, i)
	for _, e := range a.Edges[lo:hi] {
		r.predecessor, r.delay = append(r.predecessor, e.Predecessor), append(r.delay, e.DelayMS)
		r.trigger, r.relation = append(r.trigger, uint8(e.Trigger)), append(r.relation, uint8(e.Relation))
	}
	r.edgeEnd = append(r.edgeEnd, int32(len(r.predecessor)))
	g.edges += int64(hi - lo)
	lo, hi = between(b.AuthoredEnd, i)
	r.authored = append(r.authored, b.Authored[lo:hi]...)
	r.authoredEnd = append(r.authoredEnd, int32(len(r.authored)))
	r.hasAuthored = append(r.hasAuthored, bit(b.HasAuthored[i]))
	g.authored += int64(hi - lo)
	g.anyAuthored = g.anyAuthored || hi > lo
	if g.edges >= math.MaxInt32 {
		return fmt.Errorf("more than %d dependencies", math.MaxInt32)
	}
	lo, hi = between(b.BlockEnd, i)
	g.n++
	return g.addBlocks(a.PrefixRequest[i], a.PrefixBlocks[i], b.Blocks[lo:hi])
}

func bit(v bool) uint8 {
	if v {
		return 1
	}
	return 0
}

// addBlocks keeps the block list of the row that was added last.
func (g *graphBuilder) addBlocks(prefix int64, shared int32, own []uint64) error {
	g.blocks += int64(len(own))
	if g.blocks >= math.MaxInt32 {
		return errTooManyChains
	}
	if !g.private {
		leaf, err := g.chains.add(prefix, shared, own)
		g.rows.leaf = append(g.rows.leaf, leaf)
		return err
	}
	r, first := &g.rows, int64(g.plays[len(g.plays)-1].first)
	if prefix >= 0 {
		if prefix -= first; prefix < 0 {
			return errors.New("the block list begins with that of a request of another play")
		}
	}
	r.prefix, r.shared = append(r.prefix, int32(prefix)), append(r.shared, shared)
	r.hash = append(r.hash, own...)
	r.blockEnd = append(r.blockEnd, int32(len(r.hash)))
	return nil
}

// playOf is the play of a row, as the source counts them.
func (g *graphBuilder) playOf(row int32) int {
	p, _ := slices.BinarySearchFunc(g.plays, row, func(p sourcePlay, row int32) int {
		if p.end <= row {
			return -1
		}
		return 1
	})
	return p
}

// id is the name of a row's request.
func (g *graphBuilder) id(row int32) []byte {
	p := &g.plays[g.playOf(row)]
	return p.names.append(nil, row-p.first)
}

// place is where a row was read.
func (g *graphBuilder) place(row int32) (string, error) {
	p := &g.plays[g.playOf(row)]
	var rows playRows
	if err := g.store.read(&rows, p.at, p.size); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s:%d", p.source, rows.line[row-p.first]), nil
}

// errorf makes an error about a row.
func (g *graphBuilder) errorf(row int32, format string, args ...any) error {
	where, err := g.place(row)
	if err != nil {
		return err
	}
	return fmt.Errorf("%s: play %q, request %q: %w", where, g.plays[g.playOf(row)].id, g.id(row), fmt.Errorf(format, args...))
}
