package ingest

import (
	"encoding/binary"
	"fmt"
	"os"
)

// spillAt is how many ids stay in memory before they go to a file, windowIDs how many are read back at once.
const (
	spillAt   = 1 << 22
	windowIDs = 1 << 13
)

// idStore keeps lists of ids in the order in which they come, for reading back in about that order. Beyond
// spillAt ids they are in a temporary file without a name. The zero value is empty.
type idStore struct {
	// recent has the ids from spilled on.
	recent  []uint64
	spilled int64
	file    *os.File
	buffer  []byte
	// window has ids of the file from windowFrom on.
	window     []uint64
	windowFrom int64
	// limit replaces spillAt in tests.
	limit int
}

// add appends a list and returns the number of its first id.
func (s *idStore) add(ids []uint64) (first int64, err error) {
	first = s.spilled + int64(len(s.recent))
	s.recent = append(s.recent, ids...)
	limit := spillAt
	if s.limit > 0 {
		limit = s.limit
	}
	if len(s.recent) < limit {
		return first, nil
	}
	return first, s.spill()
}

// spill moves the recent ids to the file.
func (s *idStore) spill() error {
	if s.file == nil {
		f, err := os.CreateTemp("", "dynosim-sort-*")
		if err != nil {
			return fmt.Errorf("cannot sort: no temporary file: %w", cause(err))
		}
		s.file = f
		// Where the system allows it the file is gone with the process, however that ends.
		_ = os.Remove(f.Name())
	}
	for from := 0; from < len(s.recent); from += windowIDs {
		s.buffer = s.buffer[:0]
		for _, id := range s.recent[from:min(from+windowIDs, len(s.recent))] {
			s.buffer = binary.LittleEndian.AppendUint64(s.buffer, id)
		}
		if _, err := s.file.Write(s.buffer); err != nil {
			return fmt.Errorf("cannot sort: writing a temporary file: %w", cause(err))
		}
	}
	s.spilled += int64(len(s.recent))
	s.recent = s.recent[:0]
	return nil
}

// read appends n ids from first on to dst.
func (s *idStore) read(dst []uint64, first int64, n int) ([]uint64, error) {
	for n > 0 && first < s.spilled {
		if at := first - s.windowFrom; at >= 0 && at < int64(len(s.window)) {
			part := s.window[at:min(int64(len(s.window)), at+int64(n))]
			dst = append(dst, part...)
			first, n = first+int64(len(part)), n-len(part)
			continue
		}
		if err := s.look(first); err != nil {
			return dst, err
		}
	}
	if n > 0 {
		at := first - s.spilled
		dst = append(dst, s.recent[at:at+int64(n)]...)
	}
	return dst, nil
}

// look fills the window from first on.
func (s *idStore) look(first int64) error {
	n := int(min(windowIDs, s.spilled-first))
	if cap(s.buffer) < 8*n {
		s.buffer = make([]byte, 8*n)
	}
	s.buffer = s.buffer[:8*n]
	if _, err := s.file.ReadAt(s.buffer, 8*first); err != nil {
		return fmt.Errorf("cannot sort: reading a temporary file: %w", cause(err))
	}
	s.window, s.windowFrom = s.window[:0], first
	for i := range n {
		s.window = append(s.window, binary.LittleEndian.Uint64(s.buffer[8*i:]))
	}
	return nil
}

// close removes the file. It may be called twice.
func (s *idStore) close() {
	if s.file != nil {
		_ = s.file.Close()
		_ = os.Remove(s.file.Name())
		s.file = nil
	}
}
