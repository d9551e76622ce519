package metrics

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/dynosim/dynosim/internal/rundir"
	"github.com/dynosim/dynosim/schemas"
)

// Folder reads the tables of a complete folder of a stage.
type Folder struct {
	path string
	rows map[string]int64
}

// OpenFolder prepares to read the folder path whose manifest is m. Nothing is opened yet.
func OpenFolder(path string, m *rundir.Manifest) *Folder {
	f := &Folder{path: path, rows: map[string]int64{}}
	for _, t := range m.Tables {
		f.rows[t.Name] = t.Rows
	}
	return f
}

// Rows is the number of rows of a table, 0 when the folder does not have it.
func (f *Folder) Rows(t *schemas.Table) int64 { return f.rows[t.Name] }

func (f *Folder) open(t *schemas.Table) (*tableReader, error) {
	rows, ok := f.rows[t.Name]
	if !ok {
		return nil, fmt.Errorf("%s has no table %s", f.path, t.Name)
	}
	return openTable(f.path, t, rows)
}

// size is the number of rows of a table, once its file has been found to have so many, at
// most limit.
func (f *Folder) size(t *schemas.Table, limit int64) (int, error) {
	r, err := f.open(t)
	if err != nil {
		return 0, err
	}
	defer r.close()
	if n := r.rows(); n > limit {
		return 0, &DamagedError{r.path, fmt.Errorf("%d rows are more than can be numbered", n)}
	}
	return int(r.rows()), nil
}

// read opens a table, hands its rows to each in ranges, and closes it.
func (f *Folder) read(t *schemas.Table, each func(r *tableReader, lo, hi int)) error {
	r, err := f.open(t)
	if err != nil {
		return err
	}
	defer r.close()
	for at := 0; ; {
		n := r.advance(rowGroupRows)
		if n == 0 {
			return r.err
		}
		each(r, at, at+n)
		at += n
	}
}

// Nodes reads the table nodes; the columns Turn and SessionName stay nil, and Session when
// it is null in all rows. named is called for each row that has a session name, in order; the bytes
// are valid during the call.
func (f *Folder) Nodes(named func(session int32, name []byte)) (*NodeColumns, error) {
	n, err := f.size(&schemas.Nodes, math.MaxInt32)
	if err != nil {
		return nil, err
	}
	c := &NodeColumns{
		RequestIndex: make([]int32, n), Session: make([]int32, n), ReleaseMS: make([]float64, n),
		InputTokens: make([]int32, n), OutputTokens: make([]int32, n), Chain: make([]int32, n), ChainTokens: make([]int32, n),
		Priority: make([]int32, n), StrictPriority: make([]uint32, n), PolicyClass: make([]int32, n),
	}
	sessions, routing := false, false
	err = f.read(&schemas.Nodes, func(r *tableReader, lo, hi int) {
		r.i32("request_index", c.RequestIndex[lo:hi])
		r.i32Null("session", c.Session[lo:hi])
		for _, s := range c.Session[lo:hi] {
			sessions = sessions || s != -1
		}
		if sessions {
			r.str("session_id", hi-lo, func(i int, s []byte) { named(c.Session[lo+i], s) })
		}
		r.f64Null("release_ms", c.ReleaseMS[lo:hi])
		r.i32("input_tokens", c.InputTokens[lo:hi])
		r.i32("output_tokens", c.OutputTokens[lo:hi])
		r.i32Null("chain", c.Chain[lo:hi])
		r.i32("chain_tokens", c.ChainTokens[lo:hi])
		r.i32("priority", c.Priority[lo:hi])
		r.u32("strict_priority", c.StrictPriority[lo:hi])
		for i := lo; i < hi; i++ {
			c.PolicyClass[i] = -1
			routing = routing || c.Priority[i] != 0 || c.StrictPriority[i] != 0
		}
		r.str("policy_class", hi-lo, func(i int, s []byte) {
			class := slices.Index(c.PolicyClasses, string(s))
			if class < 0 {
				class = len(c.PolicyClasses)
				c.PolicyClasses = append(c.PolicyClasses, string(s))
			}
			c.PolicyClass[lo+i], routing = int32(class), true
		})
	})
	if !sessions {
		c.Session = nil
	}
	if !routing {
		c.Priority, c.StrictPriority, c.PolicyClass = nil, nil, nil
	}
	return c, err
}

