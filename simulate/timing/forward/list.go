package forward

import (
	"strings"

	"github.com/dynosim/dynosim/schemas"
	"github.com/dynosim/dynosim/schemas/models"
)

// kind tells how an operator is priced.
type kind uint8

const (
	// Operators whose time depends on the number of tokens only.
	memory kind = iota
	gemm
	allReduce
	hop
	dispatch
	experts
	overlap

	// Operators that see the whole shape of the pass.
	attention
	latentModule
	latentKernel
	latentProduct
	fallback
)

// op is one operator of a list.
type op struct {
	name  string
	kind  kind
	scale float64
	// n and k are the shape of a matrix product of mode; lowInput says that its input is
	// quantised already.
	n, k     int64
	mode     models.Quant
	lowInput bool
	// width is the bytes a token of a memory operator, the elements a token of a collective.
	width int64
	// rows is the height of an embedding table, 0 for other memory operators.
	rows int64
	// heads, kvHeads, headSize, window and qkNorm are attention on a GPU.
	heads, kvHeads, headSize, window int64
	qkNorm                           bool
	// after says that a latent product comes after attention.
	after bool
	steps []collective
	// first and second are the branches of a fallback (the module, the granular chain) and of an
	// overlap (the two groups).
	first, second []op
}

// collective is one exchange around the experts.
type collective struct {
	// name is the NCCL operation, "" for an all-reduce.
	name string
	gpus int64
	// tokens multiplies the number of tokens, width is the elements of each.
	tokens int64
	width  float64
}

// lists are the operators of both phases.
type lists struct{ prefill, decode []op }

// builder makes the list of one phase.
type builder struct {
	d      *Deployment
	prefix string
	out    []op
}

// compile builds both lists.
func (d *Deployment) compile() lists {
	l := lists{prefill: d.list("context_"), decode: d.list("generation_")}
	if d.DraftTokens > 0 {
		layers := float64(d.Model.Layers)
		rescale(l.decode, (layers+float64(d.DraftTokens))/layers)
	}
	return l
}

// rescale multiplies every scale (spec 09 section 3.4).
func rescale(ops []op, factor float64) {
	for i := range ops {
		ops[i].scale *= factor
		rescale(ops[i].first, factor)
		rescale(ops[i].second, factor)
	}
}

func (d *Deployment) list(prefix string) []op {
	b := &builder{d: d, prefix: prefix}
	switch d.Model.Family {
	case models.Dense:
		b.dense()
	case models.Mixture:
		b.mixture()
	case models.DeepSeek:
		b.deepSeek()
	}
	return b.out
}

func (b *builder) decode() bool { return b.prefix == "generation_" }

func (b *builder) add(o op) {
	o.name = b.prefix + o.name
	b.out = append(b.out, o)
}

func (b *builder) layers() float64 { return float64(b.d.Model.Layers) }

// dense is spec 09 section 3.1.
func (b *builder) dense() {
	m, tp := b.d.Model, b.d.Parallel.Tensor
	b.attentionBlock(b.layers())
	b.product("gate_ffn1_gemm", 2*m.Intermediate/tp, m.Hidden, b.d.Modes.GEMM, false, b.layers())
	b.add(op{name: "act_gate", kind: memory, scale: b.layers(), width: 2*(2*m.Intermediate/tp) + 2*(m.Intermediate/tp)})
	b.product("ffn2_gemm", m.Hidden, m.Intermediate/tp, b.d.Modes.GEMM, true, b.layers())
	b.logits()
	b.add(op{name: "embedding_ar", kind: allReduce, scale: 1, width: m.Hidden})
	b.add(op{name: "ar_1", kind: allReduce, scale: b.layers(), width: m.Hidden})
	b.add(op{name: "ar_2", kind: allReduce, scale: b.layers(), width: m.Hidden})
	b.hop()
}

// mixture is spec 09 section 3.2.
func (b *builder) mixture() {
	m := b.d.Model
	attentionLayers := b.layers()
	if m.GPTOSS() {
		attentionLayers = b.layers() / 2
		b.add(b.attention("attention", attentionLayers, m.Window))
	}
	b.attentionBlock(attentionLayers)
	b.experts()
	if b.decode() {
		b.logits()
	}
	b.add(op{name: "embedding_ar", kind: allReduce, scale: 1, width: m.Hidden})
	b.hop()
}

