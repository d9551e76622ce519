package main

import "github.com/spf13/cobra"

func newPerfData() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "perfdata",
		Short: "Measured performance data of models on GPU systems",
		Args:  usage(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newPerfQuery(), newPerfList(), newPerfImport())
	return cmd
}
