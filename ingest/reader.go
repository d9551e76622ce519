// Package ingest reads sources of requests: one reader a trace format, and the synthetic
// generators (spec 01 sections 3 and 4). Every reader streams: its memory does not grow
// with the length of the source, except for formats whose rows have to be sorted.
package ingest

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/dynosim/dynosim/schemas"
)

// BatchRows is the largest number of rows that a reader puts into one batch.
const BatchRows = 1024

// batchBlocks ends a batch early, so that rows with many blocks do not make large batches.
const batchBlocks = 1 << 16

// Reader yields the requests of a source in order.
type Reader interface {
	// Next replaces what batch holds by the next rows, at least one and at most BatchRows.
	// The batch may be the zero value; its memory is used again. At the end of the source
	// the error is io.EOF. Rows in front of an invalid one are delivered first, and the call after
	// that returns the error, which names file and line. After an error the batch is
	// empty and every further call returns the same error.
	Next(batch *schemas.RequestBatch) error
	// Progress is the part of the source that has been read, in bytes for files (compressed ones
	// as they lie on disk) and in rows for synthetic sources. total is 0 when unknown. It may
	// be called while another goroutine is in Next.
	Progress() (done, total int64)
	// Close releases the files. It is safe to call it twice.
	Close() error
}

// Open prepares the source for reading. Files are opened, their content is not checked yet.
// engineBlockTokens is the KV block size of the engine, which synthetic sessions count their
// shared prefix in (spec 01 section 4.2).
//
// Traces whose path ends in .gz or .zst are decompressed; "-" is standard input.
func Open(source *schemas.SourceSpec, engineBlockTokens int64) (Reader, error) {
	return OpenWith(source, engineBlockTokens, Options{})
}

// Options are what a caller may ask for beyond the source itself.
type Options struct {
	// Joined makes one source of several files of a format that has one: lines are numbered
	// on from file to file, and errors name the file and its own line. The Reader then has
	// the method of LineCounter.
	Joined bool
	// Tap gets the bytes of each file as they lie on disk and returns what to read in their
	// place. It may be nil.
	Tap func(path string, in io.Reader) io.Reader
}

// LineCounter is a Reader of joined files.
type LineCounter interface {
	// Lines is the number of lines in each file that has been read to its end, in order.
	Lines() []int64
}

// GraphReader is a Reader of a format that may hold a graph of plays.
type GraphReader interface {
	// GraphSource says what the source was, once it is read; ok is false when it was none of plays.
	GraphSource() (source schemas.GraphSource, ok bool)
}

// OpenWith is Open with options.
func OpenWith(source *schemas.SourceSpec, engineBlockTokens int64, o Options) (Reader, error) {
	switch source.Kind {
	case schemas.SourceSynthetic:
		return openSynthetic(source, engineBlockTokens)
	case schemas.SourceTrace:
		return openTrace(source, o)
	case schemas.SourceRequests:
		return openListed(source), nil
	}
	return nil, fmt.Errorf("source kind %q is not known: allowed are %q, %q and %q", source.Kind, schemas.SourceSynthetic, schemas.SourceTrace, schemas.SourceRequests)
}

func openTrace(source *schemas.SourceSpec, o Options) (Reader, error) {
	if len(source.Paths) == 0 {
		return nil, errors.New("a trace source needs at least one trace file")
	}
	switch source.Format {
	case schemas.FormatDynamo:
		return openDynamo(source, o)
	case schemas.FormatWeka:
		return openWeka(source, o)
	case schemas.FormatAgenticMooncake:
		return openAgentic(source, o)
	}
	var parser rowParser
	switch source.Format {
	case schemas.FormatMooncake, schemas.FormatMooncakeDelta:
		parser = newMooncakeParser()
	case schemas.FormatAppliedCompute:
		applied, err := newAppliedParser(source)
		if err != nil {
			return nil, err
		}
		parser = applied
	default:
		return nil, fmt.Errorf("trace format %q is not known: allowed are mooncake, mooncake-delta, applied_compute_agentic, agentic_mooncake, weka and dynamo", source.Format)
	}
	if len(source.Paths) > 1 && !o.Joined {
		return nil, fmt.Errorf("trace format %s takes exactly one trace file, got %d: %s", source.Format, len(source.Paths), strings.Join(source.Paths, ", "))
	}
	if source.BlockTokens < 1 {
		return nil, fmt.Errorf("the trace block size must be at least 1 token, got %d", source.BlockTokens)
	}
	files, err := openFiles(source.Paths, o)
	if err != nil {
		return nil, err
	}
	return &lineReader{files: files, parser: parser, blockTokens: source.BlockTokens}, nil
}

// rowParser turns one line into rows.
type rowParser interface {
	// parse appends the first row of a line to the batch in w and reports whether there are
	// more. Errors do not name file and line; what w holds of the line is then dropped.
	parse(line []byte, number int64, blockTokens int64, w *batchWriter) (more bool, err error)
	// resume appends the next row of the line.
	resume(w *batchWriter) (more bool)
}

// lineReader is a Reader of a format with one JSON value a line.
type lineReader struct {
	files       *lineFiles
	parser      rowParser
	blockTokens int64
	w           batchWriter
	// any says that there was a row, more that the last line has further ones.
	any, more bool
	err       error
}

func (r *lineReader) Progress() (done, total int64) { return r.files.progress() }

func (r *lineReader) Close() error { return r.files.close() }

// Lines implements LineCounter.
func (r *lineReader) Lines() []int64 { return r.files.counts }

func (r *lineReader) Next(batch *schemas.RequestBatch) error {
	r.w.reset(batch, r.blockTokens)
	for r.err == nil && !r.w.full() {
		if r.more {
			r.more = r.parser.resume(&r.w)
		} else {
			r.err = r.line()
		}
	}
	r.w.finish()
	if batch.N > 0 {
		return nil
	}
	return r.err
}

// line reads one line, blank ones included.
func (r *lineReader) line() error {
	line, err := r.files.next()
	if err != nil {
		return r.files.end(err, r.any)
	}
	if blank(line) {
		return nil
	}
	mark := r.w.mark()
	if r.more, err = r.parser.parse(line, r.files.number(), r.blockTokens, &r.w); err != nil {
		r.w.rollback(mark)
		return r.files.lines.errorf("%w", err)
	}
	r.any = true
	return nil
}
