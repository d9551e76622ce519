package convert

import (
	"cmp"
	"path"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/dynosim/dynosim/internal/perfdata"
	"github.com/dynosim/dynosim/simulate/timing/operators"
)

// conversion is what is known while one place is made.
type conversion struct {
	in       *input
	manifest *manifestYAML
	lanes    laneDefaults
	data     string // folder of the system's tables
	system   string
	sm       int64
	heads    map[string]int64
}

// built is one finished table of a place.
type built struct {
	records []record
	origins []perfdata.Origin
}

// build makes a table: the files of its sources one after the other, the first row of a key wins.
func (c *conversion) build(s *tableSpec, sources []sourceFile, backend, version string) (*built, error) {
	type key struct {
		names [3]string
		keys  [7]int64
		lane  string
	}
	seen := map[key]bool{}
	b := &built{}
	var raw laneCounts
	for i, source := range sources {
		t, err := readRaw(c.in.files, path.Join(c.in.systems, source.path), s.columns())
		if err != nil {
			return nil, err
		}
		b.origins = append(b.origins, source.origin)
		err = s.records(c, t, source, int32(i), func(r *record) {
			k := key{names: r.names, keys: r.keys}
			if s.lanes {
				k.lane = r.kernel
				raw.count(r, source.origin.Role == "primary")
			}
			if !seen[k] {
				seen[k] = true
				b.records = append(b.records, *r)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	switch {
	case s.lanes:
		b.records = raw.visible(b.records, c.lanes.pinned(backend, version, c.sm))
	case s.table == operators.TableGEMM:
		numberSites(b.records)
	}
	for i := range b.records {
		b.origins[b.records[i].source].Rows++
	}
	slices.SortFunc(b.records, func(x, y record) int {
		return cmp.Or(slices.Compare(x.names[:], y.names[:]), slices.Compare(x.keys[:], y.keys[:]))
	})
	return b, nil
}

// numberSites gives every (n, k) of a mode its place in the nested first-seen order of spec 09
// section 5.3.
func numberSites(records []record) {
	type node struct {
		children map[int64]int
		order    []int64
		below    []node
	}
	child := func(n *node, key int64) *node {
		if n.children == nil {
			n.children = map[int64]int{}
		}
		i, ok := n.children[key]
		if !ok {
			i = len(n.order)
			n.children[key] = i
			n.order = append(n.order, key)
			n.below = append(n.below, node{})
		}
		return &n.below[i]
	}
	modes := map[string]*node{}
	for i := range records {
		r := &records[i]
		root := modes[r.names[0]]
		if root == nil {
			root = &node{}
			modes[r.names[0]] = root
		}
		child(child(child(root, r.keys[1]), r.keys[2]), r.keys[3])
	}
	sites := map[string]map[[2]int64]int64{}
	for mode, root := range modes {
		found := map[[2]int64]int64{}
		for i := range root.below {
			for j, n := range root.below[i].order {
				for _, k := range root.below[i].below[j].order {
					if _, ok := found[[2]int64{n, k}]; !ok {
						found[[2]int64{n, k}] = int64(len(found))
					}
				}
			}
		}
		sites[mode] = found
	}
	for i := range records {
		r := &records[i]
		r.keys[0] = sites[r.names[0]][[2]int64{r.keys[2], r.keys[3]}]
	}
}

// nativeHeads is the number of attention heads of a model that a module was measured for, 0 when
// it is not known (spec 09 section 5.10).
func (c *conversion) nativeHeads(model string) int64 {
	switch model {
	case "deepseek-ai/DeepSeek-V3", "deepseek-ai/DeepSeek-R1", "nvidia/DeepSeek-V3.1-NVFP4":
		return 128
	}
	if n, ok := c.heads[model]; ok {
		return n
	}
	n := c.in.configHeads(model)
	c.heads[model] = n
	return n
}

// configHeads reads a model's number of heads from the configurations in the package.
func (in *input) configHeads(model string) int64 {
	text, err := in.config(model)
	if err != nil {
		return 0
	}
	var y struct {
		Heads  int64 `json:"num_attention_heads"`
		Nested struct {
			Heads int64 `json:"num_attention_heads"`
		} `json:"text_config"`
	}
	if json.Unmarshal(text, &y) != nil {
		return 0
	}
	return cmp.Or(y.Nested.Heads, y.Heads)
}
