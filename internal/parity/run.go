package parity

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Verdict is what came out of a case.
type Verdict int

// Verdicts, from good to bad.
const (
	Passed Verdict = iota
	// Skipped: the case could not be judged, for a reason that is given.
	Skipped
	Failed
)

// Result is the judgement of one case over all its ways in.
type Result struct {
	Case    *Case
	Verdict Verdict
	// Reason says why the case was skipped.
	Reason string
	// Differences says why it failed, one entry a difference, each starting with the way in.
	Differences []string
	// Refusals holds the program's message of each refusal that was right, for a reader who
	// wants to know whether it is the right message.
	Refusals []string
}

// timeLimit is how long one command may take.
const timeLimit = 300 * time.Second

// Run runs the case each way it has. It passes when every way gives what the reference
// gave, fails when one way does not, and is skipped when the program says that it lacks
// something that the case needs.
func (c *Case) Run(ctx context.Context, program Program) Result {
	r := Result{Case: c, Reason: c.Reason}
	if len(c.Ways) == 0 {
		r.Verdict = Skipped
		return r
	}
	expected, err := c.Expected()
	if err != nil {
		r.fail("reading the expected report", err.Error())
		return r
	}
	for _, way := range c.Ways {
		c.runOne(ctx, program, way, expected, &r)
	}
	return r
}

func (r *Result) fail(way string, differences ...string) {
	r.Verdict = Failed
	for _, d := range differences {
		r.Differences = append(r.Differences, way+": "+d)
	}
}

func (c *Case) runOne(ctx context.Context, program Program, way Way, expected map[string]any, r *Result) {
	scratch, err := os.MkdirTemp("", "dynosim-parity-")
	if err != nil {
		r.fail(string(way), err.Error())
		return
	}
	defer os.RemoveAll(scratch)
	out := filepath.Join(scratch, "out")
	args := QueryArgs()
	if way != Query {
		args = way.Args(out, Captured(expected))
	}
	if c.Stack != "" {
		args = append(args, "--stack", c.Stack)
	}
	if c.Telemetry != "" && way == Predict {
		args = append(args, "--telemetry-interval", c.Telemetry)
	}
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	done := program(ctx, c.Dir, args...)

	if features, ok := done.Unsupported(); ok {
		if r.Verdict == Passed {
			r.Verdict, r.Reason = Skipped, features
		}
		return
	}
	if way == Query {
		if differences := JudgeQuery(c.Kind, expected, &done); len(differences) > 0 {
			r.fail(string(way), differences...)
			return
		}
		r.Refusals = append(r.Refusals, queryRefusals(expected, &done)...)
		return
	}
	if differences := Judge(expected, &done, out); len(differences) > 0 {
		r.fail(string(way), differences...)
		return
	}
	if message, refused := expected["error"].(string); refused {
		r.Refusals = append(r.Refusals, fmt.Sprintf("%s: reference %q, program %q", way, message, done.last()))
	}
}

// Judge lists what is wrong with an execution that wrote to the run directory out, given
// what the reference reported: a refusal must be a refusal, a report the same report.
func Judge(expected map[string]any, done *Execution, out string) []string {
	message, refused := expected["error"].(string)
	if !refused {
		return judgeReport(expected, done, out)
	}
	if problem := judgeRefusal(message, done); problem != "" {
		return []string{problem}
	}
	return nil
}

// judgeRefusal says what is wrong with the program's answer to a call that the reference
// refuses: it must refuse it too, as a configuration error where the reference's command
// line does, and in words.
func judgeRefusal(message string, done *Execution) string {
	configuration := strings.HasPrefix(message, "RuntimeError: exit 2:")
	switch {
	case done.Err != nil, done.Exit != 2 && (configuration || done.Exit != 1):
		return fmt.Sprintf("want a refusal (%s), got %s", brief(message), done)
	case done.panicked():
		return "panicked: " + done.last()
	case strings.TrimSpace(done.Stderr) == "":
		return fmt.Sprintf("refused with exit %d and no message", done.Exit)
	}
	return ""
}

// judgeReport compares what a run left with the reference's report.
func judgeReport(expected map[string]any, done *Execution, out string) []string {
	if done.Err != nil || done.Exit != 0 {
		return []string{"want a report, got " + done.String()}
	}
	prediction, err := ReadFile(filepath.Join(out, "prediction.json"))
	if err != nil {
		return []string{err.Error()}
	}
	differences := Compare(expected, prediction)
	printed, err := Decode(strings.NewReader(done.Stdout))
	if err != nil {
		return append(differences, "standard output is not one JSON value: "+err.Error())
	}
	exact := &differ{tolerance: func(string) float64 { return 0 }}
	exact.value("standard output", prediction["summary"], printed)
	return append(differences, exact.found...)
}
