package ingest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/dynosim/dynosim/schemas"
)

// graphRow is a request of a source whose rows have to be read before plays can be told apart: its lists
// are ranges of the reader's.
type graphRow struct {
	id, session, model, play string
	ordinal                  int64
	line                     int64
	shard                    int32
	input, output            int64
	// notBefore, start, end and api are milliseconds; unknown ones NaN.
	notBefore, start, end, api float64
	priority                   int32
	strict                     uint32
	class                      string
	hasClass, hasAuthored      bool
	authored                   []uint32
	leaf                       int32
	blocks                     int64
	edges                      []graphEdge
}

// graphEdge is a dependency of a row: on the row from, or before names are looked up on that of a name.
type graphEdge struct {
	name     string
	from     int32
	trigger  schemas.Trigger
	relation schemas.Relation
	delayMS  float64
}

// graphRows holds the rows of a source and hands them out play by play.
type graphRows struct {
	rows []graphRow
	// places names a row for a message.
	place       func(row *graphRow) string
	blockTokens int64
	tree        blockTree
	source      schemas.GraphSource
	w           playBatch

	// order has the rows play by play, from the position of each row; ends the ends of plays.
	order, from []int32
	ends        []int32
	next        int
}

// byName looks rows up by their request names.
func (g *graphRows) byName() (map[string]int32, error) {
	names := make(map[string]int32, len(g.rows))
	for i := range g.rows {
		if first, twice := names[g.rows[i].id]; twice {
			return nil, fmt.Errorf("%s: request_id %q is already used at %s", g.place(&g.rows[i]), g.rows[i].id, g.place(&g.rows[first]))
		}
		names[g.rows[i].id] = int32(i)
	}
	return names, nil
}

// resolve looks the predecessors up.
func (g *graphRows) resolve(names map[string]int32) error {
	for i := range g.rows {
		row := &g.rows[i]
		for k := range row.edges {
			e := &row.edges[k]
			from, ok := names[e.name]
			switch {
			case !ok:
				return fmt.Errorf("%s: play %q, request %q waits for request %q, which is not in the trace", g.place(row), row.play, row.id, e.name)
			case from == int32(i):
				return fmt.Errorf("%s: play %q, request %q waits for itself", g.place(row), row.play, row.id)
			case g.rows[from].play != row.play:
				return fmt.Errorf("%s: play %q, request %q waits for request %q of play %q", g.place(row), row.play, row.id, e.name, g.rows[from].play)
			}
			e.from = from
		}
	}
	return nil
}

// components makes a play of each set of rows that edges connect, named by its first root with a prefix (spec 02
// section 4).
func (g *graphRows) components(prefix string) {
	parent := make([]int32, len(g.rows))
	for i := range parent {
		parent[i] = int32(i)
	}
	find := func(i int32) int32 {
		for parent[i] != i {
			parent[i] = parent[parent[i]]
			i = parent[i]
		}
		return i
	}
	for i := range g.rows {
		for _, e := range g.rows[i].edges {
			parent[find(int32(i))] = find(e.from)
		}
	}
	label := map[int32]int32{}
	for i := range g.rows {
		if len(g.rows[i].edges) > 0 {
			continue
		}
		c := find(int32(i))
		best, ok := label[c]
		if r := &g.rows[i]; !ok || cmp.Or(cmp.Compare(r.notBefore, g.rows[best].notBefore), cmp.Compare(r.id, g.rows[best].id)) < 0 {
			label[c] = int32(i)
		}
	}
	for i := range g.rows {
		// A cycle has no root; any name does until the graph is refused.
		root, ok := label[find(int32(i))]
		if !ok {
			root = find(int32(i))
		}
		g.rows[i].play = prefix + g.rows[root].id
	}
}

// arrange puts the rows of each play together, plays in order of their first rows.
func (g *graphRows) arrange() {
	plays := map[string]int32{}
	of := make([]int32, len(g.rows))
	for i := range g.rows {
		p, ok := plays[g.rows[i].play]
		if !ok {
			p = int32(len(plays))
			plays[g.rows[i].play] = p
		}
		of[i] = p
	}
	g.order = make([]int32, len(g.rows))
	for i := range g.order {
		g.order[i] = int32(i)
	}
	slices.SortStableFunc(g.order, func(a, b int32) int { return cmp.Compare(of[a], of[b]) })
	g.from = make([]int32, len(g.rows))
	for at, i := range g.order {
		g.from[i] = int32(at)
		if at > 0 && of[i] != of[g.order[at-1]] {
			g.ends = append(g.ends, int32(at))
		}
	}
	g.ends = append(g.ends, int32(len(g.rows)))
}

