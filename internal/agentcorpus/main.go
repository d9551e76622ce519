// Command agentcorpus writes a synthetic corpus of coding-agent plays in the format weka (see package corpus).
//
//	go run ./internal/agentcorpus -plays 16 -requests 300 -o corpus.jsonl
//	go run ./internal/agentcorpus -plays 400 -requests 600 -files 20 -o corpus
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/dynosim/dynosim/internal/agentcorpus/corpus"
)

func main() {
	var shape corpus.Shape
	var files int
	var out string
	flag.IntVar(&shape.Plays, "plays", 16, "number of plays")
	flag.IntVar(&shape.Requests, "requests", 300, "requests of a play, on average")
	flag.IntVar(&shape.Blocks, "blocks", 660, "blocks of a prompt, about, on average")
	flag.Uint64Var(&shape.Seed, "seed", 1, "seed of the random numbers")
	flag.IntVar(&files, "files", 1, "number of files; above 1, -o is a folder")
	flag.StringVar(&out, "o", "", "file or folder to write (required)")
	flag.Parse()
	if err := write(shape, out, files); err != nil {
		fmt.Fprintln(os.Stderr, "agentcorpus:", err)
		os.Exit(1)
	}
}

// write writes all files.
func write(shape corpus.Shape, out string, files int) error {
	if out == "" || shape.Plays < 1 || shape.Requests < 1 || shape.Blocks < 1 || files < 1 {
		return errors.New("-o is required, and -plays, -requests, -blocks and -files must be at least 1")
	}
	for f := range files {
		path := out
		if files > 1 {
			if err := os.MkdirAll(out, 0o777); err != nil {
				return err
			}
			path = filepath.Join(out, fmt.Sprintf("part-%03d.jsonl", f))
		}
		file, err := os.Create(path)
		if err != nil {
			return err
		}
		err = shape.Write(file, f*shape.Plays/files, (f+1)*shape.Plays/files)
		if err := errors.Join(err, file.Close()); err != nil {
			return err
		}
	}
	return nil
}
