package operators

import (
	"math/bits"
	"slices"
)

// MLAPoint is a measured call of multi-head latent attention: a kernel, or a whole module with its
// projections, whose model's own number of heads is NativeHeads (0 for kernels). In prefill the
// axes are (heads, sequence, batch), in decode (heads, batch, sequence).
type MLAPoint struct {
	NativeHeads int64
	Axes        [3]int64
	MS          float64
}

type mlaModes struct {
	table          Table
	fmha, kv, gemm Quant
}

// mlaTable has a grid for each native number of heads, ascending.
type mlaTable struct {
	native []int64
	grids  []*grid
}

func (t *Tables) mlaGrid(m mlaModes, nativeHeads int64) (*grid, error) {
	table, err := t.mla.get(m, func() (*mlaTable, error) {
		points, err := t.source.MLA(m.table, m.fmha, m.kv, m.gemm)
		rootAxis := -1
		if m.table == TableMLAPrefill || m.table == TableMLAPrefillModule {
			rootAxis = 1
		}
		found := &mlaTable{}
		for i := range points {
			p := &points[i]
			if n := len(found.native); n == 0 || found.native[n-1] != p.NativeHeads {
				found.native = append(found.native, p.NativeHeads)
				found.grids = append(found.grids, &grid{axes: 3, rootAxis: rootAxis})
			}
			found.grids[len(found.grids)-1].add(point{float64(p.Axes[0]), float64(p.Axes[1]), float64(p.Axes[2])}, p.MS)
		}
		return found, err
	})
	if err != nil {
		return nil, err
	}
	if len(table.native) == 0 {
		return nil, missing("%s data missing for fmha '%s', kv cache '%s', gemm '%s'", m.table, m.fmha, m.kv, m.gemm)
	}
	// The exact bucket, else the largest below, else the smallest.
	i, ok := slices.BinarySearch(table.native, nativeHeads)
	if !ok {
		i = max(i-1, 0)
	}
	return table.grids[i], nil
}

// Sizes of the latent attention of spec 09 section 5.10, in elements per head or token.
const (
	mlaQueryDim  = 192 // of a query or key in prefill
	mlaValueDim  = 128
	mlaDecodeDim = 1088 // latent query and output of a head in decode
	mlaCacheDim  = 576  // of a cached token
	mlaLatentDim = 512
)

type mlaPrefillBound struct{ flops, bandwidth, kvBytes float64 }

func (m *mlaPrefillBound) sol(p *point) float64 {
	a, s, b := p[0], p[1], p[2]
	ops := b * a * 2 / 2 * (mlaQueryDim + mlaValueDim) * (float64(s*s) - 0)
	bytes := b * a * (float64(m.kvBytes*s*(mlaQueryDim+mlaValueDim)) + float64(2*s*(mlaQueryDim+mlaValueDim)))
	return max(ops/m.flops*1000, bytes/m.bandwidth*1000)
}

type mlaDecodeBound struct{ flops, bandwidth, kvBytes float64 }

func (m *mlaDecodeBound) times(p *point) (math, memory float64) {
	a, b, s := p[0], p[1], p[2]
	ops := 2 * b * a * mlaDecodeDim * s
	bytes := b * (float64(a*mlaDecodeDim*2) + float64((s-1)*mlaCacheDim*m.kvBytes))
	return ops / m.flops * 1000, bytes / m.bandwidth * 1000
}

func (m *mlaDecodeBound) sol(p *point) float64 { return max(m.times(p)) }

type mlaDecodeModuleBound struct {
	mlaDecodeBound
	gemmFLOPS, gemmBytes float64
}

func (m *mlaDecodeModuleBound) sol(p *point) float64 {
	a, b := p[0], p[1]
	math, memory := m.times(p)
	math += 2 * 2 * b * a * mlaValueDim * mlaLatentDim / m.gemmFLOPS * 1000
	memory += 2 * a * (float64(b*(mlaValueDim+mlaLatentDim)) + mlaValueDim*mlaLatentDim) * m.gemmBytes / m.bandwidth * 1000
	return max(math, memory)
}

func (t *Tables) mlaPrefill(m mlaModes, nativeHeads, heads, batch, newTokens, prefixTokens int64) (float64, error) {
	flops, err := t.flops(m.fmha)
	if err != nil {
		return 0, err
	}
	g, err := t.mlaGrid(m, nativeHeads)
	if err != nil {
		return 0, err
	}
	full := float64(newTokens + prefixTokens)
	v, ok := g.value(&point{float64(heads), full, float64(batch)}, &mlaPrefillBound{flops, t.hardware.MemoryBandwidth, m.kv.Bytes()})
	if !ok {
		return 0, missing("%s data missing at %d heads, batch %d, sequence %v", m.table, heads, batch, full)
	}
	return prefixShare(v, full, float64(prefixTokens)), nil
}

