package perfmodel

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/dynosim/dynosim/schemas"
	"github.com/dynosim/dynosim/schemas/models"
	"github.com/dynosim/dynosim/simulate/timing/forward"
	"github.com/dynosim/dynosim/simulate/timing/operators"
)

// failed is the answer of a query that is refused.
type failed struct {
	Error string `json:"error"`
}

// number is a time, or why there is none.
func number[T any](v T, err error) any {
	if err != nil {
		return failed{err.Error()}
	}
	return v
}

// config is the member config of a query file.
type config struct {
	Model       string          `json:"model"`
	System      string          `json:"system"`
	Backend     schemas.Backend `json:"backend"`
	Version     string          `json:"backend_version"`
	WorkerType  string          `json:"worker_type"`
	TP          int64           `json:"tp"`
	PP          int64           `json:"pp"`
	AttentionDP int64           `json:"attention_dp"`
	MoETP       int64           `json:"moe_tp_size"`
	MoEEP       int64           `json:"moe_ep_size"`
	GEMM        string          `json:"gemm_quant_mode"`
	MoE         string          `json:"moe_quant_mode"`
	FMHA        string          `json:"fmha_quant_mode"`
	KV          string          `json:"kvcache_quant_mode"`
	NextN       int64           `json:"nextn"`
	Mode        string          `json:"estimation_mode"`
}

func (c *config) options(dir string) Options {
	o := Options{
		Model: modelPath(dir, c.Model), System: c.System, Backend: c.Backend, Version: c.Version,
		Parallel: parallel(c.TP, c.PP, c.AttentionDP, c.MoETP, c.MoEEP),
		GEMM:     c.GEMM, MoE: c.MoE, FMHA: c.FMHA, KV: c.KV, DraftTokens: c.NextN,
	}
	switch c.WorkerType {
	case "prefill":
		o.Role = forward.PrefillOnly
	case "decode":
		o.Role = forward.DecodeOnly
	}
	return o
}

func parallel(tp, pp, dp, et, ep int64) forward.Parallel {
	return forward.Parallel{Tensor: max(tp, 1), Pipeline: max(pp, 1), AttentionData: max(dp, 1), MoETensor: max(et, 1), MoEExpert: max(ep, 1)}
}

// modelPath resolves a folder relative to the query file.
func modelPath(dir, name string) string {
	switch {
	case !strings.HasPrefix(name, "./"):
		return name
	case filepath.IsAbs(dir):
		return filepath.Join(dir, name)
	}
	return "./" + filepath.Join(dir, name)
}

// Answer answers a query file; folders of models in it are relative to dir. Its kinds are:
//
//	forward_pass  {"config", "prefill": [[requests, new, cached]], "decode": [[requests, kv]],
//	               "mixed": [[prefills, new in total, cached in total, decodes, kv in total]]}
//	              gives {"prefill_ms", "decode_ms", "mixed_ms"}
//	breakdown     the same without mixed: the operators of each pass with their times, in order
//	ops           {"config", "queries": [{"op", ...}]}: single operators, gives {"ms"}; the config's
//	              model may be left out
//	kv_blocks     {"queries": [{...}]} gives {"blocks"}
//	kv_bytes      {"queries": [{"model", "tp", "kvcache_quant_mode"}]} gives {"bytes_per_token"}
//	context       {"models": [...]} gives {"context_length"}
//
// What is refused is answered by {"error": reason} in its place. The error is a file that is no
// query.
func Answer(text []byte, dir string) (any, error) {
	var head struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, err
	}
	answers := map[string]func([]byte, string) (any, error){
		"forward_pass": forwardPass, "breakdown": breakdown, "ops": single, "kv_blocks": kvBlocks, "kv_bytes": kvBytes, "context": context,
	}
	answer, ok := answers[head.Kind]
	if !ok {
		return nil, fmt.Errorf("kind: got %q, want one of forward_pass, breakdown, ops, kv_blocks, kv_bytes, context", head.Kind)
	}
	return answer(text, dir)
}

type passes struct {
	Config  config     `json:"config"`
	Prefill [][3]int64 `json:"prefill"`
	Decode  [][2]int64 `json:"decode"`
	Mixed   [][5]int64 `json:"mixed"`
}

func read[T any](text []byte) (T, error) {
	var out T
	err := json.Unmarshal(text, &out)
	return out, err
}

// priced answers a query about the passes of a deployment.
func priced(text []byte, dir string, answer func(q *passes, p *forward.Pricer) any) (any, error) {
	q, err := read[passes](text)
	if err != nil {
		return nil, err
	}
	estimator, err := New(q.Config.options(dir))
	if err != nil {
		return failed{err.Error()}, nil
	}
	return answer(&q, estimator.Pricer()), nil
}

