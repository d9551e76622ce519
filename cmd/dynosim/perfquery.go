package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/dynosim/dynosim/internal/perfmodel"
)

func newPerfQuery() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "query -c QUERY.json",
		Short: "Price passes and operators, size KV caches: answers a query file with JSON",
		Long: `Answers a query file with JSON on standard output. The file is one mapping; its kind is one of

  forward_pass  {"config", "prefill": [[requests, new, cached]], "decode": [[requests, kv]]}: milliseconds
  breakdown     the same: the operators of each pass with their milliseconds, in order
  ops           {"config", "queries": [{"op", ...}]}: single operators
  kv_blocks     {"queries": [{"model", "system", "backend", "tp", "block_size", "max_batched_tokens"}]}
  kv_bytes      {"queries": [{"model", "tp"}]}: KV bytes of a token on a GPU
  context       {"models": [...]}: the longest sequence of each model

config has model, system, backend, and as needed backend_version, tp, pp, attention_dp, moe_tp_size, moe_ep_size.
Models are known names, or folders with a config.json relative to the query file.`,
		Example: `  echo '{"kind": "forward_pass", "config": {"model": "Qwen/Qwen3-32B", "system": "h200_sxm", "backend": "vllm", "tp": 2}, "decode": [[64, 2048]]}' |
    dynosim perfdata query -c -`,
		Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			name, text, err := readDocument(file, cmd.InOrStdin())
			if err != nil {
				return usageError{err}
			}
			dir := "."
			if file != "-" {
				dir = filepath.Dir(file)
			}
			answer, err := perfmodel.Answer(text, dir)
			if err != nil {
				return usageError{fmt.Errorf("%s: %w", name, err)}
			}
			return json.NewEncoder(cmd.OutOrStdout()).Encode(answer)
		},
	}
	cmd.Flags().StringVarP(&file, "config", "c", "", "the query file; - reads standard input (required)")
	return cmd
}