// MLAPrefill is the duration in milliseconds of the prefill kernel of latent attention (spec 09
// section 5.10).
func (t *Tables) MLAPrefill(fmha, kv Quant, heads, batch, newTokens, prefixTokens int64) (float64, error) {
	return t.mlaPrefill(mlaModes{TableMLAPrefill, fmha, kv, BFloat16}, 0, heads, batch, newTokens, prefixTokens)
}

// MLAPrefillModule is the same with the projections around the kernel. nativeHeads is the model's
// own number of heads, heads that of one GPU.
func (t *Tables) MLAPrefillModule(fmha, kv, gemm Quant, nativeHeads, heads, batch, newTokens, prefixTokens int64) (float64, error) {
	return t.mlaPrefill(mlaModes{TableMLAPrefillModule, fmha, kv, gemm}, nativeHeads, heads, batch, newTokens, prefixTokens)
}

// MLADecode is the duration in milliseconds of the decode kernel of latent attention.
func (t *Tables) MLADecode(kv Quant, heads, batch, kvTokens int64) (float64, error) {
	m := mlaModes{TableMLADecode, BFloat16, kv, BFloat16}
	b := mlaDecodeBound{t.hardware.cacheFLOPS(kv), t.hardware.MemoryBandwidth, kv.Bytes()}
	return t.mlaDecode(m, 0, heads, batch, kvTokens, &b)
}

// MLADecodeModule is the same with the projections around the kernel.
func (t *Tables) MLADecodeModule(kv, gemm Quant, nativeHeads, heads, batch, kvTokens int64) (float64, error) {
	m := mlaModes{TableMLADecodeModule, BFloat16, kv, gemm}
	flops, err := t.flops(gemm)
	if err != nil {
		return 0, err
	}
	b := mlaDecodeModuleBound{
		mlaDecodeBound{t.hardware.cacheFLOPS(kv), t.hardware.MemoryBandwidth, kv.Bytes()}, flops, gemm.Bytes(),
	}
	return t.mlaDecode(m, nativeHeads, heads, batch, kvTokens, &b)
}

func (t *Tables) mlaDecode(m mlaModes, nativeHeads, heads, batch, kvTokens int64, b bound) (float64, error) {
	g, err := t.mlaGrid(m, nativeHeads)
	if err != nil {
		return 0, err
	}
	v, ok := g.value(&point{float64(heads), float64(batch), float64(kvTokens)}, b)
	if !ok {
		return 0, missing("%s data missing at %d heads, batch %d, sequence %d", m.table, heads, batch, kvTokens)
	}
	return v, nil
}

// BMMPoint is a measured batched product of latent attention: before the decode kernel or after
// it.
type BMMPoint struct {
	Post          bool
	Heads, Tokens int64
	MS            float64
}

type bmmKey struct {
	post  bool
	heads int64
}

func (t *Tables) bmmCurves(mode Quant) (map[bmmKey]*curve, error) {
	return t.bmm.get(mode, func() (map[bmmKey]*curve, error) {
		points, err := t.source.BMM(mode)
		found := map[bmmKey]*curve{}
		for i := range points {
			p := &points[i]
			key := bmmKey{p.Post, p.Heads}
			if found[key] == nil {
				found[key] = &curve{}
			}
			found[key].add(p.Tokens, p.MS)
		}
		return found, err
	})
}

// BMM is the duration in milliseconds of the batched product before or after the decode kernel of
// latent attention (spec 09 section 5.10).
func (t *Tables) BMM(mode Quant, post bool, heads, tokens int64) (float64, error) {
	flops, err := t.flops(mode)
	if err != nil {
		return 0, err
	}
	found, err := t.bmmCurves(mode)
	if err == nil && len(found) == 0 {
		found, err = t.bmmCurves(BFloat16)
	}
	if err != nil {
		return 0, err
	}
	served, scale := heads, 1.0
	c := found[bmmKey{post, heads}]
	if c == nil && heads > 0 && heads&(heads-1) != 0 {
		served = 1 << bits.Len64(uint64(heads))
		scale = float64(heads) / float64(served)
		c = found[bmmKey{post, served}]
	}
	if c == nil {
		return 0, missing("mla_bmm data missing for quant '%s', %d heads", mode, heads)
	}
	a := float64(served)
	v := c.value(float64(tokens), func(x float64) float64 {
		ops := 2 * x * a * mlaValueDim * mlaLatentDim
		bytes := a * (float64(x*(mlaValueDim+mlaLatentDim)) + mlaValueDim*mlaLatentDim) * mode.Bytes()
		return t.hardware.bound(ops, flops, bytes)
	})
	return v * scale, nil
}
