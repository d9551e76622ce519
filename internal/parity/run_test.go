package parity

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// caseOf writes a case folder and loads it.
func caseOf(t *testing.T, files map[string]string) *Case {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "area", "name")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c, err := load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const (
	traceCall = `{"kind": "trace", "args": {}}`
	aReport   = `{"summary": {"a": 1}}`
	aRefusal  = `{"error": "Exception: no"}`
	refusal2  = `{"error": "RuntimeError: exit 2: no"}`
)

// reporting is a program that leaves a prediction and prints a summary.
func reporting(prediction, printed string) Program {
	return func(_ context.Context, _ string, args ...string) Execution {
		out := args[slices.Index(args, "--output-dir")+1]
		err := os.MkdirAll(out, 0o755)
		if err == nil {
			err = os.WriteFile(filepath.Join(out, "prediction.json"), []byte(prediction), 0o644)
		}
		return Execution{Stdout: printed, Err: err}
	}
}

// refusing is a program that ends with an exit code and a message.
func refusing(exit int, message string) Program {
	return func(context.Context, string, ...string) Execution { return Execution{Exit: exit, Stderr: message} }
}

func TestRunJudges(t *testing.T) {
	const lacks = "dynosim: call.json: not supported by this release: args.router_mode: kv_router\n"
	const crash = "panic: index out of range\n\ngoroutine 1 [running]:\n"
	good := reporting(aReport, `{"a": 1}`)
	for _, c := range []struct {
		name     string
		expected string
		program  Program
		verdict  Verdict
		mention  string
	}{
		{"equal report", aReport, good, Passed, ""},
		{"other summary", aReport, reporting(`{"summary": {"a": 2}}`, `{"a": 2}`), Failed, "summary.a: want 1, got 2"},
		{"no summary", aReport, reporting(`{}`, `{}`), Failed, "summary"},
		{"not JSON", aReport, reporting(`{`, `{}`), Failed, "prediction.json"},
		{"two values", aReport, reporting(aReport+aReport, `{}`), Failed, "prediction.json"},
		{"prints another summary", aReport, reporting(aReport, `{"a": 2}`), Failed, "standard output"},
		{"prints a table", aReport, reporting(aReport, `Time to First Token`), Failed, "standard output"},
		{"no file", aReport, refusing(0, ""), Failed, "prediction.json"},
		{"fails", aReport, refusing(1, "dynosim: no"), Failed, "exit 1"},
		{"crashes", aReport, refusing(2, crash), Failed, "panic"},
		{"lacks it", aReport, refusing(1, lacks), Skipped, "args.router_mode: kv_router"},
		{"lacks it, exit 2", aReport, refusing(2, lacks), Failed, "exit 2"},
		{"never ends", aReport, func(context.Context, string, ...string) Execution { return Execution{Err: context.DeadlineExceeded} }, Failed, "did not end"},
		{"refusal", aRefusal, refusing(1, "dynosim: no"), Passed, ""},
		{"refusal as usage", aRefusal, refusing(2, "dynosim: no"), Passed, ""},
		{"refusal with another code", aRefusal, refusing(3, "dynosim: no"), Failed, "exit 3"},
		{"refusal not refused", aRefusal, good, Failed, "want a refusal"},
		{"refusal without a word", aRefusal, refusing(1, " \n"), Failed, "no message"},
		{"refusal by a crash", aRefusal, refusing(2, crash), Failed, "panicked"},
		{"refusal for what is lacking", aRefusal, refusing(1, lacks), Skipped, "kv_router"},
		{"usage error", refusal2, refusing(2, "dynosim: no"), Passed, ""},
		{"usage error as failure", refusal2, refusing(1, "dynosim: no"), Failed, "exit 1"},
		{"usage error for what is lacking", refusal2, refusing(1, lacks), Skipped, "kv_router"},
	} {
		t.Run(c.name, func(t *testing.T) {
			result := caseOf(t, map[string]string{"call.json": traceCall, "expected.json": c.expected}).Run(t.Context(), c.program)
			text := result.Reason + strings.Join(result.Differences, "\n")
			if result.Verdict != c.verdict || !strings.Contains(text, c.mention) {
				t.Errorf("want verdict %d and a mention of %q, got %d: %s", c.verdict, c.mention, result.Verdict, text)
			}
			if (result.Verdict == Failed) != (len(result.Differences) > 0) {
				t.Errorf("verdict %d with differences %q", result.Verdict, result.Differences)
			}
		})
	}
}

func TestRunGoesEachWay(t *testing.T) {
	const document = "engine: {}\n"
	for _, c := range []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"call", map[string]string{"call.json": traceCall}, []string{"replay call.json"}},
		{"both", map[string]string{"call.json": traceCall, "config.yaml": document}, []string{"replay call.json", "predict --config config.yaml"}},
		{"a comment", map[string]string{"call.json": traceCall, "config.yaml": "# no word for x\n" + document}, []string{"replay call.json"}},
		{"command line", map[string]string{"call.json": `{"kind": "cli", "stack": "engine"}`, "config.yaml": document}, []string{"predict --config config.yaml --stack engine"}},
		{"spec", map[string]string{"call.json": `{"kind": "spec"}`, "config.yaml": document}, []string{"replay call.json", "predict --config config.yaml"}},
		{"spec alone", map[string]string{"call.json": `{"kind": "spec"}`}, []string{"replay call.json"}},
		{"component", map[string]string{"call.json": `{"kind": "planner_component"}`, "config.yaml": document}, nil},
		{"planner", map[string]string{"call.json": `{"kind": "trace", "planner_config": {}}`}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.files["expected.json"] = aReport
			var got []string
			program := func(ctx context.Context, dir string, args ...string) Execution {
				done := reporting(aReport, `{"a": 1}`)(ctx, dir, args...)
				at := slices.Index(args, "--output-dir")
				got = append(got, strings.Join(slices.Delete(args, at, at+4), " "))
				return done
			}
			result := caseOf(t, c.files).Run(t.Context(), program)
			if !slices.Equal(got, c.want) {
				t.Errorf("want the command lines %q, got %q", c.want, got)
			}
			if (len(c.want) == 0) != (result.Verdict == Skipped && result.Reason != "") {
				t.Errorf("want skipped with a reason: %v, got verdict %d %q", len(c.want) == 0, result.Verdict, result.Reason)
			}
		})
	}
}

