package ingest

import (
	"cmp"
	"encoding/binary"
	"errors"
	"strings"
)

// dynamoRow is a request of a dynamo trace and where it stands.
type dynamoRow struct {
	start, end    int64
	input, output int64
	firstHash     int64
	hashes        int32
	shard         int32
	line          int64
	// ordinal is the row's place in the order of reading.
	ordinal int64
	id      string
	// agent is the row's place in the reader's list of contexts, -1 without one.
	agent int32
}

// byTime is the order of rows in a workload (spec 01 section 3.6). Ids are unique, but not yet known to be.
func byTime(a, b dynamoRow) int {
	return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end), strings.Compare(a.id, b.id), cmp.Compare(a.ordinal, b.ordinal))
}

// byID brings equal ids together, in the order of reading.
func byID(a, b dynamoRow) int {
	return cmp.Or(strings.Compare(a.id, b.id), cmp.Compare(a.ordinal, b.ordinal))
}

// encodeDynamoRow writes a row without agent context for a temporary file.
func encodeDynamoRow(r dynamoRow) ([]byte, error) {
	out := make([]byte, 0, 64+len(r.id))
	for _, v := range [...]int64{r.start, r.end, r.input, r.output, r.firstHash, int64(r.hashes), int64(r.shard), r.line, r.ordinal} {
		out = binary.AppendVarint(out, v)
	}
	return append(out, r.id...), nil
}

// decodeDynamoRow reads what encodeDynamoRow wrote.
func decodeDynamoRow(text []byte) (dynamoRow, error) {
	r := dynamoRow{agent: -1}
	var hashes, shard int64
	for _, v := range [...]*int64{&r.start, &r.end, &r.input, &r.output, &r.firstHash, &hashes, &shard, &r.line, &r.ordinal} {
		n := 0
		if *v, n = binary.Varint(text); n <= 0 {
			return r, errors.New("a damaged row")
		}
		text = text[n:]
	}
	r.hashes, r.shard, r.id = int32(hashes), int32(shard), string(text)
	return r, nil
}
