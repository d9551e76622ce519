package metrics

// rowGroupRows bounds what a writer holds in memory and what a reader skips at once.
const rowGroupRows = 65_536

// withStats holds the columns whose minimum and maximum let a reader skip row groups.
var withStats = map[string]bool{
	"node": true, "creation_ordinal": true, "arrival_ms": true, "at_ms": true, "request_index": true, "chain": true, "gap_ms": true, "count": true,
}
