package differential

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dynosim/dynosim/internal/parity"
)

// Outcome is what came out of a case.
type Outcome int

// Outcomes.
const (
	// Equal reports.
	Equal Outcome = iota
	// BothRefuse: neither program reports on the case.
	BothRefuse
	// Undecided: the reference gave no answer in time, and the program refused the case.
	Undecided
	// Tied: the reports differ, and so might two of the reference, which draws between targets
	// of equal cost too often.
	Tied
	// Different, the program's lack of a feature included.
	Different
)

// programLimit is how long the program may take on one case.
const programLimit = 60 * time.Second

// Reporter gives the report of the reference on a call, whose files are in dir. A refusal
// is the report {"error": "..."}; ErrTimeout says that there is none.
type Reporter interface {
	Report(ctx context.Context, dir string, call map[string]any) (map[string]any, error)
}

// Checker judges cases.
type Checker struct {
	Program   parity.Program
	Reference Reporter
	// Scratch is a folder of the checker's own.
	Scratch string
}

// Judgement is the outcome of a case with its details.
type Judgement struct {
	Outcome Outcome
	// Expected is the report of the reference.
	Expected map[string]any
	// Differences says what differs, each entry starting with the way in.
	Differences []string
}

// Check runs the case in both programs.
func (k *Checker) Check(ctx context.Context, c *Case) (*Judgement, error) {
	dir := filepath.Join(k.Scratch, "case")
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	if err := c.Write(dir); err != nil {
		return nil, err
	}
	expected, err := k.Reference.Report(ctx, dir, c.Call())
	if errors.Is(err, ErrTimeout) {
		return k.endless(ctx, c, dir)
	}
	if err != nil {
		return nil, err
	}
	var ran []execution
	for _, way := range c.Ways() {
		out, done, err := k.run(ctx, way, dir, c.options(way)...)
		if err != nil {
			return nil, err
		}
		ran = append(ran, execution{way, out, done})
	}
	j := k.judge(expected, ran)
	if j.Outcome == Different && c.Router != nil {
		return k.retry(ctx, c, dir, j, ran)
	}
	return j, nil
}

// execution is what the program did on one way in.
type execution struct {
	way  parity.Way
	out  string
	done parity.Execution
}

// judge compares what the program did with a report of the reference.
func (k *Checker) judge(expected map[string]any, ran []execution) *Judgement {
	j := &Judgement{Expected: expected}
	if message, refused := expected["error"].(string); refused {
		j.Outcome = BothRefuse
		if strings.Contains(message, "failed to apply replay KV event") {
			// Its router fails where a parent is evicted before its child (spec 10 section 9.4).
			j.Outcome = Undecided
			return j
		}
	}
	for i := range ran {
		x := &ran[i]
		differences := parity.Judge(expected, &x.done, x.out)
		if x.way == parity.Predict && aborted(expected) {
			differences = judgeAborted(&x.done)
		}
		if _, lacking := x.done.Unsupported(); lacking && len(differences) == 0 {
			differences = []string{"refused for what it lacks: " + x.done.String()}
		}
		for _, d := range differences {
			j.Differences = append(j.Differences, fmt.Sprintf("%s: %s", x.way, d))
		}
	}
	if len(j.Differences) > 0 {
		j.Outcome = Different
	}
	return j
}

// aborted reports whether a report is that of a preparation of caches that failed.
func aborted(report map[string]any) bool {
	summary, _ := report["summary"].(map[string]any)
	phases, _ := summary["agentic_phases"].(map[string]any)
	return phases["phase"] == "aborted"
}

// judgeAborted judges what predict did where the call reports a preparation that failed: it must end with 1 and
// say so (spec 02 section 9).
func judgeAborted(done *parity.Execution) []string {
	if done.Err == nil && done.Exit == 1 && strings.Contains(done.Stderr, "warm-up was aborted") {
		return nil
	}
	return []string{"want exit 1 for an aborted warm-up, got " + done.String()}
}

// endless judges a case on which the reference does not end: the program must end, and
// must not report.
func (k *Checker) endless(ctx context.Context, c *Case, dir string) (*Judgement, error) {
	_, done, err := k.run(ctx, parity.Replay, dir)
	if err != nil {
		return nil, err
	}
	j := &Judgement{Outcome: Undecided}
	if done.Err != nil || done.Exit == 0 {
		j.Outcome, j.Differences = Different, []string{"the reference does not end; replay: " + done.String()}
	}
	return j, nil
}

// options are the options that say what the document cannot, and that record what a router chooses
// from.
func (c *Case) options(way parity.Way) (options []string) {
	if way == parity.Predict && c.Args["capture_telemetry"] == true {
		options = append(options, "--telemetry-interval", fmt.Sprint(orElse(c.Args["telemetry_sample_interval_ms"], 1000)))
	}
	if c.Router != nil {
		options = append(options, "--capture", "routing=full")
	}
	return options
}

// run runs the program with the options that the case needs.
func (k *Checker) run(ctx context.Context, way parity.Way, dir string, options ...string) (out string, done parity.Execution, err error) {
	out = filepath.Join(k.Scratch, "out-"+string(way))
	if err := os.RemoveAll(out); err != nil {
		return "", done, err
	}
	limited, cancel := context.WithTimeout(ctx, programLimit)
	defer cancel()
	done = k.Program(limited, dir, append(way.Args(out, true), options...)...)
	return out, done, ctx.Err()
}
