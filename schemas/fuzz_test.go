package schemas

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
)

// seeds adds every document of testdata/data to a fuzz target.
func seeds(f *testing.F, command string, add func(string)) {
	f.Helper()
	entries, err := os.ReadDir("testdata/data")
	if err != nil {
		f.Fatal(err)
	}
	for _, entry := range entries {
		text, err := os.ReadFile("testdata/data/" + entry.Name())
		if err != nil {
			f.Fatal(err)
		}
		for _, part := range strings.Split(string(text), "\n"+command+"\n")[1:] {
			input, _, _ := strings.Cut(part, "\n----")
			add(input)
		}
	}
}

// FuzzScalingScript reads scripts for one pool and for two.
func FuzzScalingScript(f *testing.F) {
	seeds(f, "scaling", func(text string) { f.Add(text, false) })
	seeds(f, "scaling pools=2", func(text string) { f.Add(text, true) })
	f.Fuzz(func(t *testing.T, text string, disaggregated bool) {
		s, err := ParseScalingScript("script", []byte(text), disaggregated)
		if err != nil {
			checkRefusal(t, err)
			return
		}
		at := -1.0
		for _, d := range s.Decisions {
			if !(d.AtMS > at) || d.Prefill < -1 || d.Decode < -1 || d.Prefill < 0 && d.Decode < 0 || d.Prefill >= 0 && !disaggregated {
				t.Fatalf("not in order, or out of bounds: %+v", s)
			}
			at = d.AtMS
		}
		if !s.Enabled || len(s.Decisions) == 0 || !(s.FirstMS >= 0) || !(s.EveryMS >= 0) {
			t.Fatalf("out of bounds: %+v", s)
		}
	})
}

// checkRefusal wants problems of one line each, with a message.
func checkRefusal(t *testing.T, err error) {
	t.Helper()
	problems, ok := errors.AsType[Problems](err)
	if !ok || len(problems) == 0 {
		t.Fatalf("%T is no list of problems: %v", err, err)
	}
	for _, p := range problems {
		if p.Message == "" || strings.ContainsAny(p.Error(), "\n\r") {
			t.Fatalf("not one clear line: %q", p.Error())
		}
	}
}

// checkSpec wants a run specification within bounds, or a list of what is missing.
func checkSpec(t *testing.T, spec *RunSpec, err error) {
	t.Helper()
	if problems, ok := errors.AsType[Problems](err); ok {
		checkRefusal(t, problems)
		return
	}
	if err != nil {
		if u, ok := errors.AsType[*Unsupported](err); !ok || len(u.Features) == 0 {
			t.Fatalf("%T does not say what is missing: %v", err, err)
		}
		return
	}
	for i := range spec.Pools {
		p, e := &spec.Pools[i], &spec.Pools[i].Engine
		if p.Workers < 1 || e.NumBlocks < 1 && !e.Deployment.EstimateBlocks || e.BlockTokens < 1 || e.MaxSequences < 1 || e.MaxBatchedTokens < 1 || e.MaxModelLen < 1 || e.BlockTokens != spec.BlockTokens() {
			t.Fatalf("out of bounds: %+v", spec)
		}
	}
	if n := len(spec.Pools); n < 1 || n > 2 || !(spec.TimeLimitMS >= 0) {
		t.Fatalf("out of bounds: %+v", spec)
	}
	if spec.Source.Kind == SourceSynthetic && (spec.Source.Count < 1 || spec.Source.InputTokens < 1) {
		t.Fatalf("out of bounds: %+v", spec)
	}
}

// FuzzPolicyFile reads policy files. One that is accepted gives every request a class: each family has one
// in every bucket.
func FuzzPolicyFile(f *testing.F) {
	seeds(f, "policy", func(text string) { f.Add(text, "") })
	seeds(f, "policy model=big", func(text string) { f.Add(text, "big") })
	f.Fuzz(func(t *testing.T, text, model string) {
		p, err := ParsePolicyFile("policy.yaml", []byte(text))
		if err != nil {
			checkRefusal(t, err)
			return
		}
		classes, ok := p.profile(model)
		if !ok {
			return
		}
		if len(classes.Classes) == 0 || len(classes.Families) == 0 || len(classes.Bound) != len(classes.Families)*len(classes.BucketTokens) || classes.BucketTokens[0] != 0 {
			t.Fatalf("not complete: %+v", classes)
		}
		for i := 1; i < len(classes.BucketTokens); i++ {
			if classes.BucketTokens[i] <= classes.BucketTokens[i-1] {
				t.Fatalf("buckets do not ascend: %+v", classes)
			}
		}
		for at, bound := range classes.Bound {
			c := &classes.Classes[bound]
			if c.Explicit || slices.Contains(classes.Bound[:at], bound) {
				t.Fatalf("class %q serves what it does not name: %+v", c.Name, classes)
			}
		}
		for _, c := range classes.Classes {
			if c.Quantum < 1 || c.Policy != QueueFCFS && c.Policy != QueueWSPT || c.BusyTokens < -1 || c.BusyFraction < 0 || c.RequestLimit < -1 || c.RawTokenLimit < -1 || c.CachedTokenLimit < -1 {
				t.Fatalf("out of bounds: %+v", c)
			}
			if c.Explicit && slices.Contains(classes.Families, c.Name) {
				t.Fatalf("an explicit class is named like a family: %+v", classes)
			}
		}
	})
}

func FuzzPrediction(f *testing.F) {
	seeds(f, "predict", func(text string) { f.Add([]byte(text)) })
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ParsePrediction("config.yaml", data, StackDynamo)
		if err != nil {
			checkRefusal(t, err)
			return
		}
		spec, err := p.RunSpec()
		checkSpec(t, spec, err)
	})
}

func FuzzOverride(f *testing.F) {
	seeds(f, "set", func(text string) { f.Add(text) })
	base := []byte("engine: {model: m, hardware: h, context_length: 9, workers: {aggregated: {timing: {type: polynomial}, kv_cache: {capacity: {type: fixed, blocks: 9}}}}}")
	f.Fuzz(func(t *testing.T, argument string) {
		p, err := ParsePrediction("config.yaml", base, StackDynamo, argument)
		if err != nil {
			checkRefusal(t, err)
			return
		}
		spec, err := p.RunSpec()
		checkSpec(t, spec, err)
	})
}

func FuzzCall(f *testing.F) {
	seeds(f, "call", func(text string) { f.Add("call.json", []byte(text)) })
	f.Add("call.yaml", []byte("kind: trace\ntrace_files: [a]\nargs: {}\n"))
	f.Add("call", []byte("{kind: trace, trace_files: [a], args: {}}"))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		if strings.ContainsAny(name, "\n\r") {
			return
		}
		c, err := ParseCall(name, data)
		if err != nil {
			checkRefusal(t, err)
			return
		}
		spec, err := c.RunSpec()
		checkSpec(t, spec, err)
	})
}
