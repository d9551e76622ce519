package ingest

import "github.com/dynosim/dynosim/schemas"

// batchWriter appends rows to a batch whose memory is used again and again.
type batchWriter struct {
	b *schemas.RequestBatch
	// text holds the strings of the batch until finish makes them one string.
	text  []byte
	spans []span
}

// span is a string of a row: text[from:to] belongs at into.
type span struct {
	into     *string
	from, to int
}

// mark is a place to roll back to.
type mark struct{ rows, blocks, authored, text, spans int }

// reset empties the batch and gives it columns of BatchRows when it has none.
func (w *batchWriter) reset(b *schemas.RequestBatch, blockTokens int64) {
	w.b, w.text, w.spans = b, w.text[:0], w.spans[:0]
	b.N, b.BlockTokens, b.Blocks, b.Authored = 0, blockTokens, b.Blocks[:0], b.Authored[:0]
	if len(b.Line) >= BatchRows {
		return
	}
	*b = schemas.RequestBatch{
		BlockTokens: blockTokens, Blocks: b.Blocks, Authored: b.Authored,
		Line:      make([]int64, BatchRows),
		SessionID: make([]string, BatchRows), HasSession: make([]bool, BatchRows),
		RequestID: make([]string, BatchRows), HasRequest: make([]bool, BatchRows),
		InputTokens: make([]int64, BatchRows), OutputTokens: make([]int64, BatchRows),
		TimestampMS: make([]float64, BatchRows), HasTimestamp: make([]bool, BatchRows),
		DelayMS: make([]float64, BatchRows), HasDelay: make([]bool, BatchRows),
		Priority: make([]int32, BatchRows), StrictPriority: make([]uint32, BatchRows),
		PolicyClass: make([]string, BatchRows), HasPolicyClass: make([]bool, BatchRows),
		BlockEnd: make([]int, BatchRows), AuthoredEnd: make([]int, BatchRows), HasAuthored: make([]bool, BatchRows),
	}
}

func (w *batchWriter) full() bool {
	return w.b.N >= BatchRows || len(w.b.Blocks) >= batchBlocks || len(w.b.Authored) >= batchBlocks
}

// add appends a row without anything but its line and gives its index. Its blocks and authored
// tokens are what is appended to the columns before the call of end.
func (w *batchWriter) add(line int64) int {
	b, i := w.b, w.b.N
	b.N++
	b.Line[i] = line
	b.SessionID[i], b.RequestID[i], b.PolicyClass[i] = "", "", ""
	b.HasSession[i], b.HasRequest[i], b.HasPolicyClass[i] = false, false, false
	b.InputTokens[i], b.OutputTokens[i] = 0, 0
	b.TimestampMS[i], b.DelayMS[i] = 0, 0
	b.HasTimestamp[i], b.HasDelay[i], b.HasAuthored[i] = false, false, false
	b.Priority[i], b.StrictPriority[i] = 0, 0
	return i
}

// end closes the lists of row i.
func (w *batchWriter) end(i int) {
	w.b.BlockEnd[i], w.b.AuthoredEnd[i] = len(w.b.Blocks), len(w.b.Authored)
}

// str sets a string of a row when the batch is finished.
func (w *batchWriter) str(into *string, value []byte) {
	from := len(w.text)
	w.text = append(w.text, value...)
	w.spans = append(w.spans, span{into, from, len(w.text)})
}

// finish makes the strings: one allocation for all of them.
func (w *batchWriter) finish() {
	if len(w.spans) == 0 {
		return
	}
	text := string(w.text)
	for _, s := range w.spans {
		*s.into = text[s.from:s.to]
	}
}

func (w *batchWriter) mark() mark {
	return mark{w.b.N, len(w.b.Blocks), len(w.b.Authored), len(w.text), len(w.spans)}
}

// rollback forgets everything since the mark.
func (w *batchWriter) rollback(m mark) {
	w.b.N, w.b.Blocks, w.b.Authored = m.rows, w.b.Blocks[:m.blocks], w.b.Authored[:m.authored]
	w.text, w.spans = w.text[:m.text], w.spans[:m.spans]
}
