// Command repeattrace writes a mooncake trace several times end to end: the same rows, each
// copy later by the length of the trace and, with -shift, with hash ids of its own.
// Benchmarks of long traces use it.
//
//	go run ./internal/repeattrace -n 20 traces/conversation_trace.jsonl.zst > long.jsonl
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"
)

func main() {
	n := flag.Int("n", 20, "number of copies")
	shift := flag.Bool("shift", false, "give every copy hash ids of its own")
	flag.Parse()
	log.SetFlags(0)
	if flag.NArg() != 1 {
		log.Fatal("usage: repeattrace [-n COPIES] [-shift] TRACE")
	}
	rows, err := read(flag.Arg(0))
	if err != nil {
		log.Fatal(err)
	}
	if err := write(os.Stdout, rows, *n, *shift); err != nil {
		log.Fatal(err)
	}
}

// row is a line split around the value of its timestamp and around its hash ids, which come
// later in the line.
type row struct {
	before, between, after []byte
	timestamp              int64
	ids                    []uint64
}

func read(path string) ([]row, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var in io.Reader = f
	if strings.HasSuffix(path, ".zst") {
		z, err := zstd.NewReader(f)
		if err != nil {
			return nil, err
		}
		defer z.Close()
		in = z
	}
	var rows []row
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		line := bytes.Clone(lines.Bytes())
		var head struct {
			Timestamp json.Number
			HashIDs   []uint64 `json:"hash_ids"`
		}
		if err := json.Unmarshal(line, &head); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, len(rows)+1, err)
		}
		at, err := head.Timestamp.Int64()
		if err != nil {
			return nil, fmt.Errorf("%s:%d: timestamp: %w", path, len(rows)+1, err)
		}
		key := bytes.Index(line, []byte(`"timestamp"`)) + len(`"timestamp"`)
		value := key + bytes.Index(line[key:], []byte(head.Timestamp))
		end := value + len(head.Timestamp)
		open := end + bytes.IndexByte(line[end:], '[')
		shut := open + bytes.IndexByte(line[open:], ']')
		if open < end || shut < open {
			return nil, fmt.Errorf("%s:%d: no list of hash ids behind the timestamp", path, len(rows)+1)
		}
		rows = append(rows, row{line[:value], line[end : open+1], line[shut:], at, head.HashIDs})
	}
	return rows, lines.Err()
}

func write(to io.Writer, rows []row, copies int, shift bool) error {
	out := bufio.NewWriterSize(to, 1<<20)
	span, ids := int64(0), uint64(0)
	for _, r := range rows {
		span = max(span, r.timestamp+1000)
		for _, id := range r.ids {
			ids = max(ids, id+1)
		}
	}
	if !shift {
		ids = 0
	}
	var line []byte
	for c := range copies {
		for _, r := range rows {
			line = append(line[:0], r.before...)
			line = strconv.AppendInt(line, r.timestamp+int64(c)*span, 10)
			line = append(line, r.between...)
			for i, id := range r.ids {
				if i > 0 {
					line = append(line, ", "...)
				}
				line = strconv.AppendUint(line, id+uint64(c)*ids, 10)
			}
			line = append(line, r.after...)
			if _, err := out.Write(append(line, '\n')); err != nil {
				return err
			}
		}
	}
	return out.Flush()
}
