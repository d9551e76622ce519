package lower

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
)

// number sorts all rows by name: order has the row of each node. Plays whose names do not overlap with those of others, as in a
// corpus, are put one behind the other; the names of those that do are brought together.
func (g *graphBuilder) number() (order []int32, err error) {
	plays := identity(len(g.plays))
	var a, b []byte
	slices.SortFunc(plays, func(x, y int32) int {
		a, b = g.least(a[:0], x), g.least(b[:0], y)
		return bytes.Compare(a, b)
	})
	order = make([]int32, 0, g.n)
	for from := 0; from < len(plays); {
		last, to := g.greatest(nil, plays[from]), from+1
		for ; to < len(plays); to++ {
			if a = g.least(a[:0], plays[to]); bytes.Compare(a, last) > 0 {
				break
			}
			if b = g.greatest(b[:0], plays[to]); bytes.Compare(b, last) > 0 {
				last = append(last[:0], b...)
			}
		}
		if order, err = g.merge(order, plays[from:to]); err != nil {
			return nil, err
		}
		from = to
	}
	return order, nil
}

// least and greatest append the first and the last name of a play in their order.
func (g *graphBuilder) least(dst []byte, play int32) []byte {
	p := &g.plays[play]
	return p.names.append(dst, g.sorted[p.first]-p.first)
}

func (g *graphBuilder) greatest(dst []byte, play int32) []byte {
	p := &g.plays[play]
	return p.names.append(dst, g.sorted[p.end-1]-p.first)
}

// merge appends the rows of plays in the order of their names.
func (g *graphBuilder) merge(order []int32, plays []int32) ([]int32, error) {
	from := len(order)
	var names []byte
	var at []int64
	var rows []int32
	for _, play := range plays {
		p := &g.plays[play]
		for _, row := range g.sorted[p.first:p.end] {
			rows, at = append(rows, row), append(at, int64(len(names)))
			names = p.names.append(names, row-p.first)
		}
	}
	at = append(at, int64(len(names)))
	name := func(i int32) []byte { return names[at[i]:at[i+1]] }
	places := identity(len(rows))
	if len(plays) > 1 {
		slices.SortFunc(places, func(x, y int32) int { return bytes.Compare(name(x), name(y)) })
	}
	for i, place := range places {
		if i > 0 && bytes.Equal(name(places[i-1]), name(place)) {
			first, second := min(order[from+i-1], rows[place]), max(order[from+i-1], rows[place])
			where, err := g.place(first)
			if err != nil {
				return nil, err
			}
			return nil, g.errorf(second, "the request id is used twice, first at %s", where)
		}
		order = append(order, rows[place])
	}
	return order, nil
}

// playOrder sorts the plays by ordinal, or by name where they have none (spec 02 section 6.1).
func (g *graphBuilder) playOrder() ([]int32, error) {
	order := identity(len(g.plays))
	with := 0
	for _, p := range g.plays {
		if p.ordinal >= 0 {
			with++
		}
	}
	if with == 0 {
		slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(g.plays[a].id, g.plays[b].id) })
		return order, nil
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(g.plays[a].ordinal, g.plays[b].ordinal) })
	for i, p := range order {
		play := g.plays[p]
		switch {
		case play.ordinal < 0:
			return nil, fmt.Errorf("%s: play %q has no source_play_ordinal, but others have one", play.source, play.id)
		case play.ordinal != int64(i):
			return nil, fmt.Errorf("%s: play %q has the source_play_ordinal %d: those of %d plays must be 0 to %d, each once", play.source, play.id, play.ordinal, len(order), len(order)-1)
		}
	}
	return order, nil
}
