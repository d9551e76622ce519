package inspect

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/dynosim/dynosim/internal/rundir"
)

// WriteJSON writes the finding as one line of JSON.
func (f *Finding) WriteJSON(w io.Writer) error { return json.NewEncoder(w).Encode(f) }

// WriteText writes the finding for a terminal of width columns.
func (f *Finding) WriteText(w io.Writer, width int) error {
	p := &page{width: width}
	p.line("%s: %s", f.Path, f.Kind)
	switch {
	case f.Trace != nil:
		p.trace(f.Trace)
	case f.Parquet != nil:
		p.parquet(f.Parquet)
	case f.Folder != nil:
		p.folder(f.Folder)
		if f.Graph != nil {
			p.graph(f.Graph)
		}
	case f.Graph != nil:
		p.graph(f.Graph)
	case f.Collection != nil:
		p.collection(f.Collection)
	}
	_, err := io.WriteString(w, p.out.String())
	return err
}

// page collects the text of a finding.
type page struct {
	out   strings.Builder
	width int
}

func (p *page) line(format string, args ...any) { fmt.Fprintf(&p.out, format+"\n", args...) }

// table prints rows under a head; columns from right on are numbers. On a terminal that is too narrow the
// frame goes, and then each cell gets a line of its own: nothing is cut off.
func (p *page) table(head table.Row, rows []table.Row, right int) {
	t := table.NewWriter()
	t.AppendHeader(head)
	t.AppendRows(rows)
	var columns []table.ColumnConfig
	for i := right; i <= len(head); i++ {
		columns = append(columns, table.ColumnConfig{Number: i, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(columns)
	for _, framed := range []bool{true, false} {
		t.SetStyle(table.StyleLight)
		t.Style().Format.Header = text.FormatDefault
		if !framed {
			t.Style().Options = table.OptionsNoBordersAndSeparators
			t.Style().Box.PaddingLeft = ""
		}
		if out := t.Render(); text.LongestLineLen(out) <= p.width {
			p.line("%s", out)
			return
		}
	}
	for _, row := range rows {
		p.line("%v", row[0])
		for i, cell := range row[1:] {
			p.line("  %v %v", head[i+1], cell)
		}
	}
}

func (p *page) trace(t *Trace) {
	how := ""
	if t.Guessed {
		how = " (guessed from the first rows)"
		if t.Format == "mooncake" {
			how = " (guessed; mooncake-delta looks the same: --format mooncake-delta)"
		}
	}
	p.line("format    %s%s", t.Format, how)
	if t.Files > 1 {
		p.line("files     %d, read as one source", t.Files)
	}
	p.line("rows      %d", t.Rows)
	switch {
	case t.TimedRows == 0:
		p.line("time      no row has an arrival time")
	case t.TimedRows < t.Rows:
		p.line("time      %s to %s ms, %s; %d rows have no time of their own", number(t.FirstMS), number(t.LastMS), duration(t.LastMS-t.FirstMS), t.Rows-t.TimedRows)
	default:
		p.line("time      %s to %s ms, %s", number(t.FirstMS), number(t.LastMS), duration(t.LastMS-t.FirstMS))
	}
	if t.Sessions > 0 {
		p.line("sessions  %s%d, and %d rows without one%s", about(t.SessionsSampled), t.Sessions, t.SessionlessRow, estimated(t.SessionsSampled))
	} else {
		p.line("sessions  none")
	}
	if t.Blocks.References > 0 {
		p.line("blocks    %d tokens each: %d references to %s%d distinct ones, %s repeated%s", t.BlockTokens, t.Blocks.References, about(t.Blocks.Sampled), t.Blocks.Distinct,
			percent(t.Blocks.RepeatedShare), estimated(t.Blocks.Sampled))
		if t.Blocks.ReusableShare != nil {
			p.line("reuse     %s of prompt tokens with a prefix cache of unlimited size", percent(*t.Blocks.ReusableShare))
		} else {
			p.line("reuse     not known: rows hold only the new part of their prompt")
		}
	} else {
		p.line("blocks    none")
	}
	row := func(name string, l Lengths) table.Row { return table.Row{name, l.P50, l.P90, l.P99, l.Max, l.Sum} }
	rows := []table.Row{row("input tokens", t.InputTokens), row("output tokens", t.OutputTokens)}
	if t.Sessions > 0 {
		rows = append(rows, row("turns of a session", t.Turns))
	}
	p.table(table.Row{"", "p50", "p90", "p99", "max", "sum"}, rows, 2)
	p.chart(t.Arrivals)
	p.chart(t.Input)
}

// about and estimated mark figures that come from one of so many.
func about(oneIn int64) string {
	if oneIn > 1 {
		return "about "
	}
	return ""
}

func estimated(oneIn int64) string {
	if oneIn > 1 {
		return fmt.Sprintf(" (estimated from 1 in %d)", oneIn)
	}
	return ""
}

// collectionRows and inputRows are the numbers of runs and of files that are printed.
const (
	collectionRows = 30
	inputRows      = 10
)

func (p *page) collection(c *Collection) {
	p.line("runs      %d complete", len(c.Runs))
	if len(c.Incomplete) > 0 {
		p.line("stopped   %d without %s: %s", len(c.Incomplete), rundir.ManifestName, strings.Join(c.Incomplete[:min(3, len(c.Incomplete))], ", "))
	}
	var rows []table.Row
	for _, r := range c.Runs[:min(collectionRows, len(c.Runs))] {
		row := table.Row{r.Name, r.Bytes}
		for _, k := range []string{"completed_requests", "output_throughput_tok_s", "p99_ttft_ms", "p99_itl_ms"} {
			if v, ok := r.Summary[k].(float64); ok {
				row = append(row, number(v))
			} else {
				row = append(row, "")
			}
		}
		rows = append(rows, row)
	}
	p.table(table.Row{"run", "bytes", "completed", "output tok/s", "p99 TTFT ms", "p99 ITL ms"}, rows, 2)
	if more := len(c.Runs) - len(rows); more > 0 {
		p.line("and %d more: dynosim query 'DIR/run=*' or --format json has all", more)
	}
}

func (p *page) folder(f *Folder) {
	m := f.Manifest
	p.line("program   %s", m.Program)
	for _, s := range m.Stages {
		p.line("%s", strings.TrimSpace(fmt.Sprintf("stage     %s: %s %s", s.Name, s.State, s.Error)))
	}
	for i, in := range m.Inputs {
		if i == inputRows {
			p.line("          and %d more", len(m.Inputs)-i)
			break
		}
		p.line("input     %s, %d bytes", in.Path, in.Bytes)
	}
	if m.Ingest != nil {
		p.settings("ingest", m.Ingest.Settings)
	}
	if m.Lower != nil {
		p.settings("lower", m.Lower.Settings)
	}
	var rows []table.Row
	for _, t := range m.Tables {
		rows = append(rows, table.Row{t.Name, t.Stage, t.Rows, t.Bytes})
	}
	p.table(table.Row{"table", "stage", "rows", "bytes"}, rows, 3)
	rows = nil
	for _, k := range headlines {
		if v, ok := f.Summary[k].(float64); ok {
			rows = append(rows, table.Row{k, number(v)})
		}
	}
	if len(rows) > 0 {
		p.table(table.Row{"figure", "value"}, rows, 2)
	}
	p.chart(f.Throughput)
}

// headlines are the keys of the summary (spec 11 section 3) that are shown.
var headlines = []string{
	"num_requests", "completed_requests", "duration_ms", "request_throughput_rps", "output_throughput_tok_s",
	"mean_ttft_ms", "p99_ttft_ms", "mean_itl_ms", "p99_itl_ms", "mean_e2e_latency_ms", "p99_e2e_latency_ms", "prefix_cache_reused_ratio",
}

func (p *page) settings(stage string, settings any) {
	if out, err := json.Marshal(settings); err == nil {
		p.line("settings  %s %s", stage, out)
	}
}

func (p *page) parquet(f *Parquet) {
	p.line("rows      %d", f.Rows)
	p.line("groups    %d of rows", f.RowGroups)
	p.line("bytes     %d", f.Bytes)
	p.line("written   by %s", f.CreatedBy)
	var rows []table.Row
	for _, c := range f.Columns {
		nulls := "?"
		if c.Nulls != nil {
			nulls = strconv.FormatInt(*c.Nulls, 10)
		}
		rows = append(rows, table.Row{c.Name, c.Type, nulls, bound(c.Min), bound(c.Max), c.Bytes})
	}
	p.table(table.Row{"column", "type", "nulls", "min", "max", "bytes"}, rows, 3)
}

// bound prints a least or largest value; long strings are cut.
func bound(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case float64:
		return number(v)
	case string:
		quoted := []rune(strconv.Quote(v))
		if len(quoted) > 20 {
			return string(quoted[:19]) + "…"
		}
		return string(quoted)
	}
	return fmt.Sprint(v)
}

const chartRows = 4

// chart draws bars of chartRows lines, a column a slice.
func (p *page) chart(c *Chart) {
	if c == nil {
		return
	}
	top := 0.0
	for _, v := range c.Values {
		top = max(top, v)
	}
	p.line("%s in slices of %s, at most %s", c.Title, duration(c.SliceMS), number(top))
	for row := chartRows - 1; row >= 0; row-- {
		var bars strings.Builder
		for _, v := range c.Values {
			eighths := 0
			if top > 0 && v > 0 {
				// what is not nothing shows at least an eighth
				eighths = max(1, int(math.Round(v/top*chartRows*8)))
			}
			bars.WriteRune([]rune(" ▁▂▃▄▅▆▇█")[max(0, min(8, eighths-8*row))])
		}
		p.line("%s", strings.TrimRight(bars.String(), " "))
	}
	p.line("%s", strings.Repeat("─", len(c.Values)))
}

func percent(share float64) string { return fmt.Sprintf("%.1f %%", share*100) }

// number prints a figure with three decimals at most, fewer for large ones, and no negative zero.
func number(v float64) string {
	if math.Abs(v) >= 10_000 {
		return strconv.FormatFloat(math.Round(v)+0, 'f', -1, 64)
	}
	return strconv.FormatFloat(math.Round(v*1000)/1000+0, 'f', -1, 64)
}

// duration prints milliseconds in a unit that suits people.
func duration(ms float64) string {
	switch {
	case ms >= 3600e3:
		return fmt.Sprintf("%.1f h", ms/3600e3)
	case ms >= 60e3:
		return fmt.Sprintf("%.1f min", ms/60e3)
	case ms >= 1e3:
		return fmt.Sprintf("%.1f s", ms/1e3)
	}
	return number(ms) + " ms"
}
