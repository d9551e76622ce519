// Package perfdata keeps the measured operator tables that price forward passes (spec 09 section 1)
// as a compact data set: a catalogue and one Parquet file for each family of operators. A set is
// embedded in the program; others lie in folders. Open answers for one system, backend and
// version, and decodes only the row groups that are asked for.
package perfdata

import "github.com/dynosim/dynosim/simulate/timing/operators"

// Family describes one Parquet file of a data set: a row is one measured operator call. Every row
// group holds the rows of one system, backend, version and combination of names, sorted by keys.
type Family struct {
	// Name is the file's name without .parquet.
	Name string
	// Names are the text columns that are constant in a row group, besides system, backend and
	// version; Keys the whole-number columns that make a row unique in it, in sort order.
	Names, Keys []string
}

// The families, one for each table of the model, in order of operators.Table; the two tables of
// quantisation share a file.
var families = [operators.TableCount]*Family{
	operators.TableGEMM:             {"gemm", []string{"mode"}, []string{"site", "m", "n", "k"}},
	operators.TableComputeScale:     quantizeFamily,
	operators.TableScaleMatrix:      quantizeFamily,
	operators.TablePrefillAttention: {"attention_prefill", []string{"fmha_mode", "kv_mode"}, []string{"kv_heads", "head_size", "window", "query_heads", "sequence", "batch"}},
	operators.TableDecodeAttention:  {"attention_decode", []string{"kv_mode"}, []string{"kv_heads", "head_size", "window", "query_heads", "batch", "sequence"}},
	operators.TableAllReduce:        {"all_reduce", nil, []string{"gpus", "elements"}},
	operators.TableNCCL:             {"nccl", []string{"mode", "collective"}, []string{"gpus", "elements"}},
	operators.TableExperts:          {"experts", []string{"mode", "distribution", "kernels"}, []string{"top_k", "experts", "hidden_size", "inter_size", "moe_tensor", "moe_expert", "tokens"}},
	operators.TableMLAPrefill:       {"mla_prefill", []string{"fmha_mode", "kv_mode"}, []string{"heads", "sequence", "batch"}},
	operators.TableMLADecode:        {"mla_decode", []string{"kv_mode"}, []string{"heads", "batch", "sequence"}},
	operators.TableMLAPrefillModule: {"mla_prefill_module", []string{"fmha_mode", "kv_mode", "gemm_mode"}, []string{"native_heads", "heads", "sequence", "batch"}},
	operators.TableMLADecodeModule:  {"mla_decode_module", []string{"kv_mode", "gemm_mode"}, []string{"native_heads", "heads", "batch", "sequence"}},
	operators.TableBMM:              {"mla_bmm", []string{"mode", "side"}, []string{"heads", "tokens"}},
}

var quantizeFamily = &Family{"quantize", []string{"operation", "mode"}, []string{"m", "k"}}

// FamilyOf is the family whose file has a table.
func FamilyOf(table operators.Table) *Family { return families[table] }

// Families lists every family once.
func Families() []*Family {
	var list []*Family
	for _, f := range families {
		if len(list) == 0 || list[len(list)-1] != f {
			list = append(list, f)
		}
	}
	return list
}

// Values of the text columns that are not names of number formats.
const (
	// KernelsAny and KernelsLowLatency are the values of the experts' kernels column.
	KernelsAny, KernelsLowLatency = "any", "low_latency"
	// SidePre and SidePost are the values of mla_bmm's side column.
	SidePre, SidePost = "pre", "post"
	// AnyBackend is the backend of rows that are not tied to one.
	AnyBackend = "*"
	// HalfMode is the mode of collectives of 16-bit elements.
	HalfMode = "half"
)

// Columns of every family around its own: where the rows count for, then what was measured and
// where the row comes from.
const (
	ColumnSystem  = "system"
	ColumnBackend = "backend"
	ColumnVersion = "version"
	ColumnLatency = "latency_ms"
	// ColumnMeasured is the backend and version that were measured, "vllm 0.24.0".
	ColumnMeasured = "measured_on"
	// ColumnKernel is the kernel_source of the original table.
	ColumnKernel = "kernel_source"
)
