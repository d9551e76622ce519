package lower

import (
	"errors"
	"fmt"
	"math"
)

// NewSessions makes an empty list of sessions, for a workload that is read back from its
// tables.
func NewSessions() *Sessions { return &Sessions{First: []int32{0}} }

// Append adds a session of the given name and number of turns, whose nodes follow those of
// the sessions before. It keeps nothing of name.
func (s *Sessions) Append(name string, turns int32) {
	ref, generated := generatedNumber(name)
	if !generated {
		ref = s.names.place(name)
	}
	s.names.refs.push(ref)
	s.First = append(s.First, s.First[len(s.First)-1]+turns)
}

// SetDepth fills the column Depth from the parents. A chain that is not behind its parent is an
// error.
func (c *Chains) SetDepth() error {
	c.Depth = make([]int32, len(c.Parent))
	for i, parent := range c.Parent {
		switch {
		case parent >= 0 && int(parent) < i:
			c.Depth[i] = c.Depth[parent] + 1
		case parent != -1:
			return fmt.Errorf("chain %d has the parent %d: parents come first", i, parent)
		}
	}
	return nil
}

// Check looks for what no lowering makes, so that a simulation can rely on a workload that was read
// back from its tables.
func (w *Workload) Check() error {
	n := &w.Nodes
	if n.Len() == 0 {
		return errors.New("there are no nodes")
	}
	for i := range n.Len() {
		if err := w.checkNode(i); err != nil {
			return fmt.Errorf("node %d: %w", i, err)
		}
	}
	if w.Graph != nil {
		return w.checkGraph()
	}
	if w.Sessions == nil {
		return w.checkList()
	}
	if last := w.Sessions.First[w.Sessions.Len()]; int(last) != n.Len() {
		return fmt.Errorf("sessions have %d nodes of %d", last, n.Len())
	}
	for s := range w.Sessions.Len() {
		first := w.Sessions.First[s]
		if n.DelayMS[first] != 0 {
			return fmt.Errorf("node %d: the first turn of a session has a delay", first)
		}
		if w.Concurrency == 0 && !finite(n.ReleaseMS[first]) {
			return fmt.Errorf("node %d: the first turn of a session has no release time", first)
		}
	}
	return nil
}

func (w *Workload) checkNode(i int) error {
	n := &w.Nodes
	chain, covered := n.Chain[i], int64(n.ChainTokens[i])
	switch {
	case n.InputTokens[i] < 0 || n.OutputTokens[i] < 0:
		return fmt.Errorf("%d input and %d output tokens", n.InputTokens[i], n.OutputTokens[i])
	case chain < -1 || int(chain) >= len(w.Chains.Parent):
		return fmt.Errorf("chain %d of %d", chain, len(w.Chains.Parent))
	case chain == -1 && covered != 0:
		return fmt.Errorf("no chain for %d tokens", covered)
	case chain >= 0:
		depth := int64(w.Chains.Depth[chain])
		if w.BlockTokens < 1 || covered > int64(n.InputTokens[i]) || (covered-1)/w.BlockTokens != depth || covered < 1 {
			return fmt.Errorf("chain %d has %d blocks of %d tokens, which cannot be %d tokens of %d", chain, depth+1, w.BlockTokens, covered, n.InputTokens[i])
		}
	}
	if w.Sessions != nil && (!(n.DelayMS[i] >= 0) || math.IsInf(n.DelayMS[i], 0)) {
		return fmt.Errorf("a delay of %v ms", n.DelayMS[i])
	}
	if w.AuthoredStart != nil {
		if count := w.AuthoredStart[i+1] - w.AuthoredStart[i]; count != 0 && count != int64(n.OutputTokens[i]) {
			return fmt.Errorf("%d prescribed tokens for an output of %d", count, n.OutputTokens[i])
		}
	}
	return nil
}

// checkGraph checks the times of plays, whose nodes stand in no order of time.
func (w *Workload) checkGraph() error {
	for i, at := range w.Nodes.ReleaseMS {
		if !finite(at) || at < 0 {
			return fmt.Errorf("node %d is released at %v ms", i, at)
		}
	}
	return nil
}

// checkList checks the order of arrival of an open loop.
func (w *Workload) checkList() error {
	if w.Concurrency > 0 {
		return nil
	}
	last := 0.0
	for i, at := range w.Nodes.ReleaseMS {
		if !finite(at) || at < last {
			return fmt.Errorf("node %d is released at %v ms, the node before at %v", i, at, last)
		}
		last = at
	}
	return nil
}
