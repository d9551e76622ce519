package differential

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dynosim/dynosim/internal/parity"
)

func TestDrawRepeats(t *testing.T) {
	sources := map[string]int{}
	documents := 0
	for index := range 600 {
		a, b := Draw(9, index), Draw(9, index)
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("case %d differs from itself", index)
		}
		sources[a.Source]++
		documents += len(a.Ways()) - 1
		if (a.Kind == "trace") != (len(a.Rows) > 0) {
			t.Errorf("case %d: kind %s with %d rows", index, a.Kind, len(a.Rows))
		}
	}
	if reflect.DeepEqual(Draw(9, 0), Draw(10, 0)) || reflect.DeepEqual(Draw(9, 0), Draw(9, 1)) {
		t.Error("another seed or index gives the same case")
	}
	for _, source := range []string{sourceList, sourceSessions, sourceMooncake, sourceTurns, sourceDelta, sourceAgentic, sourceDynamo} {
		if sources[source] < 10 {
			t.Errorf("source %s was drawn %d times of 600", source, sources[source])
		}
	}
	if documents < 40 {
		t.Errorf("only %d of 600 cases go through predict", documents)
	}
}

func TestWrite(t *testing.T) {
	for index := range 60 {
		c := Draw(3, index)
		dir := t.TempDir()
		if err := c.Save(dir, map[string]any{"error": "no"}); err != nil {
			t.Fatal(err)
		}
		var call struct {
			Kind string
			Args map[string]any
		}
		text, err := os.ReadFile(filepath.Join(dir, "call.json"))
		if err == nil {
			err = json.Unmarshal(text, &call)
		}
		if err != nil || call.Kind != c.Kind || call.Args["capture_per_request"] != true {
			t.Errorf("case %d: %v\n%s", index, err, text)
		}
		trace, err := os.ReadFile(filepath.Join(dir, "trace.jsonl"))
		if lines := strings.Count(string(trace), "\n"); c.Kind == "trace" && (err != nil || lines != len(c.Rows)) {
			t.Errorf("case %d: want %d lines, got %d, %v", index, len(c.Rows), lines, err)
		}
	}
}

// fakeReference reports the number of rows that the call reads.
type fakeReference func(dir string) (map[string]any, error)

func (f fakeReference) Report(_ context.Context, dir string, _ map[string]any) (map[string]any, error) {
	return f(dir)
}

func longOutputs(dir string) (rows, long int) {
	text, err := os.ReadFile(filepath.Join(dir, "trace.jsonl"))
	if err != nil {
		return 0, 0
	}
	for line := range strings.Lines(string(text)) {
		var row struct {
			OutputLength int `json:"output_length"`
		}
		rows++
		if json.Unmarshal([]byte(line), &row) == nil && row.OutputLength > 10 {
			long++
		}
	}
	return rows, long
}

