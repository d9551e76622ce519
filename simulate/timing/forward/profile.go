package forward

import "fmt"

// Profile is the time of every operator over all passes that were priced, in milliseconds before
// floors, rounding and speed-ups.
type Profile struct {
	Prefill, Decode PhaseProfile
}

// PhaseProfile is the operators of one phase in list order.
type PhaseProfile struct {
	Passes    int64
	MS        float64
	Operators []OperatorProfile
}

// OperatorProfile is one operator of a list. Shape is what a GPU computes, for a reader.
type OperatorProfile struct {
	OperatorTime
	Scale float64
	Shape string
}

// Observe makes the pricers that Private makes from now on sum up the time of each operator.
func (p *Pricer) Observe() { p.observed = &observers{} }

// observers are the pricers that sum up.
type observers struct{ pricers []*Pricer }

// observe starts to sum up.
func (p *phase) observe() { p.sums = make([]float64, len(p.steps)) }

// Profile is the sums of the pricers that were made after Observe. Nothing may be priced meanwhile.
func (p *Pricer) Profile() Profile {
	out := Profile{Prefill: p.prefill.shapes(), Decode: p.decode.shapes()}
	if p.observed == nil {
		return out
	}
	for _, q := range p.observed.pricers {
		out.Prefill.add(&q.prefill)
		out.Decode.add(&q.decode)
	}
	return out
}

func (r *PhaseProfile) add(p *phase) {
	r.Passes += p.passes
	for i, ms := range p.sums {
		r.Operators[i].MS += ms
		r.MS += ms
	}
}

// shapes is a profile without passes.
func (p *phase) shapes() PhaseProfile {
	out := PhaseProfile{Operators: make([]OperatorProfile, len(p.steps))}
	for i := range p.steps {
		o := p.steps[i].of
		out.Operators[i] = OperatorProfile{OperatorTime{Name: o.name, Source: o.source()}, o.scale, o.shape()}
	}
	return out
}

// shape describes what a GPU computes.
func (o *pricedOp) shape() string {
	switch o.kind {
	case memory:
		if o.rows > 0 {
			return fmt.Sprintf("table of %d rows, %d bytes a token", o.rows, o.width)
		}
		return fmt.Sprintf("%d bytes a token", o.width)
	case gemm:
		return fmt.Sprintf("n %d, k %d, %s", o.n, o.k, o.mode)
	case attention:
		text := fmt.Sprintf("%d query heads, %d KV heads of %d", o.heads, o.kvHeads, o.headSize)
		if o.window > 0 {
			text += fmt.Sprintf(", window %d", o.window)
		}
		return text
	case allReduce, hop:
		return fmt.Sprintf("%d elements a token", o.width)
	case dispatch:
		return fmt.Sprintf("%d exchanges", len(o.steps))
	case experts:
		return fmt.Sprintf("%d of %d experts %d × %d, %s", o.key.TopK, o.key.Experts, o.key.Hidden, o.key.Inter, o.mode)
	case fallback:
		return fmt.Sprintf("latent attention, %d heads", o.op.first[0].heads)
	case overlap:
		return "experts beside the shared expert"
	}
	return ""
}
