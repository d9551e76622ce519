package sglang

// The leaves are a binary heap of the nodes that can be evicted, the smallest tick first.

// join adds a node to the leaves.
func (t *tree) join(id int32) {
	t.leaves = append(t.leaves, id)
	t.up(int32(len(t.leaves) - 1))
}

// drop takes a node out of the leaves.
func (t *tree) drop(id int32) {
	n := &t.nodes[id]
	i, last := n.place, int32(len(t.leaves)-1)
	n.place = -1
	moved := t.leaves[last]
	t.leaves = t.leaves[:last]
	if i == last {
		return
	}
	t.leaves[i] = moved
	t.nodes[moved].place = i
	t.up(i)
	t.down(t.nodes[moved].place)
}

func (t *tree) up(i int32) {
	id := t.leaves[i]
	tick := t.nodes[id].tick
	for i > 0 {
		above := (i - 1) / 2
		other := t.leaves[above]
		if t.nodes[other].tick <= tick {
			break
		}
		t.put(i, other)
		i = above
	}
	t.put(i, id)
}

func (t *tree) down(i int32) {
	id := t.leaves[i]
	tick := t.nodes[id].tick
	for {
		c := 2*i + 1
		if c >= int32(len(t.leaves)) {
			break
		}
		if c+1 < int32(len(t.leaves)) && t.nodes[t.leaves[c+1]].tick < t.nodes[t.leaves[c]].tick {
			c++
		}
		if t.nodes[t.leaves[c]].tick >= tick {
			break
		}
		t.put(i, t.leaves[c])
		i = c
	}
	t.put(i, id)
}

func (t *tree) put(i, id int32) {
	t.leaves[i] = id
	t.nodes[id].place = i
}
