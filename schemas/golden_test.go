package schemas

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGoldenCases reads every document of the reference's cases when the folder that holds
// them is named: a case that ran is never refused as a configuration, and one that its
// command line refused is, with the same exit code.
func TestGoldenCases(t *testing.T) {
	root := os.Getenv("DYNOSIM_GOLDEN")
	if root == "" {
		t.Skip("DYNOSIM_GOLDEN does not name the folder of the cases")
	}
	calls, err := filepath.Glob(filepath.Join(root, "*", "*", "call.json"))
	if err != nil || len(calls) == 0 {
		t.Fatalf("no cases in %s: %v", root, err)
	}
	accepted := 0
	for _, name := range calls {
		folder := filepath.Dir(name)
		var expected struct{ Error string }
		read(t, filepath.Join(folder, "expected.json"), &expected)
		var call struct {
			Kind, Stack string
			Stub        any `json:"bootstrap_stub"` // a setting of the case, not of a call
		}
		read(t, filepath.Join(folder, "call.json"), &call)
		var spec *RunSpec
		switch {
		case call.Kind == "cli":
			spec, err = goldenDocument(t, folder, Stack(call.Stack))
		case (call.Kind == "trace" || call.Kind == "synthetic") && call.Stub == nil:
			spec, err = goldenCall(t, folder)
		default:
			continue
		}
		if spec != nil {
			accepted++
		}
		_, refusedHere := errors.AsType[Problems](err)
		if refusedHere && expected.Error == "" {
			t.Errorf("%s: the reference ran it, got %v", folder, err)
		}
		if strings.Contains(expected.Error, "exit 2: ") && !refusedHere {
			t.Errorf("%s: want a problem like %s, got %v", folder, expected.Error, err)
		}
		if strings.Contains(expected.Error, "exit 1: ") && refusedHere {
			t.Errorf("%s: want no configuration problem (%s), got %v", folder, expected.Error, err)
		}
	}
	if accepted < 100 {
		t.Errorf("only %d cases give a run specification", accepted)
	}
}

func read(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

func goldenDocument(t *testing.T, folder string, stack Stack) (*RunSpec, error) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := ParsePrediction("config.yaml", text, stack)
	if err != nil {
		return nil, err
	}
	return p.RunSpec()
}

func goldenCall(t *testing.T, folder string) (*RunSpec, error) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "call.json"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := ParseCall("call.json", text)
	if err != nil {
		return nil, err
	}
	return c.RunSpec()
}
