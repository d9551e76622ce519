package forward

import (
	"fmt"
	"math"

	"github.com/dynosim/dynosim/schemas"
	"github.com/dynosim/dynosim/schemas/models"
	"github.com/dynosim/dynosim/simulate/timing/operators"
)

// MemoryRequest says how much of a GPU a worker may use (spec 09 section 9.1).
type MemoryRequest struct {
	// BatchedTokens is the most tokens of a pass, schemas.Unlimited for no limit.
	BatchedTokens int64
	// Fraction is memory_fraction, 0 for the backend's default.
	Fraction float64
	// BlockTokens is the size of a KV block.
	BlockTokens int64
	// GraphBytes is set aside for captured graphs.
	GraphBytes float64
}

// Memory is where the memory of a GPU goes, in bytes.
type Memory struct {
	Total, Fraction float64
	Weights         float64
	Activations     float64
	// Communication is buffers of the communication library, Other what the runtime takes,
	// Graphs what is set aside for captured graphs.
	Communication, Other, Graphs float64
	// KV is the budget of the KV pool, BytesPerToken what a token takes of it.
	KV            float64
	BytesPerToken float64
	Tokens        int64
	Blocks        int64
}

// unlimitedTokens stands for an unlimited pass.
const unlimitedTokens = 8192

// Memory computes where the memory of a GPU goes and how many KV blocks a rank has. It fails
// when nothing is left for them, or the tensor size has no measured activations.
func (d *Deployment) Memory(h *operators.Hardware, r MemoryRequest) (Memory, error) {
	tp := min(d.Parallel.Tensor, 8)
	factor, ok := d.activationFactor(tp)
	if !ok {
		return Memory{}, fmt.Errorf("parallelism.tensor: %d: the memory of activations is known for 1, 2, 4, 8 and more; give kv_cache.capacity a fixed number of blocks", d.Parallel.Tensor)
	}
	m := Memory{
		Total: float64(h.MemoryBytes), Fraction: r.Fraction, Weights: d.weights(), Communication: float64(h.LibraryBytes[tp]),
		Other: float64(h.OtherBytes), Graphs: r.GraphBytes,
	}
	m.Activations = d.activations(factor, r.BatchedTokens)
	sglang := d.Backend == schemas.BackendSGLang
	if m.Fraction == 0 {
		m.Fraction = DefaultFraction(d.Backend)
	}
	if sglang {
		m.Other *= 1.2
	}
	switch taken := m.Weights + m.Other + m.Communication + m.Activations + m.Graphs; {
	case sglang:
		m.KV = float64((m.Total-(m.Other+m.Communication))*m.Fraction) - (m.Weights + m.Graphs)
	case d.Backend == schemas.BackendTRTLLM:
		m.KV = (m.Total - taken) * m.Fraction
	default:
		m.KV = float64(m.Total*m.Fraction) - taken
	}
	if !(m.KV > 0) {
		return m, fmt.Errorf("no memory is left for the KV cache of %s: weights %.2f GB, activations %.2f GB, other %.2f GB of %.2f GB × memory_fraction %g; use more GPUs for a worker (parallelism.tensor), a larger memory_fraction or a smaller max_batched_tokens",
			d.Model.Name, m.Weights/1e9, m.Activations/1e9, (m.Other+m.Communication+m.Graphs)/1e9, m.Total/1e9, m.Fraction)
	}
	m.BytesPerToken = d.tokenBytes()
	if m.BytesPerToken == 0 {
		return m, fmt.Errorf("%s: config.json has no num_key_value_heads, so the size of a cached token is not known", d.Model.Name)
	}
	if d.Model.GPTOSS() {
		m.Tokens = d.windowedTokens(m.KV)
	} else {
		m.Tokens = int64(floorDivide(m.KV, m.BytesPerToken))
	}
	m.Blocks = m.Tokens / r.BlockTokens
	if m.Blocks == 0 {
		return m, fmt.Errorf("the memory left for the KV cache of %s, %.0f bytes, holds %d tokens and so no block of %d", d.Model.Name, m.KV, m.Tokens, r.BlockTokens)
	}
	return m, nil
}

// DefaultFraction is memory_fraction where nothing else says.
func DefaultFraction(b schemas.Backend) float64 {
	if b == schemas.BackendSGLang {
		return 0.88
	}
	return 0.9
}

// floorDivide is the exact floor of the quotient of two positive numbers, which the floor of the
// rounded quotient may miss by one.
func floorDivide(a, b float64) float64 {
	return math.Round((a - math.Mod(a, b)) / b)
}

