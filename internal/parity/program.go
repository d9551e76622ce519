package parity

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

// Execution is what one command line of the program did.
type Execution struct {
	Exit           int
	Stdout, Stderr string
	// Err says that the program could not be run to its end: not found, killed, timed out.
	Err error
}

// Program runs one command line of the simulator, with the working directory dir.
type Program func(ctx context.Context, dir string, args ...string) Execution

// Binary is the Program of an executable file. The path must be absolute, since the working
// directory changes.
func Binary(path string) Program {
	return func(ctx context.Context, dir string, args ...string) Execution {
		var stdout, stderr bytes.Buffer
		cmd := exec.CommandContext(ctx, path, args...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
		cmd.WaitDelay = time.Second
		err := cmd.Run()
		done := Execution{Stdout: stdout.String(), Stderr: stderr.String()}
		var exit *exec.ExitError
		switch {
		case ctx.Err() != nil:
			done.Err = ctx.Err()
		case errors.As(err, &exit) && exit.Exited():
			done.Exit = exit.ExitCode()
		default:
			done.Err = err
		}
		return done
	}
}

// panicked tells whether the error output holds the trace of a crash.
func (e *Execution) panicked() bool {
	return strings.Contains(e.Stderr, "goroutine ") || strings.Contains(e.Stderr, "panic:")
}

// unsupportedMark stands in the program's one-line refusal of an input that is valid but
// asks for what this release lacks.
var unsupportedMark = regexp.MustCompile(`not supported (?:by this release|yet)(?:: )?`)

// Unsupported returns what the program says it lacks.
func (e *Execution) Unsupported() (features string, ok bool) {
	if e.Err != nil || e.Exit != 1 {
		return "", false
	}
	message := strings.TrimSpace(e.Stderr)
	mark := unsupportedMark.FindStringIndex(message)
	switch {
	case mark == nil:
		return "", false
	case mark[1] == len(message):
		return message, true
	}
	return message[mark[1]:], true
}

// last is the end of the error output, as one line.
func (e *Execution) last() string {
	text := strings.Join(strings.Fields(e.Stderr), " ")
	if len(text) > 300 {
		text = "..." + text[len(text)-300:]
	}
	return text
}

// String is the outcome in a line.
func (e *Execution) String() string {
	if e.Err != nil {
		return fmt.Sprintf("did not end by itself: %v: %s", e.Err, e.last())
	}
	return fmt.Sprintf("exit %d: %s", e.Exit, e.last())
}
