package schemas

import (
	"strings"

	"github.com/dynosim/dynosim/schemas/strict"
)

// Problem is one thing that is wrong with a configuration or call document: file, line,
// column, path and message (spec 07 section 1).
type Problem = strict.Problem

// Problems is every problem of one document, an error with one line a problem. A command
// that meets it ends with exit code 2 (spec 07 section 7).
type Problems = strict.Problems

// Unsupported says that a document is valid but asks for behaviour that this release does
// not have. The reference would start such a run, so it is a failed run, exit code 1, and
// no configuration error.
type Unsupported struct {
	// File is the document's name.
	File string
	// Features names what is missing, each as a path with its value or in plain words.
	Features []string
}

// Error is one line that names everything that is missing.
func (u *Unsupported) Error() string {
	return u.File + ": not supported by this release: " + strings.Join(u.Features, "; ")
}

// ExitCode is 1, a failed run (spec 07 section 7).
func (u *Unsupported) ExitCode() int { return 1 }

// features collects what a document asks for that this release does not have.
type features []string

// need records the feature when it is asked for.
func (f *features) need(asked bool, feature string) {
	if asked {
		*f = append(*f, feature)
	}
}

// err is the Unsupported error, nil when nothing is missing.
func (f features) err(file string) error {
	if len(f) == 0 {
		return nil
	}
	return &Unsupported{File: file, Features: f}
}
