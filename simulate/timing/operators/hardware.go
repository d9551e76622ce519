package operators

// Hardware has the facts of one GPU system (spec 09 section 1.6). Bandwidths are bytes a second
// and GPU, in one direction.
type Hardware struct {
	Name                string
	MemoryBandwidth     float64
	BandwidthEfficiency float64
	// MemoryLatencySeconds is the constant part of a memory-bound operation.
	MemoryLatencySeconds float64
	MemoryBytes          int64
	// FLOPS has the throughput of each arithmetic a second, 0 where the system has none.
	FLOPS        [Arithmetics]float64
	SMVersion    int64
	GPUsPerNode  int64
	GPUsPerRack  int64 // 0 when nodes are not grouped into racks
	IntraNode    float64
	InterNode    float64
	InterRack    float64 // 0 when there is none: InterNode
	P2PLatency   float64 // seconds
	OtherBytes   int64
	LibraryBytes map[int64]int64 // of the communication library, by GPU count
	NCCLVersion  string
	PowerWatts   float64
}

// MemoryMS is the duration of moving a number of bytes through the memory of one GPU
// (spec 09 section 5.1).
func (h *Hardware) MemoryMS(bytes float64) float64 {
	return (bytes/float64(h.MemoryBandwidth*h.BandwidthEfficiency) + h.MemoryLatencySeconds) * 1000
}

// CollectiveBandwidth is the bandwidth that bounds a collective over a number of GPUs
// (spec 09 section 1.6).
func (h *Hardware) CollectiveBandwidth(gpus int64) float64 {
	switch {
	case gpus <= h.GPUsPerNode:
		return h.IntraNode
	case h.GPUsPerRack > 0 && gpus > h.GPUsPerRack && h.InterRack > 0:
		return h.InterRack
	}
	return h.InterNode
}

// bound is the larger of the two limits of an operator in milliseconds: operations at an
// arithmetic's throughput, and bytes at the memory's bandwidth.
func (h *Hardware) bound(operations, flops, bytes float64) float64 {
	return max(operations/flops*1000, bytes/h.MemoryBandwidth*1000)
}

// cacheFLOPS is the throughput of attention over cached keys (spec 09 section 5.6).
func (h *Hardware) cacheFLOPS(kv Quant) float64 {
	if kv == FP8 && h.SMVersion >= 89 {
		return h.FLOPS[ArithmeticFP8]
	}
	return h.FLOPS[ArithmeticBF16]
}
