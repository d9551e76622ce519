package operators

// ExpertsKey says which expert layer is asked for. TP and EP are the sizes the experts are split
// by: within an expert and over experts.
type ExpertsKey struct {
	Mode                                 Quant
	Distribution                         string
	TopK, Experts, Hidden, Inter, TP, EP int64
}

// ExpertsPoint is a measured expert layer.
type ExpertsPoint struct {
	TopK, Experts, Hidden, Inter, TP, EP int64
	Tokens                               int64
	MS                                   float64
}

type expertsModes struct {
	mode         Quant
	distribution string
	lowLatency   bool
}

type expertsShape struct{ topK, experts, hidden, inter, tp, ep int64 }

func (t *Tables) expertCurves(m expertsModes) (map[expertsShape]*curve, error) {
	return t.experts.get(m, func() (map[expertsShape]*curve, error) {
		points, err := t.source.Experts(m.mode, m.distribution, m.lowLatency)
		if err != nil {
			return nil, err
		}
		found := map[expertsShape]*curve{}
		var c *curve
		last := expertsShape{topK: -1}
		for i := range points {
			p := &points[i]
			if s := (expertsShape{p.TopK, p.Experts, p.Hidden, p.Inter, p.TP, p.EP}); s != last {
				last, c = s, &curve{}
				found[s] = c
			}
			c.add(p.Tokens, p.MS)
		}
		return found, nil
	})
}

// lowLatencyTokens is the most tokens that kernels for low latency serve.
const lowLatencyTokens = 128

// Experts is the duration in milliseconds of the routed experts for a number of tokens
// (spec 09 section 5.8). The tokens are those of all attention-data ranks.
func (t *Tables) Experts(e ExpertsKey, tokens int64) (float64, error) {
	if _, err := t.flops(e.Mode); err != nil {
		return 0, err
	}
	shape := expertsShape{e.TopK, e.Experts, e.Hidden, e.Inter, e.TP, e.EP}
	if e.Mode == NVFP4 && tokens <= lowLatencyTokens {
		c, err := t.expertShape(&e, shape, true)
		if err != nil {
			return 0, err
		}
		if c != nil {
			return t.expertsAt(&e, c, tokens)
		}
	}
	c, err := t.expertShape(&e, shape, false)
	if err != nil {
		return 0, err
	}
	if c == nil {
		return 0, missing("MoE data missing for quant '%s', distribution '%s', top-k %d, %d experts, hidden size %d, inter size %d, moe_tensor %d, moe_expert %d",
			e.Mode, e.Distribution, e.TopK, e.Experts, e.Hidden, e.Inter, e.TP, e.EP)
	}
	return t.expertsAt(&e, c, tokens)
}

// expertShape finds the curve of a shape under the distribution asked for, or under `uniform` when
// the mode has nothing under that.
func (t *Tables) expertShape(e *ExpertsKey, shape expertsShape, lowLatency bool) (*curve, error) {
	found, err := t.expertCurves(expertsModes{e.Mode, e.Distribution, lowLatency})
	if err == nil && len(found) == 0 {
		found, err = t.expertCurves(expertsModes{e.Mode, "uniform", lowLatency})
	}
	return found[shape], err
}

func (t *Tables) expertsAt(e *ExpertsKey, c *curve, tokens int64) (float64, error) {
	if len(c.at) == 1 && tokens < c.at[0] {
		return 0, missing("MoE data missing below %d tokens for quant '%s'", c.at[0], e.Mode)
	}
	flops := t.hardware.FLOPS[e.Mode.Arithmetic()]
	return c.value(float64(tokens), func(x float64) float64 {
		const products = 3
		rows := uint64(x) * uint64(e.TopK)
		h, inter, tp, ep := uint64(e.Hidden), uint64(e.Inter), uint64(e.TP), uint64(e.EP)
		ops := rows * h * inter * products * 2 / ep / tp
		elements := rows/ep*h*2 + rows/ep*inter*products/tp + h*inter*products/tp*min(uint64(e.Experts)/ep, rows/ep)
		return t.hardware.bound(float64(ops), flops, float64(elements)*e.Mode.Bytes())
	}), nil
}
