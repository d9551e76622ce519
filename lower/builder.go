package lower

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dynosim/dynosim/schemas"
)

// Builder lowers a source batch by batch. It keeps about 40 bytes a request, and 16 (block
// ids numbered already) to 34 bytes a distinct block.
type Builder struct {
	source schemas.SourceSpec
	load   schemas.LoadSpec
	// named names rows for messages; nil names them by the source.
	named func(line int64) string

	// graph gathers the rows of an agentic source, nil for others.
	graph       *graphBuilder
	graphSource schemas.GraphSource

	blockTokens int64
	chains      interner
	sessions    directory
	// last has the most recent timestamp of each session, NaN for none.
	last column[float64]
	// joined says that a session has two or more rows.
	joined bool
	err    error

	// One element a row. timing is the timestamp (NaN for none) of a session's first row, the
	// delay of others. session is empty while every row is a session of its own.
	timing                            column[float64]
	input, output, chain, chainTokens column[int32]
	session                           column[int32]
	// priority, strict and class are empty while no row has any of them; classes numbers the
	// names of policy classes.
	priority, class column[int32]
	strict          column[uint32]
	classes         []string
	// authored and authoredEnd are empty while no row has authored outputs.
	authored    column[uint32]
	authoredEnd column[int64]
}

// NewBuilder prepares the lowering of the source of a run. A load that does not fit the source, or
// a value out of range (spec 01 section 9), is the error of the first Add, or of Finish.
func NewBuilder(spec *schemas.RunSpec) *Builder {
	return &Builder{
		source: spec.Source, load: spec.Load, sessions: newDirectory(),
		err: checkLoad(&spec.Source, &spec.Load),
	}
}

// NamePlaces sets how messages name a row by its line, for a source whose rows do not come from its
// files. Call it before Add.
func (b *Builder) NamePlaces(named func(line int64) string) { b.named = named }

// BlockTokens is what a block id of the rows so far stands for, 0 before any.
func (b *Builder) BlockTokens() int64 { return b.blockTokens }

// SetGraphSource says what an agentic source was. Call it before Finish.
func (b *Builder) SetGraphSource(s schemas.GraphSource) { b.graphSource = s }

// Add takes the next rows of the source and keeps nothing of the batch. An error names
// file and line; every further call returns it again.
func (b *Builder) Add(batch *schemas.RequestBatch) error {
	if b.err == nil && batch.BlockTokens != 0 {
		if b.blockTokens != 0 && b.blockTokens != batch.BlockTokens {
			b.err = fmt.Errorf("blocks of %d and of %d tokens in one source", b.blockTokens, batch.BlockTokens)
		}
		b.blockTokens = batch.BlockTokens
	}
	if b.err == nil && batch.Agentic != nil {
		if b.graph == nil {
			b.graph = newGraphBuilder(b.source.Format)
		}
		b.err = b.graph.add(batch)
		return b.err
	}
	for i := 0; i < batch.N && b.err == nil; i++ {
		if err := b.row(batch, i); err != nil {
			b.err = fmt.Errorf("%s: %w", b.place(batch.Line[i]), err)
		}
	}
	return b.err
}

// place names a row for a message.
func (b *Builder) place(line int64) string {
	switch {
	case b.named != nil:
		return b.named(line)
	case b.source.Kind == schemas.SourceSynthetic || len(b.source.Paths) == 0:
		return fmt.Sprintf("request %d", line)
	case b.source.Format == schemas.FormatDynamo:
		return fmt.Sprintf("%s: request %d in order of start", b.source.Paths[0], line)
	case b.source.Paths[0] == "-":
		return fmt.Sprintf("standard input:%d", line)
	}
	return fmt.Sprintf("%s:%d", b.source.Paths[0], line)
}

func (b *Builder) row(batch *schemas.RequestBatch, i int) error {
	input, output := batch.InputTokens[i], batch.OutputTokens[i]
	switch {
	case input < 1 && b.source.Kind != schemas.SourceRequests:
		return fmt.Errorf("input_length must be at least 1, got %d", input)
	case input > math.MaxInt32 || output > math.MaxInt32:
		return fmt.Errorf("input_length %d and output_length %d must each be at most %d", input, output, math.MaxInt32)
	case output < 0:
		return fmt.Errorf("output_length must be at least 0, got %d", output)
	case b.input.n >= math.MaxInt32:
		return fmt.Errorf("more than %d requests", math.MaxInt32)
	}
	if err := b.addSession(batch, i); err != nil {
		return err
	}
	if err := b.addPrompt(batch, i); err != nil {
		return err
	}
	b.input.push(int32(input))
	b.output.push(int32(output))
	b.addRouting(batch, i)
	b.addAuthored(batch, i)
	return nil
}