// weights is the bytes of the weights on a GPU.
func (d *Deployment) weights() float64 {
	total := d.weightsOf(d.list("context_"))
	total /= float64(d.Parallel.Pipeline)
	if d.Model.Family == models.DeepSeek && d.Backend == schemas.BackendSGLang && d.Parallel.Pipeline == 1 {
		total = d.layeredWeights(total)
	}
	return total
}

func (d *Deployment) weightsOf(ops []op) float64 {
	m, p := d.Model, &d.Parallel
	total := 0.0
	for i := range ops {
		o := &ops[i]
		switch o.kind {
		case gemm:
			total += float64(o.n) * float64(o.k) * o.mode.BytesPerElement() * o.scale
		case memory:
			total += float64(o.rows) * float64(m.Hidden) * 2 * o.scale
		case experts:
			all := float64(m.Hidden) * float64(m.ExpertWidth) * float64(m.Experts) * o.mode.BytesPerElement() * 3
			total += math.Floor(math.Floor(all/float64(p.MoEExpert))/float64(p.MoETensor)) * o.scale
		case fallback:
			total += d.weightsOf(o.second)
		}
	}
	return total
}

// layeredWeights corrects the sum for layers without experts (spec 09 section 9.2).
func (d *Deployment) layeredWeights(total float64) float64 {
	m, p := d.Model, &d.Parallel
	h, tp := float64(m.Hidden), float64(p.Tensor)
	layers, mixed, shared := float64(m.Layers), float64(m.Layers-m.DenseLayers), float64(m.SharedExperts)
	routed := 3 * h * float64(m.ExpertWidth) * float64(m.Experts) * d.Modes.MoE.BytesPerElement() / float64(p.MoETensor*p.MoEExpert)
	one := 3 * h * float64(m.ExpertWidth) * d.Modes.GEMM.BytesPerElement() / tp
	router := 2 * h * float64(m.Experts)
	dense := 3 * h * float64(m.Intermediate) * d.Modes.GEMM.BytesPerElement() / tp
	embedding := 2 * float64(m.Vocabulary) * h
	total -= float64(embedding * (1 - 1/tp))
	total -= float64(layers * (routed + one + router))
	total += float64(mixed * (routed + float64(shared*one) + router))
	return total + float64((layers-mixed)*dense)
}

// activationFactor is the table of spec 09 section 9.1, step 2.
func (d *Deployment) activationFactor(tp int64) (float64, bool) {
	column := map[int64]int{1: 0, 2: 1, 4: 2, 8: 3}
	at, ok := column[tp]
	if !ok {
		return 0, false
	}
	factors := [4]float64{11, 6.5, 5, 5}
	switch sglang := d.Backend == schemas.BackendSGLang; {
	case sglang && d.Model.Family == models.Dense:
		factors = [4]float64{14, 8.5, 6.5, 6.5}
	case sglang:
		factors = [4]float64{28, 17, 13, 13}
	case d.Model.Family != models.Dense:
		factors = [4]float64{22, 13, 10, 10}
	}
	return factors[at], true
}

func (d *Deployment) activations(factor float64, batched int64) float64 {
	m, p := d.Model, &d.Parallel
	if batched == schemas.Unlimited {
		batched = unlimitedTokens
	}
	sglang := d.Backend == schemas.BackendSGLang
	t, width := float64(batched), float64(m.Heads*m.HeadSize)
	out := 2 * t * width * factor
	if m.Family == models.DeepSeek {
		y := width
		if sglang {
			y = float64(m.Hidden)
		}
		out += t * y * float64(p.AttentionData) * float64(m.Experts) * float64(m.TopK) / float64(p.MoEExpert) / 128 * 4
	}
	if sglang {
		return max(out, 90<<20) * 1.15
	}
	return max(out, 70<<20)
}

// tokenBytes is the KV bytes of a token on a GPU.
func (d *Deployment) tokenBytes() float64 {
	m := d.Model
	if m.Family == models.DeepSeek {
		return d.Modes.KV.BytesPerElement() * float64(m.Layers) * float64(m.LatentSize())
	}
	return d.Modes.KV.BytesPerElement() * 2 * float64(d.kvHeadsPerGPU()) * float64(m.HeadSize) * float64(m.Layers)
}

// windowedTokens is the longest sequence that fits when every other layer keeps a window only.
func (d *Deployment) windowedTokens(budget float64) int64 {
	m := d.Model
	short := m.Layers / 2
	layer := float64(d.kvHeadsPerGPU()) * float64(m.HeadSize) * 2 * d.Modes.KV.BytesPerElement()
	fits := func(s int64) bool {
		return layer*float64(short*min(s, m.Window)+(m.Layers-short)*s) <= budget
	}
	low, high := int64(0), int64(1)
	for fits(high) && high < 1<<40 {
		low, high = high, 2*high
	}
	for high-low > 1 {
		if mid := (low + high) / 2; fits(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}
