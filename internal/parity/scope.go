package parity

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// Scope is the list of cases that must pass: one id a line, # starts a comment. A case of
// the list that is skipped counts as failed, so that what once worked cannot quietly
// become unsupported.
type Scope map[string]bool

const scopeHeader = `# Cases that must pass, each both ways where it has two. A case that stands here and is
# skipped counts as failed. Written by: make parity ARGS=-rewrite-scope
`

// ReadScope reads a list. A file that does not exist is an empty list.
func ReadScope(path string) (Scope, error) {
	scope := Scope{}
	err := readLines(path, func(line string) error {
		scope[line] = true
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return scope, nil
	}
	return scope, err
}

// ReadReasons reads a list of cases with reasons, "area/name: reason" a line; # starts a
// comment.
func ReadReasons(path string) (map[string]string, error) {
	reasons := map[string]string{}
	err := readLines(path, func(line string) error {
		id, reason, ok := strings.Cut(line, ": ")
		if !ok {
			return fmt.Errorf("%s: want area/name: reason, got %q", path, line)
		}
		reasons[id] = reason
		return nil
	})
	return reasons, err
}

func readLines(path string, add func(line string) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line, _, _ := strings.Cut(lines.Text(), "#")
		if line = strings.TrimSpace(line); line != "" {
			if err := add(line); err != nil {
				return err
			}
		}
	}
	return lines.Err()
}

// WriteScope writes the list of the cases that passed.
func WriteScope(path string, results []Result) error {
	var ids []string
	for _, r := range results {
		if r.Verdict == Passed {
			ids = append(ids, r.Case.ID())
		}
	}
	slices.Sort(ids)
	return os.WriteFile(path, []byte(scopeHeader+strings.Join(slices.Compact(ids), "\n")+"\n"), 0o644)
}

// Enforce turns a skipped case of the list into a failed one.
func (s Scope) Enforce(r *Result) {
	if r.Verdict == Skipped && s[r.Case.ID()] {
		r.fail("scope", "the list of cases that must pass has this one, but it was skipped: "+r.Reason)
	}
}

// Missing names the cases of the list that are not among those found.
func (s Scope) Missing(found []*Case) []string {
	known := map[string]bool{}
	for _, c := range found {
		known[c.ID()] = true
	}
	var missing []string
	for id := range s {
		if !known[id] {
			missing = append(missing, id)
		}
	}
	slices.Sort(missing)
	return missing
}

// otherCases is how many cases of an area a sample has beside those that must pass.
const otherCases = 2

// Sample picks at most perArea of the cases of each area that must pass, and a few others,
// evenly over the list and always the same.
func Sample(cases []*Case, scope Scope, perArea int) []*Case {
	byArea := map[string][2][]*Case{}
	for _, c := range cases {
		groups := byArea[c.Area]
		group := 1
		if scope[c.ID()] {
			group = 0
		}
		groups[group] = append(groups[group], c)
		byArea[c.Area] = groups
	}
	var picked []*Case
	for _, groups := range byArea {
		picked = append(picked, evenly(groups[0], perArea)...)
		picked = append(picked, evenly(groups[1], otherCases)...)
	}
	slices.SortStableFunc(picked, func(a, b *Case) int { return strings.Compare(a.ID(), b.ID()) })
	return picked
}

func evenly(cases []*Case, n int) []*Case {
	n = min(n, len(cases))
	out := make([]*Case, n)
	for i := range out {
		out[i] = cases[i*len(cases)/n]
	}
	return out
}
