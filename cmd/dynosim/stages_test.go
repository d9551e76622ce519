package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts runs the scripts of testdata/script, with the files and commands of TestHostile
// and one more:
//
//	same DIR1 DIR2 FILE...
//	    wants the files to be the same in two folders, byte for byte
//	shorten FILE
//	    cuts the last byte off
func TestScripts(t *testing.T) {
	common, err := filepath.Abs(filepath.Join("testdata", "hostile", "common"))
	examples, err2 := filepath.Abs(filepath.Join("..", "..", "examples"))
	err = errors.Join(err, err2)
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(env *testscript.Env) error {
			// The worked examples of the documentation are tests too.
			for _, name := range []string{"disaggregated.yaml", "disaggregated.jsonl", "host-offload.yaml", "host-offload.jsonl"} {
				text, err := os.ReadFile(filepath.Join(examples, name))
				if err == nil {
					err = errors.Join(os.MkdirAll(filepath.Join(env.WorkDir, "examples"), 0o755), os.WriteFile(filepath.Join(env.WorkDir, "examples", name), text, 0o644))
				}
				if err != nil {
					return err
				}
			}
			return os.CopyFS(env.WorkDir, os.DirFS(common))
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"refuses": refuses, "write": write, "untouched": untouched, "same": same, "shorten": shorten,
		},
	})
}

func same(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: same DIR1 DIR2 FILE...")
	}
	for _, name := range args[2:] {
		a, b := ts.ReadFile(filepath.Join(args[0], name)), ts.ReadFile(filepath.Join(args[1], name))
		if a != b {
			ts.Fatalf("%s differs: %d and %d bytes", name, len(a), len(b))
		}
	}
}

// shorten replaces the file, so that links to it stay whole.
func shorten(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: shorten FILE")
	}
	text, path := ts.ReadFile(args[0]), ts.MkAbs(args[0])
	ts.Check(os.Remove(path))
	ts.Check(os.WriteFile(path, []byte(text[:len(text)-1]), 0o644))
}
