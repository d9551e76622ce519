package differential

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/dynosim/dynosim/internal/parity"
)

//go:embed reference.py
var driver string

// PythonVariable names the environment variable with the interpreter of the reference.
const PythonVariable = "DYNOSIM_ORACLE_PYTHON"

// defaultPython is where the interpreter is looked for otherwise, from the repository's root.
const defaultPython = "../tools/oracle/bin/python"

// Errors of the reference.
var (
	// ErrNotInstalled says that there is no reference to compare with.
	ErrNotInstalled = errors.New("the reference simulator is not installed; install it with ../shared/oracle/setup.sh DIR and set " +
		PythonVariable + "=DIR/bin/python")
	// ErrTimeout says that the reference gave no answer in time; it was stopped.
	ErrTimeout = errors.New("the reference gave no answer in time")
)

// FindPython returns the interpreter that has the reference, or ErrNotInstalled.
func FindPython() (string, error) {
	python := os.Getenv(PythonVariable)
	if python == "" {
		python = defaultPython
	}
	if _, err := exec.LookPath(python); err != nil {
		return "", ErrNotInstalled
	}
	return filepath.Abs(python)
}

// Reference is a Python process that answers calls, one at a time. It starts with the first
// call, and again after a call that took too long.
type Reference struct {
	Python string
	// TimeLimit is how long one call may take: the reference never ends on a few.
	TimeLimit time.Duration

	process *exec.Cmd
	input   io.WriteCloser
	answers chan []byte
}

// Report asks for the report of the call in the working directory dir.
func (r *Reference) Report(ctx context.Context, dir string, call map[string]any) (map[string]any, error) {
	if r.process == nil {
		if err := r.start(ctx); err != nil {
			return nil, err
		}
	}
	request, err := json.Marshal(map[string]any{"dir": dir, "call": call})
	if err != nil {
		return nil, err
	}
	if _, err := r.input.Write(append(request, '\n')); err != nil {
		return nil, errors.Join(fmt.Errorf("writing to the reference: %w", err), r.Close())
	}
	return r.answer(ctx, r.TimeLimit)
}

func (r *Reference) start(ctx context.Context) error {
	process := exec.Command(r.Python, "-u", "-c", driver)
	process.Stderr = os.Stderr
	input, err := process.StdinPipe()
	if err != nil {
		return err
	}
	output, err := process.StdoutPipe()
	if err != nil {
		return err
	}
	if err := process.Start(); err != nil {
		return err
	}
	answers := make(chan []byte)
	go func() {
		defer close(answers)
		lines := bufio.NewReaderSize(output, 1<<20)
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return
			}
			answers <- line
		}
	}()
	r.process, r.input, r.answers = process, input, answers
	const startLimit = time.Minute // importing the package reads 100 MB
	ready, err := r.answer(ctx, startLimit)
	if err != nil {
		return err
	}
	if why, missing := ready["missing"]; missing {
		return errors.Join(fmt.Errorf("%w: %v", ErrNotInstalled, why), r.Close())
	}
	return nil
}

// answer waits for a line. After any failure the process is gone.
func (r *Reference) answer(ctx context.Context, limit time.Duration) (map[string]any, error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), r.Close())
	case <-timer.C:
		return nil, errors.Join(ErrTimeout, r.Close())
	case line, ok := <-r.answers:
		if !ok {
			return nil, errors.Join(errors.New("the reference process ended"), r.Close())
		}
		v, err := parity.Decode(bytes.NewReader(line))
		if err != nil {
			return nil, fmt.Errorf("the answer of the reference: %w", err)
		}
		report, ok := v.(map[string]any)
		if !ok {
			return nil, errors.New("the answer of the reference is no object")
		}
		return report, nil
	}
}

// Close stops the process.
func (r *Reference) Close() error {
	if r.process == nil {
		return nil
	}
	process, answers := r.process, r.answers
	r.process = nil
	r.input.Close()
	killed := process.Process.Kill()
	for range answers { // lets the reader of the answers end
	}
	_ = process.Wait() // it was killed, and says so
	if errors.Is(killed, os.ErrProcessDone) {
		return nil
	}
	return killed
}
