package playgraph

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"math"
)

// Sizes of the drawing, pixels.
const (
	rowHeight  = 46.0
	barHeight  = 18.0
	leftMargin = 250.0
	topMargin  = 64.0
	widest     = 12_000.0
	// crowded is the number of nodes above which only long waits are labelled.
	crowded = 160
)

var colors = []string{"#4c78a8", "#f58518", "#54a24b", "#b279a2", "#e45756", "#72b7b2", "#9d755d"}

// style is the stroke of a relation.
var style = map[string]string{
	"sequence": `stroke="#555" stroke-width="1.4"`, "spawn": `stroke="#1f77b4" stroke-width="1.3"`,
	"join": `stroke="#2ca02c" stroke-width="1.3"`, "replay_barrier": `stroke="#bbb" stroke-width="1" stroke-dasharray="3 3"`,
}

// drawing is one SVG in the making.
type drawing struct {
	p     *Play
	w     *bufio.Writer
	scale scale
	row   map[int]int
	color map[string]string
}

// SVG writes the play as an image.
func SVG(w io.Writer, p *Play) error {
	order, depth := p.tree()
	d := drawing{p: p, w: bufio.NewWriter(w), scale: p.scale(widest), row: map[int]int{}, color: map[string]string{}}
	for row, s := range order {
		d.row[s] = row
	}
	for i := range p.Nodes {
		if m := p.Nodes[i].Model; d.color[m] == "" {
			d.color[m] = colors[len(d.color)%len(colors)]
		}
	}
	right := 0.0
	if n := len(d.scale.at); n > 0 {
		right = d.scale.at[n-1]
	}
	width, height := max(leftMargin+right+60, d.legendEnd()), topMargin+float64(len(order))*rowHeight+40
	fmt.Fprintf(d.w, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" font-family="sans-serif" font-size="10">`+"\n", width, height, width, height)
	fmt.Fprintf(d.w, `<rect width="100%%" height="100%%" fill="white"/><text x="12" y="20" font-size="14" font-weight="bold">%s</text>`+"\n", html.EscapeString(p.Title))
	d.legend()
	d.axis(right, height)
	for row, s := range order {
		y := topMargin + float64(row)*rowHeight
		fmt.Fprintf(d.w, `<rect x="0" y="%.1f" width="%.0f" height="%.0f" fill="%s"/>`+"\n", y, width, rowHeight, []string{"#f7f7f9", "#ffffff"}[row%2])
		fmt.Fprintf(d.w, `<text x="%d" y="%.1f" fill="#333">%s<title>%s</title></text>`+"\n", 12+14*depth[s], y+rowHeight/2+4, html.EscapeString(shorten(p.Sessions[s], 38-2*depth[s])), html.EscapeString(p.Sessions[s]))
	}
	for i := range p.Edges {
		d.edge(&p.Edges[i])
	}
	for i := range p.Nodes {
		d.node(&p.Nodes[i])
	}
	for i := range p.Edges {
		d.delay(&p.Edges[i])
	}
	d.w.WriteString("</svg>\n")
	return d.w.Flush()
}

// shorten keeps the end of a name: that is where conversations differ.
func shorten(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return "…" + string(r[len(r)-n+1:])
}

func (d *drawing) legend() {
	x := leftMargin
	for _, r := range []string{"sequence", "spawn", "join", "replay_barrier"} {
		fmt.Fprintf(d.w, `<line x1="%.0f" y1="34" x2="%.0f" y2="34" %s/><text x="%.0f" y="37.5" fill="#555">%s</text>`+"\n", x, x+24, style[r], x+28, r)
		x += 105
	}
	for _, m := range d.models() {
		fmt.Fprintf(d.w, `<rect x="%.0f" y="29" width="12" height="10" rx="2" fill="%s"/><text x="%.0f" y="37.5" fill="#555">%s</text>`+"\n", x, d.color[m], x+16, html.EscapeString(m))
		x += 30 + 6*float64(len(m))
	}
}

// legendEnd is the width that the legend needs.
func (d *drawing) legendEnd() float64 {
	x := leftMargin + 4*105
	for _, m := range d.models() {
		x += 30 + 6*float64(len(m))
	}
	return x + 20
}

// models lists the models in order of their first node.
func (d *drawing) models() (models []string) {
	seen := map[string]bool{}
	for i := range d.p.Nodes {
		if m := d.p.Nodes[i].Model; !seen[m] {
			seen[m] = true
			models = append(models, m)
		}
	}
	return models
}

// axis marks times about every hundred pixels.
func (d *drawing) axis(right, height float64) {
	last := math.Inf(-1)
	for i, x := range d.scale.at {
		if x-last < 110 && x < right || x == right && x-last < 60 && i > 0 {
			continue
		}
		last = x
		fmt.Fprintf(d.w, `<line x1="%.1f" y1="%.0f" x2="%.1f" y2="%.0f" stroke="#e3e3e8"/><text x="%.1f" y="%.0f" fill="#777" text-anchor="middle">%s</text>`+"\n",
			leftMargin+x, topMargin-6, leftMargin+x, height-30, leftMargin+x, topMargin-10, duration(d.scale.times[i]))
	}
}

// middle is the vertical middle of a node's row.
func (d *drawing) middle(n *Node) float64 {
	return topMargin + float64(d.row[n.Session])*rowHeight + rowHeight/2
}

func (d *drawing) span(n *Node) (from, to float64) {
	from, to = leftMargin+d.scale.x(n.StartMS), leftMargin+d.scale.x(n.end())
	return from, max(to, from+5)
}

func (d *drawing) node(n *Node) {
	from, to := d.span(n)
	y := d.middle(n) - barHeight/2
	fmt.Fprintf(d.w, `<g><title>%s
%s, start %s, %s
%d prompt tokens, %d output tokens</title>`, html.EscapeString(n.Name), html.EscapeString(n.Model), duration(n.StartMS), d.length(n), n.InputTokens, n.OutputTokens)
	fmt.Fprintf(d.w, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.0f" rx="3" fill="%s" fill-opacity="0.85" stroke="#333" stroke-width="0.6"/>`, from, y, to-from, barHeight, d.color[n.Model])
	if to-from >= 6*float64(len(n.Short))+4 {
		fmt.Fprintf(d.w, `<text x="%.1f" y="%.1f" fill="white" text-anchor="middle">%s</text>`, (from+to)/2, y+barHeight/2+3.5, html.EscapeString(n.Short))
	}
	d.w.WriteString("</g>\n")
}

func (d *drawing) length(n *Node) string {
	if math.IsNaN(n.EndMS) {
		return "length unknown"
	}
	return "length " + duration(n.EndMS-n.StartMS)
}

// ends is where an edge starts and ends.
func (d *drawing) ends(e *Edge) (x1, y1, x2, y2 float64) {
	from, to := &d.p.Nodes[e.From], &d.p.Nodes[e.To]
	left, right := d.span(from)
	x1, y1 = right, d.middle(from)
	if e.Dispatch {
		x1 = left
	}
	x2, _ = d.span(to)
	return x1, y1, x2, d.middle(to)
}

func (d *drawing) edge(e *Edge) {
	from, to := &d.p.Nodes[e.From], &d.p.Nodes[e.To]
	x1, y1, x2, y2 := d.ends(e)
	trigger := "completion"
	if e.Dispatch {
		trigger = "dispatch"
	}
	fmt.Fprintf(d.w, `<g><title>%s on %s: %s to %s, %s</title>`, e.Relation, trigger, html.EscapeString(from.Short), html.EscapeString(to.Short), duration(e.DelayMS))
	if y1 == y2 {
		bend := 0.0
		if e.Relation != "sequence" {
			bend = 16
		}
		fmt.Fprintf(d.w, `<path d="M%.1f %.1f Q%.1f %.1f %.1f %.1f" fill="none" %s/>`, x1, y1, (x1+x2)/2, y1-bend, x2, y2, style[e.Relation])
	} else {
		reach := min(40, max(8, math.Abs(x2-x1)/2))
		fmt.Fprintf(d.w, `<path d="M%.1f %.1f C%.1f %.1f %.1f %.1f %.1f %.1f" fill="none" %s/>`, x1, y1, x1+reach, y1, x2-reach, y2, x2, y2, style[e.Relation])
	}
	d.w.WriteString("</g>\n")
}

// delay labels an edge with its delay, over everything else.
func (d *drawing) delay(e *Edge) {
	x1, y1, x2, y2 := d.ends(e)
	if e.Relation != "replay_barrier" && e.DelayMS > 0 && (len(d.p.Nodes) < crowded || e.DelayMS >= 30_000) && (y1 != y2 || x2-x1 > 26) {
		y := (y1+y2)/2 - 3
		if y1 == y2 {
			y = y1 - barHeight/2 - 2
		}
		fmt.Fprintf(d.w, `<text x="%.1f" y="%.1f" fill="#333" stroke="white" stroke-width="3" paint-order="stroke" font-size="9" text-anchor="middle">%s</text>`+"\n", (x1+x2)/2, y, duration(e.DelayMS))
	}
}
