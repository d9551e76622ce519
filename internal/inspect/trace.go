package inspect

import (
	"context"
	"errors"
	"io"

	"github.com/dynosim/dynosim/ingest"
	"github.com/dynosim/dynosim/schemas"
)

// defaultBlockTokens is what a block id stands for when nobody says (spec 01 section 3).
const defaultBlockTokens = 512

// Trace describes a trace. Making it takes bounded memory: see sample and lengths.
type Trace struct {
	Format schemas.TraceFormat `json:"format"`
	// Guessed says that the format was found from the first rows.
	Guessed bool  `json:"guessed"`
	Files   int   `json:"files"`
	Rows    int64 `json:"rows"`
	// BlockTokens is the number of tokens of a block, 0 without blocks.
	BlockTokens int64 `json:"block_tokens"`
	// TimedRows counts rows with an arrival time, from FirstMS to LastMS.
	TimedRows    int64   `json:"timed_rows"`
	FirstMS      float64 `json:"first_ms"`
	LastMS       float64 `json:"last_ms"`
	InputTokens  Lengths `json:"input_tokens"`
	OutputTokens Lengths `json:"output_tokens"`
	Blocks       Blocks  `json:"blocks"`
	// Sessions is the number of named sessions, an estimate when SessionsSampled is above 1: then one of
	// so many was looked at. Turns are those per session.
	Sessions        int64   `json:"sessions"`
	SessionsSampled int64   `json:"sessions_sampled"`
	Turns           Lengths `json:"turns"`
	SessionlessRow  int64   `json:"rows_without_session"`
	// Arrivals and Input are requests and prompt tokens per second; nil when no row has a time.
	Arrivals *Chart `json:"arrivals,omitempty"`
	Input    *Chart `json:"input,omitempty"`
}

// Lengths are figures over counts; percentiles are nearest ranks.
type Lengths struct {
	Sum int64 `json:"sum"`
	P50 int64 `json:"p50"`
	P90 int64 `json:"p90"`
	P99 int64 `json:"p99"`
	Max int64 `json:"max"`
}

// Blocks tells how much of the prompts repeats.
type Blocks struct {
	References int64 `json:"references"`
	// Distinct and the shares are exact when Sampled is 1; otherwise they are estimates from one of so
	// many blocks and prefixes, chosen by their hash.
	Distinct int64 `json:"distinct"`
	Sampled  int64 `json:"sampled"`
	// RepeatedShare is the share of references to a block that was named before.
	RepeatedShare float64 `json:"repeated_share"`
	// ReusableShare is the share of prompt tokens in leading blocks that an earlier prompt started with,
	// in the order of the source: what a prefix cache of unlimited size would reuse. It is nil for
	// mooncake-delta, whose rows hold only a part of their prompt.
	ReusableShare *float64 `json:"reusable_share"`
}

// survey collects the figures of a trace row by row.
type survey struct {
	trace         *Trace
	input, output lengths
	times         histogram
	// blocks are seen by their id, prefixes by the hash of all ids up to there.
	blocks, prefixes sample
	sessions         sessions
	total            int64
}

// readTrace describes the trace of the given files: flat, or of plays.
func (f *Finding) readTrace(ctx context.Context, paths []string, o Options) (err error) {
	guessed := o.Format == ""
	if guessed {
		if o.Format, err = guess(paths[0]); err != nil {
			return err
		}
	}
	source := &schemas.SourceSpec{Kind: schemas.SourceTrace, Format: o.Format, Paths: paths, BlockTokens: o.BlockTokens}
	if source.BlockTokens == 0 && o.Format != schemas.FormatDynamo && o.Format != schemas.FormatWeka {
		source.BlockTokens = defaultBlockTokens
	}
	err = f.readSource(ctx, source, guessed, o)
	var basis *ingest.BasisError
	if errors.As(err, &basis) {
		source.ResolvedBasis = basis.Basis
		err = f.readSource(ctx, source, guessed, o)
	}
	return err
}