// TestOneWayLacking checks that a case does not pass on the strength of one way in.
func TestOneWayLacking(t *testing.T) {
	c := caseOf(t, map[string]string{"call.json": traceCall, "config.yaml": "a: 1\n", "expected.json": aReport})
	program := func(ctx context.Context, dir string, args ...string) Execution {
		if args[0] == "predict" {
			return Execution{Exit: 1, Stderr: "dynosim: config.yaml: not supported by this release: x"}
		}
		return reporting(aReport, `{"a": 1}`)(ctx, dir, args...)
	}
	if r := c.Run(t.Context(), program); r.Verdict != Skipped {
		t.Errorf("want the case skipped, got verdict %d", r.Verdict)
	}
	LeaveOut([]*Case{c}, map[string]string{c.ID(): "says something else"})
	if r := c.Run(t.Context(), program); r.Verdict != Passed {
		t.Errorf("without predict: want the case passed, got verdict %d: %s", r.Verdict, r.Differences)
	}
}

func TestSuite(t *testing.T) {
	c := caseOf(t, map[string]string{"call.json": traceCall, "expected.json": aReport})
	other := *c
	other.Name = "other"
	suite := Suite{Program: refusing(1, "dynosim: not supported by this release: x"), Shown: 3}
	var out strings.Builder
	results, err := suite.Run(t.Context(), &out, []*Case{c, &other})
	if err != nil || Failures(results) != 0 || !strings.HasSuffix(out.String(), "\n0 passed, 0 failed, 2 skipped\n") {
		t.Errorf("want two skipped: %v\n%s", err, &out)
	}
	suite.Scope = Scope{"area/other": true}
	out.Reset()
	results, err = suite.Run(t.Context(), &out, []*Case{c, &other})
	if err != nil || Failures(results) != 1 || !strings.HasSuffix(out.String(), "\n0 passed, 1 failed, 1 skipped\n") {
		t.Errorf("want the required case failed: %v\n%s", err, &out)
	}
	if missing := suite.Scope.Missing([]*Case{c}); !slices.Equal(missing, []string{"area/other"}) {
		t.Errorf("want area/other missing, got %q", missing)
	}
}

func TestScopeFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "scope.txt")
	if scope, err := ReadScope(path); err != nil || len(scope) != 0 {
		t.Errorf("no file: want an empty list, got %v, %v", scope, err)
	}
	results := []Result{
		{Case: &Case{Area: "b", Name: "x"}, Verdict: Passed},
		{Case: &Case{Area: "a", Name: "y"}, Verdict: Passed},
		{Case: &Case{Area: "a", Name: "z"}, Verdict: Failed},
	}
	if err := WriteScope(path, results); err != nil {
		t.Fatal(err)
	}
	scope, err := ReadScope(path)
	if err != nil || len(scope) != 2 || !scope["a/y"] || !scope["b/x"] {
		t.Errorf("want a/y and b/x, got %v, %v", scope, err)
	}
}

func TestSampleIsFixed(t *testing.T) {
	var cases []*Case
	scope := Scope{}
	for _, area := range []string{"a", "b"} {
		for i := range 50 {
			c := &Case{Area: area, Name: string(rune('A' + i))}
			cases = append(cases, c)
			if area == "a" && i >= 20 {
				scope[c.ID()] = true
			}
		}
	}
	first, second := Sample(cases, scope, 5), Sample(cases, scope, 5)
	if !slices.Equal(first, second) {
		t.Error("two samples of the same cases differ")
	}
	inScope := 0
	for _, c := range first {
		if scope[c.ID()] {
			inScope++
		}
	}
	if others := len(first) - inScope; inScope != 5 || others != 2*otherCases {
		t.Errorf("want 5 required cases and %d others, got %d and %d", 2*otherCases, inScope, others)
	}
}

func TestMerge(t *testing.T) {
	a := caseOf(t, map[string]string{"call.json": traceCall, "expected.json": aReport})
	same := caseOf(t, map[string]string{"call.json": traceCall, "expected.json": aReport})
	changed := caseOf(t, map[string]string{"call.json": traceCall, "expected.json": aRefusal})
	for _, c := range []struct {
		second *Case
		want   int
	}{{same, 1}, {changed, 2}} {
		all, err := Merge([]*Case{a}, []*Case{c.second})
		if err != nil || len(all) != c.want {
			t.Errorf("want %d cases, got %d, %v", c.want, len(all), err)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, text := range []string{"", "{", `{"a": NaN}`, `{"a": 1} {}`, "{}x"} {
		if v, err := Decode(strings.NewReader(text)); err == nil {
			t.Errorf("%q: want an error, got %v", text, v)
		}
	}
	v, err := Decode(strings.NewReader(`{"a": 18446744073709551615}`))
	if want := json.Number("18446744073709551615"); err != nil || v.(map[string]any)["a"] != want {
		t.Errorf("want the number as it is written, got %v, %v", v, err)
	}
}
