package perfmodel

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/dynosim/dynosim/internal/parity"
)

// TestGolden answers the queries of the reference's cases with the embedded data.
func TestGolden(t *testing.T) {
	cases, err := parity.Find("../../testdata/golden")
	if err != nil {
		t.Fatal(err)
	}
	judged := 0
	for _, c := range cases {
		if len(c.Ways) != 1 || c.Ways[0] != parity.Query {
			continue
		}
		judged++
		expected, err := c.Expected()
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(c.Dir, "call.json"))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := Answer(text, c.Dir)
		if err != nil {
			t.Errorf("%s: %v", c.ID(), err)
			continue
		}
		out, err := json.Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parity.JudgeQuery(c.Kind, expected, &parity.Execution{Stdout: string(out)}) {
			t.Errorf("%s: %s", c.ID(), d)
		}
	}
	if judged < 60 {
		t.Errorf("only %d query cases are shipped", judged)
	}
}
