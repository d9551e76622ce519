package ingest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/dynosim/dynosim/schemas"
)

// TestSorter holds the sorter against the sorting of a list, with everything in memory and with files.
func TestSorter(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rows := make([]dynamoRow, rapid.IntRange(0, 200).Draw(rt, "rows"))
		for i := range rows {
			rows[i] = dynamoRow{
				start: rapid.Int64Range(-3, 3).Draw(rt, "start"), end: rapid.Int64().Draw(rt, "end"), input: rapid.Int64().Draw(rt, "input"), output: int64(i),
				firstHash: rapid.Int64().Draw(rt, "first"), hashes: rapid.Int32().Draw(rt, "hashes"), shard: rapid.Int32().Draw(rt, "shard"),
				line: rapid.Int64().Draw(rt, "line"), ordinal: int64(i), id: rapid.StringN(0, 5, 20).Draw(rt, "id"), agent: -1,
			}
		}
		order := rapid.SampledFrom([]func(a, b dynamoRow) int{byTime, byID}).Draw(rt, "order")
		s := newSorter(rapid.SampledFrom([]int{0, 1, 7, 100}).Draw(rt, "limit"), encodeDynamoRow, decodeDynamoRow, order)
		defer s.close()
		for _, row := range rows {
			if err := s.add(row); err != nil {
				rt.Fatal(err)
			}
		}
		s.finish()
		slices.SortFunc(rows, order)
		for i, want := range rows {
			if got, ok, err := s.next(); got != want || !ok || err != nil {
				rt.Fatalf("row %d: want %+v, got %+v, %v, %v", i, want, got, ok, err)
			}
		}
		if _, ok, err := s.next(); ok || err != nil {
			rt.Fatalf("after the last row: %v, %v", ok, err)
		}
	})
}

// TestSorterAbandoned gives a sorter up at any moment.
func TestSorterAbandoned(t *testing.T) {
	for added := range 20 {
		s := newSorter(3, encodeDynamoRow, decodeDynamoRow, byTime)
		for i := range added {
			if err := s.add(dynamoRow{start: int64(-i)}); err != nil {
				t.Fatal(err)
			}
		}
		if added%2 == 0 {
			s.finish()
			if _, ok, err := s.next(); ok != (added > 0) || err != nil {
				t.Fatal(ok, err)
			}
		}
		s.close()
		s.close()
	}
}

// TestDynamoSpilled reads traces the same with rows in memory and in files, errors included.
func TestDynamoSpilled(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		var shards []string
		ids := rapid.SampledFrom([]int{3, 1_000_000}).Draw(rt, "ids")
		for k := range rapid.IntRange(1, 3).Draw(rt, "shards") {
			var text strings.Builder
			for range rapid.IntRange(0, 30).Draw(rt, "rows") {
				blocks := rapid.IntRange(1, 4).Draw(rt, "blocks")
				hashes := strings.TrimSuffix(strings.Repeat("7,", blocks), ",")
				fmt.Fprintf(&text, `{"timestamp":1,"event":{"schema":"dynamo.request.trace.v1","event_type":"request_end","event_time_unix_ms":9,"request":{"request_id":"r%d","model":"m","output_tokens":10,"request_received_ms":%d,"total_time_ms":%d.5,"replay":{"trace_block_size":16,"input_length":%d,"input_sequence_hashes":[%s]}}}}`+"\n",
					rapid.IntRange(1, ids).Draw(rt, "id"), rapid.IntRange(100, 110).Draw(rt, "start"), rapid.IntRange(0, 3).Draw(rt, "time"), 16*blocks, hashes)
			}
			path := filepath.Join(dir, fmt.Sprintf("%d.jsonl", k))
			if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
				rt.Fatal(err)
			}
			shards = append(shards, path)
		}
		want, wantErr := requestsOfDynamo(rt, shards, 0)
		got, gotErr := requestsOfDynamo(rt, shards, rapid.IntRange(1, 20).Draw(rt, "limit"))
		if want != got || fmt.Sprint(wantErr) != fmt.Sprint(gotErr) {
			rt.Fatalf("in memory:\n%s%v\nin files:\n%s%v", want, wantErr, got, gotErr)
		}
	})
}

// requestsOfDynamo writes out the requests of a trace.
func requestsOfDynamo(t interface{ Fatal(...any) }, shards []string, limit int) (string, error) {
	reader, err := openDynamo(&schemas.SourceSpec{Kind: schemas.SourceTrace, Format: schemas.FormatDynamo, Paths: shards}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reader.Close() }()
	reader.(*dynamoReader).sortLimit = limit
	var out strings.Builder
	var b schemas.RequestBatch
	for {
		if err := reader.Next(&b); errors.Is(err, io.EOF) {
			return out.String(), nil
		} else if err != nil {
			return out.String(), err
		}
		for i := range b.N {
			fmt.Fprintln(&out, b.RequestID[i], b.TimestampMS[i], b.InputTokens[i], b.OutputTokens[i])
		}
		fmt.Fprintln(&out, b.Blocks)
	}
}
