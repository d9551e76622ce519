package inspect

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/dynosim/dynosim/schemas"
)

const (
	// guessRows is the number of rows that a guess looks at, guessBytes the most it reads.
	guessRows  = 20
	guessBytes = 16 << 20
)

// signs are members that only rows of one format have. Rows of mooncake and mooncake-delta have the same.
var signs = []struct {
	format  schemas.TraceFormat
	members []string
}{
	{schemas.FormatDynamo, []string{"schema", "event_type", "event_time_unix_ms", "event"}},
	{schemas.FormatAppliedCompute, []string{"num_turns", "input_prompt_length", "assistant_response_length"}},
	{schemas.FormatMooncake, []string{"hash_ids", "input_length", "input_tokens", "output_length", "output_tokens"}},
}

// guess finds the format of a trace from its first rows (spec 01 section 3).
func guess(path string) (schemas.TraceFormat, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", inputErrorf("cannot inspect %s: %w", path, reason(err))
	}
	defer file.Close()
	var in io.Reader = file
	switch {
	case strings.HasSuffix(path, ".gz"):
		unpack, err := gzip.NewReader(file)
		if err != nil {
			return "", inputErrorf("cannot inspect %s: not a gzip file: %w", path, err)
		}
		in = unpack
	case strings.HasSuffix(path, ".zst"):
		unpack, err := zstd.NewReader(file, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return "", inputErrorf("cannot inspect %s: not a zstd file: %w", path, err)
		}
		defer unpack.Close()
		in = unpack
	}
	lines := bufio.NewReader(io.LimitReader(in, guessBytes))
	rows := 0
	for rows < guessRows {
		line, err := lines.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", inputErrorf("cannot inspect %s: %w", path, reason(err))
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			rows++
			if format := guessRow(line); format != "" {
				return format, nil
			}
		}
		if err != nil {
			break
		}
	}
	if rows == 0 {
		return "", inputErrorf("cannot inspect %s: it has no rows", path)
	}
	return "", inputErrorf("cannot inspect %s: its content is not known: it is neither Parquet nor do its first rows look like mooncake, applied_compute_agentic or dynamo; --format names a trace format", path)
}

// guessRow is the format that a row has the signs of, "" when it has none.
func guessRow(line []byte) schemas.TraceFormat {
	var row map[string]json.RawMessage
	if json.Unmarshal(line, &row) != nil {
		return ""
	}
	for _, s := range signs {
		for _, m := range s.members {
			if _, ok := row[m]; ok {
				return s.format
			}
		}
	}
	return ""
}
