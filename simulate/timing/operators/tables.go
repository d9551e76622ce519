package operators

import "sync"

// Table is one measured table.
type Table uint8

// The tables of spec 09 section 1.2.
const (
	TableGEMM Table = iota
	TableComputeScale
	TableScaleMatrix
	TablePrefillAttention
	TableDecodeAttention
	TableAllReduce
	TableNCCL
	TableExperts
	TableMLAPrefill
	TableMLADecode
	TableMLAPrefillModule
	TableMLADecodeModule
	TableBMM
	TableCount
)

// String is the table's name in the data set.
func (t Table) String() string {
	return [TableCount]string{"gemm", "compute_scale", "scale_matrix", "attention_prefill", "attention_decode", "all_reduce", "nccl",
		"experts", "mla_prefill", "mla_decode", "mla_prefill_module", "mla_decode_module", "mla_bmm"}[t]
}

// Source hands out the measured rows of one system, backend and version. Every list is sorted by
// the fields of its rows in the order they are declared, without two rows of one key, and is empty
// when there is nothing. A list is asked for at most once.
type Source interface {
	// Rows is how many rows a table has.
	Rows(table Table) int64
	GEMM(mode Quant) ([]GEMMPoint, error)
	// Quantize has the points of TableComputeScale or TableScaleMatrix.
	Quantize(table Table) ([]QuantizePoint, error)
	// Attention has the points of TablePrefillAttention or, whatever fmha is, of TableDecodeAttention.
	Attention(table Table, fmha, kv Quant) ([]AttentionPoint, error)
	AllReduce() ([]CollectivePoint, error)
	// NCCL has the points for 16-bit elements.
	NCCL(collective Collective) ([]CollectivePoint, error)
	// Experts has the points of a mode and distribution, of kernels for low latency or all others.
	Experts(mode Quant, distribution string, lowLatency bool) ([]ExpertsPoint, error)
	// MLA has the points of one of the four tables; fmha counts for prefill only, gemm for modules only.
	MLA(table Table, fmha, kv, gemm Quant) ([]MLAPoint, error)
	BMM(mode Quant) ([]BMMPoint, error)
}

// Tables answers operator queries for one system, backend and version. It is safe for use by
// many goroutines; what it loads stays.
type Tables struct {
	hardware         Hardware
	backend, version string
	source           Source

	gemm      lazy[Quant, *gemmTable]
	quantize  lazy[Table, *scaleTable]
	attention lazy[attentionModes, map[attentionSlice]*grid]
	allReduce lazy[struct{}, *collectiveTable]
	nccl      lazy[Collective, *collectiveTable]
	experts   lazy[expertsModes, map[expertsShape]*curve]
	mla       lazy[mlaModes, *mlaTable]
	bmm       lazy[Quant, map[bmmKey]*curve]
}

// New makes tables that load from a source.
func New(hardware Hardware, backend, version string, source Source) *Tables {
	return &Tables{hardware: hardware, backend: backend, version: version, source: source}
}

// Hardware has the facts of the system. The caller must not change them.
func (t *Tables) Hardware() *Hardware { return &t.hardware }

// Backend is the serving backend whose kernels were measured.
func (t *Tables) Backend() string { return t.backend }

// Version is the backend's version that was asked for; older versions may fill its gaps.
func (t *Tables) Version() string { return t.version }

// Rows is how many rows a table has; 0 means that operators of its kind cannot be priced at all.
func (t *Tables) Rows(table Table) int64 { return t.source.Rows(table) }

// Memory is the duration in milliseconds of moving a number of bytes (spec 09 section 5.1).
func (t *Tables) Memory(bytes float64) float64 { return t.hardware.MemoryMS(bytes) }

// lazy keeps what was loaded under each key, errors too.
type lazy[K comparable, V any] struct {
	mu     sync.RWMutex
	loaded map[K]result[V]
}

type result[V any] struct {
	value V
	err   error
}

func (l *lazy[K, V]) get(key K, load func() (V, error)) (V, error) {
	l.mu.RLock()
	r, ok := l.loaded[key]
	l.mu.RUnlock()
	if ok {
		return r.value, r.err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if r, ok := l.loaded[key]; ok {
		return r.value, r.err
	}
	r.value, r.err = load()
	if l.loaded == nil {
		l.loaded = map[K]result[V]{}
	}
	l.loaded[key] = r
	return r.value, r.err
}
