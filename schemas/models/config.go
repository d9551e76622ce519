package models

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
)

// Family is how a model's layers are built, which decides the operators of a pass (spec 09
// section 2.2).
type Family int

// Families of architectures.
const (
	// Unknown is an architecture without operator lists: such a model has a context length
	// at most.
	Unknown Family = iota
	// Dense is Llama and its kin: grouped-query attention and one feed-forward block.
	Dense
	// Mixture is grouped-query attention with a mixture of experts.
	Mixture
	// DeepSeek is multi-head latent attention with a mixture of experts.
	DeepSeek
)

var families = map[string]Family{
	"LlamaForCausalLM": Dense, "Qwen2ForCausalLM": Dense, "Qwen3ForCausalLM": Dense, "MiMoForCausalLM": Dense,
	"MixtralForCausalLM": Mixture, gptOSS: Mixture, "Qwen2MoeForCausalLM": Mixture, "Qwen3MoeForCausalLM": Mixture, "MiniMaxM2ForCausalLM": Mixture,
	"DeepseekV3ForCausalLM": DeepSeek,
}

const gptOSS = "GptOssForCausalLM"

// Config is the configuration of a model. Sizes are counts of elements, 0 where the
// configuration does not say.
type Config struct {
	// Name is the name or path that the configuration was asked for by.
	Name string
	// Architecture is the first of the configuration's architectures, Family what it means.
	Architecture string
	Family       Family

	Layers, Hidden, Heads, KVHeads, HeadSize, Intermediate, Vocabulary int64
	// TopK of Experts serve a token; ExpertWidth is the width of each.
	TopK, Experts, ExpertWidth int64
	// QKNorm says that queries and keys are normalised.
	QKNorm bool
	// Window is the span in tokens of the attention in every other layer, 0 for none.
	Window int64

	// KVRank and RopeSize are the latent and the rotary part of a cached token of DeepSeek
	// models; ValueSize is the head size of values. DenseLayers come before the layers with
	// experts, SharedExperts serve every token.
	KVRank, RopeSize, ValueSize, DenseLayers, SharedExperts int64

	// WeightType is torch_dtype, "" when not given.
	WeightType string
	// WeightBlock is the edge of the blocks that share a scale, for block-wise fp8.
	WeightBlock int64
	Checkpoint  Checkpoint

	context int64
	// position is max_position_embeddings, which pricing requires.
	position int64
}

// GPTOSS reports whether every other layer attends to a window only.
func (c *Config) GPTOSS() bool { return c.Architecture == gptOSS }

// ContextTokens is the longest sequence that the configuration declares (spec 09 section 9.4).
func (c *Config) ContextTokens() (int64, error) {
	if c.context == 0 {
		return 0, fmt.Errorf("%s: the configuration declares no context length", c.Name)
	}
	return c.context, nil
}

// maxSize bounds every size, so that products of the formulas stay far from overflow, maxLength
// the length of sequences.
const (
	maxSize   = 1 << 20
	maxLength = 1 << 40
)

// Parse reads the text of a config.json, and of a hf_quant_config.json or nil (spec 09 sections
// 2.2 and 2.4). It refuses what is no configuration or has sizes that make no sense; whether a
// model can be priced is for Check to say.
func Parse(name string, config, quantization []byte) (*Config, error) {
	root, err := object(config)
	if err != nil {
		return nil, fmt.Errorf("%s: config.json: %w", name, err)
	}
	var quant fields
	if quantization != nil {
		if quant, err = object(quantization); err != nil {
			return nil, fmt.Errorf("%s: hf_quant_config.json: %w", name, err)
		}
	}
	c := &Config{Name: name}
	r := &reader{fields: root}
	if list, ok := root["architectures"].([]any); ok && len(list) > 0 {
		c.Architecture, _ = list[0].(string)
	}
	c.Family = families[c.Architecture]
	r.sizes(c)
	if r.err != nil {
		return nil, fmt.Errorf("%s: config.json: %w", name, r.err)
	}
	c.context = contextTokens(root)
	c.Checkpoint = checkpoint(root, quant)
	return c, nil
}

// Check says why a model cannot be priced, nil when it can: its architecture has no operator
// list, or a size is missing.
func (c *Config) Check() error {
	if c.Family == Unknown {
		if c.Architecture == "" {
			return fmt.Errorf("%s: the configuration names no architecture", c.Name)
		}
		return fmt.Errorf("%s: no operator lists for architecture %s; known are %s", c.Name, c.Architecture, strings.Join(Architectures(), ", "))
	}
	for _, need := range []struct {
		key   string
		value int64
	}{
		{"num_hidden_layers", c.Layers}, {"hidden_size", c.Hidden}, {"num_attention_heads", c.Heads}, {"vocab_size", c.Vocabulary},
		{"max_position_embeddings", c.position},
	} {
		if need.value == 0 {
			return fmt.Errorf("%s: config.json has no %s", c.Name, need.key)
		}
	}
	if c.Family != Dense && (c.Experts == 0 || c.TopK == 0 || c.ExpertWidth == 0) {
		return fmt.Errorf("%s: config.json lacks the number, the width or the choice of experts", c.Name)
	}
	if c.Family != Dense && c.TopK > c.Experts {
		return fmt.Errorf("%s: config.json chooses %d of %d experts", c.Name, c.TopK, c.Experts)
	}
	return nil
}

// fields is a JSON object.
type fields = map[string]any

