package metrics

import (
	"encoding/binary"
	"io"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/dynosim/dynosim/schemas"
)

// encoding is a number of the enumeration Encoding of the format.
type encoding int

const (
	plain             encoding = 0
	levels            encoding = 3
	deltaBinaryPacked encoding = 5
	rleDictionary     encoding = 8
)

// More numbers of enumerations of the format.
const (
	magic = "PAR1"

	typeInt32     = 1
	typeInt64     = 2
	typeDouble    = 5
	typeByteArray = 6

	dataPage       = 0
	dictionaryPage = 2

	codecSnappy = 1

	repetitionRequired = 0
	repetitionOptional = 1

	convertedUTF8   = 0
	convertedUint32 = 13
	convertedUint64 = 14
)

// createdBy must not vary between builds: equal runs have equal files.
const createdBy = "dynosim"

// parquetFile writes one Parquet file: chunks of row groups one after the other, then the footer. What it
// keeps of a chunk is the few bytes of its place in the footer.
//
// The Parquet library that reads the files writes them too, but at several times the cost: it encodes value by
// value, and keeps a tree of objects for every chunk until the end (docs/benchmarks-ingest.md).
type parquetFile struct {
	table *schemas.Table
	out   io.Writer
	at    int64
	rows  int64
	// groups has the finished row groups of the footer, group the chunks of the open one.
	groups     thrift
	groupCount int
	group      thrift
	groupStart int64
	// size and packed are the bytes of the open row group before and after compression.
	size, packed int64
	header       thrift
}

func newParquetFile(t *schemas.Table, out io.Writer) (*parquetFile, error) {
	f := &parquetFile{table: t, out: out}
	return f, f.write([]byte(magic))
}

func (f *parquetFile) write(b []byte) error {
	n, err := f.out.Write(b)
	f.at += int64(n)
	return err
}

// physical is the number of the type that a column is stored as.
func physical(c *schemas.Column) int {
	switch c.Type.ID() {
	case arrow.INT32, arrow.UINT32:
		return typeInt32
	case arrow.INT64, arrow.UINT64:
		return typeInt64
	case arrow.FLOAT64:
		return typeDouble
	}
	return typeByteArray
}

// page writes a page with its header and returns the size of the header.
func (f *parquetFile) page(kind, raw int, data []byte, about func(t *thrift)) (header int, err error) {
	t := &f.header
	t.out = t.out[:0]
	t.element(func() {
		t.int32(1, kind)
		t.int32(2, raw)
		t.int32(3, len(data))
		about(t)
	})
	if err := f.write(t.out); err != nil {
		return 0, err
	}
	return len(t.out), f.write(data)
}

// chunk writes the next column of the open row group.
func (f *parquetFile) chunk(col int, c *chunk) error {
	column := &f.table.Columns[col]
	if col == 0 {
		f.groupStart = f.at
	}
	start := f.at
	raw := int64(c.rawData)
	if c.encoding == rleDictionary {
		header, err := f.page(dictionaryPage, c.rawDict, c.dict, func(t *thrift) {
			t.structure(7, func() {
				t.int32(1, c.dictValues)
				t.int32(2, int(plain))
			})
		})
		if err != nil {
			return err
		}
		raw += int64(c.rawDict + header)
	}
	data := f.at
	header, err := f.page(dataPage, c.rawData, c.data, func(t *thrift) {
		t.structure(5, func() {
			t.int32(1, c.rows)
			t.int32(2, int(c.encoding))
			t.int32(3, int(levels))
			t.int32(4, int(levels))
		})
	})
	if err != nil {
		return err
	}
	raw += int64(header)
	f.size, f.packed = f.size+raw, f.packed+f.at-start
	t := &f.group
	t.element(func() {
		t.int64(2, start)
		t.structure(3, func() { f.describe(t, column, c, start, data, raw) })
	})
	return nil
}

