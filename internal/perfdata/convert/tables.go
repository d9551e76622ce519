package convert

import (
	"fmt"

	"github.com/dynosim/dynosim/internal/perfdata"
	"github.com/dynosim/dynosim/simulate/timing/operators"
)

// record is one row of a family: names and keys in its order.
type record struct {
	names  [3]string
	keys   [7]int64
	kernel string
	// source is the index of the file it comes from.
	source int32
	ms     float64
}

// tableSpec says how a measured table becomes one of ours.
type tableSpec struct {
	table operators.Table
	// folder and file are where the measured table lies (spec 09 section 1.2).
	folder, file string
	// texts and wholes are the columns it must have, optional those it may have.
	texts, wholes, optional []string
	// lanes says that rows of different kernels are not mixed (section 5.5).
	lanes bool
	// fill makes a record of a row; it reports false for rows that do not count.
	fill func(c *conversion, t *rawTable, i int, r *record) bool
}

var specs = []tableSpec{
	{
		table: operators.TableGEMM, folder: "gemm", file: "gemm_perf",
		texts: []string{"gemm_dtype"}, wholes: []string{"m", "n", "k"},
		fill: func(_ *conversion, t *rawTable, i int, r *record) bool {
			r.names[0] = t.text["gemm_dtype"][i]
			// Key 0 is the site, which is known once all rows are.
			r.keys = [7]int64{0, t.whole["m"][i], t.whole["n"][i], t.whole["k"][i]}
			return r.names[0] != "awq" && r.names[0] != "gptq"
		},
	},
	quantizeSpec(operators.TableComputeScale, "computescale_perf"),
	quantizeSpec(operators.TableScaleMatrix, "scale_matrix_perf"),
	{
		table: operators.TablePrefillAttention, folder: "attention", file: "context_attention_perf", lanes: true,
		texts:  []string{"attn_dtype", "kv_cache_dtype"},
		wholes: []string{"num_heads", "num_key_value_heads", "head_dim", "isl", "batch_size"}, optional: []string{"window_size"},
		fill: func(_ *conversion, t *rawTable, i int, r *record) bool {
			r.names = [3]string{t.text["attn_dtype"][i], t.text["kv_cache_dtype"][i]}
			t.attentionKeys(i, r)
			r.keys[4], r.keys[5] = t.whole["isl"][i], t.whole["batch_size"][i]
			return true
		},
	},
	{
		table: operators.TableDecodeAttention, folder: "attention", file: "generation_attention_perf", lanes: true,
		texts:  []string{"kv_cache_dtype"},
		wholes: []string{"num_heads", "num_key_value_heads", "head_dim", "isl", "step", "batch_size"}, optional: []string{"window_size"},
		fill: func(_ *conversion, t *rawTable, i int, r *record) bool {
			r.names[0] = t.text["kv_cache_dtype"][i]
			t.attentionKeys(i, r)
			r.keys[4], r.keys[5] = t.whole["batch_size"][i], t.whole["isl"][i]+t.whole["step"][i]
			return true
		},
	},
	{
		table: operators.TableAllReduce, folder: "comm", file: "custom_allreduce_perf",
		wholes: []string{"num_gpus", "message_size"}, optional: []string{"backend"},
		fill: func(c *conversion, t *rawTable, i int, r *record) bool {
			r.keys = [7]int64{t.whole["num_gpus"][i], t.whole["message_size"][i]}
			eager := endsEager(r.kernel)
			if b := t.text["backend"]; len(b) == t.rows {
				eager = eager || endsEager(b[i])
			}
			return !eager || c.system == intelSystem
		},
	},
	{
		table: operators.TableExperts, folder: "moe", file: "moe_perf",
		texts:    []string{"moe_dtype", "distribution"},
		wholes:   []string{"topk", "num_experts", "hidden_size", "inter_size", "moe_tp_size", "moe_ep_size", "num_tokens"},
		optional: []string{"default_eligible"},
		fill: func(_ *conversion, t *rawTable, i int, r *record) bool {
			kernels := perfdata.KernelsAny
			if r.kernel == "moe_torch_flow_min_latency" {
				kernels = perfdata.KernelsLowLatency
			}
			r.names = [3]string{expertsMode(t.text["moe_dtype"][i], r.kernel), t.text["distribution"][i], kernels}
			w := t.whole
			r.keys = [7]int64{w["topk"][i], w["num_experts"][i], w["hidden_size"][i], w["inter_size"][i], w["moe_tp_size"][i], w["moe_ep_size"][i], w["num_tokens"][i]}
			eligible := t.boolean["default_eligible"]
			return len(eligible) != t.rows || eligible[i]
		},
	},
	{
		table: operators.TableMLAPrefill, folder: "mla", file: "context_mla_perf",
		texts: []string{"mla_dtype", "kv_cache_dtype"}, wholes: []string{"num_heads", "isl", "batch_size"},
		fill: func(_ *conversion, t *rawTable, i int, r *record) bool {
			r.names = [3]string{t.text["mla_dtype"][i], t.text["kv_cache_dtype"][i]}
			r.keys = [7]int64{t.whole["num_heads"][i], t.whole["isl"][i], t.whole["batch_size"][i]}
			return true
		},
	},
	{
		table: operators.TableMLADecode, folder: "mla", file: "generation_mla_perf",
		texts: []string{"kv_cache_dtype"}, wholes: []string{"num_heads", "batch_size", "isl", "step"},
		fill: func(_ *conversion, t *rawTable, i int, r *record) bool {
			r.names[0] = t.text["kv_cache_dtype"][i]
			r.keys = [7]int64{t.whole["num_heads"][i], t.whole["batch_size"][i], t.whole["isl"][i] + t.whole["step"][i]}
			return true
		},
	},
	{
		table: operators.TableMLAPrefillModule, folder: "mla", file: "mla_context_module_perf",
		texts: []string{"model", "mla_dtype", "kv_cache_dtype", "gemm_type"}, wholes: []string{"num_heads", "isl", "batch_size"},
		fill: func(c *conversion, t *rawTable, i int, r *record) bool {
			r.names = [3]string{t.text["mla_dtype"][i], t.text["kv_cache_dtype"][i], t.text["gemm_type"][i]}
			native := c.nativeHeads(t.text["model"][i])
			r.keys = [7]int64{native, t.whole["num_heads"][i], t.whole["isl"][i], t.whole["batch_size"][i]}
			return native > 0
		},
	},
	{
		table: operators.TableMLADecodeModule, folder: "mla", file: "mla_generation_module_perf",
		texts: []string{"model", "kv_cache_dtype", "gemm_type"}, wholes: []string{"num_heads", "batch_size", "isl", "step"},
		fill: func(c *conversion, t *rawTable, i int, r *record) bool {
			r.names = [3]string{t.text["kv_cache_dtype"][i], t.text["gemm_type"][i]}
			native := c.nativeHeads(t.text["model"][i])
			r.keys = [7]int64{native, t.whole["num_heads"][i], t.whole["batch_size"][i], t.whole["isl"][i] + t.whole["step"][i]}
			return native > 0
		},
	},
	{
		table: operators.TableBMM, folder: "mla_bmm", file: "mla_bmm_perf",
		texts: []string{"bmm_dtype", "op_name"}, wholes: []string{"num_heads", "num_tokens"},
		fill: func(_ *conversion, t *rawTable, i int, r *record) bool {
			side, ok := map[string]string{"mla_gen_pre": perfdata.SidePre, "mla_gen_post": perfdata.SidePost}[t.text["op_name"][i]]
			r.names = [3]string{t.text["bmm_dtype"][i], side}
			r.keys = [7]int64{t.whole["num_heads"][i], t.whole["num_tokens"][i]}
			return ok
		},
	},
}

