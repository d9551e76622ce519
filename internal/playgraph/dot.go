package playgraph

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// dotStyle is the look of a relation.
var dotStyle = map[string]string{"sequence": "color=gray30", "spawn": "color=steelblue", "join": "color=forestgreen", "replay_barrier": "color=gray70, style=dashed"}

// DOT writes the play for Graphviz: a cluster for each conversation, nodes from left to right.
func DOT(w io.Writer, p *Play) error {
	b := bufio.NewWriter(w)
	order, _ := p.tree()
	fmt.Fprintf(b, "digraph play {\n  label=%s;\n  rankdir=LR;\n  node [shape=box, style=rounded, fontsize=10];\n  edge [fontsize=9];\n", quoted(p.Title))
	for i, s := range order {
		fmt.Fprintf(b, "  subgraph cluster_%d {\n    label=%s;\n", i, quoted(p.Sessions[s]))
		for k := range p.Nodes {
			if n := &p.Nodes[k]; n.Session == s {
				fmt.Fprintf(b, "    n%d [label=%s, tooltip=%s];\n", k, quoted(fmt.Sprintf("%s\nat %s, %d in, %d out", n.Short, duration(n.StartMS), n.InputTokens, n.OutputTokens)), quoted(n.Name))
			}
		}
		b.WriteString("  }\n")
	}
	for _, e := range p.Edges {
		label := duration(e.DelayMS)
		if e.Dispatch {
			label += " after dispatch"
		}
		fmt.Fprintf(b, "  n%d -> n%d [label=%s, tooltip=%s, %s];\n", e.From, e.To, quoted(label), quoted(e.Relation), dotStyle[e.Relation])
	}
	b.WriteString("}\n")
	return b.Flush()
}

// quoted is a string of the language of Graphviz.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}
