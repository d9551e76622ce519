package ingest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// readBuffer is how much of a file is looked at at a time; longer lines work, through a copy.
const readBuffer = 256 << 10

// lineSource yields the lines of a file and knows where it is.
type lineSource struct {
	name string
	// number is the 1-based number of the line that next returned.
	number int64
	file   *os.File
	// unpack closes the decompressor, nil without one.
	unpack func()
	in     *bufio.Reader
	long   []byte
	done   atomic.Int64
	total  int64
}

// openLines opens a file, "-" for standard input. Paths that end in .gz or .zst are decompressed. tap
// is Options.Tap.
func openLines(path string, tap func(string, io.Reader) io.Reader) (*lineSource, error) {
	l := &lineSource{name: path, file: os.Stdin}
	if path == "-" {
		l.name = "standard input"
	} else {
		f, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("cannot open trace file %s: %w", path, cause(err))
		}
		l.file = f
	}
	info, err := l.file.Stat()
	switch {
	case err != nil:
		return nil, errors.Join(fmt.Errorf("cannot open trace file %s: %w", path, cause(err)), l.close())
	case info.IsDir():
		return nil, errors.Join(fmt.Errorf("cannot open trace file %s: is a directory", path), l.close())
	case info.Mode().IsRegular():
		l.total = info.Size()
	}
	var in io.Reader = &countingReader{l.file, &l.done}
	if tap != nil {
		in = tap(path, in)
	}
	switch {
	case strings.HasSuffix(path, ".gz"):
		z, err := gzip.NewReader(bufio.NewReaderSize(in, readBuffer))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("cannot read trace file %s: not gzip data: %w", path, err), l.close())
		}
		l.unpack = func() { _ = z.Close() }
		in = z
	case strings.HasSuffix(path, ".zst"):
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("cannot read trace file %s: not zstd data: %w", path, err), l.close())
		}
		l.unpack = z.Close
		in = z
	}
	l.in = bufio.NewReaderSize(in, readBuffer)
	return l, nil
}

// cause drops the operation and the path that the message already names.
func cause(err error) error {
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return path.Err
	}
	return err
}

type countingReader struct {
	from io.Reader
	done *atomic.Int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.done.Add(int64(n))
	return n, err
}

func (l *lineSource) progress() (done, total int64) { return l.done.Load(), l.total }

func (l *lineSource) close() error {
	if l.unpack != nil {
		l.unpack()
		l.unpack = nil
	}
	if l.file == os.Stdin {
		return nil
	}
	return l.file.Close()
}

// next returns the next line without its end; the bytes are valid until the next call.
// At the end of the file the error is io.EOF.
func (l *lineSource) next() ([]byte, error) {
	line, err := l.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		l.long = l.long[:0]
		for errors.Is(err, bufio.ErrBufferFull) {
			l.long = append(l.long, line...)
			line, err = l.in.ReadSlice('\n')
		}
		l.long = append(l.long, line...)
		line = l.long
	}
	switch {
	case err == nil:
		line = line[:len(line)-1]
	case !errors.Is(err, io.EOF):
		l.number++
		return nil, l.errorf("cannot read: %w", cause(err))
	case len(line) == 0:
		return nil, io.EOF
	}
	l.number++
	if l.number == 1 && bytes.HasPrefix(line, []byte("\ufeff")) {
		return nil, l.errorf("starts with a byte-order mark: save the file as UTF-8 without one")
	}
	if !utf8.Valid(line) {
		return nil, l.errorf("not valid UTF-8")
	}
	return line, nil
}

// errorf makes an error that names file and line.
func (l *lineSource) errorf(format string, args ...any) error {
	return fmt.Errorf("%s:%d: "+format, append([]any{l.name, l.number}, args...)...)
}

// blank reports whether a line has nothing but white space, as Unicode has it.
func blank(line []byte) bool {
	if len(line) > 0 && line[0] == '{' {
		return false
	}
	return len(bytes.TrimSpace(line)) == 0
}