// librarySpec is the communication library's table, which belongs to no backend.
var librarySpec = tableSpec{
	table: operators.TableNCCL, folder: "comm", file: "nccl_perf",
	texts: []string{"nccl_dtype", "op_name"}, wholes: []string{"num_gpus", "message_size"},
	fill: func(_ *conversion, t *rawTable, i int, r *record) bool {
		r.names = [3]string{t.text["nccl_dtype"][i], t.text["op_name"][i]}
		r.keys = [7]int64{t.whole["num_gpus"][i], t.whole["message_size"][i]}
		return true
	},
}

// intelSystem is the one system whose collectives are measured outside of graphs only.
const intelSystem = "b60"

func quantizeSpec(table operators.Table, file string) tableSpec {
	return tableSpec{
		table: table, folder: "quantize", file: file,
		texts: []string{"quant_dtype"}, wholes: []string{"m", "k"},
		fill: func(_ *conversion, t *rawTable, i int, r *record) bool {
			r.names = [3]string{table.String(), t.text["quant_dtype"][i]}
			r.keys = [7]int64{t.whole["m"][i], t.whole["k"][i]}
			return true
		},
	}
}

// attentionKeys fills the slice and the query heads: KV heads are written 0 when they equal the
// query heads (spec 09 section 5.4).
func (t *rawTable) attentionKeys(i int, r *record) {
	heads, kv := t.whole["num_heads"][i], t.whole["num_key_value_heads"][i]
	if kv == heads {
		kv = 0
	}
	window := int64(0)
	if w := t.whole["window_size"]; len(w) == t.rows {
		window = w[i]
	}
	r.keys = [7]int64{kv, t.whole["head_dim"][i], window, heads}
}

// expertsMode files some kernels apart (spec 09 section 5.8).
func expertsMode(mode, kernel string) string {
	switch {
	case mode == "w4a8_mxfp4_mxfp8" && kernel == "sglang_mxfp4_flashinfer_trtllm_moe":
		return mode + "_trtllm"
	case mode == "w4a16_mxfp4" && kernel == "sglang_flashinfer_cutlass_moe":
		return mode + "_cutlass"
	case mode == "w4a16_mxfp4" && kernel == "sglang_mxfp4_humming_moe":
		return mode + "_humming"
	}
	return mode
}

func (s *tableSpec) columns() []string {
	list := append([]string{"kernel_source", "latency"}, s.texts...)
	return append(append(list, s.wholes...), s.optional...)
}

// records makes the rows of one file.
func (s *tableSpec) records(c *conversion, t *rawTable, source sourceFile, index int32, emit func(*record)) error {
	if err := t.need(s.texts, s.wholes); err != nil {
		return fmt.Errorf("%s: %w", source.path, err)
	}
	kernels := t.text["kernel_source"]
	for i := range t.rows {
		r := record{source: index, ms: t.real["latency"][i], kernel: kernelOf("")}
		if len(kernels) == t.rows {
			r.kernel = kernelOf(kernels[i])
		}
		if source.kernels != nil && !source.kernels[r.kernel] {
			continue
		}
		if s.fill(c, t, i, &r) {
			emit(&r)
		}
	}
	return nil
}
