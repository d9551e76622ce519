package router

import (
	"math"
	"slices"
)

// loads are the prompts that a target still has to compute, in routing order (spec 06 section
// 6). Without an estimator only the sum counts and the list stays empty.
type loads struct {
	sum  int64
	list []load
	// unknown counts the loads without a duration.
	unknown int
	// anchor is the request whose duration sets the pace, -1 for none, since anchorNS.
	anchor   int32
	anchorNS int64
}

// load is one prompt: its new tokens and how long it is expected to take, in nanoseconds, -1
// when nobody can say.
type load struct {
	slot     int32
	tokens   int64
	duration int64
}

// nanoseconds rounds virtual milliseconds.
func nanoseconds(ms float64) int64 {
	seconds := ms / 1000
	whole := math.Floor(seconds)
	return int64(whole)*1e9 + int64(math.RoundToEven((seconds-whole)*1e9))
}

// add appends a load that was routed at now.
func (l *loads) add(x load, nowNS int64) {
	l.sum += x.tokens
	if len(l.list) == 0 {
		l.anchor, l.anchorNS = x.slot, nowNS
	}
	l.list = append(l.list, x)
	if x.duration < 0 {
		l.unknown++
	}
}

// remove takes the load of a request out at now.
func (l *loads) remove(slot int32, nowNS int64) {
	i := slices.IndexFunc(l.list, func(x load) bool { return x.slot == slot })
	if i < 0 {
		return
	}
	x := l.list[i]
	l.list = slices.Delete(l.list, i, i+1)
	l.sum -= x.tokens
	if x.duration < 0 {
		l.unknown--
	}
	if i > 0 && x.duration >= 0 {
		l.anchorNS = min(l.anchorNS+x.duration, nowNS)
	}
	if l.anchor == slot {
		l.anchor, l.anchorNS = -1, nowNS
		if len(l.list) > 0 {
			l.anchor = l.list[0].slot
		}
	}
}

// at is the tokens that are left at now: the anchor's pace applies to the whole sum when
// every load has a duration, else only to the anchor.
func (l *loads) at(nowNS int64) int64 {
	if len(l.list) == 0 {
		return l.sum
	}
	i := slices.IndexFunc(l.list, func(x load) bool { return x.slot == l.anchor })
	if i < 0 {
		return l.sum
	}
	x, elapsed := l.list[i], max(nowNS-l.anchorNS, 0)
	if l.unknown == 0 {
		return max(l.sum-scaled(x.tokens, elapsed, x.duration), 0)
	}
	rest := x.tokens
	switch {
	case x.duration == 0:
		rest = 0
	case x.duration > 0:
		share := 1 - float64(elapsed)/1e9/(float64(x.duration)/1e9)
		rest = int64(math.Ceil(float64(x.tokens) * min(max(share, 0), 1)))
	}
	return l.sum - x.tokens + rest
}

// scaled is floor(tokens*elapsed/duration), tokens when the duration is 0.
func scaled(tokens, elapsed, duration int64) int64 {
	if duration == 0 {
		return tokens
	}
	if elapsed == 0 || tokens <= math.MaxInt64/elapsed {
		return tokens * elapsed / duration
	}
	// Beyond 64 bits; what is left is bounded by the sum of the loads anyway.
	product := float64(tokens) * (float64(elapsed) / float64(duration))
	return int64(min(product, 1<<62))
}
