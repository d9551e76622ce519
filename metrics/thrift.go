package metrics

import "encoding/binary"

// thrift writes structures in the compact protocol of Thrift, in which Parquet keeps everything that is
// not data. Fields must be written in the order of their numbers.
type thrift struct {
	out []byte
	// last is the number of the last field of the open structure, outer those of the structures around it.
	last  int
	outer []int
}

// Types of fields and list elements.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftInt32  = 5
	thriftInt64  = 6
	thriftBinary = 8
	thriftList   = 9
	thriftStruct = 12
)

func (t *thrift) field(number, kind int) {
	if step := number - t.last; step > 0 && step < 16 {
		t.out = append(t.out, byte(step<<4|kind))
	} else {
		t.out = binary.AppendVarint(append(t.out, byte(kind)), int64(number))
	}
	t.last = number
}

func (t *thrift) int32(number int, v int) {
	t.field(number, thriftInt32)
	t.out = binary.AppendVarint(t.out, int64(v))
}

func (t *thrift) int64(number int, v int64) {
	t.field(number, thriftInt64)
	t.out = binary.AppendVarint(t.out, v)
}

func (t *thrift) bool(number int, v bool) {
	if v {
		t.field(number, thriftTrue)
	} else {
		t.field(number, thriftFalse)
	}
}

func (t *thrift) binary(number int, v []byte) {
	t.field(number, thriftBinary)
	t.out = binary.AppendUvarint(t.out, uint64(len(v)))
	t.out = append(t.out, v...)
}

func (t *thrift) string(number int, v string) {
	t.field(number, thriftBinary)
	t.bytes(v)
}

// bytes is a string in a list.
func (t *thrift) bytes(v string) {
	t.out = binary.AppendUvarint(t.out, uint64(len(v)))
	t.out = append(t.out, v...)
}

// list begins a list; its elements follow.
func (t *thrift) list(number, kind, n int) {
	t.field(number, thriftList)
	if n < 15 {
		t.out = append(t.out, byte(n<<4|kind))
		return
	}
	t.out = binary.AppendUvarint(append(t.out, byte(0xf0|kind)), uint64(n))
}

// structure is a field that is a structure.
func (t *thrift) structure(number int, fields func()) {
	t.field(number, thriftStruct)
	t.element(fields)
}

// element is a structure in a list, or a whole one.
func (t *thrift) element(fields func()) {
	t.outer = append(t.outer, t.last)
	t.last = 0
	fields()
	t.out = append(t.out, 0)
	t.last = t.outer[len(t.outer)-1]
	t.outer = t.outer[:len(t.outer)-1]
}
