package differential

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/dynosim/dynosim/internal/parity"
)

// QueryOptions says which queries about the performance model to compare.
type QueryOptions struct {
	Program parity.Program
	Python  string
	Seed    uint64
	// First and Count are the range of indexes; each is one deployment with many passes and KV sizes.
	First, Count int
	// SaveTo is where queries that differ are left.
	SaveTo string
	// Shown is how many differences of a query are printed.
	Shown int
}

// QuerySummary counts what was compared.
type QuerySummary struct {
	Deployments, Refused, Different int
	// Late are the queries that the reference did not answer in time.
	Late int
	// Answers are passes and KV sizes that are equal, RefusedAnswers those that both refuse.
	Answers, RefusedAnswers int
}

// queryLimit is how long the reference may take on one deployment: it reads its tables.
const queryLimit = 3 * time.Minute

// Models, systems and shapes that are drawn.
var (
	denseModels = []string{
		"Qwen/Qwen3-0.6B", "Qwen/Qwen3-1.7B", "Qwen/Qwen3-8B", "Qwen/Qwen3-32B", "Qwen/Qwen3-32B-FP8", "Qwen/Qwen3-32B-FP8-Static-PerTensor", "XiaomiMiMo/MiMo-7B-Base",
		"meta-llama/Meta-Llama-3.1-8B", "meta-llama/Meta-Llama-3.1-70B", "meta-llama/Meta-Llama-3.1-405B", "nvidia/Llama-3.1-70B-Instruct-FP8",
	}
	mixedModels = []string{
		"Qwen/Qwen3-30B-A3B", "Qwen/Qwen3-30B-A3B-FP8", "Qwen/Qwen3-235B-A22B", "Qwen/Qwen3-235B-A22B-FP8", "Qwen/Qwen3-Coder-480B-A35B-Instruct",
		"openai/gpt-oss-20b", "openai/gpt-oss-120b", "MiniMaxAI/MiniMax-M2.5", "mistralai/Mixtral-8x7B-v0.1", "deepseek-ai/DeepSeek-V3", "deepseek-ai/DeepSeek-R1",
	}
	systems = []string{"h100_sxm", "h200_sxm", "b200_sxm", "a100_sxm", "l40s"}
)

// DrawQuery makes the two queries of a seed and an index: passes and KV sizes of one deployment.
func DrawQuery(seed uint64, index int) (passes, blocks map[string]any) {
	r := &random{rand.New(rand.NewPCG(seed, uint64(index)))}
	config := map[string]any{"system": pick(r, systems...), "backend": pick(r, "vllm", "sglang", "trtllm")}
	r.shape(config)
	passes = map[string]any{"kind": "forward_pass", "config": config}
	var prefill, decode, mixed []any
	for range 40 {
		prefill = append(prefill, []int{r.count(64), r.count(16384), pick(r, 0, 0, r.count(20000))})
		decode = append(decode, []int{r.count(600), r.count(60000)})
	}
	for range 6 {
		requests, decodes := r.count(8), r.count(256)
		mixed = append(mixed, []int{requests, requests*r.count(2048) + r.IntN(requests), r.count(20000), decodes, decodes * r.count(8000)})
	}
	passes["prefill"], passes["decode"], passes["mixed"] = prefill, decode, mixed
	return passes, r.sizes(config)
}

// count is a number up to about high, evenly on a logarithmic scale, often a round one.
func (r *random) count(high int) int {
	n := int(math.Exp(r.Float64() * math.Log(float64(high))))
	if r.chance(0.3) {
		n = 1 << int(math.Log2(float64(max(n, 1))))
	}
	return max(n, 1)
}

// shape draws the model and how its work is split, mostly in ways that fit.
func (r *random) shape(config map[string]any) {
	tp := pick(r, 1, 1, 2, 2, 4, 8)
	if r.chance(0.5) {
		config["model"], config["tp"] = pick(r, denseModels...), tp
		if r.chance(0.1) {
			config["pp"] = pick(r, 2, 4)
		}
		return
	}
	config["model"] = pick(r, mixedModels...)
	dp := pick(r, 1, 1, 1, 2, 4, 8)
	et := pick(r, 1, 1, tp*dp, 2)
	if tp*dp%et != 0 {
		et = 1
	}
	config["tp"], config["attention_dp"], config["moe_tp_size"], config["moe_ep_size"] = tp, dp, et, tp*dp/et
	if r.chance(0.05) {
		config["moe_ep_size"] = 3
	}
}