func (f *Finding) readSource(ctx context.Context, source *schemas.SourceSpec, guessed bool, o Options) (err error) {
	opened, err := ingest.OpenWith(source, defaultBlockTokens, ingest.Options{Joined: true})
	if err != nil {
		return err
	}
	reader := ingest.Ahead(opened)
	defer func() { err = errors.Join(err, reader.Close()) }()
	t := &Trace{Format: source.Format, Guessed: guessed, Files: len(source.Paths)}
	s := &survey{trace: t, times: histogram{width: 1, counts: map[int64]tally{}}}
	var plays *graphSurvey
	for batch := new(schemas.RequestBatch); ; {
		err := errors.Join(ctx.Err(), reader.Next(batch))
		switch {
		case errors.Is(err, io.EOF) && plays != nil:
			from, _ := opened.(ingest.GraphReader).GraphSource()
			f.Graph, err = plays.finish(from, source.Format, guessed)
			return err
		case errors.Is(err, io.EOF):
			s.finish(o.Slices)
			f.Trace = t
			return nil
		case err != nil:
			return err
		case batch.Agentic == nil:
			s.add(batch)
		default:
			if plays == nil {
				plays = newGraphSurvey(source)
			}
			if err := plays.builder.Add(batch); err != nil {
				return err
			}
		}
		if o.Progress != nil {
			o.Progress(reader.Progress())
		}
	}
}

func (s *survey) add(b *schemas.RequestBatch) {
	t, from := s.trace, 0
	for i := range b.N {
		t.Rows++
		s.input.add(b.InputTokens[i], 1)
		s.output.add(b.OutputTokens[i], 1)
		s.total += b.InputTokens[i]
		if b.HasTimestamp[i] {
			ms := b.TimestampMS[i]
			if t.TimedRows == 0 {
				t.FirstMS, t.LastMS = ms, ms
			}
			t.TimedRows++
			t.FirstMS, t.LastMS = min(t.FirstMS, ms), max(t.LastMS, ms)
			s.times.add(ms, b.InputTokens[i])
		}
		if b.HasSession[i] {
			s.sessions.add(b.SessionID[i])
		} else {
			t.SessionlessRow++
		}
		blocks := b.Blocks[from:b.BlockEnd[i]]
		from = b.BlockEnd[i]
		if len(blocks) > 0 {
			t.BlockTokens = b.BlockTokens
			s.prompt(blocks, b.BlockTokens, b.InputTokens[i])
		}
	}
}

// prompt notes the blocks of a prompt. A leading block can be reused when the whole prefix up to it was
// seen before; the last one may be partial.
func (s *survey) prompt(blocks []uint64, blockTokens, tokens int64) {
	s.trace.Blocks.References += int64(len(blocks))
	prefix := uint64(0)
	for _, id := range blocks {
		block := mix(id)
		s.blocks.add(block, 1)
		prefix = mix(prefix + block)
		s.prefixes.add(prefix, float64(max(0, min(blockTokens, tokens))))
		tokens -= blockTokens
	}
}

func (s *survey) finish(slices int) {
	t := s.trace
	t.InputTokens, t.OutputTokens = s.input.figures(), s.output.figures()
	t.Sessions, t.SessionsSampled, t.Turns = s.sessions.figures()
	t.Blocks.Sampled = max(s.blocks.oneIn(), s.prefixes.oneIn())
	if n := t.Blocks.References; n > 0 {
		t.Blocks.Distinct = int64(s.blocks.fresh)
		t.Blocks.RepeatedShare = 1 - s.blocks.fresh/float64(n)
	}
	if t.Format != schemas.FormatMooncakeDelta && s.total > 0 {
		share := (s.prefixes.all - s.prefixes.fresh) / float64(s.total)
		t.Blocks.ReusableShare = &share
	}
	if t.TimedRows > 0 {
		t.Arrivals, t.Input = s.times.charts(t.FirstMS, t.LastMS, slices)
	}
}
