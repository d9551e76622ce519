package lower

import (
	"encoding/binary"
	"hash/maphash"
	"strconv"
)

// generatedPrefix starts the name of a session whose rows have none (spec 01 section 3.4).
const generatedPrefix = "request_"

// textChunk is the size of the pieces that hold authored names.
const textChunk = 1 << 16

// names holds the names of sessions. A name is a reference: the number of a name
// request_<number>, which is not stored, or the inverted place of an authored one in the text.
type names struct {
	refs column[int64]
	// text holds names, each behind its length, in pieces that a name never leaves.
	text [][]byte
}

// place keeps a name and returns its reference.
func (n *names) place(name string) int64 {
	need := binary.MaxVarintLen64 + len(name)
	if last := len(n.text) - 1; last < 0 || len(n.text[last])+need > cap(n.text[last]) {
		n.text = append(n.text, make([]byte, 0, max(textChunk, need)))
	}
	piece := &n.text[len(n.text)-1]
	ref := int64(len(n.text)-1)<<32 | int64(len(*piece))
	*piece = binary.AppendUvarint(*piece, uint64(len(name)))
	*piece = append(*piece, name...)
	return ^ref
}

// authored is the text of a reference that is not generated.
func (n *names) authored(ref int64) []byte {
	ref = ^ref
	text := n.text[ref>>32][uint32(ref):]
	length, skip := binary.Uvarint(text)
	return text[skip : skip+int(length)]
}

func (n *names) append(dst []byte, ref int64) []byte {
	if ref < 0 {
		return append(dst, n.authored(ref)...)
	}
	return strconv.AppendInt(append(dst, generatedPrefix...), ref, 10)
}

// generatedNumber is the number of a name that looks like a generated one, exactly as those are
// written.
func generatedNumber(name string) (int64, bool) {
	if len(name) <= len(generatedPrefix) || name[:len(generatedPrefix)] != generatedPrefix {
		return 0, false
	}
	digits := name[len(generatedPrefix):]
	if digits[0] == '0' && len(digits) > 1 || digits[0] == '+' || digits[0] == '-' {
		return 0, false
	}
	number, err := strconv.ParseInt(digits, 10, 64)
	return number, err == nil
}

// directory finds sessions by name.
type directory struct {
	names names
	table table
	seed  maphash.Seed
	// listed says that sessions of rows without a name are in the table: needed only once an authored
	// name looks like theirs.
	listed bool
}

func newDirectory() directory { return directory{seed: maphash.MakeSeed()} }

// anonymous returns the session of a row without a name. fresh says that it did not exist.
func (d *directory) anonymous(line int64) (session int32, fresh bool) {
	if !d.listed {
		d.names.refs.push(line)
		return int32(d.names.refs.n - 1), true
	}
	return d.numbered(line)
}

// named returns the session of an authored name.
func (d *directory) named(name string) (session int32, fresh bool) {
	if number, ok := generatedNumber(name); ok {
		if !d.listed {
			d.listed = true
			for s := range d.names.refs.n {
				if d.names.refs.at(s) >= 0 {
					d.insert(int32(s))
				}
			}
		}
		return d.numbered(number)
	}
	found := d.find(maphash.String(d.seed, name), func(ref int64) bool {
		return ref < 0 && string(d.names.authored(ref)) == name
	})
	if found >= 0 {
		return found, false
	}
	return d.add(d.names.place(name)), true
}

func (d *directory) numbered(number int64) (session int32, fresh bool) {
	if found := d.find(mix(uint64(number)), func(ref int64) bool { return ref == number }); found >= 0 {
		return found, false
	}
	return d.add(number), true
}

func (d *directory) add(ref int64) int32 {
	d.names.refs.push(ref)
	s := int32(d.names.refs.n - 1)
	d.insert(s)
	return s
}

func (d *directory) hash(session int32) uint64 {
	ref := d.names.refs.at(int(session))
	if ref >= 0 {
		return mix(uint64(ref))
	}
	return maphash.Bytes(d.seed, d.names.authored(ref))
}

func (d *directory) find(hash uint64, is func(ref int64) bool) int32 {
	t := &d.table
	if t.n == 0 {
		return -1
	}
	for i := t.slot(hash); t.tags[i] != 0; i = t.after(i) {
		if t.tags[i] == tag(hash) && is(d.names.refs.at(int(t.ids[i]))) {
			return int32(t.ids[i])
		}
	}
	return -1
}

func (d *directory) insert(session int32) {
	if d.table.crowded() {
		d.table.grow(func(yield func(uint32, uint64) bool) {
			for s := range session {
				if (d.listed || d.names.refs.at(int(s)) < 0) && !yield(uint32(s), d.hash(s)) {
					return
				}
			}
		})
	}
	d.table.insert(uint32(session), d.hash(session))
}
