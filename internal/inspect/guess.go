package inspect

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/dynosim/dynosim/ingest"
	"github.com/dynosim/dynosim/internal/rundir"
	"github.com/dynosim/dynosim/schemas"
)

const (
	// guessRows is the number of rows that a guess looks at, guessBytes the most it reads.
	guessRows  = 20
	guessBytes = 16 << 20
)

// signs are members that only rows of one format have. Rows of mooncake and mooncake-delta have the same, and those of agentic_mooncake
// without a header differ only where they wait for others.
var signs = []struct {
	format  schemas.TraceFormat
	members []string
}{
	{schemas.FormatWeka, []string{"requests"}},
	{schemas.FormatAgenticMooncake, []string{"wait_for", "tool_wait_ms", "hash_id_scope"}},
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
	head := bufio.NewReaderSize(io.LimitReader(in, guessBytes), 1<<16)
	if begin, _ := head.Peek(1 << 16); isTraceObject(begin) {
		return schemas.FormatWeka, nil
	}
	rows, found := 0, schemas.TraceFormat("")
	for rows < guessRows {
		line, err := head.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", inputErrorf("cannot inspect %s: %w", path, reason(err))
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			rows++
			format := guessRow(line)
			if found == "" {
				found = format
			}
			if format != "" && format != schemas.FormatMooncake {
				return format, nil
			}
		}
		if err != nil {
			break
		}
	}
	switch {
	case found != "":
		return found, nil
	case rows == 0:
		return "", inputErrorf("cannot inspect %s: it has no rows", path)
	}
	return "", inputErrorf("cannot inspect %s: its content is not known: it is neither Parquet nor do its first rows look like mooncake, applied_compute_agentic, dynamo, weka or agentic_mooncake; --format names a trace format", path)
}

// GuessAgentic tells the format of an agentic source, as Inspect does, from its first rows. It is empty for a folder of a stage, and
// agentic_mooncake for a file of another or no known format, whose reader then says what is wrong. An *InputError is a path that
// cannot be opened.
func GuessAgentic(path string) (schemas.TraceFormat, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", inputErrorf("cannot open %s: %w", path, reason(err))
	case info.IsDir():
		if _, err := os.Stat(filepath.Join(path, rundir.ManifestName)); err == nil {
			return "", nil
		}
		return schemas.FormatWeka, nil
	}
	if format, err := guess(path); err == nil && (format == schemas.FormatWeka || format == schemas.FormatDynamo) {
		return format, nil
	}
	return schemas.FormatAgenticMooncake, nil
}

// isTraceObject reports whether text begins an object of a weka corpus, on one line or on several.
func isTraceObject(text []byte) bool {
	tokens := json.NewDecoder(bytes.NewReader(text))
	if open, err := tokens.Token(); err != nil || open != json.Delim('{') {
		return false
	}
	for tokens.More() {
		name, err := tokens.Token()
		if err != nil || name == "schema" {
			return false
		}
		if name == "requests" {
			return true
		}
		var skipped json.RawMessage
		if tokens.Decode(&skipped) != nil {
			return false
		}
	}
	return false
}

// isCorpus reports whether the first file below a folder that may be of a weka corpus is one.
func isCorpus(path string) bool {
	files, err := ingest.WekaFiles(path)
	if err != nil {
		return false
	}
	format, err := guess(files[0].Path)
	return err == nil && format == schemas.FormatWeka
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
