// Package corpus makes synthetic corpora of coding-agent plays in the format weka: prompts of 64-token blocks that grow turn by
// turn, now and then cut back by a compaction, with subagents that run while their owner waits or goes on. Equal
// shapes give equal bytes.
package corpus

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
)

// Shape says what to make.
type Shape struct {
	// Plays and Requests are the number of plays and, on average, of requests of each.
	Plays, Requests int
	// Blocks is about the mean number of blocks of a prompt, of 64 tokens each.
	Blocks int
	Seed   uint64
}

// Write writes the plays from up to, not including, to of a corpus, one trace object a line.
func (s Shape) Write(out io.Writer, from, to int) error {
	g := generator{Shape: s, w: bufio.NewWriterSize(out, 1<<20)}
	for p := from; p < to; p++ {
		g.play(p)
	}
	return g.w.Flush()
}

// generator draws plays.
type generator struct {
	Shape
	r    *rand.Rand
	w    *bufio.Writer
	next int // block ids of the play at hand
	text []byte
}

// conversation is a stream of requests.
type conversation struct {
	clock  float64
	blocks []int
	model  string
}

// grow adds new blocks.
func (g *generator) grow(c *conversation, n int) {
	for range n {
		c.blocks = append(c.blocks, g.next)
		g.next++
	}
}

// play writes one trace object.
func (g *generator) play(p int) {
	g.r, g.next = rand.New(rand.NewPCG(g.Seed, uint64(p))), 0
	n := max(4, int(float64(g.Requests)*(0.3+1.4*g.r.Float64())))
	fmt.Fprintf(g.w, `{"id":"play-%05d","models":["sonnet","haiku"],"block_size":64,"hash_id_scope":"local","tool_tokens":12000,"system_tokens":3000,"requests":[`, p)
	main := conversation{model: "sonnet"}
	g.grow(&main, 40+g.r.IntN(40))
	system := len(main.blocks)
	// Prompts grow from the system prompt to a limit and are cut back then, so that their mean is about what was asked for.
	limit := max(system+10, 3*g.Blocks)
	step := max(1, limit/40)
	for i := 0; n > 0; i++ {
		if i > 0 {
			g.w.WriteByte(',')
		}
		if i > 2 && g.r.IntN(12) == 0 {
			n -= g.subagent(&main, i, system, min(n, 3+g.r.IntN(25)))
			continue
		}
		if len(main.blocks) > limit {
			keep := system + g.r.IntN(max(1, len(main.blocks)/10))
			main.blocks = main.blocks[:keep]
			g.grow(&main, 5+g.r.IntN(20))
		}
		g.request(&main)
		g.grow(&main, 1+g.r.IntN(2*step))
		n--
	}
	g.w.WriteString("]}\n")
}

// request writes a request of a conversation and moves its clock behind it.
func (g *generator) request(c *conversation) {
	out := 20 + g.r.IntN(900)
	api := 0.8 + float64(out)*0.012 + 3*g.r.Float64()
	in := len(c.blocks)*64 - g.r.IntN(64)
	b := append(g.text[:0], `{"type":"n","t":`...)
	b = strconv.AppendFloat(b, c.clock, 'f', 3, 64)
	b = append(append(append(b, `,"model":"`...), c.model...), `","in":`...)
	b = strconv.AppendInt(b, int64(in), 10)
	b = strconv.AppendInt(append(b, `,"out":`...), int64(out), 10)
	b = strconv.AppendFloat(append(b, `,"api_time":`...), api, 'f', 3, 64)
	b = append(b, `,"hash_ids":[`...)
	for k, id := range c.blocks {
		if k > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(id), 10)
	}
	g.text = append(b, "]}"...)
	g.w.Write(g.text)
	c.clock += api + g.r.ExpFloat64()*4
}

// subagent writes a marker with n requests and returns n. The owner waits for one in two.
func (g *generator) subagent(owner *conversation, outer, system, n int) int {
	blocking := g.r.IntN(2) == 0
	status := map[bool]string{true: "completed", false: "async_launched"}[blocking]
	start := owner.clock
	fmt.Fprintf(g.w, `{"type":"subagent","t":%.3f,"agent_id":"agent-%d","subagent_type":"explore","status":"%s","requests":[`, start, outer, status)
	c := conversation{clock: start + 0.1, model: "haiku", blocks: append([]int(nil), owner.blocks[:min(system/2, len(owner.blocks))]...)}
	g.grow(&c, 10+g.r.IntN(20))
	for k := range n {
		if k > 0 {
			g.w.WriteByte(',')
		}
		g.request(&c)
		g.grow(&c, 1+g.r.IntN(16))
	}
	g.w.WriteString("]}")
	if blocking {
		owner.clock = c.clock + 0.5
	}
	return n
}
