package schemas

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestData runs the documents of testdata/data: what goes in, and the run specification or the
// problems that come out. go test -rewrite writes the second part anew.
//
//	base               keeps the document for later commands
//	predict [stack=x]  reads the document
//	set [stack=x]      reads the kept document with one override a line
//	call [name=x]      reads a call
//	scaling [pools=2]  reads a scaling script for a deployment of so many pools
//	policy [model=x]   reads a policy file and shows the classes of a model
func TestData(t *testing.T) {
	datadriven.Walk(t, "testdata/data", func(t *testing.T, path string) {
		base := ""
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			stack, name := string(StackDynamo), "call.json"
			d.MaybeScanArgs(t, "stack", &stack)
			d.MaybeScanArgs(t, "name", &name)
			input := unescaped(t, d.Input)
			switch d.Cmd {
			case "base":
				base = d.Input
				return ""
			case "predict":
				return predicted(input, Stack(stack))
			case "set":
				return predicted(base, Stack(stack), strings.Split(input, "\n")...)
			case "call":
				c, err := ParseCall(name, []byte(input))
				if err != nil {
					return refused(err)
				}
				return checked(c.RunSpec())(c.File, CallOffloadPaths)
			case "scaling":
				pools := 1
				d.MaybeScanArgs(t, "pools", &pools)
				s, err := ParseScalingScript("script.yaml", []byte(input), pools == 2)
				if err != nil {
					return refused(err)
				}
				return scripted(s)
			case "policy":
				model := ""
				d.MaybeScanArgs(t, "model", &model)
				f, err := ParsePolicyFile("policy.yaml", []byte(input))
				if err != nil {
					return refused(err)
				}
				return policies(f, model)
			default:
				t.Fatalf("unknown command %s", d.Cmd)
				return ""
			}
		})
	})
}

// unescaped lets a test line hold what a text file cannot: a document that starts with a
// double quote is a Go string.
func unescaped(t *testing.T, input string) string {
	if !strings.HasPrefix(input, `"`) {
		return input
	}
	s, err := strconv.Unquote(input)
	if err != nil {
		t.Fatalf("%s: %v", input, err)
	}
	return s
}

func predicted(text string, stack Stack, overrides ...string) string {
	p, err := ParsePrediction("config.yaml", []byte(text), stack, overrides...)
	if err != nil {
		return refused(err)
	}
	return checked(p.RunSpec())(p.File, DocumentOffloadPaths)
}

// checked is what becomes of a specification that needs no model: the host caches are checked too.
func checked(s *RunSpec, err error) func(file string, paths [3]string) string {
	return func(file string, paths [3]string) string {
		if err == nil {
			if problem, ok := errors.AsType[*OffloadProblem](s.CheckOffload()); ok {
				return refused(problem.At(file, paths))
			}
		}
		return lowered(s, err)
	}
}

// refused is the problems; anything else is a fault of the parser.
func refused(err error) string {
	problems, ok := errors.AsType[Problems](err)
	if !ok || problems.ExitCode() != 2 {
		return fmt.Sprintf("UNEXPECTED %T: %v", err, err)
	}
	return err.Error()
}

// scripted prints scripted scaling, a line a decision.
func scripted(s ScalingSpec) string {
	out := fmt.Sprintf("scaling from %g ms, every %g ms", s.FirstMS, s.EveryMS)
	for _, d := range s.Decisions {
		out += fmt.Sprintf("\n  tick %d, at %g ms: prefill %d, decode %d, next at %g ms", d.Tick, d.AtMS, d.Prefill, d.Decode, d.NextTickMS)
	}
	return out
}

// policies prints what a policy file says of a model, a line a class, and the settings it replaces.
func policies(f *PolicyFile, model string) string {
	out := "no classes"
	if classes, ok := f.profile(model); ok {
		out = fmt.Sprintf("families %v, buckets from %v tokens, bound to classes %v", classes.Families, classes.BucketTokens, classes.Bound)
		for i, c := range classes.Classes {
			out += fmt.Sprintf("\n  class %d: %+v", i, c)
		}
	}
	if f.Router != nil {
		router := DefaultRouter()
		f.Router.apply(&router)
		router.Classes = RouterClasses{}
		out += fmt.Sprintf("\nrouter %+v", router)
	}
	return out
}

// lowered prints a run specification in a form that a person can compare.
func lowered(s *RunSpec, err error) string {
	if err != nil {
		if problems, ok := errors.AsType[Problems](err); ok {
			return refused(problems)
		}
		if u, ok := errors.AsType[*Unsupported](err); !ok || u.ExitCode() != 1 {
			return fmt.Sprintf("UNEXPECTED %T: %v", err, err)
		}
		return err.Error()
	}
	var pools strings.Builder
	for _, p := range s.Pools {
		role := ""
		if s.Disaggregated() {
			role = PoolNames[p.Pool] + " "
		}
		fmt.Fprintf(&pools, "%sengine %+v\n%sworkers %d", role, p.Engine, role, p.Workers)
		if p.Pool == PoolPrefill {
			pools.WriteByte('\n')
		}
	}
	if s.Disaggregated() {
		fmt.Fprintf(&pools, ", transfer %+v", s.Transfer)
	}
	out := fmt.Sprintf("source %+v\nload %+v\n%s, limit %g ms, sla %+v, per request %v, stack %s",
		s.Source, s.Load, pools.String(), s.TimeLimitMS, s.SLA, s.CapturePerRequest, s.Stack)
	if s.Router.Policy == PolicyKVRouter {
		out += fmt.Sprintf("\nrouter %+v", s.Router)
	}
	if s.LoadData.Given() {
		out += fmt.Sprintf("\nload model %+v", s.LoadData)
	}
	if s.TelemetryIntervalMS > 0 {
		out += fmt.Sprintf(", telemetry every %g ms", s.TelemetryIntervalMS)
	}
	if s.Scaling.Enabled {
		out += "\n" + scripted(s.Scaling)
	}
	out = strings.ReplaceAll(out, " Host:none G3:none", "")
	return strings.ReplaceAll(out, strconv.FormatInt(Unlimited, 10), "unlimited")
}
