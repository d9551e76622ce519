package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/parquet/file"

	"github.com/dynosim/dynosim/internal/rundir"
)

// kills is how often TestKilled kills, over all commands.
const kills = 50

// TestKilled kills ingest, lower, simulate and a predict with a cache at random moments: every file that has
// its final name is complete, a folder with a manifest has all that it lists, and the command run again ends
// well and leaves the same tables as one that was never killed.
func TestKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	program := os.Getenv("DYNOSIM_PROGRAM")
	if program == "" {
		var err error
		if program, err = exec.LookPath("dynosim"); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(t.TempDir())
	writeLongTrace(t, "trace.jsonl", 30_000)
	document := `{traffic: {source: {type: trace, format: mooncake, paths: [trace.jsonl]}, load: {type: trace_timestamps}},
engine: {model: any/model, hardware: any-hardware, context_length: 40960, workers: {aggregated: {kv_cache: {capacity: {type: fixed, blocks: 4096}}, timing: {type: polynomial}}}}}`
	if err := os.WriteFile("config.yaml", []byte(document), 0o666); err != nil {
		t.Fatal(err)
	}
	commands := [][]string{
		{"ingest", "trace.jsonl", "--format", "mooncake", "-o", "ingest"},
		{"lower", "whole-ingest", "-c", "config.yaml", "-o", "lower"},
		{"simulate", "whole-lower", "-c", "config.yaml", "-o", "simulate"},
		{"predict", "-c", "config.yaml", "--cache", "cache", "-o", "predict"},
	}
	took := make([]time.Duration, len(commands))
	for i, c := range commands {
		// Once without a kill: what is right, and how long it takes.
		args := append([]string{}, c...)
		for j, a := range args {
			if a == c[0] && j > 0 {
				args[j] = "whole-" + a
			} else if a == "cache" {
				args[j] = "whole-cache"
			}
		}
		begin := time.Now()
		if text, err := exec.Command(program, append(args, "-q")...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, text)
		}
		took[i] = time.Since(begin)
	}
	random := rand.New(rand.NewPCG(rand.Uint64(), 0))
	ended := 0
	for n := range kills {
		c := commands[n%len(commands)]
		cmd := exec.Command(program, append(append([]string{}, c...), "-q", "--overwrite")...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		after := time.Duration(random.Int64N(int64(took[n%len(commands)])))
		time.Sleep(after)
		_ = cmd.Process.Kill()
		if cmd.Wait() == nil {
			ended++
		}
		checkComplete(t, fmt.Sprintf("kill %d, %s after %v", n, c[0], after))
	}
	if ended == kills {
		t.Error("no process was killed before its end")
	}
	for _, c := range commands {
		if text, err := exec.Command(program, append(append([]string{}, c...), "-q", "--overwrite")...).CombinedOutput(); err != nil {
			t.Fatalf("%v again: %v\n%s", c, err, text)
		}
		sameTables(t, c[0], "whole-"+c[0])
		leftovers, _ := filepath.Glob(filepath.Join(c[0], ".*"))
		if len(leftovers) > 0 {
			t.Errorf("left in %s: %v", c[0], leftovers)
		}
	}
}

// writeLongTrace writes a mooncake trace of short requests that arrive quickly.
func writeLongTrace(t *testing.T, path string, rows int) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	for i := range rows {
		fmt.Fprintf(w, `{"timestamp": %d, "input_length": %d, "output_length": %d, "hash_ids": [%d, %d]}`+"\n", i*40, 513+i%500, 2+i%7, i/10, 1_000_000+i)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
}

// checkComplete checks every file under a final name below the current folder.
func checkComplete(t *testing.T, when string) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if strings.HasPrefix(e.Name(), ".") && path != "." {
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		switch {
		case strings.HasSuffix(path, ".parquet"):
			_, err = parquetRows(path)
		case e.Name() == "prediction.json":
			var text []byte
			if text, err = os.ReadFile(path); err == nil && !json.Valid(text) {
				err = fmt.Errorf("%s is not JSON", path)
			}
		case e.Name() == rundir.ManifestName:
			err = checkManifest(filepath.Dir(path))
		}
		return err
	})
	if err != nil {
		t.Fatalf("%s: %v", when, err)
	}
}

func parquetRows(path string) (int64, error) {
	f, err := file.OpenParquetFile(path, false)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	defer f.Close()
	return f.NumRows(), nil
}

// checkManifest checks that a folder has what its manifest lists.
func checkManifest(dir string) error {
	m, err := rundir.ReadManifest(dir)
	if err != nil {
		return err
	}
	for _, t := range m.Tables {
		rows, err := parquetRows(filepath.Join(dir, t.Name+".parquet"))
		if err != nil {
			return err
		}
		if rows != t.Rows {
			return fmt.Errorf("%s: table %s has %d rows, the manifest says %d", dir, t.Name, rows, t.Rows)
		}
	}
	for _, name := range m.Files {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// sameTables wants the tables of two folders to be the same to the byte.
func sameTables(t *testing.T, got, want string) {
	t.Helper()
	m, err := rundir.ReadManifest(want)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Tables) == 0 {
		t.Fatalf("%s has no tables", want)
	}
	for _, table := range m.Tables {
		name := table.Name + ".parquet"
		a, err := os.ReadFile(filepath.Join(got, name))
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(want, name))
		if err != nil {
			t.Fatal(err)
		}
		if string(a) != string(b) {
			t.Errorf("%s of %s is not what a run without kills leaves", name, got)
		}
	}
}
