package ingest

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/zeebo/blake3"

	"github.com/dynosim/dynosim/schemas"
)

// Nested timestamp bases (spec 02 section 2.3).
const (
	basisAuto          = "auto"
	basisAbsolute      = "absolute"
	basisRelative      = "relative"
	basisNotApplicable = "not_applicable"
)

// BasisError says that a weka corpus has to be read again: a trace showed that nested timestamps count from their markers,
// after plays were handed out as if they did not. Read the source again with ResolvedBasis set to Basis.
type BasisError struct{ Basis string }

func (e *BasisError) Error() string {
	return "nested timestamps turned out to be " + e.Basis + ": the corpus has to be read again"
}

// WekaFile is one file of a weka corpus.
type WekaFile struct {
	// Path opens it, Name is its path below the corpus, with slashes.
	Path, Name string
	Bytes      int64
}

// wekaReader is a Reader of a corpus: one play a batch.
type wekaReader struct {
	files []WekaFile
	tap   func(string, io.Reader) io.Reader
	// assert is a block size that traces must have, 0 for any; blockTokens what they have.
	assert, blockTokens int64
	// basis is the one asked for, resolved that of the reading so far: under auto, absolute until a
	// trace shows otherwise.
	basis string
	// nested says that a play with subagents was seen, handed that one was handed out.
	nested, handed bool

	parser wekaParser
	graph  wekaGraph
	w      playBatch
	hashes wekaHashes

	at     int // the file that is open, or next to open
	object int64
	file   *os.File
	digest hash.Hash
	// source is the digest once the corpus is read.
	source string
	// request and plays count what was handed out.
	request, plays int64
	done, total    atomic.Int64
	err            error
}

func openWeka(source *schemas.SourceSpec, o Options) (Reader, error) {
	if len(source.Paths) != 1 {
		return nil, fmt.Errorf("trace format weka takes exactly one file or folder, got %d: %s", len(source.Paths), strings.Join(source.Paths, ", "))
	}
	files, err := WekaFiles(source.Paths[0])
	if err != nil {
		return nil, err
	}
	r := &wekaReader{files: files, tap: o.Tap, assert: source.BlockTokens, basis: source.NestedBasis, digest: blake3.New()}
	if r.basis == "" {
		r.basis = basisAuto
	}
	if source.ResolvedBasis != "" {
		r.basis = source.ResolvedBasis
	}
	for _, f := range files {
		r.total.Add(f.Bytes)
	}
	_, _ = r.digest.Write([]byte("aisimulate-weka-corpus-v1\x00"))
	return r, nil
}

// WekaFiles lists the files of a corpus in order of their names below path (spec 02 section 2.1).
func WekaFiles(path string) (files []WekaFile, err error) {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot open weka corpus %s: %w", path, cause(err))
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, fmt.Errorf("cannot open weka corpus %s: it is a symbolic link", path)
	case !info.IsDir():
		if !wekaName(path) {
			return nil, fmt.Errorf("cannot open weka corpus %s: the name of a file must end in .json or .jsonl", path)
		}
		return []WekaFile{{path, filepath.Base(path), info.Size()}}, nil
	}
	err = filepath.WalkDir(path, func(at string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fmt.Errorf("cannot read weka corpus %s: %w", at, cause(err))
		case entry.Type()&fs.ModeSymlink != 0:
			return fmt.Errorf("cannot read weka corpus %s: %s is a symbolic link", path, at)
		case entry.IsDir() || !wekaName(at):
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return fmt.Errorf("cannot read weka corpus %s: %w", at, cause(err))
		}
		below, err := filepath.Rel(path, at)
		files = append(files, WekaFile{at, filepath.ToSlash(below), info.Size()})
		return err
	})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("weka corpus %s: no file in it ends in .json or .jsonl", path)
	}
	slices.SortFunc(files, func(a, b WekaFile) int { return strings.Compare(a.Name, b.Name) })
	return files, err
}

func wekaName(path string) bool {
	ext := strings.ToLower(filepath.Ext(path))
	return ext == ".json" || ext == ".jsonl"
}

