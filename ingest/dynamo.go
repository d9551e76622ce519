package ingest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/dynosim/dynosim/schemas"
)

// dynamoReader reads all shards of a request trace, sorts their rows, and then yields them. What it knows of
// rows and their hashes goes to temporary files when it is much; only the rows of a graph stay in memory.
type dynamoReader struct {
	names  []string
	shards []*lineSource
	// assert is a block size that rows must have, 0 for any.
	assert int64
	parser dynamoParser
	w      batchWriter

	hashes idStore
	// count is the number of rows read, zero the time of the first of them in order, and agentic says whether they
	// have an agent context.
	count   int64
	zero    int64
	agentic bool
	// sorter and ids have the rows without an agent context: in order of time, and of request id. sortLimit
	// replaces sortAt in tests.
	sorter    *sorter[dynamoRow]
	ids       *sorter[dynamoRow]
	sortLimit int
	// rows are those with one; graph has them connected, tools the subagents that tool records tell
	// about, toolRecords the number of such records.
	rows        []dynamoRow
	graph       *graphRows
	tools       []dynamoTool
	toolRecords int
	agents      []dynamoAgent
	emitted     int64
	loaded      bool
	err         error
}

// dynamoAgent is the agent context of a row, and what else only graphs need.
type dynamoAgent struct {
	session, parent, model string
	hasParent              bool
	dependencies           []graphEdge
}

func openDynamo(source *schemas.SourceSpec, o Options) (Reader, error) {
	if source.BlockTokens < 0 {
		return nil, fmt.Errorf("the trace block size must be at least 1 token, got %d", source.BlockTokens)
	}
	r := &dynamoReader{names: source.Paths, assert: source.BlockTokens}
	for _, path := range source.Paths {
		lines, err := openLines(path, o.Tap)
		if err != nil {
			return nil, errors.Join(err, r.Close())
		}
		r.shards = append(r.shards, lines)
	}
	return r, nil
}

func (r *dynamoReader) Progress() (done, total int64) {
	for _, shard := range r.shards {
		d, t := shard.progress()
		done, total = done+d, total+t
	}
	return done, total
}

func (r *dynamoReader) Close() error {
	r.hashes.close()
	r.sorter.close()
	r.ids.close()
	var errs []error
	for i, shard := range r.shards {
		if shard.file != nil {
			errs = append(errs, shard.close())
			r.shards[i].file = nil
		}
	}
	return errors.Join(errs...)
}

func (r *dynamoReader) Next(batch *schemas.RequestBatch) error {
	if !r.loaded && r.err == nil {
		r.loaded = true
		r.err = r.load()
	}
	r.w.reset(batch, r.assert)
	if r.err == nil && r.graph != nil {
		r.err = r.graph.emit(batch)
	}
	if r.err != nil || r.graph != nil {
		if r.err != nil {
			batch.N = 0
		}
		return r.err
	}
	for r.emitted < r.count && !r.w.full() && r.err == nil {
		var row dynamoRow
		if row, _, r.err = r.sorter.next(); r.err == nil {
			r.err = r.emit(&row)
			r.emitted++
		}
	}
	r.w.finish()
	switch {
	case batch.N > 0:
		return nil
	case r.err == nil:
		r.err = io.EOF
	}
	return r.err
}

// place names where a row was read.
func (r *dynamoReader) place(row *dynamoRow) string {
	return fmt.Sprintf("%s:%d", r.shards[row.shard].name, row.line)
}

// load reads and sorts everything.
func (r *dynamoReader) load() error {
	for i, shard := range r.shards {
		for {
			line, err := shard.next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			if blank(line) {
				continue
			}
			request, err := r.parser.parse(line)
			switch {
			case err == nil && request:
				err = r.keep(int32(i), shard.number)
			case err == nil:
				r.keepTool(int32(i), shard.number)
			}
			if err != nil {
				return shard.errorf("%s%w", agentOf(line), err)
			}
		}
	}
	if r.count == 0 {
		return fmt.Errorf("%s: no request_end records in the trace", strings.Join(r.names, ", "))
	}
	if !r.agentic {
		r.sorter.finish()
		r.ids.finish()
		return r.uniqueSorted()
	}
	if err := r.unique(); err != nil {
		return err
	}
	slices.SortFunc(r.rows, byTime)
	return r.connect()
}

// agentOf starts a message about a record with an agent context: plays of these traces have no names before all rows are
// read, so it names the session and, as far as they can be read, the request. It is empty for other records.
func agentOf(line []byte) string {
	type record struct {
		Agent struct {
			Session string `json:"session_id"`
		} `json:"agent_context"`
		Request struct {
			ID string `json:"request_id"`
		} `json:"request"`
	}
	var r struct {
		record
		Event *record `json:"event"`
	}
	// A member of another type is skipped; what could be read stands.
	_ = json.Unmarshal(line, &r)
	if r.Event != nil {
		r.record = *r.Event
	}
	switch {
	case r.Agent.Session == "":
		return ""
	case r.Request.ID == "":
		return fmt.Sprintf("session %q: ", r.Agent.Session)
	}
	return fmt.Sprintf("session %q, request %q: ", r.Agent.Session, r.Request.ID)
}

