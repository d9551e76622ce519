package perfdata

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
)

//go:embed data
var embedded embed.FS

// Set is one data set: the embedded one, or that of a folder. It is safe for use by many
// goroutines.
type Set struct {
	// Where is what messages call it: a path, or "embedded".
	Where   string
	Catalog *Catalog

	files fs.FS
	mu    sync.Mutex
	open  map[*Family]*file.Reader
}

// Embedded is the set in the program.
var Embedded = sync.OnceValues(func() (*Set, error) {
	files, err := fs.Sub(embedded, "data")
	if err != nil {
		return nil, err
	}
	return openSet(files, "embedded")
})

// OpenFolder opens the set in a folder; the error wraps fs.ErrNotExist when there is none.
func OpenFolder(folder string) (*Set, error) { return openSet(os.DirFS(folder), folder) }

func openSet(files fs.FS, where string) (*Set, error) {
	text, err := fs.ReadFile(files, CatalogFile)
	if err != nil {
		return nil, fmt.Errorf("performance data %s: %w", where, err)
	}
	c, err := parseCatalog(text, where+"/"+CatalogFile)
	if err != nil {
		return nil, fmt.Errorf("performance data %w", err)
	}
	return &Set{Where: where, Catalog: c, files: files, open: map[*Family]*file.Reader{}}, nil
}

// reader opens a family's file; it stays open.
func (s *Set) reader(f *Family) (*file.Reader, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.open[f]; r != nil {
		return r, nil
	}
	opened, err := s.files.Open(f.Name + ".parquet")
	if err != nil {
		return nil, fmt.Errorf("performance data %s: %w", s.Where, err)
	}
	at, ok := opened.(parquet.ReaderAtSeeker)
	if !ok {
		return nil, fmt.Errorf("performance data %s: %s.parquet cannot be read at random", s.Where, f.Name)
	}
	r, err := file.NewParquetReader(at)
	if err != nil {
		return nil, fmt.Errorf("performance data %s: %s.parquet: %w", s.Where, f.Name, err)
	}
	s.open[f] = r
	return r, nil
}

// rows are the decoded columns of one row group: keys in the family's order, and latencies.
type rows struct {
	keys [][]int64
	ms   []float64
}

// group decodes one row group. Readers share the file's buffers, so that groups decode one at
// a time.
func (s *Set) group(f *Family, index int, count int64) (r rows, err error) {
	reader, err := s.reader(f)
	if err != nil {
		return rows{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("damaged: %v", p)
		}
		if err != nil {
			err = fmt.Errorf("performance data %s: %s.parquet, row group %d: %w", s.Where, f.Name, index, err)
		}
	}()
	if index < 0 || index >= reader.NumRowGroups() {
		return rows{}, errors.New("there is none")
	}
	g := reader.RowGroup(index)
	n := g.NumRows()
	if n != count {
		return rows{}, fmt.Errorf("%d rows, the catalogue says %d", n, count)
	}
	schema := reader.MetaData().Schema
	for _, name := range f.Keys {
		values := make([]int64, n)
		if err := readColumn(g, schema.ColumnIndexByName(name), name, values, nil); err != nil {
			return rows{}, err
		}
		r.keys = append(r.keys, values)
	}
	r.ms = make([]float64, n)
	return r, readColumn(g, schema.ColumnIndexByName(ColumnLatency), ColumnLatency, nil, r.ms)
}

// readColumn fills whole, or real for a column of doubles.
func readColumn(g *file.RowGroupReader, index int, name string, whole []int64, real []float64) error {
	if index < 0 {
		return fmt.Errorf("no column %s", name)
	}
	column, err := g.Column(index)
	if err != nil {
		return err
	}
	want, got := int64(max(len(whole), len(real))), int64(0)
	for got < want {
		var n int
		var err error
		switch c := column.(type) {
		case *file.Int32ColumnChunkReader:
			narrow := make([]int32, want-got)
			_, n, err = c.ReadBatch(want-got, narrow, nil, nil)
			for i, v := range narrow[:n] {
				whole[got+int64(i)] = int64(v)
			}
		case *file.Int64ColumnChunkReader:
			_, n, err = c.ReadBatch(want-got, whole[got:], nil, nil)
		case *file.Float64ColumnChunkReader:
			if real == nil {
				return fmt.Errorf("column %s is of an unexpected type", name)
			}
			_, n, err = c.ReadBatch(want-got, real[got:], nil, nil)
		default:
			return fmt.Errorf("column %s is of an unexpected type", name)
		}
		if err != nil {
			return err
		}
		if n == 0 {
			return io.ErrUnexpectedEOF
		}
		got += int64(n)
	}
	return nil
}
