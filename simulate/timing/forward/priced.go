package forward

import (
	"errors"
	"strings"

	"github.com/dynosim/dynosim/schemas/models"
	"github.com/dynosim/dynosim/simulate/timing/operators"
)

// pricedOp is an operator with what its time is looked up in. Its methods give the time of all
// repetitions, at least 0.
type pricedOp struct {
	*op
	c       *Compiled
	prefill bool
	// slot is the operator's place in a row of kept times; byRequest says in which.
	slot      int
	byRequest bool

	product          *operators.GEMMOperator
	prefillAttention *operators.PrefillAttentionOperator
	decodeAttention  *operators.DecodeAttentionOperator
	// failed is what every query of the operator answers.
	failed error
	key    operators.ExpertsKey
	// left and right are the branches of a fallback or an overlap.
	left, right []pricedOp
}

func quant(q models.Quant) operators.Quant {
	out, _ := operators.ParseQuant(string(q))
	return out
}

func (o *pricedOp) prepare(c *Compiled, of *op, prefill bool) {
	*o = pricedOp{op: of, c: c, prefill: prefill}
	d, t := &c.deployment, c.tables
	switch of.kind {
	case gemm:
		o.product, o.failed = t.PrepareGEMM(quant(of.mode), of.lowInput, of.n, of.k)
	case attention:
		key := operators.AttentionKey{FMHA: quant(d.Modes.FMHA), KV: quant(d.Modes.KV), KVHeads: of.kvHeads, HeadSize: of.headSize, Window: of.window, QKNorm: of.qkNorm}
		if prefill {
			o.prefillAttention, o.failed = t.PreparePrefillAttention(key, of.heads)
		} else {
			o.decodeAttention, o.failed = t.PrepareDecodeAttention(key, of.heads)
		}
	case experts:
		m := d.Model
		o.key = operators.ExpertsKey{
			Mode: quant(of.mode), Distribution: d.distribution(), TopK: m.TopK, Experts: m.Experts, Hidden: m.Hidden, Inter: m.ExpertWidth,
			TP: d.Parallel.MoETensor, EP: d.Parallel.MoEExpert,
		}
	}
	o.left, o.right = prepareGroup(c, of.first, prefill), prepareGroup(c, of.second, prefill)
}

func prepareGroup(c *Compiled, ops []op, prefill bool) []pricedOp {
	out := make([]pricedOp, len(ops))
	for i := range ops {
		out[i].prepare(c, &ops[i], prefill)
	}
	return out
}

// value is the time for a query, whatever the operator depends on.
func (o *pricedOp) value(q query) (float64, error) {
	switch {
	case o.kind >= attention:
		return o.byShape(q)
	case o.prefill && o.isLogits():
		return o.byCount(q.batch)
	}
	return o.byCount(q.tokens)
}

func (o *pricedOp) scaled(v float64, err error) (float64, error) {
	if err != nil {
		return 0, err
	}
	return max(0, v) * o.scale, nil
}

// byCount is the time of an operator that depends on the number of tokens only.
func (o *pricedOp) byCount(x int64) (float64, error) {
	if o.failed != nil {
		return 0, o.failed
	}
	t, p := o.c.tables, &o.c.deployment.Parallel
	switch o.kind {
	case memory:
		return o.scaled(t.Memory(float64(o.width)*float64(x)), nil)
	case gemm:
		return o.scaled(o.product.MS(x))
	case allReduce:
		return o.scaled(t.AllReduce(p.Tensor, float64(x)*float64(o.width)))
	case hop:
		return o.scaled(t.PipelineHop(p.Pipeline, float64(x)*float64(o.width)))
	case dispatch:
		return o.scaled(o.exchange(x))
	case experts:
		return o.scaled(t.Experts(o.key, x*max(p.AttentionData, 1)))
	case overlap:
		a, err := sum(o.left, query{batch: x, tokens: x})
		if err != nil {
			return 0, err
		}
		b, err := sum(o.right, query{batch: x, tokens: x})
		return o.scaled(max(a, b), err)
	}
	panic("not an operator that depends on tokens only")
}

