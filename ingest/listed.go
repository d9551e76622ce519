package ingest

import (
	"io"
	"slices"
	"sync/atomic"

	"github.com/dynosim/dynosim/schemas"
)

// listedReader yields the requests that a specification has itself. A block of such a prompt is one
// token.
type listedReader struct {
	source *schemas.SourceSpec
	// numbers has the number that lowering gives each token: those of prompts come first, in order of
	// their first occurrence. It is nil when no request says its output.
	numbers map[uint32]uint32
	w       batchWriter
	next    int
	done    atomic.Int64
}

func openListed(source *schemas.SourceSpec) *listedReader {
	r := &listedReader{source: source}
	if !slices.ContainsFunc(source.Requests, func(q schemas.ListedRequest) bool { return len(q.Output) > 0 }) {
		return r
	}
	r.numbers = map[uint32]uint32{}
	number := func(tokens []uint32) {
		for _, token := range tokens {
			if _, known := r.numbers[token]; !known {
				r.numbers[token] = uint32(len(r.numbers))
			}
		}
	}
	for i := range source.Requests {
		number(source.Requests[i].Input)
	}
	for i := range source.Requests {
		number(source.Requests[i].Output)
	}
	return r
}

func (r *listedReader) Progress() (done, total int64) {
	return r.done.Load(), int64(len(r.source.Requests))
}

func (r *listedReader) Close() error { return nil }

func (r *listedReader) Next(batch *schemas.RequestBatch) error {
	r.w.reset(batch, 1)
	for ; !r.w.full() && r.next < len(r.source.Requests); r.next++ {
		q := &r.source.Requests[r.next]
		b := r.w.b
		i := r.w.add(int64(r.next) + 1)
		b.HasRequest[i], b.HasSession[i] = true, q.HasSession
		r.w.str(&b.RequestID[i], []byte(q.ID))
		if q.HasSession {
			r.w.str(&b.SessionID[i], []byte(q.SessionID))
		}
		b.HasTimestamp[i], b.TimestampMS[i] = true, q.ArrivalMS
		b.InputTokens[i], b.OutputTokens[i] = q.InputTokens, q.OutputTokens
		for _, token := range q.Input {
			b.Blocks = append(b.Blocks, uint64(token))
		}
		b.HasAuthored[i] = q.Output != nil
		for _, token := range q.Output {
			b.Authored = append(b.Authored, r.numbers[token])
		}
		r.w.end(i)
	}
	r.w.finish()
	if batch.N == 0 {
		return io.EOF
	}
	r.done.Add(int64(batch.N))
	return nil
}
