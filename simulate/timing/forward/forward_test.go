package forward

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dynosim/dynosim/internal/golden"
	"github.com/dynosim/dynosim/schemas"
	"github.com/dynosim/dynosim/schemas/models"
	"github.com/dynosim/dynosim/simulate/timing/operators"
)

func model(t testing.TB, name string) *models.Config {
	t.Helper()
	m, err := models.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func deployment(t testing.TB, name string, backend schemas.Backend, p Parallel) Deployment {
	m := model(t, name)
	for _, n := range []*int64{&p.Tensor, &p.Pipeline, &p.AttentionData, &p.MoETensor, &p.MoEExpert} {
		*n = max(*n, 1)
	}
	return Deployment{Model: m, Backend: backend, Parallel: p, Modes: m.Modes(string(backend), false), Generation: 90}
}

// TestLists prints the operator lists of a deployment of each family and backend (spec 09 section 3).
func TestLists(t *testing.T) {
	var out strings.Builder
	for _, d := range []Deployment{
		deployment(t, "meta-llama/Meta-Llama-3.1-8B", schemas.BackendVLLM, Parallel{Tensor: 2, Pipeline: 2}),
		deployment(t, "openai/gpt-oss-20b", schemas.BackendVLLM, Parallel{}),
		deployment(t, "Qwen/Qwen3-30B-A3B-FP8", schemas.BackendSGLang, Parallel{Tensor: 4, AttentionData: 2, MoEExpert: 8}),
		deployment(t, "Qwen/Qwen3-30B-A3B", schemas.BackendVLLM, Parallel{Tensor: 2, AttentionData: 2, MoETensor: 2, MoEExpert: 2}),
		deployment(t, "deepseek-ai/DeepSeek-V3", schemas.BackendVLLM, Parallel{Tensor: 8, MoEExpert: 8}),
		deployment(t, "deepseek-ai/DeepSeek-V3", schemas.BackendTRTLLM, Parallel{AttentionData: 8, MoEExpert: 8}),
	} {
		l := d.compile()
		fmt.Fprintf(&out, "# %s %s %+v\n", d.Model.Name, d.Backend, d.Parallel)
		printOps(&out, l.prefill, "")
		printOps(&out, l.decode, "")
		out.WriteByte('\n')
	}
	golden.File(t, filepath.Join("testdata", "lists.txt"), out.String())
}

func printOps(out *strings.Builder, ops []op, indent string) {
	for i := range ops {
		o := &ops[i]
		fmt.Fprintf(out, "%s%s × %g", indent, o.name, o.scale)
		switch o.kind {
		case memory:
			fmt.Fprintf(out, " memory %d bytes, %d rows", o.width, o.rows)
		case gemm:
			fmt.Fprintf(out, " gemm n %d k %d %s, quantised input %t", o.n, o.k, o.mode, o.lowInput)
		case attention:
			fmt.Fprintf(out, " attention %d/%d of %d, window %d, normalised %t", o.heads, o.kvHeads, o.headSize, o.window, o.qkNorm)
		case allReduce, hop:
			fmt.Fprintf(out, " %d elements", o.width)
		case dispatch:
			fmt.Fprintf(out, " %+v", o.steps)
		case experts:
			fmt.Fprintf(out, " experts %s", o.mode)
		case latentModule, latentKernel, latentProduct:
			fmt.Fprintf(out, " latent %d heads %s", o.heads, o.mode)
		}
		out.WriteByte('\n')
		printOps(out, o.first, indent+"  a ")
		printOps(out, o.second, indent+"  b ")
	}
}

// system is the memory facts of a GPU system (spec 09 section 1.6).
func system(bytes int64) *operators.Hardware {
	return &operators.Hardware{MemoryBytes: bytes, OtherBytes: 3758096384, LibraryBytes: map[int64]int64{1: 0, 2: 358612992, 4: 411041792, 8: 411041792}}
}

// TestMemory checks the worked examples of spec 09 section 10.
func TestMemory(t *testing.T) {
	for _, c := range []struct {
		backend        schemas.Backend
		bytes          int64
		fraction       float64
		block          int64
		budget         int64
		tokens, blocks int64
	}{
		{schemas.BackendVLLM, 151397597184, 0, 64, 115701553561, 882732, 13792},
		{schemas.BackendSGLang, 151397597184, 0, 1, 113201345724, 863657, 863657},
		{schemas.BackendTRTLLM, 151397597184, 0, 32, 117757181952, 898416, 28075},
		{schemas.BackendVLLM, 48305799168, 0.51, 64, 4079673671, 31125, 486},
	} {
		d := deployment(t, "meta-llama/Meta-Llama-3.1-8B", c.backend, Parallel{})
		m, err := d.Memory(system(c.bytes), MemoryRequest{BatchedTokens: 8192, Fraction: c.fraction, BlockTokens: c.block})
		if err != nil {
			t.Errorf("%s: %v", c.backend, err)
			continue
		}
		if int64(m.KV) != c.budget || m.Tokens != c.tokens || m.Blocks != c.blocks || m.Weights != 16059990016 {
			t.Errorf("%s: %+v, want a budget of %d, %d tokens, %d blocks", c.backend, m, c.budget, c.tokens, c.blocks)
		}
	}
}

// TestRefused lists what cannot be built (spec 09 section 7).
func TestRefused(t *testing.T) {
	var out strings.Builder
	old := deployment(t, "Qwen/Qwen3-32B-FP8", schemas.BackendVLLM, Parallel{})
	old.Generation = 80
	for _, d := range []Deployment{
		old,
		deployment(t, "Qwen/Qwen3-8B", schemas.BackendVLLM, Parallel{Tensor: 3}),
		deployment(t, "Qwen/Qwen3-8B", schemas.BackendVLLM, Parallel{MoEExpert: 2}),
		deployment(t, "Qwen/Qwen3-30B-A3B", schemas.BackendVLLM, Parallel{Tensor: 4}),
		deployment(t, "Qwen/Qwen3-30B-A3B-FP8", schemas.BackendVLLM, Parallel{Tensor: 4, MoETensor: 4}),
		deployment(t, "openai/gpt-oss-20b", schemas.BackendVLLM, Parallel{Tensor: 64, MoEExpert: 64}),
		deployment(t, "Qwen/Qwen3-VL-8B-Instruct", schemas.BackendVLLM, Parallel{}),
		deployment(t, "Qwen/Qwen3-8B", schemas.BackendVLLM, Parallel{}),
	} {
		fmt.Fprintf(&out, "%+v: %v\n", d.Parallel, errors.Join(d.Check(), d.checkArithmetic()))
	}
	d := deployment(t, "meta-llama/Meta-Llama-3.1-70B", schemas.BackendVLLM, Parallel{})
	_, err := d.Memory(system(85899345920), MemoryRequest{BatchedTokens: 8192, BlockTokens: 64})
	fmt.Fprintf(&out, "70B on one GPU: %v\n", err)
	d.Parallel.Tensor = 16
	_, err = d.Memory(system(85899345920), MemoryRequest{BatchedTokens: 8192, BlockTokens: 64})
	fmt.Fprintf(&out, "70B on 16: %v\n", err)
	d = deployment(t, "Qwen/Qwen3-0.6B", schemas.BackendVLLM, Parallel{Tensor: 6})
	_, err = d.Memory(system(85899345920), MemoryRequest{BatchedTokens: 8192, BlockTokens: 64})
	fmt.Fprintf(&out, "0.6B on 6: %v\n", err)
	golden.File(t, filepath.Join("testdata", "refused.txt"), out.String())
}
