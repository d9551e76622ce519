package inspect

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
)

// modelsShown is the number of models that are printed.
const modelsShown = 8

// graph prints the plays of an agentic source.
func (p *page) graph(g *Graph) {
	how := ""
	if g.Guessed {
		how = " (guessed from the first rows)"
	}
	p.line("format    %s%s", g.Format, how)
	p.line("plays     %d, with %d requests, %d of them roots", g.Plays, g.Requests, g.Roots)
	talks := fmt.Sprintf("%d conversations: %d spawned by another, %d of these joined", g.Conversations, g.Spawned, g.Joined)
	if g.Subagents > 0 {
		talks += fmt.Sprintf("; %d subagents", g.Subagents)
	}
	p.line("sessions  %s", talks)
	var models []string
	for _, m := range g.Model[:min(len(g.Model), modelsShown)] {
		models = append(models, fmt.Sprintf("%s %d", m.Model, m.Requests))
	}
	if more := len(g.Model) - len(models); more > 0 {
		models = append(models, fmt.Sprintf("and %d more", more))
	}
	p.line("models    %s", strings.Join(models, ", "))
	if g.PromptBlocks.Sum > 0 {
		p.line("blocks    %d tokens each: %d references, %d distinct prefixes, %s known from earlier prompts", g.BlockTokens, g.PromptBlocks.Sum, g.NewBlocks.Sum,
			percent(1-float64(g.NewBlocks.Sum)/float64(g.PromptBlocks.Sum)))
	} else {
		p.line("blocks    none")
	}
	p.line("tools     %s between the requests of conversations; requests took %s%s", duration(float64(g.ToolMS.Sum)), duration(float64(g.ServiceMS.Sum)), unknown(g.UnknownService))
	if g.NestedTimestampBasis != "" {
		p.line("nested    timestamps are %s", g.NestedTimestampBasis)
	}
	p.line("source    %s, digest %s", g.Source, g.SourceDigest)
	p.line("graph     digest %s", g.GraphDigest)
	row := func(name string, l Lengths) table.Row { return table.Row{name, l.P50, l.P90, l.P99, l.Max, l.Sum} }
	p.table(table.Row{"", "p50", "p90", "p99", "max", "sum"}, []table.Row{
		row("requests of a play", g.PlayRequests), row("conversations of a play", g.PlayConversations), row("turns of a conversation", g.Turns),
		row("depth of a play", g.Depth), row("fan-out of a request", g.FanOut),
		row("input tokens", g.InputTokens), row("output tokens", g.OutputTokens), row("blocks of a prompt", g.PromptBlocks), row("new blocks of a prompt", g.NewBlocks),
		row("time of a play, ms", g.TrajectoryMS), row("time of a request, ms", g.ServiceMS), row("tool time, ms", g.ToolMS),
	}, 2)
	if len(g.Edges) > 0 {
		var rows []table.Row
		for _, e := range g.Edges {
			rows = append(rows, table.Row{e.Relation, e.Trigger, e.Count, e.DelayMS.P50, e.DelayMS.P90, e.DelayMS.P99, e.DelayMS.Max})
		}
		p.table(table.Row{"edges", "after", "count", "delay p50 ms", "p90", "p99", "max"}, rows, 3)
	}
	var rows []table.Row
	for _, t := range g.Growth {
		name := fmt.Sprintf("%d to %d", t.FromTurn, t.ToTurn)
		if t.FromTurn == t.ToTurn {
			name = fmt.Sprint(t.FromTurn)
		}
		rows = append(rows, table.Row{name, t.Requests, number(t.InputTokens), percent(t.KnownShare)})
	}
	p.table(table.Row{"turns", "requests", "input tokens, mean", "known"}, rows, 2)
	if g.Compactions > 0 {
		p.line("%d turns have a shorter prompt than the turn before", g.Compactions)
	}
}

// unknown tells of requests whose time is not known.
func unknown(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", %d are not known", n)
}
