package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dynosim/dynosim/schemas"
)

// configFlags are the options of the commands that read a YAML document.
type configFlags struct {
	config, stack string
	overrides     []string
}

func (c *configFlags) register(cmd *cobra.Command, doc string) {
	flags := cmd.Flags()
	flags.StringVarP(&c.config, "config", "c", "", doc)
	flags.StringArrayVar(&c.overrides, "set", nil, "override a field: PATH=VALUE, the value in YAML; repeatable, applied in order")
	flags.StringVar(&c.stack, "stack", string(schemas.StackDynamo), "rules of the reference to follow: dynamo or engine")
}

// check finds errors of the options before anything is read.
func (c *configFlags) check() error {
	if c.stack != string(schemas.StackDynamo) && c.stack != string(schemas.StackEngine) {
		return usageError{fmt.Errorf("--stack %q: allowed are dynamo and engine", c.stack)}
	}
	return nil
}

// spec reads the document and lowers it to the run specification.
func (c *configFlags) spec(cmd *cobra.Command) (*schemas.RunSpec, error) {
	name, text, err := readDocument(c.config, cmd.InOrStdin())
	if err != nil {
		return nil, usageError{err}
	}
	document, err := schemas.ParsePrediction(name, text, schemas.Stack(c.stack), c.overrides...)
	if err != nil {
		return nil, err
	}
	return document.RunSpec()
}