func object(text []byte) (fields, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, fmt.Errorf("no JSON: %w", err)
	}
	out, ok := value.(fields)
	if !ok {
		return nil, errors.New("not a JSON object")
	}
	return out, nil
}

// reader takes sizes out of an object and keeps the first problem.
type reader struct {
	fields fields
	err    error
}

// first is the size under the first key that is present and not null, 0 without one.
func (r *reader) first(keys ...string) int64 { return r.upTo(maxSize, keys...) }

func (r *reader) upTo(most int64, keys ...string) int64 {
	for _, key := range keys {
		value := r.fields[key]
		if value == nil {
			continue
		}
		n, ok := whole(value)
		if !ok || n < 0 || n > most {
			if r.err == nil {
				r.err = fmt.Errorf("%s: want a whole number from 0 to %d, got %s", key, most, describe(value))
			}
			return 0
		}
		return n
	}
	return 0
}

// nonzero is first, for keys whose 0 counts as absent.
func (r *reader) nonzero(keys ...string) int64 {
	for _, key := range keys {
		if n := r.first(key); n != 0 {
			return n
		}
	}
	return 0
}

func whole(value any) (int64, bool) {
	number, ok := value.(json.Number)
	if !ok {
		return 0, false
	}
	if n, err := number.Int64(); err == nil {
		return n, true
	}
	f, err := number.Float64()
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}

func describe(value any) string {
	text, err := json.Marshal(value)
	if err != nil || len(text) > 40 {
		return fmt.Sprintf("a %T", value)
	}
	return string(text)
}

// sizes reads the fields of spec 09 section 2.2.
func (r *reader) sizes(c *Config) {
	c.Layers = r.first("num_hidden_layers")
	c.Hidden = r.first("hidden_size")
	c.Heads = r.first("num_attention_heads")
	c.KVHeads = r.first("num_key_value_heads")
	c.HeadSize = r.nonzero("head_dim", "attention_head_dim")
	if c.HeadSize == 0 && c.Heads > 0 {
		c.HeadSize = c.Hidden / c.Heads
	}
	c.Intermediate = r.first("intermediate_size")
	c.Vocabulary = r.first("vocab_size")
	c.TopK = r.first("num_experts_per_tok", "top_k_experts", "moe_top_k")
	c.Experts = r.nonzero("num_local_experts", "n_routed_experts", "moe_num_experts", "num_experts")
	c.ExpertWidth = r.nonzero("moe_intermediate_size", "intermediate_size")
	c.position = r.upTo(maxLength, "max_position_embeddings")
	c.KVRank = r.first("kv_lora_rank")
	c.RopeSize = r.first("qk_rope_head_dim")
	c.ValueSize = r.first("v_head_dim")
	c.DenseLayers = r.first("first_k_dense_replace")
	c.SharedExperts = r.first("n_shared_experts")
	switch c.Architecture {
	case "Qwen3ForCausalLM", "Qwen3MoeForCausalLM", "MiniMaxM2ForCausalLM":
		c.QKNorm = true
	case gptOSS:
		c.Window = 128
	}
	c.WeightType = text(r.fields["torch_dtype"])
	if c.WeightType == "" {
		c.WeightType = text(r.fields["dtype"])
	}
	c.WeightBlock = 128
	if q, ok := r.fields["quantization_config"].(fields); ok {
		if list, ok := q["weight_block_size"].([]any); ok && len(list) > 0 {
			if n, ok := whole(list[0]); ok && n > 0 && n <= maxSize {
				c.WeightBlock = n
			}
		}
	}
}

func text(value any) string {
	s, _ := value.(string)
	return s
}

// contextTokens is the longest sequence: of the nested text configuration first, then of the
// configuration itself (spec 09 section 9.4). 0 when neither says.
func contextTokens(root fields) int64 {
	nested, _ := root["text_config"].(fields)
	for _, from := range []fields{nested, root} {
		for _, key := range []string{"max_position_embeddings", "model_max_length", "max_sequence_length", "seq_length", "n_positions"} {
			if n, ok := whole(from[key]); ok && n > 0 && n <= maxLength {
				return n
			}
		}
	}
	return 0
}

// LatentSize is the numbers that multi-head latent attention caches for a token and layer.
func (c *Config) LatentSize() int64 {
	if c.KVRank == 0 && c.RopeSize == 0 {
		return 512 + 64
	}
	return c.KVRank + c.RopeSize
}

// KVBytesPerToken is the KV bytes of a token on one GPU of tensor, for transfers and for offload
// (spec 09 section 9.3). It follows the type of the weights, not the quantisation of the KV
// cache; kv replaces it unless it is "".
func (c *Config) KVBytesPerToken(tensor int64, kv Quant) (int64, error) {
	if c.Layers == 0 || c.Heads == 0 {
		return 0, fmt.Errorf("%s: the configuration has no sizes of the KV cache", c.Name)
	}
	bytes := 2.0
	switch kind := strings.ToLower(c.WeightType); {
	case kv != "":
		bytes = kv.BytesPerElement()
	case strings.Contains(kind, "float32"):
		bytes = 4
	case strings.Contains(kind, "fp8"), strings.Contains(kind, "float8"), strings.Contains(kind, "int8"):
		bytes = 1
	}
	if c.Family == DeepSeek {
		return int64(float64(c.Layers*c.LatentSize()) * bytes), nil
	}
	heads := c.KVHeads
	if heads == 0 {
		heads = c.Heads
	}
	return int64(float64(2*((heads+tensor-1)/tensor)*c.HeadSize*c.Layers) * bytes), nil
}
