package pipeline

import (
	"fmt"
	"slices"

	"github.com/dynosim/dynosim/internal/rundir"
	"github.com/dynosim/dynosim/schemas"
)

// digestAtOnce bounds the files that are digested only to compare them.
const digestAtOnce = 64 << 20

// noteOtherFiles says so when the files that the configuration names are there and are not those that the folder
// was ingested from. The folder's rows are used either way: files may have moved since, or may be a part
// of what was ingested. Large files of equal size are taken to be equal.
func noteOtherFiles(path string, m *rundir.Manifest, spec *schemas.RunSpec, observer Observer) {
	if spec.Source.Kind != schemas.SourceTrace {
		return
	}
	var named []rundir.InputEntry
	total := int64(0)
	for _, p := range spec.Source.Paths {
		s, regular := stampOf(p)
		if !regular {
			return
		}
		named = append(named, rundir.InputEntry{Path: p, Bytes: s.bytes})
		total += s.bytes
	}
	if !slices.EqualFunc(named, m.Inputs, func(a, b rundir.InputEntry) bool {
		return a.Bytes == b.Bytes && (total > digestAtOnce || digestFile(&a) == nil && a.Digest == b.Digest)
	}) {
		what := "other files than those"
		if len(named) == 1 && len(m.Inputs) == 1 {
			what = "another file than the one"
		}
		observer.Note(fmt.Sprintf("%s was ingested from %s that the configuration names; its rows are used", path, what))
	}
}