// TestShrink has a program that is wrong when a request has more than ten output tokens,
// and wants the case that shows it cut down to one such request.
func TestShrink(t *testing.T) {
	reference := fakeReference(func(dir string) (map[string]any, error) {
		rows, _ := longOutputs(dir)
		return map[string]any{"summary": map[string]any{"rows": json.Number(fmt.Sprint(rows))}}, nil
	})
	program := func(_ context.Context, dir string, args ...string) parity.Execution {
		if args[0] == "query" {
			return parity.Execution{Exit: 2}
		}
		rows, long := longOutputs(dir)
		if long > 0 {
			rows++
		}
		out := args[slices.Index(args, "--output-dir")+1]
		summary := fmt.Sprintf(`{"rows": %d}`, rows)
		err := errors.Join(os.MkdirAll(out, 0o755),
			os.WriteFile(filepath.Join(out, "prediction.json"), []byte(`{"summary": `+summary+`}`), 0o644))
		return parity.Execution{Stdout: summary, Err: err}
	}
	k := &Checker{Program: program, Reference: reference, Scratch: t.TempDir()}
	found := 0
	for index := 0; index < 100 && found < 3; index++ {
		c := Draw(1, index)
		j, err := k.Check(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if err := c.Write(dir); err != nil {
			t.Fatal(err)
		}
		_, long := longOutputs(dir)
		if (j.Outcome == Different) != (long > 0) {
			t.Fatalf("case %d has %d long outputs, got outcome %d: %q", index, long, j.Outcome, j.Differences)
		}
		if j.Outcome != Different {
			continue
		}
		found++
		small, judged, err := k.Shrink(t.Context(), c, j, time.Minute)
		if err != nil || judged.Outcome != Different {
			t.Fatalf("outcome %d, %v", judged.Outcome, err)
		}
		if len(small.Rows) != 1 || small.Rows[0]["output_length"] != 11 || len(small.Rows[0]) != 1 || len(small.Args)+len(small.Engine) != 0 {
			t.Errorf("case %d: want one row with 11 output tokens and nothing else, got %v, %v, %v", index, small.Rows, small.Args, small.Engine)
		}
	}
	if found < 3 {
		t.Errorf("only %d cases with long outputs", found)
	}
}

func TestOutcomes(t *testing.T) {
	refusal := map[string]any{"error": "Exception: no"}
	exits := func(code int, message string) parity.Program {
		return func(context.Context, string, ...string) parity.Execution {
			return parity.Execution{Exit: code, Stderr: message}
		}
	}
	for _, c := range []struct {
		name    string
		report  map[string]any
		err     error
		program parity.Program
		want    Outcome
	}{
		{"both refuse", refusal, nil, exits(1, "dynosim: no"), BothRefuse},
		{"refused for what is lacking", refusal, nil, exits(1, "dynosim: x: not supported by this release: y"), Different},
		{"lacking", map[string]any{"summary": map[string]any{}}, nil, exits(1, "dynosim: x: not supported by this release: y"), Different},
		{"crash", refusal, nil, exits(2, "panic: x\ngoroutine 1"), Different},
		{"endless, refused", nil, ErrTimeout, exits(1, "dynosim: no"), Undecided},
		{"endless, reported", nil, ErrTimeout, exits(0, ""), Different},
	} {
		t.Run(c.name, func(t *testing.T) {
			reference := fakeReference(func(string) (map[string]any, error) { return c.report, c.err })
			k := &Checker{Program: c.program, Reference: reference, Scratch: t.TempDir()}
			j, err := k.Check(t.Context(), Draw(1, 1))
			if err != nil || j.Outcome != c.want {
				t.Errorf("want outcome %d, got %+v, %v", c.want, j, err)
			}
		})
	}
}

// script is an interpreter for Reference that answers as a shell script does.
func script(t *testing.T, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "python")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReferenceProcess(t *testing.T) {
	call := map[string]any{"kind": "trace"}
	t.Run("missing package", func(t *testing.T) {
		r := &Reference{Python: script(t, `echo '{"missing": "no module"}'`), TimeLimit: time.Minute}
		if _, err := r.Report(t.Context(), t.TempDir(), call); !errors.Is(err, ErrNotInstalled) {
			t.Errorf("want %v, got %v", ErrNotInstalled, err)
		}
	})
	t.Run("starts again after a time-out", func(t *testing.T) {
		mark := filepath.Join(t.TempDir(), "mark")
		r := &Reference{Python: script(t, `echo '{"ready": true}'
read line
if [ -e `+mark+` ]; then echo '{"summary": {}}'; read line; fi
touch `+mark+`
exec sleep 600
`), TimeLimit: 500 * time.Millisecond}
		if _, err := r.Report(t.Context(), t.TempDir(), call); !errors.Is(err, ErrTimeout) {
			t.Fatalf("want %v, got %v", ErrTimeout, err)
		}
		r.TimeLimit = time.Minute
		if report, err := r.Report(t.Context(), t.TempDir(), call); err != nil || report["summary"] == nil {
			t.Errorf("want an answer after the restart, got %v, %v", report, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Run("ends early", func(t *testing.T) {
		r := &Reference{Python: script(t, `echo '{"ready": true}'; read line`), TimeLimit: time.Minute}
		if _, err := r.Report(t.Context(), t.TempDir(), call); err == nil || errors.Is(err, ErrTimeout) {
			t.Errorf("want an error that says that the process ended, got %v", err)
		}
	})
}

// TestReferenceAgainstItself uses the reference as the program: equal unless a value of
// one record is changed.
func TestReferenceAgainstItself(t *testing.T) {
	python, err := FindPython()
	if err != nil {
		t.Skip(err)
	}
	for _, changed := range []bool{false, true} {
		t.Run(fmt.Sprintf("changed %v", changed), func(t *testing.T) {
			reference := &Reference{Python: python, TimeLimit: time.Minute}
			inner := &Reference{Python: python, TimeLimit: time.Minute}
			defer func() {
				if err := errors.Join(reference.Close(), inner.Close()); err != nil {
					t.Error(err)
				}
			}()
			k := &Checker{Program: echo(inner, changed), Reference: reference, Scratch: t.TempDir()}
			outcomes := map[Outcome]int{}
			for index := range 90 {
				c := Draw(2, index)
				if c.Router != nil {
					continue // of targets of equal cost the reference draws one
				}
				j, err := k.Check(t.Context(), c)
				if err != nil {
					t.Fatal(err)
				}
				outcomes[j.Outcome]++
			}
			good, bad := Equal, Different
			if changed {
				good, bad = Different, Equal
			}
			if outcomes[good] < 20 || outcomes[bad] > 0 {
				t.Errorf("outcomes %v", outcomes)
			}
		})
	}
}

// echo is a program that reports what the reference does, with another input length of
// the first record when changed.
func echo(reference *Reference, changed bool) parity.Program {
	return func(ctx context.Context, dir string, args ...string) parity.Execution {
		call, err := parity.ReadFile(filepath.Join(dir, "call.json"))
		if err != nil {
			return parity.Execution{Err: err}
		}
		report, err := reference.Report(ctx, dir, call)
		if err != nil {
			return parity.Execution{Err: err}
		}
		if message, refused := report["error"].(string); refused {
			return parity.Execution{Exit: 1, Stderr: message}
		}
		if records := report["per_request"].([]any); changed {
			// A run that was cut off may have no record.
			if len(records) == 0 {
				report["per_request"] = append(records, map[string]any{})
			} else {
				record := records[0].(map[string]any)
				record["input_length"] = json.Number(fmt.Sprintf("%v1", record["input_length"]))
			}
		}
		out := args[slices.Index(args, "--output-dir")+1]
		prediction, err := json.Marshal(report)
		summary, err2 := json.Marshal(report["summary"])
		err = errors.Join(err, err2, os.MkdirAll(out, 0o755), os.WriteFile(filepath.Join(out, "prediction.json"), prediction, 0o644))
		return parity.Execution{Stdout: string(summary), Err: err}
	}
}

// TestDrawAgentic wants every kind of source and of load, the same in every draw.
func TestDrawAgentic(t *testing.T) {
	seen := map[string]int{}
	for index := range 300 {
		c := DrawAgentic(4, index)
		if again := DrawAgentic(4, index); !reflect.DeepEqual(c, again) {
			t.Fatalf("case %d differs from itself", index)
		}
		seen[c.Source]++
		for _, key := range []string{"agentic_lanes", "agentic_snapshot", "agentic_warmup", "agentic_profile", "max_sim_time_ms"} {
			if c.Args[key] != nil {
				seen[key]++
			}
		}
		call := c.Call()
		if call["kind"] != c.Kind || (c.Kind == kindSpec) != (call["payload"] != nil) {
			t.Errorf("case %d of kind %s has the call %v", index, c.Kind, call)
		}
		dir := t.TempDir()
		if err := c.Write(dir); err != nil {
			t.Fatal(err)
		}
		trace, err := os.ReadFile(filepath.Join(dir, "trace.jsonl"))
		if lines := strings.Count(string(trace), "\n"); err != nil || lines != len(c.Rows) {
			t.Errorf("case %d: want %d lines, got %d, %v", index, len(c.Rows), lines, err)
		}
	}
	for _, what := range []string{sourceGraph, sourceLegacy, sourceWeka, sourceAgents, "agentic_lanes", "agentic_snapshot", "agentic_warmup", "agentic_profile", "max_sim_time_ms"} {
		if seen[what] < 10 {
			t.Errorf("%s was drawn %d times of 300", what, seen[what])
		}
	}
}

// TestDrawListed draws calls that list their requests: the same ones again, of both topologies, with named ranks.
func TestDrawListed(t *testing.T) {
	seen := map[string]int{}
	for index := range 200 {
		c := DrawListed(4, index)
		if again := DrawListed(4, index); !reflect.DeepEqual(c, again) {
			t.Fatalf("case %d differs from itself", index)
		}
		payload, _ := c.Call()["payload"].(map[string]any)
		topology, _ := payload["topology"].(map[string]any)
		seen[topology["kind"].(string)]++
		for _, row := range payload["requests"].([]map[string]any) {
			for key := range row {
				seen[key]++
			}
		}
		if ways := c.Ways(); len(ways) != 1 {
			t.Errorf("case %d can go in as %v", index, ways)
		}
	}
	for _, what := range []string{"aggregated", "disaggregated", "dp_rank", "prefill_dp_rank", "input_token_ids", "output_token_ids", "session_id", "turn_index"} {
		if seen[what] < 10 {
			t.Errorf("%s was drawn %d times", what, seen[what])
		}
	}
}
