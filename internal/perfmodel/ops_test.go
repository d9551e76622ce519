package perfmodel

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/dynosim/dynosim/internal/perfdata"
	"github.com/dynosim/dynosim/simulate/timing/operators"
)

// opsCall is a case of single-operator queries.
type opsCall struct {
	Config  config          `json:"config"`
	Queries []operatorQuery `json:"queries"`
}

// TestGoldenOperators asks every single-operator query of the reference's cases: the answers
// agree in every bit, and what is refused there is missing data here.
func TestGoldenOperators(t *testing.T) {
	folders, err := filepath.Glob("../../testdata/golden/perfmodel/ops-*")
	if extra := os.Getenv("DYNOSIM_OPERATOR_CASES"); extra != "" {
		folders, err = filepath.Glob(extra)
	}
	if err != nil || len(folders) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, folder := range folders {
		t.Run(filepath.Base(folder), func(t *testing.T) { checkOperators(t, folder) })
	}
}

func checkOperators(t *testing.T, folder string) {
	var call opsCall
	var expected struct {
		MS []jsontext.Value `json:"ms"`
	}
	for name, into := range map[string]any{"call.json": &call, "expected.json": &expected} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, into, json.RejectUnknownMembers(false)); err != nil {
			t.Fatal(name, err)
		}
	}
	set, err := perfdata.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	tables, err := perfdata.OpenIn([]*perfdata.Set{set}, call.Config.System, string(call.Config.Backend), "")
	if err != nil {
		t.Fatal(err)
	}
	if len(call.Queries) != len(expected.MS) || len(call.Queries) == 0 {
		t.Fatalf("%d queries, %d answers", len(call.Queries), len(expected.MS))
	}
	wrong, refused := map[string]int{}, 0
	for i := range call.Queries {
		q := &call.Queries[i]
		text, _ := json.Marshal(q)
		v, err := q.answer(tables)
		v = max(v, 0)
		var want float64
		if expected.MS[i].Kind() == '{' {
			refused++
			kind := operators.ErrMissingData
			if strings.Contains(string(expected.MS[i]), "missing system flops") {
				kind = operators.ErrMissingArithmetic
			}
			if !errors.Is(err, kind) {
				wrong[q.Op]++
				t.Errorf("query %d: %v, %v, want %s\n%s", i, v, err, expected.MS[i], text)
			}
			continue
		}
		if err := json.Unmarshal(expected.MS[i], &want); err != nil {
			t.Fatal(err)
		}
		if err != nil || math.Float64bits(v) != math.Float64bits(want) {
			if wrong[q.Op]++; wrong[q.Op] <= 5 {
				t.Errorf("query %d: %v, %v, want %v\n%s", i, v, err, want, text)
			}
		}
	}
	t.Logf("%d queries, %d refused, wrong %v", len(call.Queries), refused, wrong)
}
