package operators

import "slices"

// Collective is an operation of the communication library.
type Collective uint8

// The operations of spec 09 section 1.2.
const (
	AllGather Collective = iota
	ReduceScatter
	AllReduceNCCL
	AllToAll
	collectives
)

// String is the operation's name in the table.
func (c Collective) String() string {
	return [collectives]string{"all_gather", "reduce_scatter", "all_reduce", "alltoall"}[c]
}

// ParseCollective finds the operation with a name.
func ParseCollective(name string) (Collective, bool) {
	for c := range collectives {
		if c.String() == name {
			return c, true
		}
	}
	return 0, false
}

// CollectivePoint is a measured collective over a number of GPUs of a number of elements.
type CollectivePoint struct {
	GPUs, Elements int64
	MS             float64
}

// collectiveTable has one curve for each measured number of GPUs.
type collectiveTable struct {
	gpus   []int64
	curves []curve
}

func collectiveCurves(points []CollectivePoint) *collectiveTable {
	c := &collectiveTable{}
	for i := range points {
		p := &points[i]
		if n := len(c.gpus); n == 0 || c.gpus[n-1] != p.GPUs {
			c.gpus, c.curves = append(c.gpus, p.GPUs), append(c.curves, curve{})
		}
		c.curves[len(c.curves)-1].add(p.Elements, p.MS)
	}
	return c
}

// AllReduce is the duration in milliseconds of the backend's own all-reduce of a number of
// elements over a number of GPUs (spec 09 section 5.7).
func (t *Tables) AllReduce(gpus int64, elements float64) (float64, error) {
	if gpus <= 1 {
		return 0, nil
	}
	c, err := t.allReduce.get(struct{}{}, func() (*collectiveTable, error) {
		points, err := t.source.AllReduce()
		return collectiveCurves(points), err
	})
	if err != nil {
		return 0, err
	}
	v, ok := t.fanOut(c, gpus, elements)
	if !ok {
		return 0, missing("custom_allreduce data missing for %d GPUs", gpus)
	}
	return v, nil
}

// NCCL is the duration in milliseconds of a collective of the communication library of a number
// of 16-bit elements.
func (t *Tables) NCCL(op Collective, gpus int64, elements float64) (float64, error) {
	if gpus <= 1 {
		return 0, nil
	}
	c, err := t.nccl.get(op, func() (*collectiveTable, error) {
		points, err := t.source.NCCL(op)
		return collectiveCurves(points), err
	})
	if err != nil {
		return 0, err
	}
	v, ok := t.fanOut(c, gpus, elements)
	if !ok {
		return 0, missing("NCCL data missing for %s over %d GPUs", op, gpus)
	}
	return v, nil
}

// fanOut answers from the measured number of GPUs that serves, scaled to the number asked for by
// the share each GPU sends and the bandwidth that bounds it.
func (t *Tables) fanOut(c *collectiveTable, gpus int64, elements float64) (float64, bool) {
	if len(c.gpus) == 0 {
		return 0, false
	}
	h := &t.hardware
	served := min(gpus, c.gpus[len(c.gpus)-1])
	if gpus > h.GPUsPerNode {
		served = h.GPUsPerNode
		for _, g := range c.gpus {
			if g <= gpus {
				served = g
			}
		}
	}
	i, ok := slices.BinarySearch(c.gpus, served)
	if !ok {
		return 0, false
	}
	v := c.curves[i].value(elements, func(x float64) float64 { return x })
	if served < gpus {
		n, e := float64(gpus), float64(served)
		v *= (n - 1) / n * e / max(e-1, 1) * h.CollectiveBandwidth(served) / h.CollectiveBandwidth(gpus)
	}
	return v, true
}

// PipelineHop is the duration in milliseconds of handing a number of 16-bit elements to the next
// pipeline stage.
func (t *Tables) PipelineHop(stages int64, elements float64) (float64, error) {
	if stages <= 1 {
		return 0, nil
	}
	return (elements*2/t.hardware.InterNode + t.hardware.P2PLatency) * 1000, nil
}
