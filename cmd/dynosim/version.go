package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dynosim/dynosim/internal/pipeline"
)

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the program's version",
		Args:  usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "dynosim", pipeline.Version)
			return err
		},
	}
}
