// Command repeattrace writes a mooncake trace several times end to end: the same rows, each
// copy later by the length of the trace. Benchmarks of memory over trace length use it.
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
	"strings"

	"github.com/klauspost/compress/zstd"
)

func main() {
	n := flag.Int("n", 20, "number of copies")
	flag.Parse()
	log.SetFlags(0)
	if flag.NArg() != 1 {
		log.Fatal("usage: repeattrace [-n COPIES] TRACE")
	}
	rows, err := read(flag.Arg(0))
	if err != nil {
		log.Fatal(err)
	}
	if err := write(os.Stdout, rows, *n); err != nil {
		log.Fatal(err)
	}
}

// row is a line split around the value of its timestamp.
type row struct {
	before, after []byte
	timestamp     int64
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
		var head struct{ Timestamp json.Number }
		if err := json.Unmarshal(line, &head); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, len(rows)+1, err)
		}
		at, err := head.Timestamp.Int64()
		if err != nil {
			return nil, fmt.Errorf("%s:%d: timestamp: %w", path, len(rows)+1, err)
		}
		key := bytes.Index(line, []byte(`"timestamp"`)) + len(`"timestamp"`)
		value := key + bytes.Index(line[key:], []byte(head.Timestamp))
		rows = append(rows, row{line[:value], line[value+len(head.Timestamp):], at})
	}
	return rows, lines.Err()
}

func write(to io.Writer, rows []row, copies int) error {
	out := bufio.NewWriterSize(to, 1<<20)
	span := int64(0)
	for _, r := range rows {
		span = max(span, r.timestamp+1000)
	}
	for c := range int64(copies) {
		for _, r := range rows {
			fmt.Fprintf(out, "%s%d%s\n", r.before, r.timestamp+c*span, r.after)
		}
	}
	return out.Flush()
}