// keepTool stores the tool record that was parsed last.
func (r *dynamoReader) keepTool(shard int32, line int64) {
	rec := &r.parser.rec
	r.toolRecords += rec.tools
	if rec.tools > 0 && rec.tool.child != "" {
		rec.tool.shard, rec.tool.line = shard, line
		r.tools = append(r.tools, rec.tool)
	}
}

// keep stores the record that was parsed last.
func (r *dynamoReader) keep(shard int32, line int64) error {
	rec := &r.parser.rec
	switch size := int64(rec.blockTokens); {
	case r.count > 0 && rec.agentic != r.agentic:
		return errors.New("a trace has either agent_context in all of its requests or in none")
	case size < 1:
		return fmt.Errorf("trace_block_size must be at least 1, got %d", size)
	case r.assert == 0:
		r.assert = size
	case size != r.assert && r.count == 0:
		return fmt.Errorf("trace_block_size is %d, but the configured block size is %d", size, r.assert)
	case size != r.assert:
		return fmt.Errorf("trace_block_size is %d, but %d in the rows before", size, r.assert)
	}
	if rec.output > math.MaxInt64 {
		return fmt.Errorf("output_tokens is out of range: %d", rec.output)
	}
	first, err := r.hashes.add(rec.hashes)
	if err != nil {
		return err
	}
	row := dynamoRow{
		start: rec.start, end: rec.end, input: int64(rec.input), output: int64(rec.output), ordinal: r.count,
		firstHash: first, hashes: int32(len(rec.hashes)), shard: shard, line: line, id: string(rec.id), agent: -1,
	}
	if r.count == 0 || row.start < r.zero {
		r.zero = row.start
	}
	r.agentic = rec.agentic
	r.count++
	if rec.agentic {
		row.agent = int32(len(r.agents))
		r.agents = append(r.agents, dynamoAgent{rec.session, rec.parent, rec.model, rec.hasParent, rec.dependencies})
		r.rows = append(r.rows, row)
		return nil
	}
	if r.sorter == nil {
		r.sorter = newSorter(r.sortLimit, encodeDynamoRow, decodeDynamoRow, byTime)
		r.ids = newSorter(r.sortLimit, encodeDynamoRow, decodeDynamoRow, byID)
	}
	if err := r.sorter.add(row); err != nil {
		return err
	}
	return r.ids.add(row)
}

// unique checks that no request id of a graph is used twice.
func (r *dynamoReader) unique() error {
	seen := make(map[string]int, len(r.rows))
	for i := range r.rows {
		if first, twice := seen[r.rows[i].id]; twice {
			return r.usedTwice(&r.rows[i], &r.rows[first])
		}
		seen[r.rows[i].id] = i
	}
	return nil
}

// uniqueSorted checks the same for rows in order of id. It too reports the use that comes first in the trace.
func (r *dynamoReader) uniqueSorted() error {
	var before, first, second dynamoRow
	found := false
	for i := int64(0); i < r.count; i++ {
		row, _, err := r.ids.next()
		if err != nil {
			return err
		}
		if i > 0 && row.id == before.id {
			if !found || row.ordinal < second.ordinal {
				found, first, second = true, before, row
			}
		}
		before = row
	}
	if found {
		return r.usedTwice(&second, &first)
	}
	return nil
}

func (r *dynamoReader) usedTwice(row, first *dynamoRow) error {
	return fmt.Errorf("%s: request_id %q is already used at %s", r.place(row), row.id, r.place(first))
}

// emit appends a row to the batch.
func (r *dynamoReader) emit(row *dynamoRow) error {
	b, from := r.w.b, r.w.mark()
	i := r.w.add(r.emitted + 1)
	b.HasTimestamp[i], b.TimestampMS[i] = true, float64(row.start-r.zero)
	b.InputTokens[i], b.OutputTokens[i] = row.input, row.output
	b.HasRequest[i] = true
	r.w.str(&b.RequestID[i], []byte(row.id))
	var err error
	if b.Blocks, err = r.hashes.read(b.Blocks, row.firstHash, int(row.hashes)); err != nil {
		return err
	}
	if err := checkMooncake(i, 1<<memberHashIDs|1<<memberOutput|1<<memberInput, from, r.assert, &r.w); err != nil {
		r.w.rollback(from)
		return fmt.Errorf("%s: %w", r.place(row), err)
	}
	return nil
}