// describe writes the metadata of a chunk whose pages begin at start and whose data page at data.
func (f *parquetFile) describe(t *thrift, column *schemas.Column, c *chunk, start, data, raw int64) {
	t.int32(1, physical(column))
	encodings := []encoding{c.encoding, levels}
	if c.encoding == rleDictionary {
		encodings = append(encodings, plain)
	}
	t.list(2, thriftInt32, len(encodings))
	for _, e := range encodings {
		t.out = binary.AppendVarint(t.out, int64(e))
	}
	t.list(3, thriftBinary, 1)
	t.bytes(column.Name)
	codec := 0
	if c.snappy {
		codec = codecSnappy
	}
	t.int32(4, codec)
	t.int64(5, int64(c.rows))
	t.int64(6, raw)
	t.int64(7, f.at-start)
	t.int64(9, data)
	if c.encoding == rleDictionary {
		t.int64(11, start)
	}
	t.structure(12, func() {
		t.int64(3, int64(c.nulls))
		if len(c.high) > 0 {
			t.binary(5, c.high)
			t.binary(6, c.low)
		}
	})
	pages := [][2]int{{dataPage, int(c.encoding)}}
	if c.encoding == rleDictionary {
		pages = append(pages, [2]int{dictionaryPage, int(plain)})
	}
	t.list(13, thriftStruct, len(pages))
	for _, p := range pages {
		t.element(func() {
			t.int32(1, p[0])
			t.int32(2, p[1])
			t.int32(3, 1)
		})
	}
}

// endGroup ends a row group after its last column.
func (f *parquetFile) endGroup(rows int) {
	t := &f.groups
	t.element(func() {
		t.list(1, thriftStruct, len(f.table.Columns))
		t.out = append(t.out, f.group.out...)
		t.int64(2, f.size)
		t.int64(3, int64(rows))
		t.int64(5, f.groupStart)
		t.int64(6, f.packed)
	})
	f.rows += int64(rows)
	f.groupCount++
	f.group.out, f.size, f.packed = f.group.out[:0], 0, 0
}

// finish writes the footer.
func (f *parquetFile) finish() error {
	var t thrift
	t.element(func() {
		t.int32(1, 2)
		t.list(2, thriftStruct, len(f.table.Columns)+1)
		t.element(func() {
			t.string(4, "schema")
			t.int32(5, len(f.table.Columns))
		})
		for i := range f.table.Columns {
			schemaElement(&t, &f.table.Columns[i])
		}
		t.int64(3, f.rows)
		t.list(4, thriftStruct, f.groupCount)
		t.out = append(t.out, f.groups.out...)
		pairs := [][2]string{{"dynosim.table", f.table.Name}, {"dynosim.version", strconv.Itoa(f.table.Version)}}
		t.list(5, thriftStruct, len(pairs))
		for _, p := range pairs {
			t.element(func() {
				t.string(1, p[0])
				t.string(2, p[1])
			})
		}
		t.string(6, createdBy)
		// The order of the bounds is that of the type.
		t.list(7, thriftStruct, len(f.table.Columns))
		for range f.table.Columns {
			t.element(func() { t.structure(1, func() {}) })
		}
	})
	size := len(t.out)
	t.out = binary.LittleEndian.AppendUint32(t.out, uint32(size))
	return f.write(append(t.out, magic...))
}

// schemaElement describes a column.
func schemaElement(t *thrift, c *schemas.Column) {
	converted, width := -1, 0
	switch c.Type.ID() {
	case arrow.STRING:
		converted = convertedUTF8
	case arrow.UINT32:
		converted, width = convertedUint32, 32
	case arrow.UINT64:
		converted, width = convertedUint64, 64
	}
	t.element(func() {
		t.int32(1, physical(c))
		repetition := repetitionRequired
		if c.Nullable {
			repetition = repetitionOptional
		}
		t.int32(3, repetition)
		t.string(4, c.Name)
		if converted < 0 {
			return
		}
		t.int32(6, converted)
		// The logical type says the same once more.
		t.structure(10, func() {
			if width == 0 {
				t.structure(1, func() {})
				return
			}
			t.structure(10, func() {
				t.field(1, thriftByte)
				t.out = append(t.out, byte(width))
				t.bool(2, false)
			})
		})
	})
}