func forwardPass(text []byte, dir string) (any, error) {
	return priced(text, dir, func(q *passes, p *forward.Pricer) any {
		var out struct {
			Prefill []any `json:"prefill_ms,omitempty"`
			Decode  []any `json:"decode_ms,omitempty"`
			Mixed   []any `json:"mixed_ms,omitempty"`
		}
		for _, x := range q.Prefill {
			out.Prefill = append(out.Prefill, number(p.PrefillMS(x[0], x[1], x[2])))
		}
		for _, x := range q.Decode {
			out.Decode = append(out.Decode, number(p.DecodeMS(x[0], x[1])))
		}
		for _, x := range q.Mixed {
			out.Mixed = append(out.Mixed, number(p.MixedMS(x[0], x[1], x[2], x[3], x[4])))
		}
		return out
	})
}

func breakdown(text []byte, dir string) (any, error) {
	return priced(text, dir, func(q *passes, p *forward.Pricer) any {
		var out struct {
			Prefill []any `json:"prefill,omitempty"`
			Decode  []any `json:"decode,omitempty"`
		}
		for _, x := range q.Prefill {
			out.Prefill = append(out.Prefill, pairs(p.PrefillBreakdown(x[0], x[1], x[2])))
		}
		for _, x := range q.Decode {
			out.Decode = append(out.Decode, pairs(p.DecodeBreakdown(x[0], x[1])))
		}
		return out
	})
}

// pairs is a list of [name, ms].
func pairs(times []forward.OperatorTime, err error) any {
	if err != nil {
		return failed{err.Error()}
	}
	out := make([][2]any, len(times))
	for i, t := range times {
		out[i] = [2]any{t.Name, t.MS}
	}
	return out
}

// blocksQuery is one query of kv_blocks.
type blocksQuery struct {
	Model    string          `json:"model"`
	System   string          `json:"system"`
	Backend  schemas.Backend `json:"backend"`
	Version  string          `json:"backend_version"`
	TP       int64           `json:"tp"`
	PP       int64           `json:"pp_size"`
	DP       int64           `json:"attention_dp_size"`
	MoETP    int64           `json:"moe_tp_size"`
	MoEEP    int64           `json:"moe_ep_size"`
	Block    int64           `json:"block_size"`
	Batched  int64           `json:"max_batched_tokens"`
	Fraction float64         `json:"memory_fraction"`
	KV       string          `json:"kv_cache_dtype"`
	GEMM     string          `json:"gemm_dtype"`
	Graphs   float64         `json:"cuda_graph_reserved_bytes"`
}

func kvBlocks(text []byte, dir string) (any, error) {
	q, err := read[struct {
		Queries []blocksQuery `json:"queries"`
	}](text)
	if err != nil {
		return nil, err
	}
	out := make([]any, len(q.Queries))
	for i, x := range q.Queries {
		o := Options{
			Model: modelPath(dir, x.Model), System: x.System, Backend: x.Backend, Version: x.Version, Parallel: parallel(x.TP, x.PP, x.DP, x.MoETP, x.MoEEP),
			GEMM: x.GEMM, KV: x.KV,
		}
		if x.Block < 1 {
			out[i] = failed{"block_size: want a positive integer"}
			continue
		}
		m, err := o.Memory(forward.MemoryRequest{BatchedTokens: x.Batched, Fraction: x.Fraction, BlockTokens: x.Block, GraphBytes: x.Graphs})
		out[i] = number(m.Blocks, err)
	}
	return map[string]any{"blocks": out}, nil
}

func kvBytes(text []byte, dir string) (any, error) {
	q, err := read[struct {
		Queries []struct {
			Model string `json:"model"`
			TP    int64  `json:"tp"`
			KV    string `json:"kvcache_quant_mode"`
		} `json:"queries"`
	}](text)
	if err != nil {
		return nil, err
	}
	out := make([]any, len(q.Queries))
	for i, x := range q.Queries {
		out[i] = number(KVBytesPerToken(modelPath(dir, x.Model), max(x.TP, 1), x.KV))
	}
	return map[string]any{"bytes_per_token": out}, nil
}

func context(text []byte, dir string) (any, error) {
	q, err := read[struct {
		Models []string `json:"models"`
	}](text)
	if err != nil {
		return nil, err
	}
	out := make([]any, len(q.Models))
	for i, name := range q.Models {
		out[i] = number(ContextTokens(modelPath(dir, name)))
	}
	return map[string]any{"context_length": out}, nil
}

// operatorQuery is one query of ops.
type operatorQuery struct {
	Op          string  `json:"op"`
	Quant       string  `json:"quant"`
	N           int64   `json:"n"`
	K           int64   `json:"k"`
	LowInput    bool    `json:"low_precision_input"`
	Tokens      int64   `json:"tokens"`
	Batch       int64   `json:"batch"`
	Seq         int64   `json:"seq"`
	Prefix      int64   `json:"prefix"`
	Heads       int64   `json:"heads"`
	KVHeads     int64   `json:"kv_heads"`
	HeadDim     int64   `json:"head_dim"`
	Window      int64   `json:"window"`
	KV          string  `json:"kv"`
	FMHA        string  `json:"fmha"`
	QKNorm      bool    `json:"qk_norm"`
	Hidden      int64   `json:"hidden"`
	TP          int64   `json:"tp"`
	PP          int64   `json:"pp"`
	Elements    float64 `json:"elements_per_token"`
	GPUs        int64   `json:"gpus"`
	Collective  string  `json:"collective"`
	Inter       int64   `json:"inter"`
	TopK        int64   `json:"topk"`
	Experts     int64   `json:"experts"`
	MoETP       int64   `json:"moe_tp"`
	MoEEP       int64   `json:"moe_ep"`
	AttentionDP int64   `json:"attention_dp"`
	Dist        string  `json:"distribution"`
	GEMM        string  `json:"gemm"`
	Native      int64   `json:"native"`
	Post        bool    `json:"post"`
	Bytes       float64 `json:"bytes_per_token"`
}