// single reports whether the file holds exactly one object.
func (f *WekaFile) single() bool { return strings.ToLower(filepath.Ext(f.Name)) == ".json" }

func (r *wekaReader) Progress() (done, total int64) { return r.done.Load(), r.total.Load() }

func (r *wekaReader) Close() error {
	if r.file == nil {
		return nil
	}
	err := r.file.Close()
	r.file = nil
	return err
}

// GraphSource implements GraphReader.
func (r *wekaReader) GraphSource() (schemas.GraphSource, bool) {
	return schemas.GraphSource{Format: string(schemas.FormatWeka), Digest: r.source, NestedTimestampBasis: r.resolved()}, true
}

// resolved is the basis of the corpus, once it is read.
func (r *wekaReader) resolved() string {
	if r.basis != basisAuto {
		return r.basis
	}
	if r.nested {
		return basisAbsolute
	}
	return basisNotApplicable
}

func (r *wekaReader) Next(batch *schemas.RequestBatch) error {
	if r.err == nil {
		r.err = r.next(batch)
	}
	if r.err != nil {
		batch.N = 0
	}
	return r.err
}

// next reads the next object.
func (r *wekaReader) next(batch *schemas.RequestBatch) error {
	for {
		if r.file == nil {
			if r.at == len(r.files) {
				r.finish()
				return io.EOF
			}
			if err := r.open(); err != nil {
				return err
			}
		}
		f := &r.files[r.at]
		if r.parser.json.dec.PeekKind() != 0 {
			if f.single() && r.object > 0 {
				return r.errorf("a .json file holds one trace, but another value follows it")
			}
			return r.play(batch)
		}
		if _, err := r.parser.json.dec.ReadToken(); !errors.Is(err, io.EOF) {
			return r.errorf("%w", r.parser.json.syntax(err))
		}
		if r.object == 0 {
			return fmt.Errorf("%s: the file is empty", f.Path)
		}
		if err := r.Close(); err != nil {
			return fmt.Errorf("cannot read %s: %w", f.Path, cause(err))
		}
		r.at++
	}
}

// open opens the next file.
func (r *wekaReader) open() error {
	f := &r.files[r.at]
	file, err := os.Open(f.Path)
	if err != nil {
		return fmt.Errorf("cannot open trace file %s: %w", f.Path, cause(err))
	}
	r.file, r.object = file, 0
	var head [8]byte
	binary.LittleEndian.PutUint64(head[:], uint64(len(f.Name)))
	_, _ = r.digest.Write(head[:])
	_, _ = r.digest.Write([]byte(f.Name))
	binary.LittleEndian.PutUint64(head[:], uint64(f.Bytes))
	_, _ = r.digest.Write(head[:])
	var in io.Reader = &countingReader{file, &r.done}
	if r.tap != nil {
		in = r.tap(f.Path, in)
	}
	r.parser.open(io.TeeReader(in, r.digest))
	return nil
}

// finish makes the digest of the source (spec 02 section 2.8).
func (r *wekaReader) finish() {
	raw := hex.EncodeToString(r.digest.Sum(nil))
	h := blake3.New()
	var text []byte
	text = append(text, "aisimulate-weka-corpus-semantics-v2\x00"...)
	for _, part := range []string{raw, r.resolved()} {
		text = binary.LittleEndian.AppendUint64(text, uint64(len(part)))
		text = append(text, part...)
	}
	_, _ = h.Write(text)
	r.source = hex.EncodeToString(h.Sum(nil))
}

// sourceName is the name of the object at hand (spec 02 section 2.1).
func (r *wekaReader) sourceName() string {
	f := &r.files[r.at]
	if f.single() {
		return f.Name
	}
	return fmt.Sprintf("%s#%06d", f.Name, r.object)
}