// emit hands the next play out; at the end the error is io.EOF.
func (g *graphRows) emit(b *schemas.RequestBatch) error {
	if g.next == len(g.ends) {
		return io.EOF
	}
	lo, hi := int32(0), g.ends[g.next]
	if g.next > 0 {
		lo = g.ends[g.next-1]
	}
	g.next++
	w := &g.w
	w.reset(b, g.blockTokens, int(hi-lo))
	for _, at := range g.order[lo:hi] {
		row := &g.rows[at]
		i := w.next(row.line)
		g.emitRow(row, i, int64(g.from[at]))
		w.end(i)
	}
	first := &g.rows[g.order[lo]]
	where := g.place(first)
	if colon := strings.LastIndexByte(where, ':'); colon >= 0 {
		where = where[:colon]
	}
	w.finish(schemas.SourcePlay{ID: first.play, Source: where, Ordinal: first.ordinal})
	return nil
}

func (g *graphRows) emitRow(row *graphRow, i int, request int64) {
	b, a := g.w.b, g.w.a
	b.RequestID[i], b.SessionID[i], a.Model[i] = row.id, row.session, row.model
	b.InputTokens[i], b.OutputTokens[i] = row.input, row.output
	b.TimestampMS[i] = row.notBefore
	a.RecordedStartMS[i], a.RecordedEndMS[i], a.RecordedAPITimeMS[i] = row.start, row.end, row.api
	b.Priority[i], b.StrictPriority[i] = row.priority, row.strict
	b.PolicyClass[i], b.HasPolicyClass[i] = row.class, row.hasClass
	b.Authored, b.HasAuthored[i] = append(b.Authored, row.authored...), row.hasAuthored
	for _, e := range row.edges {
		a.Edges = append(a.Edges, schemas.SourceEdge{Predecessor: int64(g.from[e.from]), Trigger: e.trigger, Relation: e.relation, DelayMS: e.delayMS})
	}
	g.tree.emit(b, i, row.leaf, request, func(id uint64) uint64 { return id })
}

// agenticReader reads the format agentic_mooncake, with a header or without (spec 02 sections 3 and 4).
type agenticReader struct {
	files  *lineFiles
	path   string
	json   jsonValue
	text   []byte
	ids    []uint64
	header bool
	graph  graphRows
	loaded bool
	err    error
}

func openAgentic(source *schemas.SourceSpec, o Options) (Reader, error) {
	if len(source.Paths) != 1 {
		return nil, fmt.Errorf("trace format agentic_mooncake takes exactly one trace file, got %d: %s", len(source.Paths), strings.Join(source.Paths, ", "))
	}
	files, err := openFiles(source.Paths, o)
	if err != nil {
		return nil, err
	}
	r := &agenticReader{files: files, path: source.Paths[0]}
	r.graph.blockTokens = source.BlockTokens
	r.graph.tree.reset()
	r.graph.place = func(row *graphRow) string { return fmt.Sprintf("%s:%d", files.lines.name, row.line) }
	return r, nil
}

func (r *agenticReader) Progress() (done, total int64) { return r.files.progress() }

func (r *agenticReader) Close() error { return r.files.close() }

// GraphSource implements GraphReader.
func (r *agenticReader) GraphSource() (schemas.GraphSource, bool) { return r.graph.source, true }

func (r *agenticReader) Next(batch *schemas.RequestBatch) error {
	if !r.loaded && r.err == nil {
		r.loaded = true
		r.err = r.load()
	}
	if r.err == nil {
		r.err = r.graph.emit(batch)
	}
	if r.err != nil {
		batch.N = 0
	}
	return r.err
}

// load reads all rows.
func (r *agenticReader) load() error {
	first := true
	for {
		line, err := r.files.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if blank(line) {
			continue
		}
		if first {
			first = false
			if r.header, err = r.isHeader(line); err == nil && r.header {
				err = r.readHeader(line)
			}
			if err != nil {
				return r.files.lines.errorf("%w", err)
			}
			if r.header {
				continue
			}
		}
		row := graphRow{line: r.files.number(), leaf: -1, ordinal: -1, api: unknown, end: unknown}
		if r.header {
			err = r.readRow(line, &row)
		} else {
			err = r.readOldRow(line, &row)
		}
		if err != nil {
			return r.files.lines.errorf("%s%w", row.name(), err)
		}
		r.graph.rows = append(r.graph.rows, row)
	}
	if len(r.graph.rows) == 0 {
		return r.files.end(io.EOF, false)
	}
	return r.finish()
}

