package differential

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/dynosim/dynosim/internal/parity"
)

// Options says what to compare.
type Options struct {
	Program parity.Program
	Python  string
	Seed    uint64
	// First and Count are the range of indexes.
	First, Count int
	// Backend leaves out the cases of other backends; "" takes all.
	Backend string
	// Agentic takes the cases of DrawAgentic.
	Agentic bool
	// Hosted takes the cases of DrawHosted.
	Hosted bool
	// Measured times the passes of all cases from measured data.
	Measured bool
	// Listed takes the cases of DrawListed.
	Listed bool
	// Routed leaves out the cases of round robin.
	Routed bool
	// Split leaves out the aggregated cases, Scaled those without scripted scaling or telemetry.
	Split, Scaled bool
	// Storage leaves out the cases without storage behind the host caches.
	Storage bool
	// Parallel is how many cases run at a time, each with a process of the reference.
	Parallel int
	// SaveTo is where cases that differ are left, each in a folder of its own.
	SaveTo string
	// Shown is how many differences of a case are printed; after MaxDifferent cases that
	// differ the run stops.
	Shown, MaxDifferent int
	// ShrinkTime bounds the time spent on making one case smaller.
	ShrinkTime time.Duration
}

// referenceLimit is how long the reference may take on one case; it needs milliseconds.
const referenceLimit = 20 * time.Second

// Summary counts the outcomes of a run.
type Summary struct {
	Outcomes [Different + 1]int
	// Sources counts the cases with equal reports by their source.
	Sources map[string]int
}

// Cases is the number of cases that were judged.
func (s *Summary) Cases() (n int) {
	for _, count := range s.Outcomes {
		n += count
	}
	return n
}

// Run compares the programs on the cases of a seed and prints what differs.
func Run(ctx context.Context, w io.Writer, o Options) (*Summary, error) {
	r := &run{Options: o, w: w, summary: Summary{Sources: map[string]int{}}}
	ctx, r.stop = context.WithCancel(ctx)
	defer r.stop()
	indexes := make(chan int)
	var workers sync.WaitGroup
	for range max(1, o.Parallel) {
		workers.Go(func() { r.fail(r.work(ctx, indexes)) })
	}
feeding:
	for i := range o.Count {
		select {
		case indexes <- o.First + i:
		case <-ctx.Done():
			break feeding
		}
	}
	close(indexes)
	workers.Wait()
	if r.err != nil {
		return &r.summary, r.err
	}
	return &r.summary, nil
}

// run is the state that the workers share.
type run struct {
	Options
	w    io.Writer
	stop context.CancelFunc

	mu      sync.Mutex
	summary Summary
	err     error
}

// fail keeps the first error and stops the others.
func (r *run) fail(err error) {
	if err == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	enough := r.MaxDifferent > 0 && r.summary.Outcomes[Different] >= r.MaxDifferent
	if r.err == nil && !enough {
		r.err = err
	}
	r.stop()
}

func (r *run) work(ctx context.Context, indexes <-chan int) (err error) {
	scratch, err := os.MkdirTemp("", "dynosim-differential-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	reference := &Reference{Python: r.Python, TimeLimit: referenceLimit}
	if r.Measured {
		reference.TimeLimit = queryLimit
	}
	k := &Checker{Program: r.Program, Reference: reference, Scratch: scratch}
	defer func() {
		if closed := reference.Close(); err == nil {
			err = closed
		}
	}()
	for index := range indexes {
		draw := Draw
		switch {
		case r.Agentic:
			draw = DrawAgentic
		case r.Routed && r.Split:
			draw = DrawRoutedPools
		case r.Hosted:
			draw = DrawHosted
		case r.Measured:
			draw = DrawMeasured
		case r.Listed:
			draw = DrawListed
		}
		c := draw(r.Seed, index)
		if r.Backend != "" && c.Engine["backend"] != r.Backend || r.Routed && c.Router == nil || r.Split && c.Decode == nil || r.Scaled && !c.watched() || r.Storage && c.Engine["g3_offload"] == nil {
			continue
		}
		j, err := k.Check(ctx, c)
		if err != nil {
			return fmt.Errorf("case %d of seed %d: %w", index, r.Seed, err)
		}
		if j.Outcome == Different {
			if err := r.different(ctx, k, index, c, j); err != nil {
				return err
			}
		}
		r.note(index, c, j)
	}
	return nil
}

// different shrinks, saves and prints a case.
func (r *run) different(ctx context.Context, k *Checker, index int, c *Case, j *Judgement) error {
	name := filepath.Join(r.SaveTo, fmt.Sprintf("seed-%d-case-%d", r.Seed, index))
	if err := c.Save(name+"-original", j.Expected); err != nil {
		return err
	}
	small, judged, err := k.Shrink(ctx, c, j, r.ShrinkTime)
	if err != nil {
		return err
	}
	if err := small.Save(name, judged.Expected); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.w, "DIFFERENT case %d (%s), made smaller in %s (%s): %d differences\n", index, c, name, small, len(judged.Differences))
	for i, d := range judged.Differences {
		if i == r.Shown {
			fmt.Fprintf(r.w, "    and %d more\n", len(judged.Differences)-i)
			break
		}
		fmt.Fprintf(r.w, "    %s\n", d)
	}
	return nil
}

func (r *run) note(index int, c *Case, j *Judgement) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.summary.Outcomes[j.Outcome]++
	switch j.Outcome {
	case Equal:
		r.summary.Sources[c.Source]++
	case Undecided:
		fmt.Fprintf(r.w, "case %d (%s): the reference does not end, the program refuses\n", index, c)
	case Different:
		if r.MaxDifferent > 0 && r.summary.Outcomes[Different] >= r.MaxDifferent {
			r.stop()
		}
	}
}

// Print writes the counts.
func (s *Summary) Print(w io.Writer) {
	fmt.Fprintf(w, "%d cases: %d equal reports, %d refused by both, %d undecided, %d tied, %d different\n", s.Cases(),
		s.Outcomes[Equal], s.Outcomes[BothRefuse], s.Outcomes[Undecided], s.Outcomes[Tied], s.Outcomes[Different])
	sources := make([]string, 0, len(s.Sources))
	for source := range s.Sources {
		sources = append(sources, source)
	}
	slices.Sort(sources)
	fmt.Fprint(w, "equal by source:")
	for _, source := range sources {
		fmt.Fprintf(w, " %s %d", source, s.Sources[source])
	}
	fmt.Fprintln(w)
}