// Edges hands the edges to each in ranges; the columns Trigger and Relation stay nil. The slices are used
// again after each call.
func (f *Folder) Edges(each func(c *EdgeColumns) error) error {
	var c EdgeColumns
	var failed error
	err := f.read(&schemas.Edges, func(r *tableReader, lo, hi int) {
		n := hi - lo
		if len(c.Predecessor) < n {
			c = EdgeColumns{Predecessor: make([]int32, n), Successor: make([]int32, n), DelayMS: make([]float64, n)}
		}
		part := EdgeColumns{Predecessor: c.Predecessor[:n], Successor: c.Successor[:n], DelayMS: c.DelayMS[:n]}
		r.i32("predecessor", part.Predecessor)
		r.i32("successor", part.Successor)
		r.f64("delay_ms", part.DelayMS)
		if failed == nil && r.err == nil {
			failed = each(&part)
		}
	})
	if err == nil {
		err = failed
	}
	return err
}

// Chains reads the table chains.
func (f *Folder) Chains() (*ChainColumns, error) {
	n, err := f.size(&schemas.Chains, math.MaxInt32)
	if err != nil {
		return nil, err
	}
	c := &ChainColumns{Parent: make([]int32, n), Block: make([]uint32, n)}
	err = f.read(&schemas.Chains, func(r *tableReader, lo, hi int) {
		r.i32Null("parent", c.Parent[lo:hi])
		r.u32("block", c.Block[lo:hi])
	})
	return c, err
}

// NodeOutputs reads the prescribed output tokens of nodes nodes; node i owns tokens[start[i]:start[i+1]].
// Both are nil when there are none.
func (f *Folder) NodeOutputs(nodes int) (start []int64, tokens []uint32, err error) {
	n, err := f.size(&schemas.NodeOutputs, 1<<40)
	if err != nil {
		return nil, nil, err
	}
	if n > 0 {
		start, tokens = make([]int64, nodes+1), make([]uint32, n)
	}
	ids := make([]int32, min(n, rowGroupRows))
	last := int32(0)
	var failed error
	err = f.read(&schemas.NodeOutputs, func(r *tableReader, lo, hi int) {
		r.i32("node", ids[:hi-lo])
		r.u32("token", tokens[lo:hi])
		for _, node := range ids[:hi-lo] {
			if node < last || int(node) >= nodes {
				failed = &DamagedError{r.path, fmt.Errorf("node %d follows node %d of %d", node, last, nodes)}
				return
			}
			last = node
			start[node+1]++
		}
	})
	if err == nil {
		err = failed
	}
	for i := range max(0, len(start)-1) {
		start[i+1] += start[i]
	}
	return start, tokens, err
}

// Run reads the row of the table run.
func (f *Folder) Run() (RunRow, error) {
	var row RunRow
	var rows int
	number := make([]float64, 1)
	count := make([]int64, 1)
	err := f.read(&schemas.Run, func(r *tableReader, lo, hi int) {
		if rows += hi - lo; rows != 1 {
			return
		}
		r.str("stack", 1, func(_ int, s []byte) { row.Stack = string(s) })
		r.str("source", 1, func(_ int, s []byte) { row.Source = schemas.SourceKind(s) })
		for name, to := range map[string]*float64{
			"last_instant_ms": &row.LastInstantMS, "prefill_worker_seconds": &row.PrefillWorkerSeconds, "decode_worker_seconds": &row.DecodeWorkerSeconds,
		} {
			r.f64(name, number)
			*to = number[0]
		}
		for name, to := range map[string]*int64{"prefill_gpus_per_worker": &row.PrefillGPUsPerWorker, "decode_gpus_per_worker": &row.DecodeGPUsPerWorker} {
			r.i64(name, count)
			*to = count[0]
		}
		for name, to := range map[string]*float64{"sla_ttft_ms": &row.SLA.TTFTMS, "sla_itl_ms": &row.SLA.ITLMS, "sla_e2e_ms": &row.SLA.E2EMS} {
			r.f64Null(name, number)
			*to = number[0]
		}
	})
	if err == nil && rows != 1 {
		err = fmt.Errorf("%s: the table run has %d rows, not one", f.path, rows)
	}
	return row, err
}