// attentionBlock is what dense models and mixtures begin with; attentionLayers scales the
// attention alone.
func (b *builder) attentionBlock(attentionLayers float64) {
	m, tp := b.d.Model, b.d.Parallel.Tensor
	b.embedding(m.Vocabulary / tp)
	b.norm("add_norm_1")
	b.product("qkv_gemm", m.Heads*m.HeadSize/tp+2*m.HeadSize*b.d.kvHeadsPerGPU(), m.Hidden, b.d.Modes.GEMM, false, b.layers())
	b.add(b.attention("attention", attentionLayers, 0))
	b.product("proj_gemm", m.Hidden, m.Heads*m.HeadSize/tp, b.d.Modes.GEMM, true, b.layers())
	b.norm("add_norm_2")
}

func (b *builder) embedding(rows int64) {
	b.add(op{name: "embedding", kind: memory, scale: 1, width: 2 * b.d.Model.Hidden, rows: rows})
}

func (b *builder) norm(name string) {
	b.add(op{name: name, kind: memory, scale: b.layers(), width: 8 * b.d.Model.Hidden})
}

func (b *builder) product(name string, n, k int64, mode models.Quant, lowInput bool, scale float64) {
	b.add(op{name: name, kind: gemm, scale: scale, n: n, k: k, mode: mode, lowInput: lowInput})
}

func (b *builder) logits() {
	m := b.d.Model
	b.product("logits_gemm", m.Vocabulary/b.d.Parallel.Tensor, m.Hidden, models.BFloat16, false, 1)
}

func (b *builder) hop() {
	b.add(op{name: "p2p", kind: hop, scale: float64(b.d.Parallel.Pipeline - 1), width: b.d.Model.Hidden})
}

func (b *builder) attention(name string, scale float64, window int64) op {
	m, tp := b.d.Model, b.d.Parallel.Tensor
	return op{name: name, kind: attention, scale: scale, heads: m.Heads / tp, kvHeads: b.d.kvHeadsPerGPU(), headSize: m.HeadSize, window: window, qkNorm: m.QKNorm}
}

// experts adds the router, the experts and the exchanges around them.
func (b *builder) experts() {
	m := b.d.Model
	b.product("router_gemm", m.Experts, m.Hidden, models.BFloat16, false, b.layers())
	before, after := b.d.exchanges()
	b.add(op{name: "moe_pre_dispatch", kind: dispatch, scale: b.layers(), steps: before})
	b.add(op{name: "moe", kind: experts, scale: b.layers(), mode: b.d.Modes.MoE})
	b.add(op{name: "moe_post_dispatch", kind: dispatch, scale: b.layers(), steps: after})
}

// deepSeek is spec 09 section 3.3.
func (b *builder) deepSeek() {
	m, tp := b.d.Model, b.d.Parallel.Tensor
	b.embedding(m.Vocabulary)
	b.norm("add_norm_1")
	module := op{name: "mla_module", kind: latentModule, scale: b.layers(), heads: m.Heads / tp, mode: b.d.Modes.GEMM}
	b.add(op{name: "mla_block", kind: fallback, scale: 1, first: []op{module}, second: b.granular()})
	b.norm("add_norm_2")
	shared := b.group(func(g *builder) {
		width := m.ExpertWidth
		g.product("shared_gate_up_gemm", 2*width/tp, m.Hidden, g.d.Modes.GEMM, false, g.layers())
		g.add(op{name: "shared_act_gate", kind: memory, scale: g.layers(), width: 2*(2*width/tp) + 2*(width/tp)})
		g.product("shared_ffn2_gemm", m.Hidden, width/tp, g.d.Modes.GEMM, true, g.layers())
	})
	routed := b.group((*builder).experts)
	if b.decode() {
		b.add(op{name: "moe_overlap", kind: overlap, scale: 1, first: routed, second: shared})
	} else {
		b.out = append(append(b.out, shared...), routed...)
	}
	b.logits()
	if b.d.Backend == schemas.BackendVLLM {
		b.add(op{name: "tp_allreduce", kind: allReduce, scale: 2 * b.layers(), width: m.Hidden})
	}
	b.hop()
}

