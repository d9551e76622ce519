package lower

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// playRows holds the rows of one play, as the source has them.
type playRows struct {
	line                                           []int64
	session, model, class, input, output, priority []int32
	strict                                         []uint32
	notBefore, start, end, apiTime                 []float64
	// Row i waits for the edges up to edgeEnd[i]; predecessors are rows of the source.
	edgeEnd           []int32
	predecessor       []int64
	trigger, relation []uint8
	delay             []float64
	// Row i has the prescribed tokens up to authoredEnd[i].
	authoredEnd []int32
	hasAuthored []uint8
	authored    []uint32
	// leaf is the last chain of each row where plays share chains.
	leaf []int32
	// Otherwise row i begins with shared[i] blocks of row prefix[i] of the play, -1 for none, and goes on with
	// the hashes up to blockEnd[i].
	prefix, shared, blockEnd []int32
	hash                     []uint64
}

// columns lists the columns in the order in which they are stored.
func (r *playRows) columns() []any {
	return []any{
		&r.line, &r.session, &r.model, &r.class, &r.input, &r.output, &r.priority, &r.strict,
		&r.notBefore, &r.start, &r.end, &r.apiTime, &r.edgeEnd, &r.predecessor, &r.trigger, &r.relation, &r.delay,
		&r.authoredEnd, &r.hasAuthored, &r.authored, &r.leaf, &r.prefix, &r.shared, &r.blockEnd, &r.hash,
	}
}

// reset empties all columns.
func (r *playRows) reset() {
	for _, c := range r.columns() {
		switch c := c.(type) {
		case *[]int64:
			*c = (*c)[:0]
		case *[]int32:
			*c = (*c)[:0]
		case *[]uint32:
			*c = (*c)[:0]
		case *[]uint64:
			*c = (*c)[:0]
		case *[]float64:
			*c = (*c)[:0]
		case *[]uint8:
			*c = (*c)[:0]
		}
	}
}

// append appends the bytes of all columns to dst.
func (r *playRows) append(dst []byte) ([]byte, error) {
	var err error
	for _, c := range r.columns() {
		switch c := c.(type) {
		case *[]int64:
			dst, err = appendColumn(dst, *c)
		case *[]int32:
			dst, err = appendColumn(dst, *c)
		case *[]uint32:
			dst, err = appendColumn(dst, *c)
		case *[]uint64:
			dst, err = appendColumn(dst, *c)
		case *[]float64:
			dst, err = appendColumn(dst, *c)
		case *[]uint8:
			dst, err = appendColumn(dst, *c)
		}
		if err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// appendColumn appends the number of elements and the elements.
func appendColumn[T any](dst []byte, column []T) ([]byte, error) {
	return binary.Append(binary.AppendUvarint(dst, uint64(len(column))), binary.LittleEndian, column)
}

// read fills all columns from their bytes.
func (r *playRows) read(src []byte) (err error) {
	for _, c := range r.columns() {
		switch c := c.(type) {
		case *[]int64:
			src, err = readColumn(src, c)
		case *[]int32:
			src, err = readColumn(src, c)
		case *[]uint32:
			src, err = readColumn(src, c)
		case *[]uint64:
			src, err = readColumn(src, c)
		case *[]float64:
			src, err = readColumn(src, c)
		case *[]uint8:
			src, err = readColumn(src, c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func readColumn[T any](src []byte, column *[]T) ([]byte, error) {
	n, skip := binary.Uvarint(src)
	*column = make([]T, n)
	used, err := binary.Decode(src[skip:], binary.LittleEndian, *column)
	return src[skip+used:], err
}

// storeInMemory is how many bytes of plays stay in memory before they go to a file. Tests change it.
var storeInMemory = 32 << 20

// playStore keeps plays. Beyond storeInMemory bytes they are in a temporary file without a name. The zero value is
// empty.
type playStore struct {
	// recent has the bytes from written on.
	recent  []byte
	written int64
	file    *os.File
	buffer  []byte
}

// add keeps a play and returns where it is.
func (s *playStore) add(r *playRows) (at, size int64, err error) {
	from := len(s.recent)
	if s.recent, err = r.append(s.recent); err != nil {
		return 0, 0, err
	}
	at, size = s.written+int64(from), int64(len(s.recent)-from)
	if len(s.recent) < storeInMemory {
		return at, size, nil
	}
	return at, size, s.spill()
}

// spill moves the recent bytes to the file.
func (s *playStore) spill() error {
	if s.file == nil {
		f, err := os.CreateTemp("", "dynosim-plays-*")
		if err != nil {
			return fmt.Errorf("cannot lower: no temporary file: %w", reason(err))
		}
		s.file = f
		// Where the system allows it the file is gone with the process, however that ends.
		_ = os.Remove(f.Name())
	}
	if _, err := s.file.Write(s.recent); err != nil {
		return fmt.Errorf("cannot lower: writing a temporary file: %w", reason(err))
	}
	s.written += int64(len(s.recent))
	s.recent = s.recent[:0]
	return nil
}

// read fills rows with a play that was kept.
func (s *playStore) read(rows *playRows, at, size int64) error {
	if at >= s.written {
		return rows.read(s.recent[at-s.written:])
	}
	if int64(cap(s.buffer)) < size {
		s.buffer = make([]byte, size)
	}
	s.buffer = s.buffer[:size]
	if _, err := s.file.ReadAt(s.buffer, at); err != nil {
		return fmt.Errorf("cannot lower: reading a temporary file: %w", reason(err))
	}
	return rows.read(s.buffer)
}

// close gives everything up. It may be called twice.
func (s *playStore) close() {
	if s.file != nil {
		_ = s.file.Close()
		_ = os.Remove(s.file.Name())
	}
	*s = playStore{}
}

// reason drops the name of a temporary file from an error.
func reason(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
