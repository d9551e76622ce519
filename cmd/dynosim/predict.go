package main

import (
	"cmp"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
)

func newPredict() *cobra.Command {
	var config configFlags
	var out outputFlags
	cmd := &cobra.Command{
		Use:   "predict -c FILE",
		Short: "Simulate the workload and deployment of a YAML document",
		Example: `  dynosim predict -c prediction.yaml
  dynosim predict -c prediction.yaml --set engine.workers.aggregated.parallelism.replicas=8 --output-dir out`,
		Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmp.Or(config.check(), out.check(cmd)); err != nil {
				return err
			}
			spec, err := config.spec(cmd)
			if err != nil {
				return err
			}
			if err := config.resolve(spec); err != nil {
				return err
			}
			spec.CapturePerRequest = out.capture
			return out.simulate(cmd, spec, "", false)
		},
	}
	config.register(cmd, "the YAML document; - reads standard input (required)")
	out.register(cmd)
	out.registerCache(cmd)
	return cmd
}

// readDocument reads a file, or standard input for -.
func readDocument(path string, stdin io.Reader) (name string, text []byte, err error) {
	switch path {
	case "":
		return "", nil, fmt.Errorf("--config is required: name a YAML file, or - for standard input")
	case "-":
		text, err = io.ReadAll(io.LimitReader(stdin, maxDocument+1))
		name = "standard input"
	default:
		name = path
		text, err = readLimited(path)
	}
	if err != nil {
		return "", nil, err
	}
	if len(text) > maxDocument {
		return "", nil, fmt.Errorf("%s: the document is larger than %d MiB", name, maxDocument>>20)
	}
	return name, text, nil
}

// maxDocument bounds a configuration document, so that a wrong file name is noticed.
const maxDocument = 16 << 20

func readLimited(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, plain(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxDocument+1))
	return text, plain(err)
}
