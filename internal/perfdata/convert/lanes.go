package convert

import (
	"cmp"
	"slices"
	"strconv"
)

// laneDefaults is attention_lane_defaults.yaml: backend, lowest version, GPU generation, kernel.
type laneDefaults map[string]map[string]map[string]string

const defaultLane = "default"

// knownLanes come before the table's other lanes where an entry applies (spec 09 section 5.5).
var knownLanes = []string{"fa3", "fla", "flashinfer", "triton", "trtllm_mha"}

// pinned is the preferred lane of a backend's version on a GPU generation, "" when no entry applies.
func (d laneDefaults) pinned(backend, version string, sm int64) string {
	best, lane := []int(nil), ""
	at := leading(version)
	for lowest, lanes := range d[backend] {
		from := leading(lowest)
		if slices.Compare(from, at) > 0 || best != nil && slices.Compare(from, best) < 0 {
			continue
		}
		best, lane = from, lanes[strconv.FormatInt(sm, 10)]
	}
	return lane
}

// laneSlice is what one kernel serves alone.
type laneSlice struct {
	names [3]string
	keys  [3]int64
}

func sliceOf(r *record) laneSlice {
	return laneSlice{r.names, [3]int64{r.keys[0], r.keys[1], r.keys[2]}}
}

// laneCounts has the slices and rows of each lane, in the order lanes were first seen.
type laneCounts struct {
	order        []string
	all, primary map[string]*laneCount
}

type laneCount struct {
	slices map[laneSlice]bool
	rows   int
}

func (l *laneCounts) count(r *record, primary bool) {
	if l.all == nil {
		l.all, l.primary = map[string]*laneCount{}, map[string]*laneCount{}
	}
	add := func(to map[string]*laneCount) {
		c := to[r.kernel]
		if c == nil {
			c = &laneCount{slices: map[laneSlice]bool{}}
			to[r.kernel] = c
		}
		c.slices[sliceOf(r)] = true
		c.rows++
	}
	if l.all[r.kernel] == nil {
		l.order = append(l.order, r.kernel)
	}
	add(l.all)
	if primary {
		add(l.primary)
	}
}

// resolved is the order in which lanes are asked: spec 09 section 5.5.
func (l *laneCounts) resolved(pinned string) []string {
	var order []string
	add := func(lanes ...string) {
		for _, lane := range lanes {
			if lane != "" && !slices.Contains(order, lane) {
				order = append(order, lane)
			}
		}
	}
	if pinned == "" {
		add(defaultLane)
	} else {
		if pinned != defaultLane {
			add(pinned)
		}
		for _, lane := range walk(l.primary, pinned) {
			if l.primary[lane] != nil {
				add(lane)
			}
		}
		for _, lane := range walk(l.all, pinned) {
			if l.primary[lane] == nil {
				add(lane)
			}
		}
	}
	add(l.order...)
	return order
}

func walk(counts map[string]*laneCount, pinned string) []string {
	var known, others []string
	for _, lane := range knownLanes {
		if lane != pinned {
			known = append(known, lane)
		}
	}
	for lane := range counts {
		if lane != pinned && lane != defaultLane && !slices.Contains(knownLanes, lane) {
			others = append(others, lane)
		}
	}
	densest := func(a, b string) int {
		x, y := counts[a], counts[b]
		if x == nil {
			x = &laneCount{}
		}
		if y == nil {
			y = &laneCount{}
		}
		return cmp.Or(len(y.slices)-len(x.slices), y.rows-x.rows, cmp.Compare(a, b))
	}
	slices.SortFunc(known, densest)
	slices.SortFunc(others, densest)
	order := append([]string{}, known...)
	if pinned != "" && pinned != defaultLane {
		order = append([]string{pinned}, order...)
	}
	return append(append(order, defaultLane), others...)
}

// visible keeps the rows of the first lane that has each slice.
func (l *laneCounts) visible(records []record, pinned string) []record {
	serves := map[laneSlice]string{}
	for _, lane := range l.resolved(pinned) {
		if c := l.all[lane]; c != nil {
			for s := range c.slices {
				if serves[s] == "" {
					serves[s] = lane
				}
			}
		}
	}
	return slices.DeleteFunc(records, func(r record) bool { return serves[sliceOf(&r)] != r.kernel })
}
