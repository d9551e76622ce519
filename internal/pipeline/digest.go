package pipeline

import (
	"encoding/hex"
	"fmt"
	"io"
	"os"

	"github.com/zeebo/blake3"

	"github.com/dynosim/dynosim/internal/rundir"
	"github.com/dynosim/dynosim/schemas"
)

// digestSpec identifies a run specification: equal specifications have equal digests.
func digestSpec(spec *schemas.RunSpec) string {
	sum := blake3.Sum256(fmt.Appendf(nil, "%+v", *spec))
	return "blake3:" + hex.EncodeToString(sum[:])
}

// digestInputs starts to digest the input files on another goroutine; the function returned
// waits for the result. Standard input has no digest.
func digestInputs(paths []string) func() ([]rundir.InputEntry, error) {
	var entries []rundir.InputEntry
	var failed error
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, path := range paths {
			if path == "-" {
				continue
			}
			e, err := digestFile(path)
			if err != nil {
				failed = err
				return
			}
			entries = append(entries, e)
		}
	}()
	return func() ([]rundir.InputEntry, error) {
		<-done
		return entries, failed
	}
}

func digestFile(path string) (rundir.InputEntry, error) {
	f, err := os.Open(path)
	if err != nil {
		return rundir.InputEntry{}, err
	}
	defer f.Close()
	h := blake3.New()
	n, err := io.Copy(h, f)
	if err != nil {
		return rundir.InputEntry{}, err
	}
	return rundir.InputEntry{Path: path, Bytes: n, Digest: "blake3:" + hex.EncodeToString(h.Sum(nil))}, nil
}