// How many rows and list elements RequestReader puts into one batch.
const (
	readRows     = 1024
	readElements = 1 << 16
)

// RequestReader yields the requests of an ingested folder in batches, as the reader of the source did,
// in other portions. Its memory does not grow with the folder.
type RequestReader struct {
	requests, blocks, authored *tableReader
	// plays is nil unless the source is agentic.
	plays       *playReader
	blockTokens int64
	// counts and outputs are the list lengths of the current rows, of which next is the first
	// that was not handed out.
	counts, outputs []int32
	next            int
	// read, readBlocks and readAuthored count rows handed out.
	read, readBlocks, readAuthored int64
	text                           []byte
	spans                          []textSpan
	err                            error
}

// textSpan is a string of a batch in the reader's text.
type textSpan struct {
	into     *string
	from, to int
}

// Requests opens the tables of the stage ingest. blockTokens is what one block id stands for, 0 when
// there are none.
func (f *Folder) Requests(blockTokens int64) (*RequestReader, error) {
	r := &RequestReader{blockTokens: blockTokens}
	for _, o := range []struct {
		t  *schemas.Table
		to **tableReader
	}{{&schemas.Requests, &r.requests}, {&schemas.Blocks, &r.blocks}, {&schemas.AuthoredOutputs, &r.authored}} {
		table, err := f.open(o.t)
		if err != nil {
			_ = r.Close()
			return nil, err
		}
		*o.to = table
	}
	var err error
	if r.plays, err = f.openPlays(); err != nil {
		_ = r.Close()
		return nil, err
	}
	return r, nil
}

// Close releases the files.
func (r *RequestReader) Close() error {
	for _, t := range []*tableReader{r.requests, r.blocks, r.authored} {
		if t != nil {
			t.close()
		}
	}
	if r.plays != nil {
		r.plays.close()
	}
	return nil
}

// Progress is the number of rows read and of all rows.
func (r *RequestReader) Progress() (done, total int64) { return r.read, r.requests.rows() }

// Next replaces what batch holds by the next rows. At the end the error is io.EOF.
func (r *RequestReader) Next(b *schemas.RequestBatch) error {
	if r.err == nil {
		r.err = r.fill(b)
	}
	if r.err != nil {
		b.N = 0
	}
	return r.err
}

func (r *RequestReader) fill(b *schemas.RequestBatch) error {
	if r.next == len(r.counts) && !r.window() {
		return r.end()
	}
	r.size(b)
	n, lists := 0, int64(0)
	for r.next+n < len(r.counts) && (n == 0 || lists < readElements) {
		blocks, authored := max(0, r.counts[r.next+n]), max(0, r.outputs[r.next+n])
		r.readBlocks += int64(blocks)
		r.readAuthored += int64(authored)
		if r.readBlocks > r.blocks.rows() || r.readAuthored > r.authored.rows() {
			return &DamagedError{r.requests.path, errors.New("its lists are longer than the tables that hold them")}
		}
		b.Blocks, b.Authored = grow(b.Blocks, int(blocks)), grow(b.Authored, int(authored))
		b.BlockEnd[n], b.AuthoredEnd[n], b.HasAuthored[n] = len(b.Blocks), len(b.Authored), r.outputs[r.next+n] >= 0
		lists += int64(blocks) + int64(authored)
		n++
	}
	r.next += n
	r.read += int64(n)
	b.N = n
	r.columns(b, n)
	fillList(r.blocks, b.Blocks, func(dst []uint64) { r.blocks.u64("block_id", dst) })
	fillList(r.authored, b.Authored, func(dst []uint32) { r.authored.u32("token", dst) })
	tables := []*tableReader{r.requests, r.blocks, r.authored}
	if p := r.plays; p != nil {
		if b.Agentic == nil {
			b.Agentic = &schemas.AgenticColumns{}
		}
		p.columns(b.Agentic, n)
		tables = append(tables, p.plays, p.nodes, p.edges)
	}
	for _, t := range tables {
		if t.err != nil {
			return t.err
		}
	}
	return nil
}