// sizes asks for the KV blocks of the deployment under several limits.
func (r *random) sizes(config map[string]any) map[string]any {
	var queries []any
	for range 6 {
		q := map[string]any{
			"model": config["model"], "system": config["system"], "backend": config["backend"], "tp": config["tp"],
			"block_size": pick(r, 1, 16, 32, 64, 128), "max_batched_tokens": r.count(32768),
		}
		for to, from := range map[string]string{"moe_tp_size": "moe_tp_size", "moe_ep_size": "moe_ep_size", "attention_dp_size": "attention_dp", "pp_size": "pp"} {
			if v, ok := config[from]; ok {
				q[to] = v
			}
		}
		if r.chance(0.7) {
			q["memory_fraction"] = float64(r.between(50, 100)) / 100
		}
		if r.chance(0.2) {
			q["cuda_graph_reserved_bytes"] = r.IntN(1 << 32)
		}
		queries = append(queries, q)
	}
	return map[string]any{"kind": "kv_blocks", "queries": queries}
}

// RunQueries compares the performance models on the deployments of a seed.
func RunQueries(ctx context.Context, w io.Writer, o QueryOptions) (*QuerySummary, error) {
	scratch, err := os.MkdirTemp("", "dynosim-queries-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(scratch)
	reference := &Reference{Python: o.Python, TimeLimit: queryLimit}
	defer reference.Close()
	s := &QuerySummary{}
	for i := range o.Count {
		passes, blocks := DrawQuery(o.Seed, o.First+i)
		for _, call := range []map[string]any{passes, blocks} {
			expected, err := reference.Report(ctx, scratch, call)
			if errors.Is(err, ErrTimeout) {
				s.Late++
				continue
			}
			if err != nil {
				return s, fmt.Errorf("query %d of seed %d: %w", o.First+i, o.Seed, err)
			}
			if err := s.compare(ctx, w, &o, o.First+i, call, expected, scratch); err != nil {
				return s, err
			}
		}
		s.Deployments++
	}
	return s, nil
}

// compare judges one query.
func (s *QuerySummary) compare(ctx context.Context, w io.Writer, o *QueryOptions, index int, call, expected map[string]any, scratch string) error {
	if err := writeJSON(filepath.Join(scratch, "call.json"), call); err != nil {
		return err
	}
	kind, _ := call["kind"].(string)
	done := o.Program(ctx, scratch, parity.QueryArgs()...)
	if err := ctx.Err(); err != nil {
		return err
	}
	differences := parity.JudgeQuery(kind, expected, &done)
	if len(differences) == 0 {
		s.count(expected)
		return nil
	}
	s.Different++
	name := filepath.Join(o.SaveTo, fmt.Sprintf("query-seed-%d-%d-%s", o.Seed, index, kind))
	if err := os.MkdirAll(name, 0o755); err != nil {
		return err
	}
	if err := writeJSON(filepath.Join(name, "call.json"), call); err != nil {
		return err
	}
	if err := writeJSON(filepath.Join(name, "expected.json"), expected); err != nil {
		return err
	}
	fmt.Fprintf(w, "DIFFERENT %s, %v: %d differences\n", name, call["config"], len(differences))
	for i, d := range differences {
		if i == o.Shown {
			break
		}
		fmt.Fprintf(w, "    %s\n", d)
	}
	return nil
}

// count adds up the answers of a report.
func (s *QuerySummary) count(expected map[string]any) {
	if _, refused := expected["error"]; refused {
		s.Refused++
		return
	}
	for _, list := range expected {
		answers, _ := list.([]any)
		for _, answer := range answers {
			if _, refused := answer.(map[string]any); refused {
				s.RefusedAnswers++
			} else {
				s.Answers++
			}
		}
	}
}

// Print writes the counts.
func (s *QuerySummary) Print(w io.Writer) {
	fmt.Fprintf(w, "%d deployments: %d answers equal, %d answers and %d deployments refused by both, %d queries different, %d not answered by the reference in time\n",
		s.Deployments, s.Answers, s.RefusedAnswers, s.Refused, s.Different, s.Late)
}
