package pipeline

import (
	"flag"
	"os"
	"testing"
)

// TestMain draws fewer cases than usual unless told how many: each is several whole runs.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given {
		_ = flag.Set("rapid.checks", "25")
	}
	os.Exit(m.Run())
}
