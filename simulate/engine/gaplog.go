package engine

// GapLog holds the gaps of the passes of a steady batch, with the number of requests each
// belongs to, until none of these can be cut off any more. A pass is known by its step, and
// passes that are not steady have none, so steps follow each other. The zero value is empty.
type GapLog struct {
	base   int64
	gaps   []float64
	counts []int64
}

// Keep adds the gap that count requests have at a step. It reports true now and then, when
// it is worth handing over the gaps that nobody can be cut off from: see HandOver.
func (l *GapLog) Keep(step int64, gapMS float64, count int64) (long bool) {
	if len(l.gaps) == 0 {
		l.base = step
	}
	l.gaps, l.counts = append(l.gaps, gapMS), append(l.counts, count)
	n := len(l.gaps)
	return n >= 4096 && n&(n-1) == 0
}

// HandOver passes the gaps of the steps before oldest to the recorder and forgets them.
func (l *GapLog) HandOver(oldest int64, to func(gapMS float64, count int64)) {
	n := min(oldest-l.base, int64(len(l.gaps)))
	if n <= 0 {
		return
	}
	for i := range n {
		to(l.gaps[i], l.counts[i])
	}
	l.gaps = append(l.gaps[:0], l.gaps[n:]...)
	l.counts = append(l.counts[:0], l.counts[n:]...)
	l.base += n
}

// Own moves the gaps of a request that left the steady batch from the log to the request.
func (l *GapLog) Own(r *Request) {
	for s := r.GapFrom; s < r.GapTo; s++ {
		r.Gaps = append(r.Gaps, l.gaps[s-l.base])
		l.counts[s-l.base]--
	}
	r.GapFrom = r.GapTo
}

// Forget takes back the gaps of a request that the time limit cut off; step is the step of
// its rank.
func (l *GapLog) Forget(r *Request, step int64) {
	to := r.GapTo
	if r.Steady {
		to = step
	}
	for s := r.GapFrom; s < to; s++ {
		l.counts[s-l.base]--
	}
}

// OldestGap is the earliest step with a gap in a log that belongs to one of the slots, and
// step when there is none.
func (t *Table) OldestGap(slots []int32, step int64) int64 {
	for _, slot := range slots {
		if r := &t.Slots[slot]; r.Steady {
			step = min(step, r.GapFrom)
		}
	}
	return step
}
