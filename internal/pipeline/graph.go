package pipeline

import (
	"errors"
	"fmt"

	"github.com/dynosim/dynosim/lower"
	"github.com/dynosim/dynosim/metrics"
	"github.com/dynosim/dynosim/schemas"
)

// writeGraphPart writes the rows of a part of a graph.
func writeGraphPart(r *metrics.Recorders, p *lower.GraphPart) error {
	g, n := p.Graph, &p.Nodes
	rows := len(n.InputTokens)
	if rows > 0 {
		err := errors.Join(
			r.WritePlayNodes(metrics.PlayNodeColumns{
				Play:        g.Play,
				RequestID:   g.RequestID,
				Model:       func(i int) string { return g.Models[g.Model[i]] },
				NotBeforeMS: g.NotBeforeMS, RecordedStartMS: g.RecordedStartMS, RecordedEndMS: g.RecordedEndMS, RecordedAPITimeMS: g.RecordedAPITimeMS,
				Priority: g.Priority, StrictPriority: g.StrictPriority,
				PolicyClass: func(i int) (string, bool) {
					if class := g.PolicyClass[i]; class >= 0 {
						return g.PolicyClasses[class], true
					}
					return "", false
				},
				ParentNode: g.Parent, RootNode: p.Root, Turn: g.Turn,
			}),
			r.WriteNodes(metrics.NodeColumns{
				RequestIndex: n.RequestIndex, SessionName: func(session int) string { return g.Sessions[session] }, Session: g.Session,
				ReleaseMS: n.ReleaseMS, InputTokens: n.InputTokens, OutputTokens: n.OutputTokens, Chain: n.Chain, ChainTokens: n.ChainTokens,
				Priority: n.Priority, StrictPriority: n.StrictPriority, PolicyClass: n.PolicyClass, PolicyClasses: n.PolicyClasses,
			}))
		if err != nil {
			return err
		}
	}
	if len(g.Predecessor) > 0 {
		edges := metrics.EdgeColumns{Predecessor: g.Predecessor, Successor: g.Target, DelayMS: g.DelayMS}
		for e := range g.Trigger {
			edges.Trigger = append(edges.Trigger, schemas.TriggerNames[g.Trigger[e]])
			edges.Relation = append(edges.Relation, schemas.RelationNames[g.Relation[e]])
		}
		if err := r.WriteEdges(edges); err != nil {
			return err
		}
	}
	if len(p.Authored) > 0 {
		if err := r.WriteNodeOutputs(metrics.NodeOutputColumns{First: p.First, Start: p.AuthoredStart, Tokens: p.Authored}); err != nil {
			return err
		}
	}
	if c := &p.Chains; len(c.Parent) > 0 {
		return r.WriteChains(metrics.ChainColumns{Parent: c.Parent, Block: c.Block})
	}
	return nil
}

// playColumns is the table of plays.
func playColumns(g *lower.Graph) (c metrics.PlayColumns) {
	for p := range g.Plays {
		play := &g.Plays[p]
		c.PlayID, c.SourceName = append(c.PlayID, play.ID), append(c.SourceName, play.Source)
		c.SourceOrdinal = append(c.SourceOrdinal, play.Ordinal)
		c.NodeCount, c.RootCount = append(c.NodeCount, play.Nodes), append(c.RootCount, play.Roots)
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
