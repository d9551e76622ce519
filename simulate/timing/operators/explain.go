package operators

import "strconv"

// Method says in words how the product's shape is looked up: from its own curve, or from its
// neighbours.
func (o *GEMMOperator) Method() string {
	if o.site != nil {
		return "measured shape"
	}
	return "estimated from the nearest measured shapes"
}

// Method says in words how the query heads are looked up.
func (o *PrefillAttentionOperator) Method() string { return o.grid.method(o.queryHeads) }

// Method says in words how the query heads are looked up.
func (o *DecodeAttentionOperator) Method() string { return o.grid.method(o.queryHeads) }

// method tells whether a key of the first axis was measured, lies between measured ones, or past them.
func (g *grid) method(heads float64) string {
	keys := g.keys[0]
	i := lowerBound(keys, heads)
	whole := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	switch {
	case i < len(keys) && keys[i] == heads:
		return "measured heads"
	case i == 0:
		return "estimated from " + whole(keys[0]) + " heads up"
	case i == len(keys):
		return "estimated from " + whole(keys[i-1]) + " heads down"
	}
	return "blended between " + whole(keys[i-1]) + " and " + whole(keys[i]) + " heads"
}
