package parity

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// comparer is the program that the maintainers of the cases compare with, where it is there.
const comparer = "../../../shared/oracle/compare.py"

// counter prints how many differences the program finds in each pair of files, none where it
// finds one between the expected report and itself.
const counter = `
import importlib.util, json, sys
spec = importlib.util.spec_from_file_location("compare", sys.argv[1])
compare = importlib.util.module_from_spec(spec)
spec.loader.exec_module(compare)
for line in sys.stdin:
    want, got = line.rstrip("\n").split("\t")
    with open(want) as a, open(got) as b:
        expected, changed = json.load(a), json.load(b)
        if compare.compare(expected, json.loads(json.dumps(expected))):
            print("none")
            continue
        try:
            print(len(compare.compare(expected, changed)))
        except (TypeError, KeyError):  # no arrival time to sort the records by
            print(1)
`

// TestAgreesWithTheirComparison changes single values of reports and asks both comparisons
// whether the results are equal.
func TestAgreesWithTheirComparison(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	if _, err := os.Stat(comparer); err != nil {
		t.Skip("the other comparison is not there: ", err)
	}
	random := rand.New(rand.NewPCG(3, 4))
	dir := t.TempDir()
	var pairs strings.Builder
	var ours []int
	var what []string
	for i, c := range reports(t) {
		if i%5 != 0 {
			continue
		}
		expected := expectedOf(t, c)
		for range 20 {
			prediction := clone(expected).(map[string]any)
			all := compared(prediction)
			l := all[random.IntN(len(all))]
			choices := mutations(l)
			m := choices[random.IntN(len(choices))]
			m.apply(l)
			text, err := json.Marshal(prediction)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, fmt.Sprint(len(ours), ".json"))
			if err := os.WriteFile(path, text, 0o644); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&pairs, "%s\t%s\n", filepath.Join(c.Dir, "expected.json"), path)
			ours = append(ours, len(Compare(expected, prediction)))
			what = append(what, fmt.Sprintf("%s %s %s", c.ID(), l.path, m.what))
		}
	}
	cmd := exec.Command(python, "-c", counter, comparer)
	cmd.Stdin, cmd.Stderr = strings.NewReader(pairs.String()), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	counts := strings.Fields(string(out))
	if len(counts) != len(ours) {
		t.Fatalf("want %d answers, got %d", len(ours), len(counts))
	}
	different, judged := 0, 0
	for i, count := range counts {
		if count == "none" {
			continue
		}
		judged++
		theirs, err := strconv.Atoi(count)
		if err != nil {
			t.Fatal(err)
		}
		if theirs > 0 {
			different++
		}
		if (theirs > 0) != (ours[i] > 0) {
			t.Errorf("%s: they find %d differences, we %d", what[i], theirs, ours[i])
		}
	}
	if different < judged/4 || judged < len(ours)/2 {
		t.Errorf("only %d of %d changes made a difference, %d were judged", different, len(ours), judged)
	}
}
