package inspect

import (
	"context"
	"errors"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/dynosim/dynosim/ingest"
	"github.com/dynosim/dynosim/schemas"
)

// defaultBlockTokens is what a block id stands for when nobody says (spec 01 section 3).
const defaultBlockTokens = 512

// Trace describes a trace file. Its memory grows with distinct blocks, sessions and lengths only.
type Trace struct {
	Format schemas.TraceFormat `json:"format"`
	// Guessed says that the format was found from the first rows.
	Guessed bool  `json:"guessed"`
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
	// Sessions is the number of named sessions; Turns are those per session.
	Sessions       int64   `json:"sessions"`
	Turns          Lengths `json:"turns"`
	SessionlessRow int64   `json:"rows_without_session"`
	// Arrivals is nil when no row has a time.
	Arrivals *Chart `json:"arrivals,omitempty"`
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
	Distinct   int64 `json:"distinct"`
	// RepeatedShare is the share of references to a block that was named before.
	RepeatedShare float64 `json:"repeated_share"`
	// ReusableShare is the share of prompt tokens in leading blocks that an earlier prompt started with,
	// in the order of the source: what a prefix cache of unlimited size would reuse. It is nil for
	// mooncake-delta, whose rows hold only a part of their prompt.
	ReusableShare *float64 `json:"reusable_share"`
}

// lengths counts values by value, since traces have few distinct ones.
type lengths map[int64]int64

func (l lengths) figures() (f Lengths) {
	var n int64
	for v, c := range l {
		n += c
		f.Sum += v * c
	}
	values := slices.Sorted(maps.Keys(l))
	rank := func(p int64) int64 {
		at := (n*p + 99) / 100
		for _, v := range values {
			if at -= l[v]; at <= 0 {
				return v
			}
		}
		return 0
	}
	f.P50, f.P90, f.P99, f.Max = rank(50), rank(90), rank(99), rank(100)
	return f
}

// survey collects the figures of a trace row by row.
type survey struct {
	trace           *Trace
	input, output   lengths
	times           histogram
	blocks          map[uint64]uint32
	chains          map[uint64]uint32
	sessions        map[string]int64
	reusable, total int64
}

func readTrace(ctx context.Context, path string, o Options) (t *Trace, err error) {
	t = &Trace{Format: o.Format}
	if t.Format == "" {
		if t.Format, err = guess(path); err != nil {
			return nil, err
		}
		t.Guessed = true
	}
	source := &schemas.SourceSpec{Kind: schemas.SourceTrace, Format: t.Format, Paths: []string{path}, BlockTokens: o.BlockTokens}
	if source.BlockTokens == 0 && t.Format != schemas.FormatDynamo {
		source.BlockTokens = defaultBlockTokens
	}
	reader, err := ingest.Open(source, defaultBlockTokens)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	s := &survey{
		trace: t, input: lengths{}, output: lengths{}, times: histogram{width: 1, counts: map[int64]int64{}},
		blocks: map[uint64]uint32{}, chains: map[uint64]uint32{}, sessions: map[string]int64{},
	}
	for batch := new(schemas.RequestBatch); ; {
		if err := reader.Next(batch); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s.add(batch)
	}
	s.finish(o.Slices)
	return t, nil
}

func (s *survey) add(b *schemas.RequestBatch) {
	t, from := s.trace, 0
	for i := range b.N {
		t.Rows++
		s.input[b.InputTokens[i]]++
		s.output[b.OutputTokens[i]]++
		s.total += b.InputTokens[i]
		if b.HasTimestamp[i] {
			ms := b.TimestampMS[i]
			if t.TimedRows == 0 {
				t.FirstMS, t.LastMS = ms, ms
			}
			t.TimedRows++
			t.FirstMS, t.LastMS = min(t.FirstMS, ms), max(t.LastMS, ms)
			s.times.add(ms)
		}
		if b.HasSession[i] {
			s.session(b.SessionID[i])
		} else {
			t.SessionlessRow++
		}
		blocks := b.Blocks[from:b.BlockEnd[i]]
		from = b.BlockEnd[i]
		if len(blocks) > 0 {
			t.BlockTokens = b.BlockTokens
			s.reusable += min(s.prompt(blocks)*b.BlockTokens, b.InputTokens[i])
		}
	}
}

func (s *survey) session(name string) {
	n, ok := s.sessions[name]
	if !ok {
		name = string(append([]byte(nil), name...)) // the batch is filled again
	}
	s.sessions[name] = n + 1
}

// prompt notes the blocks of a prompt and counts the leading ones that an earlier prompt started with.
func (s *survey) prompt(blocks []uint64) (known int64) {
	s.trace.Blocks.References += int64(len(blocks))
	var prefix uint64 // number of the prefix so far, 0 for the empty one
	leading := true
	for _, id := range blocks {
		block, ok := s.blocks[id]
		if !ok {
			block = uint32(len(s.blocks))
			s.blocks[id] = block
		}
		key := prefix<<32 | uint64(block)
		next, ok := s.chains[key]
		if !ok {
			next = uint32(len(s.chains) + 1)
			s.chains[key] = next
			leading = false
		} else if leading {
			known++
		}
		prefix = uint64(next)
	}
	return known
}

func (s *survey) finish(slices int) {
	t := s.trace
	t.InputTokens, t.OutputTokens = s.input.figures(), s.output.figures()
	t.Sessions = int64(len(s.sessions))
	turns := lengths{}
	for _, n := range s.sessions {
		turns[n]++
	}
	t.Turns = turns.figures()
	t.Blocks.Distinct = int64(len(s.blocks))
	if t.Blocks.References > 0 {
		t.Blocks.RepeatedShare = float64(t.Blocks.References-t.Blocks.Distinct) / float64(t.Blocks.References)
	}
	if t.Format != schemas.FormatMooncakeDelta && s.total > 0 {
		share := float64(s.reusable) / float64(s.total)
		t.Blocks.ReusableShare = &share
	}
	if t.TimedRows > 0 {
		t.Arrivals = s.times.chart("arrivals", t.FirstMS, t.LastMS, slices)
	}
}

// histogram counts times in bins of a width that doubles when there are too many of them.
type histogram struct {
	width  float64
	counts map[int64]int64
}

const maxBins = 1 << 14

func (h *histogram) add(ms float64) {
	h.counts[h.bin(ms)]++
	for len(h.counts) > maxBins {
		h.width *= 2
		merged := make(map[int64]int64, maxBins)
		for bin, n := range h.counts {
			merged[bin>>1] += n
		}
		h.counts = merged
	}
}

// bin is the number of the bin; times beyond what can be numbered share the outermost ones.
func (h *histogram) bin(ms float64) int64 {
	return int64(math.Floor(max(-1<<62, min(1<<62, ms/h.width))))
}

// chart spreads the bins over equal slices from first to last. A bin counts where it starts.
func (h *histogram) chart(title string, first, last float64, slices int) *Chart {
	c := &Chart{Title: title, StartMS: first, SliceMS: (last - first) / float64(slices), Values: make([]float64, slices)}
	if c.SliceMS <= 0 {
		c.Values = c.Values[:1]
	}
	for bin, n := range h.counts {
		at := 0
		if c.SliceMS > 0 {
			at = int(max(0, min(float64(len(c.Values)-1), math.Floor((float64(bin)*h.width-first)/c.SliceMS))))
		}
		c.Values[at] += float64(n)
	}
	return c
}
