package pipeline

import (
	"fmt"

	"github.com/dynosim/dynosim/lower"
	"github.com/dynosim/dynosim/metrics"
	"github.com/dynosim/dynosim/schemas"
)

// writeGraphPart writes what the nodes from up to, not including, to have beyond those of a flat source, and
// the edges that they wait for. It completes their columns in nodes.
func writeGraphPart(r *metrics.Recorders, w *lower.Workload, nodes *metrics.NodeColumns, from, to int) error {
	g := w.Graph
	nodes.Session = g.Session[from:to]
	nodes.SessionName = func(session int) string { return g.Sessions[session] }
	roots := make([]int32, 0, to-from)
	for _, p := range g.Play[from:to] {
		roots = append(roots, g.Plays[p].Root)
	}
	err := r.WritePlayNodes(metrics.PlayNodeColumns{
		Play:        g.Play[from:to],
		RequestID:   func(i int) string { return g.RequestID(from + i) },
		Model:       func(i int) string { return g.Models[g.Model[from+i]] },
		NotBeforeMS: g.NotBeforeMS[from:to], RecordedStartMS: g.RecordedStartMS[from:to],
		RecordedEndMS: g.RecordedEndMS[from:to], RecordedAPITimeMS: g.RecordedAPITimeMS[from:to],
		Priority: g.Priority[from:to], StrictPriority: g.StrictPriority[from:to],
		PolicyClass: func(i int) (string, bool) {
			if class := g.PolicyClass[from+i]; class >= 0 {
				return g.PolicyClasses[class], true
			}
			return "", false
		},
		ParentNode: g.Parent[from:to], RootNode: roots, Turn: g.Turn[from:to],
	})
	lo, hi := g.EdgeFirst[from], g.EdgeFirst[to]
	if err != nil || lo == hi {
		return err
	}
	edges := metrics.EdgeColumns{Predecessor: g.Predecessor[lo:hi], Successor: g.Target[lo:hi], DelayMS: g.DelayMS[lo:hi]}
	for e := lo; e < hi; e++ {
		edges.Trigger = append(edges.Trigger, schemas.TriggerNames[g.Trigger[e]])
		edges.Relation = append(edges.Relation, schemas.RelationNames[g.Relation[e]])
	}
	return r.WriteEdges(edges)
}

// playColumns is the table of plays.
func playColumns(g *lower.Graph) (c metrics.PlayColumns) {
	for p := range g.Plays {
		play := &g.Plays[p]
		c.PlayID, c.SourceName = append(c.PlayID, play.ID), append(c.SourceName, play.Source)
		c.SourceOrdinal = append(c.SourceOrdinal, play.Ordinal)
		c.NodeCount, c.RootCount = append(c.NodeCount, int32(len(g.Nodes(int32(p))))), append(c.RootCount, play.Roots)
		c.EdgeCount, c.SessionCount = append(c.EdgeCount, play.Edges), append(c.SessionCount, play.Sessions)
		c.RecordedStartMS, c.RecordedLastStartMS = append(c.RecordedStartMS, play.FirstMS), append(c.RecordedLastStartMS, play.LastMS)
		c.InputTokens, c.OutputTokens = append(c.InputTokens, play.InputTokens), append(c.OutputTokens, play.OutputTokens)
	}
	return c
}

// restoreGraph reads the graph of a lowered folder back.
func (f *folder) restoreGraph(w *lower.Workload, tables *metrics.Folder, session []int32, sessions []string) error {
	stage := f.manifest.Lower.Graph
	n := w.Nodes.Len()
	if session == nil {
		return f.damaged(fmt.Errorf("a graph of plays without sessions"))
	}
	rows, err := tables.PlayNodes()
	if err != nil {
		return err
	}
	plays, err := tables.Plays()
	if err != nil {
		return err
	}
	if len(rows.Play) != n {
		return f.damaged(fmt.Errorf("%d nodes of plays for %d nodes", len(rows.Play), n))
	}
	g := lower.NewGraph(stage.Digest, stage.BlockTokens, sessions)
	if e := f.manifest.Ingest.Graph; e != nil {
		g.Source = schemas.GraphSource{Format: e.Format, Digest: e.Digest, NestedTimestampBasis: e.NestedTimestampBasis}
	}
	g.Session, g.Play, g.NotBeforeMS = session, rows.Play, rows.NotBeforeMS
	g.RecordedStartMS, g.RecordedEndMS, g.RecordedAPITimeMS = rows.RecordedStartMS, rows.RecordedEndMS, rows.RecordedAPITimeMS
	g.Priority, g.StrictPriority, g.Turn = rows.Priority, rows.StrictPriority, rows.Turn
	for i := range plays.PlayID {
		g.Plays = append(g.Plays, lower.Play{ID: plays.PlayID[i], Source: plays.SourceName[i], Ordinal: plays.SourceOrdinal[i]})
	}
	for i := range n {
		class, has := rows.PolicyClass(i)
		g.AppendNames(rows.RequestID(i), rows.Model(i), class, has)
	}
	var edges []metrics.EdgeColumns
	if err := tables.NamedEdges(func(c *metrics.EdgeColumns) { edges = append(edges, *c) }); err != nil {
		return err
	}
	for i := range edges {
		c := &edges[i]
		for k := range c.Successor {
			if err := g.AppendEdge(c.Predecessor[k], c.Successor[k], c.Trigger[k], c.Relation[k], c.DelayMS[k]); err != nil {
				return f.damaged(err)
			}
		}
	}
	if err := g.Restore(&w.Nodes); err != nil {
		return f.damaged(err)
	}
	w.Graph = g
	return nil
}
