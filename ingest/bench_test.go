package ingest_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/dynosim/dynosim/ingest"
	"github.com/dynosim/dynosim/schemas"
)

// chatTrace makes a trace in the shape of a published one: a shared first block, prompts of
// some twenty blocks of which conversations repeat, ids numbered in order of first occurrence.
func chatTrace(rows int) []byte {
	draw := rand.New(rand.NewPCG(1, 2))
	var out bytes.Buffer
	var prompts [][]int
	next := 1
	for i := range rows {
		prompt := []int{0}
		if len(prompts) > 0 && draw.IntN(2) == 0 {
			prompt = prompts[draw.IntN(len(prompts))]
		}
		prompt = prompt[:len(prompt):len(prompt)]
		for range 1 + draw.IntN(20) {
			prompt = append(prompt, next)
			next++
		}
		prompts = append(prompts, prompt)
		fmt.Fprintf(&out, `{"timestamp": %d, "input_length": %d, "output_length": %d, "hash_ids": [`, i*294, len(prompt)*512-draw.IntN(500), 1+draw.IntN(800))
		for j, id := range prompt {
			if j > 0 {
				out.WriteString(", ")
			}
			fmt.Fprintf(&out, "%d", id)
		}
		out.WriteString("]}\n")
	}
	return out.Bytes()
}

func read(tb testing.TB, source *schemas.SourceSpec, batch *schemas.RequestBatch) (rows int) {
	reader, err := ingest.Open(source, 64)
	if err != nil {
		tb.Fatal(err)
	}
	for {
		if err := reader.Next(batch); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			tb.Fatal(err)
		}
		rows += batch.N
	}
	if err := reader.Close(); err != nil {
		tb.Fatal(err)
	}
	return rows
}

func benchmark(b *testing.B, text []byte, format schemas.TraceFormat) {
	path := filepath.Join(b.TempDir(), "trace.jsonl")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		b.Fatal(err)
	}
	source := &schemas.SourceSpec{Kind: schemas.SourceTrace, Format: format, Paths: []string{path}, BlockTokens: 512}
	batch := new(schemas.RequestBatch)
	rows := read(b, source, batch)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		read(b, source, batch)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows), "ns/row")
}

func BenchmarkMooncake(b *testing.B) {
	text := chatTrace(10000)
	if path := os.Getenv("DYNOSIM_TRACE"); path != "" {
		var err error
		if text, err = os.ReadFile(path); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("plain", func(b *testing.B) { benchmark(b, text, schemas.FormatMooncake) })
	// An unknown member sends rows to the strict parser.
	strict := bytes.ReplaceAll(text, []byte(`{"timestamp"`), []byte(`{"x":0,"timestamp"`))
	b.Run("strict", func(b *testing.B) { benchmark(b, strict, schemas.FormatMooncake) })
}

func BenchmarkDynamo(b *testing.B) {
	var text bytes.Buffer
	for i := range 2000 {
		fmt.Fprintf(&text, `{"timestamp":%d,"event":{"schema":"dynamo.request.trace.v1","event_type":"request_end","event_time_unix_ms":%d,"request":{"request_id":"r%d","model":"m","output_tokens":10,"request_received_ms":%d,"total_time_ms":12.5,"replay":{"trace_block_size":16,"input_length":320,"input_sequence_hashes":[`, i, i+100, i, i)
		for j := range 20 {
			if j > 0 {
				text.WriteByte(',')
			}
			fmt.Fprintf(&text, "%d", uint64(i/4*1000+j)*0x9E3779B97F4A7C15)
		}
		text.WriteString("]}}}}\n")
	}
	path := filepath.Join(b.TempDir(), "trace.jsonl")
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		b.Fatal(err)
	}
	source := &schemas.SourceSpec{Kind: schemas.SourceTrace, Format: schemas.FormatDynamo, Paths: []string{path}}
	batch := new(schemas.RequestBatch)
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		read(b, source, batch)
	}
}

func BenchmarkSyntheticSessions(b *testing.B) {
	source := &schemas.SourceSpec{Kind: schemas.SourceSynthetic, InputTokens: 1024, OutputTokens: 16, Count: 10000, Turns: 4, SharedPrefixRatio: 0.5, PrefixGroups: 10}
	batch := new(schemas.RequestBatch)
	b.ReportAllocs()
	for b.Loop() {
		read(b, source, batch)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/40000, "ns/row")
}
