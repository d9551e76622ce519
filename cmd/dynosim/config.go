package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dynosim/dynosim/internal/perfmodel"
	"github.com/dynosim/dynosim/schemas"
)

// configFlags are the options of the commands that read a YAML document.
type configFlags struct {
	config, stack string
	overrides     []string
	// call says that the document was a call.
	call bool
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

// stageSpec reads a document of either kind, which the stages take: that of predict, or the call of replay.
func (c *configFlags) stageSpec(cmd *cobra.Command) (*schemas.RunSpec, error) {
	name, text, err := readDocument(c.config, cmd.InOrStdin())
	if err != nil {
		return nil, usageError{err}
	}
	if !schemas.IsCall(name, text) {
		return c.parse(name, text)
	}
	for _, flag := range []string{"set", "stack"} {
		if cmd.Flags().Changed(flag) {
			return nil, usageError{fmt.Errorf("--%s is for the document of predict; %s is a call", flag, name)}
		}
	}
	c.call = true
	return callSpec(name, text)
}

// spec reads the document and lowers it to the run specification.
func (c *configFlags) spec(cmd *cobra.Command) (*schemas.RunSpec, error) {
	name, text, err := readDocument(c.config, cmd.InOrStdin())
	if err != nil {
		return nil, usageError{err}
	}
	return c.parse(name, text)
}

func (c *configFlags) parse(name string, text []byte) (*schemas.RunSpec, error) {
	document, err := schemas.ParsePrediction(name, text, schemas.Stack(c.stack), c.overrides...)
	if err != nil {
		return nil, err
	}
	return document.RunSpec()
}

// resolve fills in what the model and the measured data decide.
func (c *configFlags) resolve(spec *schemas.RunSpec) error {
	name := c.config
	if name == "-" {
		name = "standard input"
	}
	if c.call {
		return perfmodel.Resolve(spec, perfmodel.CallNames(name))
	}
	return perfmodel.Resolve(spec, perfmodel.DocumentNames(name))
}
