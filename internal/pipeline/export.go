package pipeline

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/dynosim/dynosim/ingest"
	"github.com/dynosim/dynosim/internal/rundir"
	"github.com/dynosim/dynosim/lower"
	"github.com/dynosim/dynosim/schemas"
)

// ExportResult says what an export wrote.
type ExportResult struct {
	Plays, Requests, Edges int64
	Bytes                  int64
}

// ExportAgentic reads an agentic source and writes it to the file path as Agentic Mooncake v2 (spec 02 section 3): plays in
// the order of the source, times as recorded. A graph that is read back has the digest of the original. For what the format has no
// words, recorded ends that are not start plus service time and recorded starts of requests that wait for others, which only
// snapshots use, there are the members ingest.RecordedStart and RecordedEnd. A graph that no replay would take is an error, and
// nothing is written.
func ExportAgentic(ctx context.Context, source schemas.SourceSpec, path string, overwrite bool) (*ExportResult, error) {
	var result *ExportResult
	err := WriteFile(path, overwrite, func(out *os.File) (err error) {
		result, err = export(ctx, &source, out)
		again := resolved(&schemas.RunSpec{Source: source}, err)
		if again == nil {
			return err
		}
		if _, err = out.Seek(0, io.SeekStart); err == nil {
			err = out.Truncate(0)
		}
		if err == nil {
			result, err = export(ctx, &again.Source, out)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return result, nil
}

// WriteFile writes the single file path: write gets a file beside it, which takes the name when everything is on the disk. A file of that
// name is replaced only when overwrite says so. On an error path is what it was; a *DirectoryError is a path that cannot be
// written.
func WriteFile(path string, overwrite bool, write func(*os.File) error) error {
	switch info, err := os.Lstat(path); {
	case err != nil: // it does not exist, or making the file below says what is wrong
	case !info.Mode().IsRegular():
		return &DirectoryError{fmt.Errorf("cannot write %s: it is not a regular file", path)}
	case !overwrite:
		return &DirectoryError{fmt.Errorf("%s exists already: name another file, or use --overwrite", path)}
	}
	var wrote error
	err := rundir.Replace(path, func(out *os.File) error {
		wrote = write(out)
		return wrote
	})
	if err != nil && wrote == nil {
		return &DirectoryError{err}
	}
	return err
}

// exporter writes rows.
type exporter struct {
	w *bufio.Writer
	// hash and parent are the chains of blocks that were seen; own, shared and leaf those of each request.
	hash              []uint64
	parent            []int32
	own, shared, leaf []int32
	text              []byte
	path              []int32
	result            ExportResult
}

// digestRoom is the length of the digest that a header may have to be filled in with later.
const digestRoom = 64

func export(ctx context.Context, source *schemas.SourceSpec, out *os.File) (*ExportResult, error) {
	reader, err := ingest.Open(source, 0)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	e := exporter{w: bufio.NewWriterSize(out, 1<<20)}
	// The graph is built as for a replay, for what only shows then: cycles, ordinals, delays.
	builder := lower.NewBuilder(&schemas.RunSpec{Source: *source, Load: recordedPace})
	defer builder.Close()
	headed := false
	rows := func(batch *schemas.RequestBatch) error {
		if batch.Agentic == nil {
			return &InputError{fmt.Errorf("%s is not an agentic trace: no request of it has an agent context", strings.Join(source.Paths, ", "))}
		}
		if err := builder.Add(batch); err != nil {
			return err
		}
		if !headed {
			headed = true
			e.header(reader, source.Format, batch.BlockTokens)
		}
		e.plays(batch)
		return nil
	}
	if _, err := pump(ctx, reader, silent{}, rows); err != nil {
		return nil, err
	}
	if !headed {
		return nil, &InputError{fmt.Errorf("%s has no requests", strings.Join(source.Paths, ", "))}
	}
	if _, err := builder.FinishParts(func(*lower.GraphPart) error { return nil }); err != nil {
		return nil, err
	}
	if err := e.w.Flush(); err != nil {
		return nil, fmt.Errorf("cannot write %s: %w", out.Name(), plain(err))
	}
	if at := e.late(reader, source.Format); at != "" {
		prefix := int64(len(headerStart(string(source.Format))))
		if _, err := out.WriteAt([]byte(at), prefix); err != nil {
			return nil, fmt.Errorf("cannot write %s: %w", out.Name(), plain(err))
		}
	}
	size, err := out.Seek(0, io.SeekEnd)
	e.result.Bytes = size
	return &e.result, err
}

// headerStart is the header up to the digest of the source.
func headerStart(format string) string {
	return `{"schema":"dynamo.agentic_mooncake","version":2,"source":{"format":"` + format + `","digest":"`
}

// header writes the header. A corpus has its digest only when it is read: there is room for it.
func (e *exporter) header(reader ingest.Reader, format schemas.TraceFormat, blockTokens int64) {
	var line []byte
	if format == schemas.FormatWeka {
		line = append([]byte(headerStart(string(format))), strings.Repeat("0", digestRoom)...)
		line = append(line, '"')
	} else {
		source, _ := reader.(ingest.GraphReader).GraphSource()
		line = lower.AppendDigestText([]byte(`{"schema":"dynamo.agentic_mooncake","version":2,"source":{"format":`), []byte(source.Format))
		line = lower.AppendDigestText(append(line, `,"digest":`...), []byte(source.Digest))
	}
	line = strconv.AppendInt(append(line, `},"block_size":`...), blockTokens, 10)
	e.w.Write(append(line, `,"hash_id_scope":"local"}`+"\n"...))
}

// late is the digest to fill in, empty when the header has it.
func (e *exporter) late(reader ingest.Reader, format schemas.TraceFormat) string {
	if format != schemas.FormatWeka {
		return ""
	}
	source, _ := reader.(ingest.GraphReader).GraphSource()
	return source.Digest
}

// plays writes the rows of a batch.
func (e *exporter) plays(b *schemas.RequestBatch) {
	first := int64(len(e.leaf))
	row := 0
	for _, play := range b.Agentic.Plays {
		for ; row < play.End; row++ {
			e.row(b, row, &play, first)
		}
		e.result.Plays++
	}
	e.result.Requests += int64(b.N)
	e.result.Edges += int64(len(b.Agentic.Edges))
}

func bounds(end []int, i int) (lo, hi int) {
	if i > 0 {
		lo = end[i-1]
	}
	return lo, end[i]
}

func (e *exporter) row(b *schemas.RequestBatch, i int, play *schemas.SourcePlay, first int64) {
	a := b.Agentic
	text := lower.AppendDigestText(append(e.text[:0], `{"request_id":`...), []byte(b.RequestID[i]))
	text = lower.AppendDigestText(append(text, `,"play_id":`...), []byte(play.ID))
	if play.Ordinal >= 0 {
		text = strconv.AppendInt(append(text, `,"source_play_ordinal":`...), play.Ordinal, 10)
	}
	text = lower.AppendDigestText(append(text, `,"session_id":`...), []byte(b.SessionID[i]))
	text = lower.AppendDigestText(append(text, `,"model":`...), []byte(a.Model[i]))
	text = strconv.AppendInt(append(text, `,"input_length":`...), b.InputTokens[i], 10)
	text = strconv.AppendInt(append(text, `,"output_length":`...), b.OutputTokens[i], 10)
	if b.HasAuthored[i] {
		text = append(text, `,"output_token_ids":[`...)
		lo, hi := bounds(b.AuthoredEnd, i)
		for k, token := range b.Authored[lo:hi] {
			if k > 0 {
				text = append(text, ',')
			}
			text = strconv.AppendUint(text, uint64(token), 10)
		}
		text = append(text, ']')
	}
	text = ingest.AppendNumber(append(text, `,"not_before_ms":`...), b.TimestampMS[i])
	if at := a.RecordedAPITimeMS[i]; !math.IsNaN(at) {
		text = ingest.AppendNumber(append(text, `,"recorded_api_time_ms":`...), at)
	}
	start, end := a.RecordedStartMS[i], a.RecordedEndMS[i]
	if start != b.TimestampMS[i] {
		text = ingest.AppendNumber(append(text, `,"`+ingest.RecordedStart+`":`...), start)
	}
	if !math.IsNaN(end) && end != start+a.RecordedAPITimeMS[i] {
		text = ingest.AppendNumber(append(text, `,"`+ingest.RecordedEnd+`":`...), end)
	}
	if b.Priority[i] != 0 {
		text = strconv.AppendInt(append(text, `,"priority":`...), int64(b.Priority[i]), 10)
	}
	if b.StrictPriority[i] != 0 {
		text = strconv.AppendInt(append(text, `,"strict_priority":`...), int64(b.StrictPriority[i]), 10)
	}
	if b.HasPolicyClass[i] {
		text = lower.AppendDigestText(append(text, `,"policy_class":`...), []byte(b.PolicyClass[i]))
	}
	lo, hi := bounds(a.EdgeEnd, i)
	text = append(text, `,"dependencies":[`...)
	for k, edge := range a.Edges[lo:hi] {
		if k > 0 {
			text = append(text, ',')
		}
		text = lower.AppendDigestText(append(text, `{"request_id":`...), []byte(b.RequestID[edge.Predecessor-first]))
		text = append(append(append(text, `,"trigger":"`...), schemas.TriggerNames[edge.Trigger]...), `","delay_ms":`...)
		text = ingest.AppendNumber(text, edge.DelayMS)
		text = append(append(append(text, `,"relation":"`...), schemas.RelationNames[edge.Relation]...), `"}`...)
	}
	text = e.hashes(append(text, `],"hash_ids":[`...), b, i)
	e.text = append(text, "]}\n"...)
	e.w.Write(e.text)
}

// hashes writes the block list of a row.
func (e *exporter) hashes(text []byte, b *schemas.RequestBatch, i int) []byte {
	a := b.Agentic
	chain, shared := int32(-1), int32(0)
	if prefix := a.PrefixRequest[i]; prefix >= 0 {
		shared = a.PrefixBlocks[i]
		chain = e.own[prefix] + shared - 1 - e.shared[prefix]
	}
	e.own, e.shared = append(e.own, int32(len(e.hash))), append(e.shared, shared)
	lo, hi := bounds(b.BlockEnd, i)
	for _, id := range b.Blocks[lo:hi] {
		e.hash, e.parent = append(e.hash, id), append(e.parent, chain)
		chain = int32(len(e.hash) - 1)
	}
	e.leaf = append(e.leaf, chain)
	e.path = e.path[:0]
	for ; chain >= 0; chain = e.parent[chain] {
		e.path = append(e.path, chain)
	}
	for k := len(e.path) - 1; k >= 0; k-- {
		text = strconv.AppendUint(text, e.hash[e.path[k]], 10)
		if k > 0 {
			text = append(text, ',')
		}
	}
	return text
}
