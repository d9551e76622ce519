package main

import (
	"errors"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/dynosim/dynosim/internal/perfmodel"
	"github.com/dynosim/dynosim/schemas"
)

func newReplay() *cobra.Command {
	var out outputFlags
	cmd := &cobra.Command{
		Use:     "replay CALL.json",
		Short:   "Simulate a call of the Python API, given as JSON or YAML",
		Example: "  dynosim replay call.json --output-dir out",
		Args:    usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := out.check(cmd); err != nil {
				return err
			}
			name, text, err := readDocument(args[0], cmd.InOrStdin())
			if err != nil {
				return usageError{err}
			}
			spec, err := callSpec(name, text)
			if err != nil {
				return err
			}
			if err := perfmodel.Resolve(spec, perfmodel.CallNames(name)); err != nil {
				return err
			}
			spec.CapturePerRequest = spec.CapturePerRequest || out.capture
			return out.simulate(cmd, spec, "", true)
		},
	}
	out.register(cmd)
	out.registerCache(cmd)
	return cmd
}

// callSpec lowers a call to the run specification.
func callSpec(name string, text []byte) (*schemas.RunSpec, error) {
	call, err := schemas.ParseCall(name, text)
	if err != nil {
		return nil, err
	}
	if err := call.ReadPolicies(os.ReadFile); err != nil {
		return nil, err
	}
	return call.RunSpec()
}

// plain turns the error of a file operation into one that names the file first.
func plain(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return errors.New(p.Path + ": " + p.Err.Error())
	}
	return err
}
