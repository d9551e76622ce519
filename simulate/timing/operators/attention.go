package operators

import "fmt"

// AttentionKey says which attention kernel is asked for. KVHeads are those of one GPU; Window
// is 0 for full attention.
type AttentionKey struct {
	FMHA, KV                  Quant
	KVHeads, HeadSize, Window int64
	QKNorm                    bool
}

// AttentionPoint is a measured attention call. KVHeads is 0 where they equal the query heads. In
// prefill the axes are (query heads, sequence, batch), in decode (query heads, batch, sequence).
type AttentionPoint struct {
	KVHeads, HeadSize, Window int64
	Axes                      [3]int64
	MS                        float64
}

type attentionModes struct {
	table    Table
	fmha, kv Quant
}

type attentionSlice struct{ kvHeads, headSize, window int64 }

// attentionBound is the theoretical bound of a slice.
type attentionBound struct {
	flops, bandwidth float64
	// kvHeads is 0 when they equal the query heads.
	kvHeads, headSize, window, kvBytes float64
}

func (a *attentionBound) limit(operations, bytes float64) float64 {
	return max(operations/a.flops*1000, bytes/a.bandwidth*1000)
}

type prefillBound struct{ attentionBound }

// sol at (query heads, sequence, batch), spec 09 section 5.4.
func (a *prefillBound) sol(p *point) float64 {
	q, s, b := p[0], p[1], p[2]
	kv := a.kvHeads
	if kv == 0 {
		kv = q
	}
	d := a.headSize
	ops := 2 * b * float64(s*s) * q * d * 2 / 2
	if a.window > 0 && s > a.window {
		ops = 2 * b * s * a.window * q * d * 2
	}
	bytes := float64(2*b*(float64(q*s*d)+float64(q*s*d))) + float64(a.kvBytes*b*(2*kv*s*d))
	return a.limit(ops, bytes)
}

type decodeBound struct{ attentionBound }

// sol at (query heads, batch, sequence), spec 09 section 5.6.
func (a *decodeBound) sol(p *point) float64 {
	q, b, s := p[0], p[1], p[2]
	kv := a.kvHeads
	if kv == 0 {
		kv = q
	}
	d, length := a.headSize, s-1
	if a.window > 0 {
		length = min(length, a.window)
	}
	ops := 2 * b * q * d * 2 * length
	bytes := b * (float64(q*d*2) + float64(2*kv*length*d*a.kvBytes) + float64(q*d*2))
	return a.limit(ops, bytes)
}

func (t *Tables) attentionBound(table Table, fmha, kv Quant, s attentionSlice) attentionBound {
	flops := t.hardware.FLOPS[fmha.Arithmetic()]
	if table == TableDecodeAttention {
		flops = t.hardware.cacheFLOPS(kv)
	}
	return attentionBound{flops, t.hardware.MemoryBandwidth, float64(s.kvHeads), float64(s.headSize), float64(s.window), kv.Bytes()}
}

// slices loads all slices of a table's mode.
func (t *Tables) slices(table Table, fmha, kv Quant) (map[attentionSlice]*grid, error) {
	if table == TableDecodeAttention {
		fmha = BFloat16
	}
	return t.attention.get(attentionModes{table, fmha, kv}, func() (map[attentionSlice]*grid, error) {
		points, err := t.source.Attention(table, fmha, kv)
		if err != nil {
			return nil, err
		}
		rootAxis := -1
		if table == TablePrefillAttention {
			rootAxis = 1
		}
		found := map[attentionSlice]*grid{}
		var g *grid
		var b decodeBound
		last := attentionSlice{kvHeads: -1}
		for i := range points {
			p := &points[i]
			if s := (attentionSlice{p.KVHeads, p.HeadSize, p.Window}); s != last {
				last = s
				g = &grid{axes: 3, rootAxis: rootAxis}
				found[s] = g
				b = decodeBound{t.attentionBound(table, fmha, kv, s)}
			}
			at, ms := point{float64(p.Axes[0]), float64(p.Axes[1]), float64(p.Axes[2])}, p.MS
			if table == TableDecodeAttention && b.flops > 0 {
				ms = max(ms, b.sol(&at))
			}
			g.add(at, ms)
		}
		return found, nil
	})
}

func (t *Tables) slice(table Table, key *AttentionKey, queryHeads int64) (*grid, attentionBound, error) {
	if table == TablePrefillAttention {
		if _, err := t.flops(key.FMHA); err != nil {
			return nil, attentionBound{}, err
		}
	}
	s := attentionSlice{key.KVHeads, key.HeadSize, key.Window}
	if s.kvHeads == queryHeads {
		s.kvHeads = 0
	}
	found, err := t.slices(table, key.FMHA, key.KV)
	if err != nil {
		return nil, attentionBound{}, err
	}
	g := found[s]
	if g == nil {
		name := fmt.Sprintf("context attention data missing for fmha '%s', kv cache '%s'", key.FMHA, key.KV)
		if table == TableDecodeAttention {
			name = fmt.Sprintf("generation attention data missing for kv cache '%s'", key.KV)
		}
		return nil, attentionBound{}, missing("%s, %d query heads, %d KV heads, head size %d, window %d", name, queryHeads, key.KVHeads, key.HeadSize, key.Window)
	}
	return g, t.attentionBound(table, key.FMHA, key.KV, s), nil
}