// errorf makes an error that names the file and the line, the object and its play, and the request.
func (r *wekaReader) errorf(format string, args ...any) error {
	f, t := &r.files[r.at], &r.parser.trace
	var where strings.Builder
	fmt.Fprintf(&where, "%s:%d: ", f.Path, lineOf(f.Path, r.parser.json.dec.InputOffset()))
	if !f.single() {
		fmt.Fprintf(&where, "object %d, ", r.object)
	}
	if t.id != "" {
		fmt.Fprintf(&where, "play %q, ", t.id)
	}
	if t.atFault != "" {
		fmt.Fprintf(&where, "request %s, ", t.atFault)
	}
	text := strings.TrimSuffix(where.String(), ", ")
	if !strings.HasSuffix(text, ": ") {
		text += ": "
	}
	return fmt.Errorf("%s%w", text, fmt.Errorf(format, args...))
}

// lineOf is the 1-based line of an offset in a file.
func lineOf(path string, offset int64) int64 {
	f, err := os.Open(path)
	if err != nil {
		return 1
	}
	defer f.Close()
	lines, buf := int64(1), make([]byte, readBuffer)
	for offset > 0 {
		n, err := f.Read(buf[:min(int64(len(buf)), offset)])
		lines += int64(bytes.Count(buf[:n], []byte{'\n'}))
		offset -= int64(n)
		if err != nil {
			break
		}
	}
	return lines
}

// play reads an object and hands its play out.
func (r *wekaReader) play(batch *schemas.RequestBatch) error {
	if err := r.parser.object(); err != nil {
		return r.errorf("%w", err)
	}
	t := &r.parser.trace
	switch {
	case r.blockTokens == 0 && r.assert != 0 && t.blockTokens != r.assert:
		return r.errorf("block_size is %d, but the configured block size is %d", t.blockTokens, r.assert)
	case r.blockTokens != 0 && t.blockTokens != r.blockTokens:
		return r.errorf("block_size is %d, but %d in the traces before", t.blockTokens, r.blockTokens)
	}
	r.blockTokens = t.blockTokens
	if err := r.canonical(); err != nil {
		return err
	}
	r.graph.build(t)
	if err := r.checkBlocks(); err != nil {
		return err
	}
	r.emit(batch)
	r.handed = r.handed || len(t.agents) > 0
	r.object++
	return nil
}

// mostBlocks is the number of blocks of a prompt that are still listed: a few characters could ask for gigabytes of blocks without
// an id.
const mostBlocks = 1 << 24

// checkBlocks refuses prompts of too many blocks.
func (r *wekaReader) checkBlocks() error {
	for i := range r.graph.all {
		q := &r.graph.all[i]
		if n := (q.in-1)/r.blockTokens + 1; n > mostBlocks {
			r.parser.trace.atFault = wekaID(q)
			return r.errorf("in is %d, which are %d blocks of %d tokens: a prompt may have at most %d", q.in, n, r.blockTokens, mostBlocks)
		}
	}
	return nil
}

// canonical puts nested starts on the play's clock (spec 02 section 2.3).
func (r *wekaReader) canonical() error {
	t := &r.parser.trace
	if len(t.agents) == 0 {
		return nil
	}
	r.nested = true
	for i := range t.agents {
		a := &t.agents[i]
		for k := a.from; k < a.to; k++ {
			q := &t.nested[k]
			if r.basis == basisRelative || !(q.t < a.t-wekaEpsilon) {
				continue
			}
			if r.basis == basisAuto {
				if r.handed {
					return &BasisError{basisRelative}
				}
				r.basis = basisRelative
				continue
			}
			t.atFault = wekaID(q)
			return r.errorf("t %v lies before that of its subagent, %v: nested timestamps are not absolute", q.t, a.t)
		}
	}
	for i := range t.agents {
		a := &t.agents[i]
		for k := a.from; k < a.to; k++ {
			if q := &t.nested[k]; r.basis == basisRelative {
				q.t = a.t + q.t
			} else {
				q.t = max(q.t, a.t)
			}
		}
	}
	return nil
}

// wekaHashes gives the identities of the blocks of a play their 64-bit hashes (spec 02 section 2.7).
type wekaHashes struct {
	// full has the hash of each hash id, taken all hashes of the play.
	full  map[uint64]uint64
	taken map[uint64]struct{}
	text  []byte
}

func (h *wekaHashes) reset() {
	if h.full == nil {
		h.full, h.taken = map[uint64]uint64{}, map[uint64]struct{}{}
	}
	clear(h.full)
	clear(h.taken)
}
