package models

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dynosim/dynosim/internal/golden"
)

// TestKnown describes every model that ships with the program; testdata/known.txt is what a reader
// can check against the publishers' files.
func TestKnown(t *testing.T) {
	var out strings.Builder
	for _, name := range Names() {
		c, err := Find(name)
		if err != nil {
			t.Fatal(err)
		}
		describeModel(&out, c)
	}
	golden.File(t, filepath.Join("testdata", "known.txt"), out.String())
}

// TestVariants resolves the names in testdata/variants.txt, one a line.
func TestVariants(t *testing.T) {
	var out strings.Builder
	for _, name := range []string{
		"meta-llama/Meta-Llama-3.1-8B-Instruct", "meta-llama/Llama-3.1-8B-Instruct", "meta-llama/Llama-3.3-70B-Instruct",
		"nvidia/Llama-3.1-8B-Instruct-FP8", "nvidia/Llama-3.1-405B-Instruct-FP8", "Qwen/Qwen3-8B-FP8", "Qwen/Qwen3-30B-A3B-Instruct-2507",
		"Qwen/Qwen3-30B-A3B-Instruct-2507-FP8", "Qwen/Qwen3-235B-A22B-Thinking-2507", "Qwen/Qwen3-Coder-480B-A35B-Instruct-FP8", "deepseek-ai/DeepSeek-R1-0528",
		"deepseek-ai/DeepSeek-V3.1", "mistralai/Mixtral-8x7B-Instruct-v0.1", "gpt-oss-20b", "qwen/qwen3-32b",
		"no/such-model", "meta-lama/Meta-Llama-3.1-8B", "Qwen/Qwen3-7B", "./no-such-folder", "",
	} {
		c, err := Find(name)
		if err != nil {
			fmt.Fprintf(&out, "%q: %v\n\n", name, err)
			continue
		}
		describeModel(&out, c)
	}
	golden.File(t, filepath.Join("testdata", "variants.txt"), out.String())
}

func describeModel(out *strings.Builder, c *Config) {
	fmt.Fprintf(out, "%s\n  %s, layers %d, hidden %d, heads %d/%d of %d, width %d, vocabulary %d\n", c.Name, c.Architecture, c.Layers, c.Hidden, c.Heads, c.KVHeads, c.HeadSize, c.Intermediate, c.Vocabulary)
	if c.Experts > 0 {
		fmt.Fprintf(out, "  %d of %d experts of width %d\n", c.TopK, c.Experts, c.ExpertWidth)
	}
	if c.Family == DeepSeek {
		fmt.Fprintf(out, "  latent %d, values %d, dense layers %d, shared experts %d\n", c.LatentSize(), c.ValueSize, c.DenseLayers, c.SharedExperts)
	}
	tokens, err := c.ContextTokens()
	fmt.Fprintf(out, "  context %d %v, checkpoint %+v\n", tokens, err, c.Checkpoint)
	if err := c.Check(); err != nil {
		fmt.Fprintf(out, "  %v\n\n", err)
		return
	}
	fmt.Fprintf(out, "  vllm %v, trtllm %v, sglang with 16-bit latent attention %v\n\n", c.Modes("vllm", false), c.Modes("trtllm", false), c.Modes("sglang", true))
}

// TestFolders reads testdata/folders: a folder, or the file in it; the answer beside it.
func TestFolders(t *testing.T) {
	folders, err := filepath.Glob("testdata/folders/*")
	if err != nil || len(folders) == 0 {
		t.Fatal("no folders", err)
	}
	var out strings.Builder
	for _, folder := range folders {
		c, err := Find(folder)
		if err != nil {
			fmt.Fprintf(&out, "%v\n\n", err)
			continue
		}
		describeModel(&out, c)
		same, err := Find(filepath.Join(folder, "config.json"))
		if err != nil {
			t.Fatal(err)
		}
		same.Name = c.Name
		if diff := cmp.Diff(c, same, cmp.AllowUnexported(Config{})); diff != "" {
			t.Errorf("%s: the file is not its folder:\n%s", folder, diff)
		}
	}
	golden.File(t, filepath.Join("testdata", "folders.txt"), out.String())
}

// TestKVBytes checks the bytes of a token of spec 09 section 9.3.
func TestKVBytes(t *testing.T) {
	for _, c := range []struct {
		model  string
		tensor int64
		kv     Quant
		want   int64
	}{
		{"meta-llama/Meta-Llama-3.1-8B", 1, "", 131072}, {"meta-llama/Meta-Llama-3.1-8B", 16, "", 16384}, {"meta-llama/Meta-Llama-3.1-8B", 1, FP8, 65536},
		{"Qwen/Qwen3-32B-FP8", 2, "", 131072}, {"deepseek-ai/DeepSeek-V3", 8, "", 70272}, {"openai/gpt-oss-20b", 1, "", 49152},
	} {
		m, err := Find(c.model)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := m.KVBytesPerToken(c.tensor, c.kv); got != c.want || err != nil {
			t.Errorf("%s at tensor %d with %q: %d bytes, %v, want %d", c.model, c.tensor, c.kv, got, err, c.want)
		}
	}
}

// FuzzParse wants a configuration with sizes in bounds, or an error that names the file.
func FuzzParse(f *testing.F) {
	for _, e := range known() {
		f.Add([]byte(e.Config), []byte(e.Quantization))
	}
	f.Add([]byte(`{"architectures": [1], "hidden_size": 1e400, "quantization_config": {"weight_block_size": [null]}}`), []byte(`{"quantization": []}`))
	f.Add([]byte(`{"num_attention_heads": 0, "hidden_size": 8, "text_config": {"seq_length": -1}}`), []byte(`{}`))
	f.Fuzz(func(t *testing.T, config, quantization []byte) {
		if len(quantization) == 0 {
			quantization = nil
		}
		c, err := Parse("model", config, quantization)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "model: ") || strings.ContainsAny(err.Error(), "\n") {
				t.Fatalf("unclear error: %q", err)
			}
			return
		}
		for _, n := range []int64{c.Layers, c.Hidden, c.Heads, c.KVHeads, c.HeadSize, c.Intermediate, c.Vocabulary, c.TopK, c.Experts, c.ExpertWidth, c.KVRank, c.RopeSize, c.WeightBlock} {
			if n < 0 || n > maxSize {
				t.Fatalf("size out of bounds: %+v", c)
			}
		}
		if c.Check() == nil && (c.Layers == 0 || c.Heads == 0 || c.HeadSize == 0 || c.Hidden == 0 || c.Vocabulary == 0) {
			t.Fatalf("a model without sizes is accepted: %+v", c)
		}
		if n, err := c.KVBytesPerToken(3, ""); err == nil && n < 0 {
			t.Fatalf("%d bytes a token: %+v", n, c)
		}
		c.Modes("vllm", true)
	})
}

// TestNearest wants an error that names three known models for any name.
func TestNearest(t *testing.T) {
	for _, name := range []string{"x", strings.Repeat("llama/", 5000), "Qwen/Qwen3-32", "\x00", "gpt"} {
		_, err := Find(name)
		unknown, ok := errors.AsType[*UnknownError](err)
		if !ok || len(unknown.Near) != 3 {
			t.Errorf("%.20q: got %v, want three names", name, err)
			continue
		}
		for _, near := range unknown.Near {
			if _, ok := known()[near]; !ok {
				t.Errorf("%.20q: %q is no model", name, near)
			}
		}
	}
}
