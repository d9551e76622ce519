package pipeline

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/zeebo/blake3"

	"github.com/dynosim/dynosim/ingest"
	"github.com/dynosim/dynosim/internal/rundir"
	"github.com/dynosim/dynosim/schemas"
)

// stageFormat is part of the digests of stages. It grows whenever a stage leaves other rows for
// the same input, so that nothing made before is used again.
const stageFormat = 1

// digestSpec identifies what a run specification simulates: equal ones have equal digests.
func digestSpec(spec *schemas.RunSpec) string {
	same := *spec
	same.Resources = schemas.Resources{} // limits of the process change no result
	same.Source.ResolvedBasis = ""
	return digestBytes(fmt.Appendf(nil, "%+v", same))
}

// ShortName is a name for the runs of a specification: the same for equal specifications.
func ShortName(spec *schemas.RunSpec) string {
	_, hex, _ := strings.Cut(digestSpec(spec), ":")
	return hex[:12]
}

func digestBytes(b []byte) string {
	sum := blake3.Sum256(b)
	return digestText(sum[:])
}

func digestText(sum []byte) string { return "blake3:" + hex.EncodeToString(sum) }

// digestStage identifies the tables of a stage by everything they depend on: the version of the tables,
// the settings, and what came in.
func digestStage(stage string, format schemas.TraceFormat, settings any, in []string) string {
	versions := map[string]int{}
	for _, t := range schemas.AllTables {
		if t.Stage == stage && (!t.Agentic || format.MayBeAgentic()) {
			versions[t.Name] = t.Version
		}
	}
	// Infinite and missing numbers, which JSON does not have, are refused by the stage itself.
	text, err := json.Marshal(map[string]any{"format": stageFormat, "stage": stage, "tables": versions, "settings": settings, "inputs": in})
	if err != nil {
		text = fmt.Appendf(nil, "%d %s %v %+v %q", stageFormat, stage, versions, settings, in)
	}
	return digestBytes(text)
}

// digestIngest identifies the tables of ingest.
func digestIngest(settings rundir.SourceSettings, inputs []rundir.InputEntry) string {
	in := []string{}
	for _, e := range inputs {
		// The reader decides by the ending how the bytes are compressed.
		codec := ""
		if ext := filepath.Ext(e.Path); ext == ".gz" || ext == ".zst" {
			codec = ext
		}
		if e.Name != "" {
			// The names of a corpus are part of its identities.
			codec += " " + e.Name
		}
		in = append(in, e.Digest+codec)
	}
	return digestStage("ingest", schemas.TraceFormat(settings.Format), settings, in)
}

// digestLower identifies the tables of lower behind those of an ingest.
func digestLower(ingest string, format schemas.TraceFormat, settings rundir.LoadSettings) string {
	return digestStage("lower", format, settings, []string{ingest})
}

// inputs digests the files of a source: regular files on another goroutine, others, which can be
// read only once, while the source is read.
type inputs struct {
	entries []rundir.InputEntry
	stamps  []stamp
	// hashes has what tap digests.
	hashes []hash.Hash
	failed error
	done   chan struct{}
}

// stamp tells whether a file changed.
type stamp struct {
	bytes int64
	at    time.Time
}

func stampOf(path string) (s stamp, regular bool) {
	info, err := os.Stat(path)
	if path == "-" || err != nil || !info.Mode().IsRegular() {
		return stamp{}, false
	}
	return stamp{info.Size(), info.ModTime()}, true
}

// readInputs starts to digest the files of a source.
func readInputs(source *schemas.SourceSpec) *inputs {
	paths, names := source.Paths, []string(nil)
	if source.Format == schemas.FormatWeka && len(paths) == 1 {
		// A corpus that cannot be listed is refused when it is read.
		if files, err := ingest.WekaFiles(paths[0]); err == nil {
			paths = nil
			for _, f := range files {
				paths, names = append(paths, f.Path), append(names, f.Name)
			}
		}
	}
	in := &inputs{
		entries: make([]rundir.InputEntry, len(paths)), stamps: make([]stamp, len(paths)), hashes: make([]hash.Hash, len(paths)),
		done: make(chan struct{}),
	}
	for i, path := range paths {
		in.entries[i].Path = path
		if names != nil {
			in.entries[i].Name = names[i]
		}
		var regular bool
		if in.stamps[i], regular = stampOf(path); !regular {
			in.hashes[i] = blake3.New()
		}
	}
	go func() {
		defer close(in.done)
		for i := range in.entries {
			if in.hashes[i] == nil && in.failed == nil {
				in.failed = digestFile(&in.entries[i])
			}
		}
	}()
	return in
}

func digestFile(e *rundir.InputEntry) error {
	f, err := os.Open(e.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	h := blake3.New()
	e.Bytes, err = io.Copy(h, f)
	e.Digest = digestText(h.Sum(nil))
	return err
}

// tap digests what can be read only once; it is ingest.Options.Tap.
func (in *inputs) tap(path string, from io.Reader) io.Reader {
	for i := range in.entries {
		if in.entries[i].Path == path && in.hashes[i] != nil {
			return io.TeeReader(from, &counted{in.hashes[i], &in.entries[i].Bytes})
		}
	}
	return from
}

// counted counts the bytes that it passes on.
type counted struct {
	to io.Writer
	n  *int64
}

func (c *counted) Write(p []byte) (int, error) {
	*c.n += int64(len(p))
	return c.to.Write(p)
}

// wait returns the digests, once the source has been read.
func (in *inputs) wait() ([]rundir.InputEntry, error) {
	<-in.done
	for i, h := range in.hashes {
		if h != nil {
			in.entries[i].Digest = digestText(h.Sum(nil))
		}
	}
	return in.entries, in.failed
}

// regular reports whether all inputs can be digested before they are read.
func (in *inputs) regular() bool {
	for _, h := range in.hashes {
		if h != nil {
			return false
		}
	}
	return true
}

// unchanged is an error when a file is not what it was at the start.
func (in *inputs) unchanged() error {
	for i := range in.entries {
		if now, regular := stampOf(in.entries[i].Path); in.hashes[i] == nil && (!regular || now != in.stamps[i]) {
			return fmt.Errorf("%s changed while it was read", in.entries[i].Path)
		}
	}
	return nil
}