// window reads the list lengths of the next rows.
func (r *RequestReader) window() bool {
	n := r.requests.advance(readRows)
	if cap(r.counts) < readRows {
		r.counts, r.outputs = make([]int32, readRows), make([]int32, readRows)
	}
	r.counts, r.outputs, r.next = r.counts[:n], r.outputs[:n], 0
	if n > 0 {
		r.requests.i32("block_count", r.counts)
		r.requests.i32Null("authored_count", r.outputs)
	}
	return n > 0 && r.requests.err == nil
}

// end is the error after the last row.
func (r *RequestReader) end() error {
	if r.requests.err != nil {
		return r.requests.err
	}
	for _, t := range []*tableReader{r.blocks, r.authored} {
		if t.advance(math.MaxInt) > 0 {
			return &DamagedError{t.path, fmt.Errorf("more rows than table %s counts", schemas.Requests.Name)}
		}
	}
	return io.EOF
}

// size gives the batch room.
func (r *RequestReader) size(b *schemas.RequestBatch) {
	b.Blocks, b.Authored, b.BlockTokens = b.Blocks[:0], b.Authored[:0], r.blockTokens
	if len(b.Line) >= readRows {
		return
	}
	*b = schemas.RequestBatch{
		BlockTokens: r.blockTokens,
		Line:        make([]int64, readRows),
		SessionID:   make([]string, readRows), HasSession: make([]bool, readRows),
		RequestID: make([]string, readRows), HasRequest: make([]bool, readRows),
		InputTokens: make([]int64, readRows), OutputTokens: make([]int64, readRows),
		TimestampMS: make([]float64, readRows), HasTimestamp: make([]bool, readRows),
		DelayMS: make([]float64, readRows), HasDelay: make([]bool, readRows),
		Priority: make([]int32, readRows), StrictPriority: make([]uint32, readRows),
		PolicyClass: make([]string, readRows), HasPolicyClass: make([]bool, readRows),
		BlockEnd: make([]int, readRows), AuthoredEnd: make([]int, readRows), HasAuthored: make([]bool, readRows),
	}
}

// columns reads the columns of n rows.
func (r *RequestReader) columns(b *schemas.RequestBatch, n int) {
	t := r.requests
	t.i64("line", b.Line[:n])
	t.i64("input_tokens", b.InputTokens[:n])
	t.i64("output_tokens", b.OutputTokens[:n])
	t.f64Has("timestamp_ms", b.TimestampMS[:n], b.HasTimestamp[:n])
	t.f64Has("delay_ms", b.DelayMS[:n], b.HasDelay[:n])
	t.i32("priority", b.Priority[:n])
	t.u32("strict_priority", b.StrictPriority[:n])
	r.text, r.spans = r.text[:0], r.spans[:0]
	r.strings("session_id", b.SessionID[:n], b.HasSession[:n])
	r.strings("request_id", b.RequestID[:n], b.HasRequest[:n])
	r.strings("policy_class", b.PolicyClass[:n], b.HasPolicyClass[:n])
	// One allocation for all strings of the batch.
	text := string(r.text)
	for _, s := range r.spans {
		*s.into = text[s.from:s.to]
	}
}

func (r *RequestReader) strings(name string, dst []string, has []bool) {
	clear(dst)
	clear(has)
	r.requests.str(name, len(dst), func(i int, s []byte) {
		has[i] = true
		from := len(r.text)
		r.text = append(r.text, s...)
		r.spans = append(r.spans, textSpan{&dst[i], from, len(r.text)})
	})
}

// fillList reads the next elements of a list table, over row groups.
func fillList[T any](t *tableReader, dst []T, read func([]T)) {
	for len(dst) > 0 {
		n := t.advance(len(dst))
		if n == 0 {
			t.fail(fmt.Errorf("fewer rows than table %s counts", schemas.Requests.Name))
			return
		}
		read(dst[:n])
		dst = dst[n:]
	}
}

// grow makes s n elements longer.
func grow[T any](s []T, n int) []T {
	if len(s)+n <= cap(s) {
		return s[:len(s)+n]
	}
	return append(s, make([]T, n)...)
}
