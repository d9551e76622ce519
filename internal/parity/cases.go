package parity

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Way is how a case goes into the program.
type Way string

// The two ways in.
const (
	// Replay runs call.json.
	Replay Way = "replay"
	// Predict runs config.yaml.
	Predict Way = "predict"
)

// Args is the command line that runs a case folder, the working directory, this way and
// leaves the run directory out.
func (w Way) Args(out string, capture bool) []string {
	args := []string{"replay", "call.json"}
	if w == Predict {
		args = []string{"predict", "--config", "config.yaml"}
	}
	args = append(args, "--output-dir", out, "--format", "json")
	if capture {
		args = append(args, "--capture-per-request")
	}
	return args
}

// Case is one folder of a call and of what the reference reported for it.
type Case struct {
	Area, Name string
	Dir        string
	// Kind is the kind of call; Stack is the stack of a command line, "" for other calls.
	Kind, Stack string
	// Ways are the ways in that can express the case. It is empty when none can, and Reason
	// then says why.
	Ways   []Way
	Reason string
	// Telemetry is the interval of telemetry samples that the call asks for, "" for none.
	// Documents have no word for it; predict gets it as an option.
	Telemetry string
	// LeftOut says why the case is not run through predict although it has a config.yaml.
	LeftOut string
}

// ID names the case in reports and in the list of required cases.
func (c *Case) ID() string { return c.Area + "/" + c.Name }

// Expected reads the report of the reference.
func (c *Case) Expected() (map[string]any, error) {
	return ReadFile(filepath.Join(c.Dir, "expected.json"))
}

// Find lists the cases of a folder of areas, sorted by area and name.
func Find(root string) ([]*Case, error) {
	calls, err := filepath.Glob(filepath.Join(root, "*", "*", "call.json"))
	if err != nil {
		return nil, err
	}
	slices.Sort(calls)
	cases := make([]*Case, 0, len(calls))
	for _, path := range calls {
		c, err := load(filepath.Dir(path))
		if err != nil {
			return nil, err
		}
		cases = append(cases, c)
	}
	return cases, nil
}

func load(dir string) (*Case, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	call, err := ReadFile(filepath.Join(dir, "call.json"))
	if err != nil {
		return nil, err
	}
	c := &Case{Area: filepath.Base(filepath.Dir(dir)), Name: filepath.Base(dir), Dir: dir}
	c.Kind, _ = call["kind"].(string)
	c.Stack, _ = call["stack"].(string)
	if c.Kind == "cli" && c.Stack == "" {
		c.Stack = "engine" // the default of the reference's command line
	}
	if args, _ := call["args"].(map[string]any); args["capture_telemetry"] == true {
		c.Telemetry = "1000"
		if interval, ok := args["telemetry_sample_interval_ms"].(json.Number); ok {
			c.Telemetry = interval.String()
		}
	}
	config, err := os.ReadFile(filepath.Join(dir, "config.yaml"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	document := err == nil
	_, err = os.Stat(filepath.Join(dir, "expected.json"))
	switch {
	case err != nil:
		c.Reason = "there is no expected.json"
	case call["planner_config"] != nil:
		c.Reason = "calls with a planner_config need a runner of their own"
	case c.Kind == "trace" || c.Kind == "synthetic" || c.Kind == "spec":
		c.Ways = []Way{Replay}
		switch {
		case document && bytes.Contains(config, []byte("#")):
			c.LeftOut = "a comment in config.yaml names what the document cannot express"
		case document:
			c.Ways = append(c.Ways, Predict)
		}
	case isQuery(c.Kind):
		c.Ways = []Way{Query}
	case c.Kind != "cli":
		c.Reason = fmt.Sprintf("calls of kind %s have no replay form", c.Kind)
	case document:
		c.Ways = []Way{Predict}
	default:
		c.Reason = fmt.Sprintf("calls of kind %s have no replay form, and there is no config.yaml", c.Kind)
	}
	return c, nil
}

// LeaveOut takes predict from the cases that reasons names, where replay remains.
func LeaveOut(cases []*Case, reasons map[string]string) {
	for _, c := range cases {
		if reason := reasons[c.ID()]; reason != "" && len(c.Ways) == 2 {
			c.Ways, c.LeftOut = []Way{Replay}, reason
		}
	}
}

// Merge joins the cases of several roots. A case that an earlier root has under the same
// id, with equal files, is left out.
func Merge(roots ...[]*Case) ([]*Case, error) {
	var all []*Case
	known := map[string]*Case{}
	for _, root := range roots {
		for _, c := range root {
			first := known[c.ID()]
			if first != nil {
				same, err := sameFiles(first.Dir, c.Dir)
				if err != nil {
					return nil, err
				}
				if same {
					continue
				}
			}
			known[c.ID()] = c
			all = append(all, c)
		}
	}
	slices.SortStableFunc(all, func(a, b *Case) int { return strings.Compare(a.ID(), b.ID()) })
	return all, nil
}

// sameFiles tells whether every file of b stands in a with the same content.
func sameFiles(a, b string) (bool, error) {
	same := true
	err := filepath.WalkDir(b, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !same {
			return err
		}
		inner, err := filepath.Rel(b, path)
		if err != nil {
			return err
		}
		ours, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		theirs, err := os.ReadFile(filepath.Join(a, inner))
		same = err == nil && bytes.Equal(ours, theirs)
		return nil
	})
	return same, err
}