func single(text []byte, dir string) (any, error) {
	q, err := read[struct {
		Config  config          `json:"config"`
		Queries []operatorQuery `json:"queries"`
	}](text)
	if err != nil {
		return nil, err
	}
	tables, err := openTables(q.Config.System, q.Config.Backend, q.Config.Version)
	if err == nil && q.Config.Model != "" {
		_, err = New(q.Config.options(dir))
	}
	if err != nil {
		return failed{err.Error()}, nil
	}
	out := make([]any, len(q.Queries))
	for i, x := range q.Queries {
		v, err := x.answer(tables)
		out[i] = number(max(v, 0), err)
	}
	return map[string]any{"ms": out}, nil
}

// quant is the mode of a name.
func quant(name string) (operators.Quant, error) {
	q, ok := operators.ParseQuant(name)
	if !ok {
		_, err := models.ParseQuant("quant", name, models.Quants())
		return q, err
	}
	return q, nil
}

func (q *operatorQuery) answer(t *operators.Tables) (float64, error) {
	q.Tokens, q.Batch, q.Seq = max(q.Tokens, 1), max(q.Batch, 1), max(q.Seq, 1)
	switch q.Op {
	case "gemm":
		mode, err := quant(q.Quant)
		if err != nil {
			return 0, err
		}
		return t.GEMM(mode, q.LowInput, q.Tokens, q.N, q.K)
	case "context_attention", "generation_attention":
		kv, err := quant(q.KV)
		key := operators.AttentionKey{KV: kv, KVHeads: q.KVHeads, HeadSize: q.HeadDim, Window: q.Window, QKNorm: q.QKNorm}
		if err != nil || q.Op == "generation_attention" {
			if err != nil {
				return 0, err
			}
			return t.DecodeAttention(key, q.Heads, q.Batch, q.Seq)
		}
		if key.FMHA, err = quant(q.FMHA); err != nil {
			return 0, err
		}
		return t.PrefillAttention(key, q.Heads, q.Batch, q.Seq, q.Prefix)
	case "all_reduce":
		return t.AllReduce(q.TP, float64(q.Tokens)*float64(q.Hidden))
	case "p2p":
		return t.PipelineHop(q.PP, float64(q.Tokens)*float64(q.Hidden))
	case "nccl":
		op, ok := operators.ParseCollective(q.Collective)
		if !ok {
			return 0, fmt.Errorf("collective: %q is not known", q.Collective)
		}
		return t.NCCL(op, q.GPUs, float64(q.Tokens)*q.Elements)
	case "moe":
		mode, err := quant(q.Quant)
		if err != nil {
			return 0, err
		}
		key := operators.ExpertsKey{
			Mode: mode, Distribution: q.Dist, TopK: q.TopK, Experts: q.Experts, Hidden: q.Hidden, Inter: q.Inter, TP: max(q.MoETP, 1), EP: max(q.MoEEP, 1),
		}
		return t.Experts(key, q.Tokens*max(q.AttentionDP, 1))
	case "elementwise":
		return t.Memory(q.Bytes * float64(q.Tokens)), nil
	case "bmm", "mla_prefill", "mla_decode", "mla_prefill_module", "mla_decode_module":
		return q.latent(t)
	}
	return 0, errors.New("op: want one of gemm, context_attention, generation_attention, all_reduce, p2p, nccl, moe, elementwise, bmm, mla_prefill, mla_decode, mla_prefill_module, mla_decode_module")
}

// latent answers a query about multi-head latent attention; modes that are not given are bfloat16.
func (q *operatorQuery) latent(t *operators.Tables) (float64, error) {
	var modes [4]operators.Quant
	for i, name := range []string{q.FMHA, q.KV, q.GEMM, q.Quant} {
		var err error
		if modes[i], err = quant(cmp.Or(name, "bfloat16")); err != nil {
			return 0, err
		}
	}
	fmha, kv, gemm, mode := modes[0], modes[1], modes[2], modes[3]
	switch q.Op {
	case "bmm":
		return t.BMM(mode, q.Post, q.Heads, q.Tokens)
	case "mla_prefill":
		return t.MLAPrefill(fmha, kv, q.Heads, q.Batch, q.Seq, q.Prefix)
	case "mla_decode":
		return t.MLADecode(kv, q.Heads, q.Batch, q.Seq)
	case "mla_prefill_module":
		return t.MLAPrefillModule(fmha, kv, gemm, q.Native, q.Heads, q.Batch, q.Seq, q.Prefix)
	}
	return t.MLADecodeModule(kv, gemm, q.Native, q.Heads, q.Batch, q.Seq)
}
