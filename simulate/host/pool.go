package host

import (
	"cmp"
	"math"
	"slices"
)

// plan computes the motion of every job of a shared pool at its clock and returns the earliest
// event, +Inf for none (spec 10 section 2.2).
func (d *Domain) plan() float64 {
	var all [2]int32
	for _, j := range d.flying {
		d.jobs[j].owner.moving = [2]int32{}
	}
	for _, j := range d.flying {
		if x := &d.jobs[j]; x.FirstByteMS <= d.nowMS {
			x.owner.moving[x.Kind]++
			all[x.Kind]++
		}
	}
	shared := [2]float64{rate(d.spec.SharedD2HGBps), rate(d.spec.SharedH2DGBps)}
	for k := range shared {
		shared[k] /= float64(all[k])
	}
	next := math.Inf(1)
	for _, j := range d.flying {
		x := &d.jobs[j]
		if x.FirstByteMS > d.nowMS {
			x.rate, x.eventMS = 0, x.FirstByteMS
		} else {
			x.rate = min(x.owner.link[x.Kind]/float64(x.owner.moving[x.Kind]), shared[x.Kind])
			x.eventMS = d.nowMS + x.left/x.rate
		}
		next = min(next, x.eventMS)
	}
	return next
}

// AdvancePool moves the clock of a shared pool to nowMS, in the steps that its jobs make
// necessary, and completes what is due.
func (d *Domain) AdvancePool(nowMS float64) {
	if nowMS <= d.nowMS && d.settled && d.NextMS() > d.nowMS {
		return
	}
	to := max(nowMS, d.nowMS)
	d.known = false
	d.ended = d.ended[:0]
	for e := d.plan(); ; {
		next := min(e, to)
		dt := next - d.nowMS
		for _, j := range d.flying {
			if x := &d.jobs[j]; x.FirstByteMS <= d.nowMS {
				if x.eventMS <= next {
					x.left = 0
				} else {
					x.left = max(x.left-float64(dt*x.rate), 0)
				}
			}
		}
		d.nowMS = next
		kept := d.flying[:0]
		completed := false
		for _, j := range d.flying {
			if x := &d.jobs[j]; x.FirstByteMS <= d.nowMS && x.left == 0 {
				x.EndMS = d.nowMS
				d.ended = append(d.ended, j)
				completed = true
			} else {
				kept = append(kept, j)
			}
		}
		d.flying = kept
		if e > to {
			break
		}
		if e = d.plan(); d.nowMS == to && !completed && e > to {
			break
		}
	}
	d.settled = true
	slices.SortFunc(d.ended, func(a, b int32) int {
		x, y := &d.jobs[a], &d.jobs[b]
		return cmp.Or(cmp.Compare(x.EndMS, y.EndMS), cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.ID, y.ID))
	})
	for _, j := range d.ended {
		d.complete(j)
	}
}

// NextMS is the next event of a shared pool, +Inf for none: a first byte or a completion.
func (d *Domain) NextMS() float64 {
	if !d.known {
		d.nextMS, d.known = d.plan(), true
	}
	return d.nextMS
}