func (o *pricedOp) exchange(x int64) (float64, error) {
	total := 0.0
	for _, s := range o.steps {
		var v float64
		var err error
		elements := float64(x*s.tokens) * s.width
		switch s.name {
		case "":
			v, err = o.c.tables.AllReduce(s.gpus, elements)
		case "all_gather":
			v, err = o.c.tables.NCCL(operators.AllGather, s.gpus, elements)
		default:
			v, err = o.c.tables.NCCL(operators.ReduceScatter, s.gpus, elements)
		}
		if err != nil {
			return 0, err
		}
		total += v
	}
	return total, nil
}

// sum adds a group up in order.
func sum(ops []pricedOp, q query) (float64, error) {
	total := 0.0
	for i := range ops {
		v, err := ops[i].value(q)
		if err != nil {
			return 0, err
		}
		total += v
	}
	return total, nil
}

// byShape is the time of an operator that sees the shape of the pass.
func (o *pricedOp) byShape(q query) (float64, error) {
	if o.failed != nil {
		return 0, o.failed
	}
	t, m := o.c.tables, &o.c.deployment.Modes
	switch {
	case o.kind == attention && o.prefill:
		return o.scaled(o.prefillAttention.MS(q.batch, q.sequence, q.prefix))
	case o.kind == attention:
		return o.scaled(o.decodeAttention.MS(q.batch, q.sequence))
	case o.kind == latentModule && o.prefill:
		return o.scaled(t.MLAPrefillModule(quant(m.FMHA), quant(m.KV), quant(o.mode), o.c.deployment.Model.Heads, o.heads, q.batch, q.sequence, q.prefix))
	case o.kind == latentModule:
		return o.scaled(t.MLADecodeModule(quant(m.KV), quant(o.mode), o.c.deployment.Model.Heads, o.heads, q.batch, q.sequence))
	case o.kind == latentKernel && o.prefill:
		return o.scaled(t.MLAPrefill(quant(m.FMHA), quant(m.KV), o.heads, q.batch, q.sequence, q.prefix))
	case o.kind == latentKernel:
		return o.scaled(t.MLADecode(quant(m.KV), o.heads, q.batch, q.sequence))
	case o.kind == latentProduct:
		return o.scaled(t.BMM(quant(o.mode), o.after, o.heads, q.tokens))
	case o.kind == fallback:
		v, err := sum(o.left, q)
		if errors.Is(err, operators.ErrMissingData) {
			v, err = sum(o.right, q)
		}
		return o.scaled(v, err)
	}
	panic("not an operator that sees the shape of the pass")
}

// source says where the operator's time comes from.
func (o *pricedOp) source() string {
	p := &o.c.deployment.Parallel
	switch o.kind {
	case memory:
		return "formula: memory bandwidth"
	case gemm:
		if o.product == nil {
			return "gemm (" + string(o.mode) + "), no data"
		}
		if o.mode == models.FP8Static {
			return "gemm (fp8), compute_scale, scale_matrix, " + o.product.Method()
		}
		return "gemm (" + string(o.mode) + "), " + o.product.Method()
	case allReduce:
		if p.Tensor == 1 {
			return "none: one GPU"
		}
		return "all_reduce"
	case hop:
		if p.Pipeline == 1 {
			return "none: one stage"
		}
		return "formula: link bandwidth and latency"
	case dispatch:
		names := []string{}
		for _, s := range o.steps {
			name := "nccl " + s.name
			if s.name == "" {
				name = "all_reduce"
			}
			names = append(names, name)
		}
		if len(names) == 0 {
			return "none: one GPU"
		}
		return strings.Join(names, ", ")
	case experts:
		return "experts (" + string(o.mode) + ")"
	case overlap:
		return "the longer of the experts and the shared expert"
	case attention:
		switch {
		case o.prefillAttention != nil:
			return "attention_prefill, " + o.prefillAttention.Method()
		case o.decodeAttention != nil:
			return "attention_decode, " + o.decodeAttention.Method()
		case o.prefill:
			return "attention_prefill, no data"
		}
		return "attention_decode, no data"
	case fallback:
		if o.prefill {
			return "mla_prefill_module, else its parts"
		}
		return "mla_decode_module, else its parts"
	}
	return "measured"
}
