package parity

import (
	"fmt"
	"slices"
	"strings"
)

// Query answers the queries of call.json about the performance model.
const Query Way = "query"

// queryKinds are the kinds of call that are queries about the performance model.
var queryKinds = []string{"forward_pass", "breakdown", "ops", "kv_blocks", "kv_bytes", "context"}

func isQuery(kind string) bool { return slices.Contains(queryKinds, kind) }

// JudgeQuery compares the answer to a query file with the reference's. Numbers of blocks and bytes
// are equal; times may differ by the last bits of a logarithm (spec 09 section 13). Where the reference
// has an error the answer must have one, in its own words.
func JudgeQuery(kind string, expected map[string]any, done *Execution) []string {
	if done.Err != nil || done.Exit != 0 {
		return []string{"want an answer, got " + done.String()}
	}
	answer, err := Decode(strings.NewReader(done.Stdout))
	if err != nil {
		return []string{"standard output is not one JSON value: " + err.Error()}
	}
	tolerance := 1e-12
	if kind == "kv_blocks" || kind == "kv_bytes" || kind == "context" {
		tolerance = 0
	}
	d := &differ{tolerance: func(string) float64 { return tolerance }}
	d.value("answer", withoutErrors(expected), withoutErrors(answer))
	return d.found
}

// withoutErrors replaces every error text by a mark.
func withoutErrors(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if message, ok := v["error"].(string); ok && len(v) == 1 {
			if strings.TrimSpace(message) == "" {
				return "an error without text"
			}
			return "an error"
		}
		out := map[string]any{}
		for key, value := range v {
			out[key] = withoutErrors(value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, value := range v {
			out[i] = withoutErrors(value)
		}
		return out
	}
	return v
}

// QueryArgs is the command line that answers a query case.
func QueryArgs() []string { return []string{"perfdata", "query", "--config", "call.json"} }

// queryRefusals lists what the answer refuses beside the reference's words, for a reader.
func queryRefusals(expected map[string]any, done *Execution) []string {
	message, refused := expected["error"].(string)
	if !refused {
		return nil
	}
	return []string{fmt.Sprintf("query: reference %q, program %q", message, strings.TrimSpace(done.Stdout))}
}
