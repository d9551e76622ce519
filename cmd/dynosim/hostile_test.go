package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestHostile runs the scripts of testdata/hostile: input that must be refused with one
// clear line. Each script starts in a folder with good.yaml, call.json and trace.jsonl, which
// run as they are, and has three commands of its own:
//
//	refuses CODE [lines=N] PROGRAM ARGS...
//	    runs a program and wants this exit code, N lines (1) on standard error, no trace of
//	    a crash, and no file under a final name in the folder out
//	write FILE PIECE...
//	    writes a file; a piece is text with Go's escapes, or COUNTxTEXT for repeated text
//	untouched DIR FILE...
//	    wants exactly these files in a folder
func TestHostile(t *testing.T) {
	common, err := filepath.Abs(filepath.Join("testdata", "hostile", "common"))
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "hostile"),
		Setup: func(env *testscript.Env) error {
			return os.CopyFS(env.WorkDir, os.DirFS(common))
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "namespaces": // a mount that the test may make and that ends with it
				return exec.Command("unshare", "-m", "-r", "mount", "-t", "tmpfs", "none", os.TempDir()).Run() == nil, nil
			case "nobody": // a user who may not read everything
				return exec.Command("setpriv", "--reuid", "65534", "--clear-groups", "true").Run() == nil, nil
			case "devfull":
				_, err := os.Stat("/dev/full")
				return err == nil, nil
			}
			return false, errors.New("unknown condition " + name)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"refuses": refuses, "write": write, "untouched": untouched,
		},
	})
}

func refuses(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: refuses CODE [lines=N] PROGRAM ARGS...")
	}
	code, err := strconv.Atoi(args[0])
	ts.Check(err)
	args, lines := args[1:], 1
	if n, ok := strings.CutPrefix(args[0], "lines="); ok {
		lines, err = strconv.Atoi(n)
		ts.Check(err)
		args = args[1:]
	}
	err = ts.Exec(args[0], args[1:]...)
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		ts.Fatalf("want exit code %d, got %v", code, err)
	}
	if exit.ExitCode() != code {
		ts.Fatalf("want exit code %d, got %d", code, exit.ExitCode())
	}
	message := strings.TrimSuffix(ts.ReadFile("stderr"), "\n")
	if strings.Contains(message, "goroutine ") || strings.Contains(message, "panic") {
		ts.Fatalf("a crash instead of a message")
	}
	if got := strings.Count(message, "\n") + 1; got != lines || message == "" {
		ts.Fatalf("want %d lines on standard error, got %d", lines, got)
	}
	for line := range strings.Lines(message) {
		if len(line) > 1000 {
			ts.Fatalf("a line of %d bytes is not clear", len(line))
		}
	}
	for _, name := range []string{"manifest.json", "prediction.json", "request_results.parquet"} {
		if _, err := os.Stat(ts.MkAbs(filepath.Join("out", name))); err == nil {
			ts.Fatalf("out/%s is there after a failure", name)
		}
	}
}

func write(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: write FILE PIECE...")
	}
	var text strings.Builder
	for _, piece := range args[1:] {
		count := 1
		if n, rest, ok := strings.Cut(piece, "x"); ok {
			if times, err := strconv.Atoi(n); err == nil {
				count, piece = times, rest
			}
		}
		plain, err := strconv.Unquote(`"` + strings.ReplaceAll(piece, `"`, `\"`) + `"`)
		ts.Check(err)
		text.WriteString(strings.Repeat(plain, count))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text.String()), 0o644))
}

func untouched(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: untouched DIR FILE...")
	}
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if got, want := strings.Join(names, " "), strings.Join(args[1:], " "); got != want {
		ts.Fatalf("want %s to hold %q, it holds %q", args[0], want, got)
	}
}