// name starts a message about a row.
func (r *graphRow) name() string {
	switch {
	case r.id != "" && r.play != "":
		return fmt.Sprintf("play %q, request %q: ", r.play, r.id)
	case r.id != "":
		return fmt.Sprintf("request %q: ", r.id)
	}
	return ""
}

// finish connects the rows.
func (r *agenticReader) finish() error {
	g := &r.graph
	names, err := g.byName()
	if err != nil {
		return err
	}
	if !r.header {
		for i := range g.rows {
			// All are of one play until the components are known.
			g.rows[i].play = ""
		}
	}
	if err := g.resolve(names); err != nil {
		return err
	}
	if !r.header {
		g.components("legacy-play:")
		g.source = schemas.GraphSource{Format: "legacy_agentic_mooncake", Digest: fmt.Sprintf("%s:%d", r.path, len(g.rows))}
	} else if err := r.ordinals(); err != nil {
		return err
	}
	g.arrange()
	return nil
}

// ordinals checks that the rows of a play agree on its place.
func (r *agenticReader) ordinals() error {
	first := map[string]*graphRow{}
	for i := range r.graph.rows {
		row := &r.graph.rows[i]
		if f := first[row.play]; f == nil {
			first[row.play] = row
		} else if f.ordinal != row.ordinal {
			return fmt.Errorf("%s: %ssource_play_ordinal differs from that of the play's row at %s", r.graph.place(row), row.name(), r.graph.place(f))
		}
	}
	return nil
}

// isHeader tells a header from a row.
func (r *agenticReader) isHeader(line []byte) (is bool, err error) {
	r.json.reset(line)
	err = r.json.object("the line", func(name []byte) error {
		is = is || string(name) == "schema"
		return r.json.skip()
	})
	if err == nil {
		err = r.json.end()
	}
	return is, err
}

var headerNames = []string{"schema", "version", "block_size", "hash_id_scope", "source"}

func (r *agenticReader) readHeader(line []byte) error {
	var k known
	r.json.reset(line)
	err := r.json.object("the header", func(name []byte) error {
		m, err := k.once(headerNames, name)
		switch {
		case err != nil:
			return err
		case m < 0:
			return r.json.skip()
		case m == 4:
			return r.readSource()
		}
		raw, err := r.json.value()
		if err != nil {
			return err
		}
		switch m {
		case 0:
			return r.want("schema", raw, "dynamo.agentic_mooncake")
		case 1:
			n, err := count("version", raw, math.MaxUint32)
			if err == nil && n != 2 {
				err = fmt.Errorf("version must be 2, got %d", n)
			}
			return err
		case 2:
			n, err := count("block_size", raw, math.MaxInt32)
			if err == nil && n == 0 {
				err = errors.New("block_size must be at least 1, got 0")
			}
			r.graph.blockTokens = int64(n)
			return err
		}
		return r.want("hash_id_scope", raw, "local")
	})
	if err != nil {
		return fmt.Errorf("header: %w", err)
	}
	if err := k.require(headerNames, 0, 1, 2, 3, 4); err != nil {
		return fmt.Errorf("header: %w", err)
	}
	return r.json.end()
}

func (r *agenticReader) readSource() error {
	names := []string{"format", "digest"}
	var k known
	err := r.json.object("source", func(name []byte) error {
		m, err := k.once(names, name)
		if err != nil {
			return err
		}
		if m < 0 {
			return r.json.skip()
		}
		raw, err := r.json.value()
		if err != nil {
			return err
		}
		s, err := r.filled("source."+names[m], raw)
		if m == 0 {
			r.graph.source.Format = s
		} else {
			r.graph.source.Digest = s
		}
		return err
	})
	if err != nil {
		return err
	}
	return k.require(names, 0, 1)
}

// want checks a string that has one value only.
func (r *agenticReader) want(name string, raw jsontext.Value, value string) (err error) {
	if r.text, err = str(name, r.text[:0], raw); err == nil && string(r.text) != value {
		err = fmt.Errorf("%s must be %s, got %q", name, value, r.text)
	}
	return err
}

// filled reads a string that must not be blank.
func (r *agenticReader) filled(name string, raw jsontext.Value) (s string, err error) {
	if r.text, err = str(name, r.text[:0], raw); err != nil {
		return "", err
	}
	if len(bytes.TrimSpace(r.text)) == 0 {
		return "", fmt.Errorf("%s must not be blank", name)
	}
	return string(r.text), nil
}
