package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain puts a command dynosim, which is this test binary, on the path of the tests.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"dynosim": main})
}
