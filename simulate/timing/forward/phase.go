package forward

// query is the shape that operators see: tokens computed in the pass, and for attention the
// requests, the new tokens of each and those before (prefill), or the cached tokens (decode).
type query struct{ batch, tokens, sequence, prefix int64 }

// phase is a list ready to be priced.
type phase struct {
	ops   []pricedOp
	steps []step
	// byTokens has the operators that depend on the tokens alone, byRequests the product that
	// computes one token a request.
	byTokens, byRequests rows
	// sums has the time of each step over all passes; nil when nobody asks.
	sums   []float64
	passes int64
}

// step is one term of the sum: an operator, and with folded names those of the same name.
type step struct {
	of   *pricedOp
	more []*pricedOp
}

// rows keeps the times of operators by a count.
type rows struct {
	ops []*pricedOp
	// at has one more than the row of each count, 0 for none.
	at     []int32
	values []float64
	spare  []float64
}

// maxRow bounds the counts that are kept.
const maxRow = 1 << 17

// get is the row of a count, computed when it is new.
func (r *rows) get(count int64) ([]float64, error) {
	if count < int64(len(r.at)) {
		if row := int(r.at[count]); row > 0 {
			return r.values[(row-1)*len(r.ops) : row*len(r.ops)], nil
		}
	}
	return r.compute(count)
}

func (r *rows) compute(count int64) ([]float64, error) {
	for i, o := range r.ops {
		v, err := o.byCount(count)
		if err != nil {
			return nil, err
		}
		r.spare[i] = v
	}
	if count >= maxRow {
		return r.spare, nil
	}
	for int64(len(r.at)) <= count {
		r.at = append(r.at, make([]int32, max(256, len(r.at)))...)
	}
	r.values = append(r.values, r.spare...)
	r.at[count] = int32(len(r.values) / max(len(r.ops), 1))
	return r.spare, nil
}

// prepare gets a list ready.
func (p *phase) prepare(c *Compiled, ops []op, prefill bool) {
	p.ops = make([]pricedOp, len(ops))
	first := map[string]int{}
	for i := range ops {
		o := &p.ops[i]
		o.prepare(c, &ops[i], prefill)
		switch {
		case o.kind >= attention:
		case prefill && o.isLogits():
			o.byRequest, o.slot = true, len(p.byRequests.ops)
			p.byRequests.ops = append(p.byRequests.ops, o)
		default:
			o.slot = len(p.byTokens.ops)
			p.byTokens.ops = append(p.byTokens.ops, o)
		}
		if at, ok := first[o.name]; ok && c.deployment.FoldNames {
			p.steps[at].more = append(p.steps[at].more, o)
			continue
		}
		first[o.name] = len(p.steps)
		p.steps = append(p.steps, step{of: o})
	}
	p.byTokens.spare = make([]float64, len(p.byTokens.ops))
	p.byRequests.spare = make([]float64, len(p.byRequests.ops))
}

// total adds the list up.
func (p *phase) total(q query) (float64, error) {
	tokens, err := p.byTokens.get(q.tokens)
	if err != nil {
		return 0, err
	}
	var requests []float64
	if len(p.byRequests.ops) > 0 {
		if requests, err = p.byRequests.get(q.batch); err != nil {
			return 0, err
		}
	}
	total := 0.0
	for i := range p.steps {
		s := &p.steps[i]
		var v float64
		switch o := s.of; {
		case o.kind >= attention:
			if v, err = o.byShape(q); err != nil {
				return 0, err
			}
		case o.byRequest:
			v = requests[o.slot]
		default:
			v = tokens[o.slot]
		}
		for _, o := range s.more {
			w, err := o.value(q)
			if err != nil {
				return 0, err
			}
			v += w
		}
		total += v
		if p.sums != nil {
			p.sums[i] += v
		}
	}
	p.passes++
	return total, nil
}

func (p *phase) breakdown(q query) ([]OperatorTime, error) {
	out := make([]OperatorTime, len(p.ops))
	for i := range p.ops {
		o := &p.ops[i]
		v, err := o.value(q)
		if err != nil {
			return nil, err
		}
		out[i] = OperatorTime{Name: o.name, MS: v, Source: o.source()}
	}
	return out, nil
}