// PrefillAttentionOperator is the attention of prompts. It serves one goroutine.
type PrefillAttentionOperator struct {
	grid       *grid
	bound      prefillBound
	queryHeads float64
	// at is where the grid is asked.
	at point
	// extras is the time of the operations fused with it.
	extras float64
}

// PreparePrefillAttention binds the kernel and the query heads of one GPU.
func (t *Tables) PreparePrefillAttention(key AttentionKey, queryHeads int64) (*PrefillAttentionOperator, error) {
	g, b, err := t.slice(TablePrefillAttention, &key, queryHeads)
	if err != nil {
		return nil, err
	}
	h := &t.hardware
	q, kn := float64(queryHeads)*b.headSize, float64(key.KVHeads)*b.headSize
	extra := 0.0
	if key.QKNorm {
		extra += (float64(h.MemoryMS(2*q)*2) + float64(h.MemoryMS(2*kn)*2)) * 2
	}
	extra += float64(h.MemoryMS(float64(2*q)+float64(2*kn)) * 2)
	written := h.MemoryMS(kn * key.FMHA.Bytes())
	extra += written + written
	return &PrefillAttentionOperator{grid: g, bound: prefillBound{b}, queryHeads: float64(queryHeads), extras: float64(extra * 1.1)}, nil
}

// MS is the duration in milliseconds for prompts of newTokens each behind prefixTokens that are
// cached (spec 09 section 5.4).
func (o *PrefillAttentionOperator) MS(batch, newTokens, prefixTokens int64) (float64, error) {
	full := float64(newTokens + prefixTokens)
	o.at = point{o.queryHeads, full, float64(batch)}
	v, ok := o.grid.value(&o.at, &o.bound)
	if !ok {
		return 0, missing("context attention data missing at batch %d, sequence %v", batch, full)
	}
	return prefixShare(v, full, float64(prefixTokens)) + o.extras, nil
}

// prefixShare is the part of a full sequence's time that its tail behind a prefix takes.
func prefixShare(v, full, prefix float64) float64 {
	square := float64(full * full)
	return float64(v * ((square - float64(prefix*prefix)) / square))
}

// PrefillAttention is the duration in milliseconds of one prefill attention call.
func (t *Tables) PrefillAttention(key AttentionKey, queryHeads, batch, newTokens, prefixTokens int64) (float64, error) {
	o, err := t.PreparePrefillAttention(key, queryHeads)
	if err != nil {
		return 0, err
	}
	return o.MS(batch, newTokens, prefixTokens)
}

// DecodeAttentionOperator is the attention of one new token a request. It serves one goroutine.
type DecodeAttentionOperator struct {
	grid       *grid
	bound      decodeBound
	queryHeads float64
	// at is where the grid is asked.
	at point
	// extras is the time of the operations fused with it.
	extras float64
	// row is the grid at the last batch: steps of a steady batch ask for one after the other.
	row decodeRow
}

// PrepareDecodeAttention binds the kernel and the query heads of one GPU. The key's FMHA does not
// count.
func (t *Tables) PrepareDecodeAttention(key AttentionKey, queryHeads int64) (*DecodeAttentionOperator, error) {
	g, b, err := t.slice(TableDecodeAttention, &key, queryHeads)
	if err != nil {
		return nil, err
	}
	h := &t.hardware
	o := &DecodeAttentionOperator{grid: g, bound: decodeBound{b}, queryHeads: float64(queryHeads)}
	if key.QKNorm {
		q, kn := float64(queryHeads)*b.headSize, float64(key.KVHeads)*b.headSize
		o.extras = float64((float64(h.MemoryMS(2*q)*2) + float64(h.MemoryMS(2*kn)*2)) * (2.0 * 1.1))
	}
	return o, nil
}

// MS is the duration in milliseconds for a batch of requests with kvTokens each: the mean of five
// samples around that length (spec 09 section 5.6).
func (o *DecodeAttentionOperator) MS(batch, kvTokens int64) (float64, error) {
	c := float64(kvTokens)
	lo := max(int64(c*0.9), 1)
	hi := max(int64(c*1.1), lo)
	if batch != o.row.batch {
		o.row.bind(o.grid, o.queryHeads, batch)
	}
	sum := 0.0
	for i := range int64(5) {
		x := float64(lo + (hi-lo)*i/4)
		v, ok := o.row.value(int(i), x)
		if !ok {
			o.at = point{o.queryHeads, float64(batch), x}
			if v, ok = o.grid.value(&o.at, &o.bound); !ok {
				return 0, missing("generation attention data missing at batch %d, sequence %v", batch, x)
			}
		}
		sum += v
	}
	return sum/5 + o.extras, nil
}

// DecodeAttention is the duration in milliseconds of one decode attention call.
func (t *Tables) DecodeAttention(key AttentionKey, queryHeads, batch, kvTokens int64) (float64, error) {
	o, err := t.PrepareDecodeAttention(key, queryHeads)
	if err != nil {
		return 0, err
	}
	return o.MS(batch, kvTokens)
}
