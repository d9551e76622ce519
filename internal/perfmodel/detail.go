package perfmodel

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/dynosim/dynosim/schemas"
	"github.com/dynosim/dynosim/simulate/timing/forward"
)

// Names of the details that a run can explain.
const (
	DetailMemory = "memory"
	DetailTime   = "time"
	DetailSource = "source"
)

// Details lists them.
var Details = []string{DetailMemory, DetailTime, DetailSource}

// Explainer explains a run: where memory and time go and what the numbers come from.
type Explainer struct {
	spec  *schemas.RunSpec
	wants []string
}

// Explain prepares the explanation of a run that has not begun; wants are names of Details. The
// specification must be resolved.
func Explain(spec *schemas.RunSpec, wants []string) *Explainer {
	x := &Explainer{spec, wants}
	if slices.Contains(wants, DetailTime) {
		for i := range spec.Pools {
			if p, ok := spec.Pools[i].Engine.Timing.Passes.(*forward.Pricer); ok {
				p.Observe()
			}
		}
	}
	return x
}

// Write prints the details after the run, for a terminal of width columns.
func (x *Explainer) Write(w io.Writer, width int) error {
	for i := range x.spec.Pools {
		pool := &x.spec.Pools[i]
		for _, want := range Details {
			if !slices.Contains(x.wants, want) {
				continue
			}
			if err := x.write(w, width, pool, want); err != nil {
				return err
			}
		}
	}
	return nil
}

func (x *Explainer) write(w io.Writer, width int, pool *schemas.PoolSpec, want string) error {
	title := schemas.PoolNames[pool.Pool] + " workers: "
	pricer, measured := pool.Engine.Timing.Passes.(*forward.Pricer)
	switch {
	case want == DetailMemory:
		return x.memory(w, width, pool, title)
	case !measured:
		_, err := fmt.Fprintf(w, "\n%stiming %s has no operators\n", title, pool.Engine.Timing.Kind)
		return err
	case want == DetailTime:
		return writeTime(w, width, title, pricer.Profile())
	}
	return writeSource(w, width, title, pricer)
}

func newTable(w io.Writer, width int, title string, numbers ...int) table.Writer {
	t := table.NewWriter()
	t.SetOutputMirror(w)
	t.SetStyle(table.StyleLight)
	t.SetTitle(title)
	t.Style().Size.WidthMax = width
	t.Style().Title.Align = text.AlignLeft
	t.Style().Format.Header, t.Style().Format.Footer = text.FormatDefault, text.FormatDefault
	var columns []table.ColumnConfig
	for _, n := range numbers {
		columns = append(columns, table.ColumnConfig{Number: n, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(columns)
	return t
}

// memory prints where the memory of a GPU goes.
func (x *Explainer) memory(w io.Writer, width int, pool *schemas.PoolSpec, title string) error {
	e := &pool.Engine
	if !e.NeedsData() {
		_, err := fmt.Fprintf(w, "\n%s%d KV blocks of %d tokens as given; the memory is not modelled\n", title, e.NumBlocks, e.BlockTokens)
		return err
	}
	m, err := optionsOf(x.spec, pool).Memory(memoryRequest(e))
	if err != nil && m.Total == 0 {
		return err
	}
	fmt.Fprintln(w)
	t := newTable(w, width, title+"memory of a GPU", 2, 3)
	t.AppendHeader(table.Row{"part", "GB", "share", "from"})
	row := func(name string, bytes float64, from string) {
		if bytes != 0 {
			t.AppendRow(table.Row{name, fmt.Sprintf("%.3f", bytes/1e9), fmt.Sprintf("%.1f %%", 100*bytes/m.Total), from})
		}
	}
	row("weights", m.Weights, "formula: sizes of the prefill operators")
	row("activations", m.Activations, "formula: tokens of a pass × width")
	row("communication", m.Communication, "system: buffers of the library")
	row("other", m.Other, "system: runtime and driver")
	row("graphs", m.Graphs, "as given")
	kv := float64(e.NumBlocks*e.BlockTokens) * m.BytesPerToken
	from := fmt.Sprintf("memory_fraction %g", m.Fraction)
	if !e.Deployment.EstimateBlocks {
		from = "blocks as given"
	}
	row("KV cache", kv, from)
	row("free", m.Total-m.Weights-m.Activations-m.Communication-m.Other-m.Graphs-kv, "")
	t.AppendFooter(table.Row{"total", fmt.Sprintf("%.3f", m.Total/1e9), "", ""})
	t.Render()
	_, err = fmt.Fprintf(w, "%d KV blocks of %d tokens a rank, %.0f bytes a token\n", e.NumBlocks, e.BlockTokens, m.BytesPerToken)
	return err
}

// writeTime prints the time of each operator over the run.
func writeTime(w io.Writer, width int, title string, p forward.Profile) error {
	all := p.Prefill.MS + p.Decode.MS
	for _, phase := range []struct {
		name    string
		profile *forward.PhaseProfile
	}{{"prefill", &p.Prefill}, {"decode", &p.Decode}} {
		if phase.profile.Passes == 0 {
			continue
		}
		fmt.Fprintln(w)
		t := newTable(w, width, fmt.Sprintf("%s%s, %d passes", title, phase.name, phase.profile.Passes), 2, 3, 4)
		t.AppendHeader(table.Row{"operator", "seconds", "ms a pass", "share"})
		for _, o := range phase.profile.Operators {
			if o.MS > 0 {
				t.AppendRow(table.Row{o.Name, fmt.Sprintf("%.3f", o.MS/1000), fmt.Sprintf("%.4f", o.MS/float64(phase.profile.Passes)), fmt.Sprintf("%.1f %%", 100*o.MS/all)})
			}
		}
		t.AppendFooter(table.Row{"sum", fmt.Sprintf("%.3f", phase.profile.MS/1000), fmt.Sprintf("%.4f", phase.profile.MS/float64(phase.profile.Passes)), fmt.Sprintf("%.1f %%", 100*phase.profile.MS/all)})
		t.Render()
	}
	return nil
}

// writeSource prints what the time of each operator comes from.
func writeSource(w io.Writer, width int, title string, pricer *forward.Pricer) error {
	c := pricer.Compiled()
	t, d, p := c.Tables(), c.Deployment(), pricer.Profile()
	fmt.Fprintf(w, "\n%s%s on %s, data of %s %s; matrix products %s, experts %s, KV cache %s, prefill attention %s\n",
		title, d.Model.Name, t.Hardware().Name, t.Backend(), t.Version(), d.Modes.GEMM, d.Modes.MoE, d.Modes.KV, d.Modes.FMHA)
	out := newTable(w, width, "sources: tables of `dynosim perfdata list`, or formulas", 2)
	out.AppendHeader(table.Row{"operator", "times", "shape on a GPU", "source"})
	for _, phase := range []forward.PhaseProfile{p.Prefill, p.Decode} {
		for _, o := range phase.Operators {
			if strings.HasPrefix(o.Source, "none") {
				continue
			}
			out.AppendRow(table.Row{o.Name, fmt.Sprintf("%g", o.Scale), o.Shape, o.Source})
		}
		out.AppendSeparator()
	}
	out.Render()
	return nil
}
