package pipeline

import (
	"github.com/dynosim/dynosim/lower"
	"github.com/dynosim/dynosim/metrics"
	"github.com/dynosim/dynosim/schemas"
)

// chunk is how many rows of a lowered table are handed over at once, so that writing them
// needs no second copy of the workload.
const chunk = 1 << 14

// writeLowered writes nodes, edges and chains of a flat source. The recorder may still read the chunks when
// it returns, so they point into the workload or are made new.
func writeLowered(r *metrics.Recorders, w *lower.Workload, listed []schemas.ListedRequest) error {
	n := &w.Nodes
	session := int32(0)
	for from := 0; from < n.Len(); from += chunk {
		to := min(from+chunk, n.Len())
		nodes := metrics.NodeColumns{
			ReleaseMS:   n.ReleaseMS[from:to],
			InputTokens: n.InputTokens[from:to], OutputTokens: n.OutputTokens[from:to],
			Chain: n.Chain[from:to], ChainTokens: n.ChainTokens[from:to],
		}
		if n.Priority != nil {
			nodes.Priority, nodes.StrictPriority = n.Priority[from:to], n.StrictPriority[from:to]
			nodes.PolicyClass, nodes.PolicyClasses = n.PolicyClass[from:to], n.PolicyClasses
		}
		if n.RequestIndex != nil {
			nodes.RequestIndex = n.RequestIndex[from:to]
		}
		if listed != nil {
			for _, i := range nodes.RequestIndex {
				nodes.Turn = append(nodes.Turn, listed[i].Turn)
			}
		}
		if w.Sessions != nil {
			var edges metrics.EdgeColumns
			nodes.SessionName = w.Sessions.Name
			for node := int32(from); node < int32(to); node++ {
				for node >= w.Sessions.First[session+1] {
					session++
				}
				turn := node - w.Sessions.First[session]
				nodes.Session, nodes.Turn = append(nodes.Session, session), append(nodes.Turn, turn)
				if turn > 0 {
					edges.Predecessor, edges.Successor = append(edges.Predecessor, node-1), append(edges.Successor, node)
					edges.DelayMS = append(edges.DelayMS, n.DelayMS[node])
				}
			}
			if len(edges.Successor) > 0 {
				if err := r.WriteEdges(edges); err != nil {
					return err
				}
			}
		}
		if err := r.WriteNodes(nodes); err != nil {
			return err
		}
		if w.AuthoredStart != nil {
			outputs := metrics.NodeOutputColumns{First: int32(from), Start: w.AuthoredStart[from : to+1], Tokens: w.Authored}
			if err := r.WriteNodeOutputs(outputs); err != nil {
				return err
			}
		}
	}
	c := &w.Chains
	for from := 0; from < len(c.Parent); from += chunk {
		to := min(from+chunk, len(c.Parent))
		if err := r.WriteChains(metrics.ChainColumns{Parent: c.Parent[from:to], Block: c.Block[from:to]}); err != nil {
			return err
		}
	}
	return nil
}