// addRouting keeps what a row, whose lengths were added, tells a router.
func (b *Builder) addRouting(batch *schemas.RequestBatch, i int) {
	if batch.Priority == nil || b.priority.n == 0 && batch.Priority[i] == 0 && batch.StrictPriority[i] == 0 && !batch.HasPolicyClass[i] {
		return
	}
	for b.priority.n < b.input.n-1 {
		b.pushRouting(0, 0, -1)
	}
	class := -1
	if batch.HasPolicyClass[i] {
		if class = slices.Index(b.classes, batch.PolicyClass[i]); class < 0 {
			class = len(b.classes)
			b.classes = append(b.classes, strings.Clone(batch.PolicyClass[i]))
		}
	}
	b.pushRouting(batch.Priority[i], batch.StrictPriority[i], int32(class))
}

func (b *Builder) pushRouting(priority int32, strict uint32, class int32) {
	b.priority.push(priority)
	b.strict.push(strict)
	b.class.push(class)
}

// addSession finds the session of a row and its release or delay (spec 01 section 3.4).
func (b *Builder) addSession(batch *schemas.RequestBatch, i int) error {
	row := int32(b.timing.n)
	var session int32
	var first bool
	if batch.HasSession[i] && b.source.Kind != schemas.SourceRequests {
		session, first = b.sessions.named(batch.SessionID[i])
	} else {
		session, first = b.sessions.anonymous(batch.Line[i])
	}
	timestamp := math.NaN()
	if batch.HasTimestamp[i] {
		timestamp = batch.TimestampMS[i]
	}
	if first {
		if batch.HasDelay[i] && batch.DelayMS[i] != 0 {
			return fmt.Errorf("delay %v on the first turn of session %s: only later turns may have one", batch.DelayMS[i], b.name(session))
		}
		b.last.push(timestamp)
		b.timing.push(timestamp)
	} else {
		delay, err := b.delay(batch, i, session)
		if err != nil {
			return err
		}
		if batch.HasTimestamp[i] {
			b.last.set(int(session), timestamp)
		}
		b.timing.push(delay)
		b.joined = true
	}
	if session != row && b.session.n == 0 {
		for earlier := range row {
			b.session.push(earlier)
		}
	}
	if session != row || b.session.n > 0 {
		b.session.push(session)
	}
	return nil
}

// delay is the delay of a later turn.
func (b *Builder) delay(batch *schemas.RequestBatch, i int, session int32) (float64, error) {
	var delay float64
	switch last := b.last.at(int(session)); {
	case batch.HasDelay[i]:
		delay = batch.DelayMS[i]
		if !(delay >= 0) || math.IsInf(delay, 0) {
			return 0, fmt.Errorf("delay must be a finite number of at least 0, got %v", delay)
		}
	case batch.HasTimestamp[i]:
		if math.IsNaN(last) {
			return 0, fmt.Errorf("session %s has no earlier timestamp to infer the delay of this turn from", b.name(session))
		}
		delay = batch.TimestampMS[i] - last
		if !(delay >= 0) || math.IsInf(delay, 0) {
			return 0, fmt.Errorf("timestamp %v lies %v ms before the previous one of session %s, %v", batch.TimestampMS[i], -delay, b.name(session), last)
		}
	}
	return delay, nil
}

func (b *Builder) name(session int32) string {
	return fmt.Sprintf("%q", b.sessions.names.append(nil, b.sessions.names.refs.at(int(session))))
}

// addPrompt interns the blocks of a row.
func (b *Builder) addPrompt(batch *schemas.RequestBatch, i int) error {
	from := 0
	if i > 0 {
		from = batch.BlockEnd[i-1]
	}
	ids := batch.Blocks[from:batch.BlockEnd[i]]
	if len(ids) == 0 {
		b.chain.push(-1)
		b.chainTokens.push(0)
		return nil
	}
	if b.blockTokens < 1 {
		return errors.New("blocks without a block size")
	}
	input := batch.InputTokens[i]
	used := min(int64(len(ids)), (input-1)/b.blockTokens+1)
	chain, err := b.chains.prompt(ids, int(used))
	if err != nil {
		return err
	}
	b.chain.push(chain)
	covered := input
	if used < (input-1)/b.blockTokens+1 {
		covered = used * b.blockTokens
	}
	b.chainTokens.push(int32(covered))
	return nil
}

// addAuthored keeps the authored outputs of a row.
func (b *Builder) addAuthored(batch *schemas.RequestBatch, i int) {
	from := 0
	if i > 0 {
		from = batch.AuthoredEnd[i-1]
	}
	tokens := batch.Authored[from:batch.AuthoredEnd[i]]
	if len(tokens) == 0 && b.authored.n == 0 {
		return
	}
	for b.authoredEnd.n < b.input.n-1 {
		b.authoredEnd.push(0)
	}
	for _, token := range tokens {
		b.authored.push(token)
	}
	b.authoredEnd.push(int64(b.authored.n))
}
