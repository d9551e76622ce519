package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dynosim/dynosim/internal/parity"
)

// TestGolden runs the shipped cases of the reference through replay and predict. A case may
// be skipped for a missing feature only when the list of cases that must pass lacks it.
func TestGolden(t *testing.T) {
	root := filepath.Join("..", "..", "testdata")
	scope, err := parity.ReadScope(filepath.Join(root, "parity-scope.txt"))
	if err != nil || len(scope) == 0 {
		t.Fatalf("the list of cases that must pass has %d cases: %v", len(scope), err)
	}
	leftOut, err := parity.ReadReasons(filepath.Join(root, "parity-documents.txt"))
	if err != nil {
		t.Fatal(err)
	}
	cases, err := parity.Find(filepath.Join(root, "golden"))
	if err != nil || len(cases) == 0 {
		t.Fatalf("%d cases: %v", len(cases), err)
	}
	parity.LeaveOut(cases, leftOut)
	program, err := exec.LookPath("dynosim")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.ID(), func(t *testing.T) {
			t.Parallel()
			result := c.Run(t.Context(), parity.Binary(program))
			scope.Enforce(&result)
			switch result.Verdict {
			case parity.Failed:
				t.Errorf("%d differences:\n%s", len(result.Differences), strings.Join(result.Differences[:min(8, len(result.Differences))], "\n"))
			case parity.Skipped:
				t.Skip(result.Reason)
			}
		})
	}
}
