package simulate

import (
	"fmt"
	"math"

	"github.com/dynosim/dynosim/schemas"
)

// idleShift is one skip over idle time.
type idleShift struct {
	atMS, shiftedMS float64
	run             int32 // -1 for all lanes
	timers          int32
}

// profile measures for a fixed time (spec 02 section 10).
type profile struct {
	load *schemas.AgenticLoad
	// startMS begins, cutoffMS ends the admission; graceMS and drainMS are the deadlines behind it.
	startMS, cutoffMS, graceMS, drainMS float64
	treeCapMS, globalCapMS              float64
	closed, ended                       bool
	cursor                              int64
	neverIssued                         int64
	lastMS                              float64 // last response, NaN for none
	responses, canceled, unsettled      int64
	finishedMS                          float64
	shifts                              []idleShift
	// replaced counts the replacements at the instant replacedMS.
	replaced   int64
	replacedMS float64
}

func newProfile(load *schemas.AgenticLoad, p *plays) *profile {
	return &profile{
		load: load, cursor: int64(len(p.runs)), treeCapMS: load.TreeIdleCapSeconds * 1000, globalCapMS: load.GlobalIdleCapSeconds * 1000,
		lastMS: math.NaN(), finishedMS: math.NaN(), replacedMS: math.NaN(),
	}
}

// begin sets the deadlines.
func (f *profile) begin(now float64) {
	f.startMS = now
	f.cutoffMS = now + f.load.DurationSeconds*1000
	f.graceMS = f.cutoffMS + f.load.ResponseGraceSeconds*1000
	f.drainMS = f.graceMS + f.load.CancelDrainSeconds*1000
}

func (f *profile) completed(now float64) {
	f.responses++
	f.lastMS = now
}

// nextControl is the next time at which the control step may do something.
func (f *profile) nextControl(p *plays) float64 {
	if p.warm != nil && p.warm.active() || f.ended {
		return math.Inf(1)
	}
	if f.closed {
		if p.outstanding > 0 {
			return f.graceMS
		}
		return math.Inf(1)
	}
	at := f.cutoffMS
	if p.waiting > 0 && !math.IsNaN(p.idleMS) {
		at = min(at, p.idleMS+f.globalCapMS)
	}
	for _, run := range p.lanes {
		if r := &p.runs[run]; !math.IsNaN(r.idleMS) && r.waiting > 0 {
			at = min(at, r.idleMS+f.treeCapMS)
		}
	}
	return at
}

// control is the control step of an instant.
func (f *profile) control(p *plays, now float64) (changed bool, err error) {
	if now >= f.cutoffMS && !f.closed {
		f.close(p, now)
		return true, nil
	}
	if f.closed {
		return false, nil
	}
	for lane := range p.lanes {
		if !p.runs[p.lanes[lane]].finished {
			continue
		}
		if err := f.replace(p, int32(lane), now); err != nil {
			return changed, err
		}
		changed = true
	}
	for _, run := range p.lanes {
		if r := &p.runs[run]; now >= r.idleMS+f.treeCapMS {
			changed = f.shift(p, run, now) || changed
		}
	}
	if now >= p.idleMS+f.globalCapMS {
		changed = f.shift(p, -1, now) || changed
	}
	return changed, nil
}

// close ends the admission: what was not issued never is.
func (f *profile) close(p *plays, now float64) {
	f.closed = true
	p.heap, p.waiting = p.heap[:0], 0
	for i := range p.runs {
		r := &p.runs[i]
		for _, n := range r.nodes {
			if p.state[n] <= nodeReady {
				p.state[n] = nodeCensored
				r.censored = true
				f.neverIssued++
			}
		}
		r.waiting = 0
		p.finish(int32(i), now)
		p.settled(r, now)
	}
}

// replace starts the next play of the corpus on a lane.
func (f *profile) replace(p *plays, lane int32, now float64) error {
	if f.replacedMS != now {
		f.replaced, f.replacedMS = 0, now
	}
	plays := int64(len(p.graph.Plays))
	if f.replaced++; f.replaced > plays*int64(len(p.lanes)) {
		return &InvariantError{Message: fmt.Sprintf("agentic profile repeated a corpus cycle for every lane without virtual-time progress at %v ms", now)}
	}
	play := int32(f.cursor % plays)
	f.cursor++
	ordinal := p.runs[p.lanes[lane]].ordinal + 1
	if err := p.runOf(play, lane, ordinal, p.graph.Plays[play].FirstMS); err != nil {
		return err
	}
	run := int32(len(p.runs) - 1)
	p.lanes[lane] = run
	p.launchRun(&p.runs[run], now)
	return nil
}

// shift skips idle time of a run, or of all with -1: the first pending timer becomes due, and the others keep
// their distance to it.
func (f *profile) shift(p *plays, run int32, now float64) bool {
	first := math.Inf(1)
	mine := func(node int32) bool { return p.state[node] == nodeReady && (run < 0 || p.run[node] == run) }
	for i := range p.heap {
		if e := &p.heap[i]; mine(e.node) {
			first = min(first, e.at)
		}
	}
	if !(first > now) || math.IsInf(first, 1) {
		return false
	}
	old := p.heap
	p.heap = nil
	timers := int32(0)
	for _, e := range old {
		if p.state[e.node] != nodeReady {
			continue
		}
		if mine(e.node) {
			timers++
			e.at = now + (e.at - first)
			p.readyAfter[e.node] = e.at
		}
		p.heap.Push(e)
	}
	f.shifts = append(f.shifts, idleShift{now, first - now, run, timers})
	return true
}

// over reports whether the run ends at this instant, and whether requests in the system have to be canceled first.
func (f *profile) over(p *plays, now float64) (over, cancel bool) {
	if !f.closed {
		return false, false
	}
	if p.outstanding == 0 {
		return true, false
	}
	return now >= f.graceMS, now >= f.graceMS
}
