package models

import (
	"fmt"
	"slices"
	"strings"
)

// Quant is a quantisation by the name that the measured tables have for it (spec 09 section 2.3).
type Quant string

// Quantisations.
const (
	BFloat16  Quant = "bfloat16"
	FP8       Quant = "fp8"
	FP8Static Quant = "fp8_static"
	FP8Block  Quant = "fp8_block"
	NVFP4     Quant = "nvfp4"
	Int8      Quant = "int8_wo"
	Int4      Quant = "int4_wo"
	MXFP4     Quant = "w4a16_mxfp4"
	MXFP4FP8  Quant = "w4a8_mxfp4_mxfp8"
)

// Quants lists all of them.
func Quants() []Quant {
	return []Quant{BFloat16, FP8, FP8Static, FP8Block, NVFP4, Int8, Int4, MXFP4, MXFP4FP8}
}

// BytesPerElement is the memory that one weight, or one cached number, takes.
func (q Quant) BytesPerElement() float64 {
	switch q {
	case FP8, FP8Static, FP8Block, Int8:
		return 1
	case NVFP4:
		return 9.0 / 16
	case Int4, MXFP4, MXFP4FP8:
		return 0.5
	}
	return 2
}

// FP8Arithmetic reports whether products are computed in fp8.
func (q Quant) FP8Arithmetic() bool {
	return q == FP8 || q == FP8Static || q == FP8Block || q == MXFP4FP8
}

// ParseQuant is the quantisation of a name, or an error that lists those the field may have.
func ParseQuant(field, name string, allowed []Quant) (Quant, error) {
	if slices.Contains(allowed, Quant(name)) {
		return Quant(name), nil
	}
	names := make([]string, len(allowed))
	for i, q := range allowed {
		names[i] = string(q)
	}
	return "", fmt.Errorf("%s: unknown quantisation %q; allowed are %s", field, name, strings.Join(names, ", "))
}

// Modes is the quantisation of each part of a pass: matrix products, experts, the KV cache and
// the arithmetic of prefill attention.
type Modes struct{ GEMM, MoE, KV, FMHA Quant }

// Checkpoint is what a checkpoint says about its quantisation, lower case and normalised (spec 09
// section 2.4, steps 1 to 4); "" is not said.
type Checkpoint struct {
	Algorithm, KVAlgorithm string
	// Dynamic says that activations are scaled while running.
	Dynamic bool
	// Excluded says that attention projections are kept out of the quantisation.
	Excluded bool
}

// checkpoint reads the quantisation of config.json and hf_quant_config.json.
func checkpoint(config, hf fields) Checkpoint {
	section, _ := hf["quantization"].(fields)
	q, _ := config["quantization_config"].(fields)
	if q == nil && section != nil {
		q = fields{}
		if s := text(section["quant_algo"]); s != "" {
			q["quant_method"] = strings.ToLower(s)
		}
		if s := text(section["kv_cache_quant_algo"]); s != "" {
			q["kv_cache_quant_method"] = strings.ToLower(s)
		}
	}
	var c Checkpoint
	c.Algorithm = strings.ToLower(firstText(section["quant_algo"], q["quant_algo"], q["quant_method"], q["quantization_method"]))
	switch blocks, _ := q["weight_block_size"].([]any); {
	case c.Algorithm == "w4a16_mxfp4":
		c.Algorithm = "mxfp4"
	case c.Algorithm == "fp8" && len(blocks) > 0:
		c.Algorithm = string(FP8Block)
	}
	c.KVAlgorithm = kvAlgorithm(section, q)
	c.Dynamic = dynamic(q)
	excluded, _ := section["exclude_modules"].([]any)
	for _, module := range excluded {
		c.Excluded = c.Excluded || strings.Contains(text(module), "self_attn")
	}
	return c
}

func firstText(values ...any) string {
	for _, v := range values {
		if s := text(v); s != "" {
			return s
		}
	}
	return ""
}

func kvAlgorithm(section, q fields) string {
	switch name := strings.ToLower(firstText(section["kv_cache_quant_algo"], q["kv_cache_quant_algo"], q["kv_cache_quant_method"], q["kv_cache_dtype"])); name {
	case "":
	case "e4m3", "e5m2", "fp8_e4m3", "fp8_e5m2":
		return string(FP8)
	case "fp16", "float16", "bf16":
		return string(BFloat16)
	default:
		return name
	}
	scheme, ok := q["kv_cache_scheme"].(fields)
	if !ok {
		return ""
	}
	kind := strings.ToLower(text(scheme["type"]))
	bits, known := whole(scheme["num_bits"])
	switch {
	case strings.Contains(kind, "fp8"), kind == "float" && known && bits <= 8:
		return string(FP8)
	case kind == "float" && known && bits >= 16:
		return string(BFloat16)
	}
	return ""
}

// dynamic reports whether the checkpoint says that activations are scaled while running.
func dynamic(q fields) bool {
	switch strings.ToLower(text(q["activation_scheme"])) {
	case "dynamic":
		return true
	case "static":
		return false
	}
	groups, _ := q["config_groups"].(fields)
	for _, g := range groups {
		group, _ := g.(fields)
		for _, part := range []string{"input_activations", "weights"} {
			values, _ := group[part].(fields)
			if on, _ := values["dynamic"].(bool); on {
				return true
			}
		}
	}
	return false
}

// Modes infers the quantisation for a backend, vllm, sglang or trtllm (spec 09 section 2.4, steps 5
// and 6). halfLatent says that this version of the backend keeps latent attention of 16-bit
// checkpoints in 16 bit.
func (c *Config) Modes(backend string, halfLatent bool) Modes {
	m := Modes{BFloat16, BFloat16, BFloat16, BFloat16}
	k := &c.Checkpoint
	switch k.Algorithm {
	case "fp8":
		m.GEMM, m.MoE = FP8Static, FP8
		if k.Dynamic {
			m.GEMM = FP8
		}
	case string(FP8Block):
		m.GEMM, m.MoE = FP8Block, FP8Block
	case string(NVFP4):
		m.GEMM, m.MoE = NVFP4, NVFP4
	case "mxfp4":
		m.MoE = MXFP4
	}
	if k.KVAlgorithm == string(FP8) {
		m.KV = FP8
	}
	eight := k.Algorithm == "fp8" || k.Algorithm == string(FP8Block) || k.Algorithm == string(NVFP4)
	if k.KVAlgorithm != "none" && k.Algorithm != "" && (eight || k.KVAlgorithm == string(FP8)) {
		m.KV, m.FMHA = FP8, FP8
	}
	latent := halfLatent && c.Family == DeepSeek && c.KVRank == 512 && c.RopeSize == 64 && c.WeightType == "bfloat16"
	if backend == "vllm" || latent {
		m.FMHA = BFloat16
	}
	return m
}

// Supported says what of the checkpoint's quantisation cannot be priced, "" for nothing.
func (k *Checkpoint) Supported() string {
	switch k.Algorithm {
	case "", "fp8", string(FP8Block), "mxfp4", "none":
		return ""
	case string(NVFP4):
		if k.Excluded {
			return "a checkpoint whose attention projections are kept out of the quantisation"
		}
		return ""
	}
	return "quantisation " + k.Algorithm
}
