package g3

import (
	"math"

	"github.com/dynosim/dynosim/schemas"
)

// rate is a bandwidth in bytes per millisecond.
func rate(gbps float64) float64 {
	if gbps == 0 {
		return math.Inf(1)
	}
	return gbps * 1e6
}

// plan computes the motion of every job at the clock of the service and returns the earliest event, +Inf for none
// (spec 10 section 2.2, owners being workers).
func (t *Tier) plan() float64 {
	link := [2]float64{schemas.G3Read: rate(t.spec.ReadGBps), schemas.G3Write: rate(t.spec.WriteGBps)}
	shared := [2]float64{math.Inf(1), math.Inf(1)}
	if t.spec.Shared {
		shared = [2]float64{schemas.G3Read: rate(t.spec.SharedReadGBps), schemas.G3Write: rate(t.spec.SharedWriteGBps)}
	}
	var all [2]int32
	for _, j := range t.flying {
		t.workers[t.jobs[j].Worker].moving = [2]int32{}
	}
	for _, j := range t.flying {
		if x := &t.jobs[j]; x.firstMS <= t.nowMS {
			t.workers[x.Worker].moving[x.Kind]++
			all[x.Kind]++
		}
	}
	next := math.Inf(1)
	for _, j := range t.flying {
		x := &t.jobs[j]
		if x.firstMS > t.nowMS {
			x.rate, x.eventMS = 0, x.firstMS
		} else {
			x.rate = min(link[x.Kind]/float64(t.workers[x.Worker].moving[x.Kind]), shared[x.Kind]/float64(all[x.Kind]))
			x.eventMS = t.nowMS + x.left/x.rate
		}
		next = min(next, x.eventMS)
	}
	return next
}

// Advance moves the clock of the service to nowMS, in the steps that its jobs make necessary, and completes what is
// due. An earlier time than that of the clock changes nothing.
func (t *Tier) Advance(nowMS float64) {
	if nowMS <= t.nowMS && t.settled && t.NextMS() > t.nowMS {
		return
	}
	to := max(nowMS, t.nowMS)
	t.known = false
	for e := t.plan(); ; {
		next := min(e, to)
		dt := next - t.nowMS
		for _, j := range t.flying {
			if x := &t.jobs[j]; x.firstMS <= t.nowMS {
				if x.eventMS <= next {
					x.left = 0
				} else {
					x.left = max(x.left-float64(dt*x.rate), 0)
				}
			}
		}
		t.nowMS = next
		kept := t.flying[:0]
		completed := false
		for _, j := range t.flying {
			if x := &t.jobs[j]; x.firstMS <= t.nowMS && x.left == 0 {
				t.complete(j)
				completed = true
			} else {
				kept = append(kept, j)
			}
		}
		t.flying = kept
		if e > to {
			break
		}
		if e = t.plan(); t.nowMS == to && !completed && e > to {
			break
		}
	}
	t.settled = true
}

// NextMS is the next event of the service, +Inf for none: a first byte or a completion.
func (t *Tier) NextMS() float64 {
	if !t.known {
		t.nextMS, t.known = t.plan(), true
	}
	return t.nextMS
}
