package ingest

import (
	"math"

	"github.com/dynosim/dynosim/schemas"
)

// playBatch fills a batch with one play whose number of requests is known.
type playBatch struct {
	b *schemas.RequestBatch
	a *schemas.AgenticColumns
	// text holds the strings of the batch until finish makes them one string.
	text  []byte
	spans []span
	row   int
}

// grown returns s with n elements, all zero.
func grown[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	s = s[:n]
	clear(s)
	return s
}

// reset empties the batch and gives its columns n rows.
func (w *playBatch) reset(b *schemas.RequestBatch, blockTokens int64, n int) {
	a := b.Agentic
	if a == nil {
		a = &schemas.AgenticColumns{}
	}
	w.b, w.a, w.text, w.spans, w.row = b, a, w.text[:0], w.spans[:0], 0
	*b = schemas.RequestBatch{
		N: n, BlockTokens: blockTokens, Blocks: b.Blocks[:0], Authored: b.Authored[:0],
		Line:      grown(b.Line, n),
		SessionID: grown(b.SessionID, n), HasSession: grown(b.HasSession, n),
		RequestID: grown(b.RequestID, n), HasRequest: grown(b.HasRequest, n),
		InputTokens: grown(b.InputTokens, n), OutputTokens: grown(b.OutputTokens, n),
		TimestampMS: grown(b.TimestampMS, n), HasTimestamp: grown(b.HasTimestamp, n),
		DelayMS: grown(b.DelayMS, n), HasDelay: grown(b.HasDelay, n),
		Priority: grown(b.Priority, n), StrictPriority: grown(b.StrictPriority, n),
		PolicyClass: grown(b.PolicyClass, n), HasPolicyClass: grown(b.HasPolicyClass, n),
		BlockEnd: grown(b.BlockEnd, n), AuthoredEnd: grown(b.AuthoredEnd, n), HasAuthored: grown(b.HasAuthored, n),
		Agentic: a,
	}
	*a = schemas.AgenticColumns{
		Plays: a.Plays[:0], Model: grown(a.Model, n),
		RecordedStartMS: grown(a.RecordedStartMS, n), RecordedEndMS: grown(a.RecordedEndMS, n), RecordedAPITimeMS: grown(a.RecordedAPITimeMS, n),
		PrefixRequest: grown(a.PrefixRequest, n), PrefixBlocks: grown(a.PrefixBlocks, n), EdgeEnd: grown(a.EdgeEnd, n), Edges: a.Edges[:0],
	}
}

// str sets a string when the batch is finished: from is where its bytes begin in w.text.
func (w *playBatch) str(into *string, from int) {
	w.spans = append(w.spans, span{into, from, len(w.text)})
}

// next starts the next row and returns its index.
func (w *playBatch) next(line int64) int {
	i := w.row
	w.row++
	w.b.Line[i] = line
	w.b.HasSession[i], w.b.HasRequest[i], w.b.HasTimestamp[i] = true, true, true
	return i
}

// end closes the lists of row i.
func (w *playBatch) end(i int) {
	w.b.BlockEnd[i], w.b.AuthoredEnd[i], w.a.EdgeEnd[i] = len(w.b.Blocks), len(w.b.Authored), len(w.a.Edges)
}

// recorded sets the recorded times of row i, whose earliest start is set: they are that start and, where
// apiMS is known, that much later.
func (w *playBatch) recorded(i int, apiMS float64) {
	w.a.RecordedStartMS[i] = w.b.TimestampMS[i]
	w.a.RecordedAPITimeMS[i], w.a.RecordedEndMS[i] = apiMS, w.b.TimestampMS[i]+apiMS
}

// finish makes the strings, one allocation for all of them, and the play.
func (w *playBatch) finish(play schemas.SourcePlay) {
	text := string(w.text)
	for _, s := range w.spans {
		*s.into = text[s.from:s.to]
	}
	play.End = w.b.N
	w.a.Plays = append(w.a.Plays, play)
}

// unknown stands for a time that was not recorded.
var unknown = math.NaN()
