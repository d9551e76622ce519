// Package golden compares the output of tests with files that their flag -rewrite writes anew.
package golden

import (
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var rewrite = flag.Bool("rewrite", false, "write the expected output of tests anew")

// File fails the test when the file at path does not hold got; with -rewrite it writes got there first.
func File(t testing.TB, path, got string) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs, -rewrite writes it anew (-file +output):\n%s", path, diff)
	}
}