// Distributions of tokens over experts that the tables were measured with.
const (
	mixtureDistribution = "power_law_1.2"
	latentDistribution  = "power_law_1.01"
)

// distribution is that of the model's family.
func (d *Deployment) distribution() string {
	if d.Model.Family == models.DeepSeek {
		return latentDistribution
	}
	return mixtureDistribution
}

func (b *builder) group(fill func(*builder)) []op {
	g := &builder{d: b.d, prefix: b.prefix}
	fill(g)
	return g.out
}

// granular is latent attention operator by operator.
func (b *builder) granular() []op {
	m, tp, mode := b.d.Model, b.d.Parallel.Tensor, b.d.Modes.GEMM
	return b.group(func(g *builder) {
		g.product("downscale_gemm", 2112, m.Hidden, mode, false, g.layers())
		g.product("q_b_proj_gemm", m.Heads*192/tp, 1536, mode, false, g.layers())
		if !g.decode() {
			g.product("kv_b_proj_gemm", m.Heads*256/tp, 512, mode, false, g.layers())
		}
		kernel := op{name: "attention", kind: latentKernel, scale: g.layers(), heads: 128 / tp}
		switch {
		case g.d.Backend == schemas.BackendVLLM:
			g.add(op{name: "attention", kind: attention, scale: g.layers(), heads: m.Heads / tp, kvHeads: m.KVHeads / tp, headSize: m.ValueSize})
		case !g.decode():
			g.add(kernel)
		default:
			product := op{kind: latentProduct, scale: g.layers(), heads: m.Heads / tp, mode: models.FP8}
			if mode == models.BFloat16 {
				product.mode = models.BFloat16
			}
			product.name = "bmm_pre"
			g.add(product)
			g.add(kernel)
			product.name, product.after = "bmm_post", true
			g.add(product)
		}
		g.product("proj_gemm", m.Hidden, m.Heads*128/tp, mode, true, g.layers())
	})
}

// exchanges are the collectives before and after the experts (spec 09 section 5.9).
func (d *Deployment) exchanges() (before, after []collective) {
	p, hidden := d.Parallel, float64(d.Model.Hidden)
	gpus, dp := p.MoETensor*p.MoEExpert, p.AttentionData
	tensor := max(gpus/dp, 1)
	reduce := collective{gpus: gpus, tokens: 1, width: hidden}
	gather := collective{name: "all_gather", gpus: gpus, tokens: dp, width: hidden}
	scatter := collective{name: "reduce_scatter", gpus: gpus, tokens: dp, width: hidden}
	within := func(c collective) collective {
		c.gpus, c.tokens = tensor, 1
		return c
	}
	switch {
	case d.Backend == schemas.BackendVLLM:
		if tensor > 1 {
			before, after = append(before, reduce), append(after, reduce)
		}
		if dp > 1 {
			before, after = append(before, gather), append(after, scatter)
		}
	case d.Backend == schemas.BackendTRTLLM && d.Generation == 100 && dp > 1:
		gather.width = hidden * quantisedShare(d.Modes.MoE)
		before, after = append(before, gather), append(after, scatter)
	case d.Backend == schemas.BackendSGLang && tensor > 1 && dp > 1:
		before, after = append(before, within(scatter), gather), append(after, scatter, within(gather))
	case tensor > 1:
		before, after = append(before, reduce), append(after, reduce)
	case dp > 1:
		before, after = append(before, gather), append(after, scatter)
	}
	return before, after
}

// quantisedShare is the volume of tokens that are sent quantised, in 16-bit elements.
func quantisedShare(mode models.Quant) float64 {
	switch mode {
	case models.FP8, models.FP8Block:
		return 0.5
	case models.NVFP4:
		return 0.25 + 0.25/8
	}
	return 1
}

// isLogits tells the product that computes one token a request.
func (o *op) isLogits() bool { return o.kind == gemm && strings.Contains(o.name, "logits_gemm") }
