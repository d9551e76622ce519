package queries

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// metricRow is one row of the printed metrics: a distribution of the summary, or a single
// figure where key is its name.
type metricRow struct {
	title string
	// narrow is the title for terminals that are too small for the full one.
	narrow string
	// distribution is the suffix of the nine keys; empty for a single figure.
	distribution string
	key          string
}

// The rows of the table on standard output, in the order of spec 07 section 7.
var metricRows = []metricRow{
	{"Time to First Token (ms)", "TTFT (ms)", "ttft_ms", ""},
	{"Time to Second Token (ms)", "TTST (ms)", "ttst_ms", ""},
	{"Request Latency (ms)", "Latency (ms)", "e2e_latency_ms", ""},
	{"Inter Token Latency (ms)", "ITL (ms)", "itl_ms", ""},
	{"Output Token Throughput Per User (tokens/sec/user)", "Tokens/s/user", "output_token_throughput_per_user", ""},
	{"Output Token Throughput (tokens/sec)", "Tokens/s", "", "output_throughput_tok_s"},
	{"Request Throughput (requests/sec)", "Requests/s", "", "request_throughput_rps"},
	{"Request Count (requests)", "Requests", "", "completed_requests"},
}

// metricColumn is a column and the prefix of its keys. Where the terminal is too narrow
// for all, those of the lowest weight go first.
type metricColumn struct {
	title, prefix string
	weight        int
}

// The columns in the order of spec 07 section 7.
var metricColumns = []metricColumn{
	{"avg", "mean_", 7}, {"min", "min_", 3}, {"max", "max_", 5}, {"p99", "p99_", 6}, {"p90", "p90_", 4}, {"p75", "p75_", 2}, {"std", "std_", 1},
}

// columnsOf keeps the n columns of the highest weight.
func columnsOf(n int) []metricColumn {
	var keep []metricColumn
	for _, c := range metricColumns {
		if c.weight > len(metricColumns)-n {
			keep = append(keep, c)
		}
	}
	return keep
}

// samplesKey is the key with the number of samples of a distribution, where there is one.
var samplesKey = map[string]string{
	"ttft_ms": "num_ttft_samples", "e2e_latency_ms": "num_e2e_latency_samples", "ttst_ms": "num_tpot_samples", "itl_ms": "num_tpot_samples",
	"output_token_throughput_per_user": "num_tpot_samples",
}

// WriteMetrics prints the metrics of a summary as a table, then the real time of the
// simulation and where the report was saved (saved is the path, empty for none). Cells
// without a figure say N/A. The table fits width columns; 0 does not limit it.
func WriteMetrics(w io.Writer, s *Summary, width int, saved string) error {
	full := renderMetrics(s, metricColumns, false)
	for shown := len(metricColumns); width > 0 && lineWidth(full) > width && shown > 0; shown-- {
		full = renderMetrics(s, columnsOf(shown), true)
	}
	var b strings.Builder
	b.WriteString(full)
	b.WriteByte('\n')
	if n, done := s.values["num_requests"], s.values["completed_requests"]; n != done {
		fmt.Fprintf(&b, "%v of %v requests completed\n", done, n)
	}
	if _, ok := s.Value("goodput_completed_requests"); ok {
		fmt.Fprintf(&b, "Goodput: %s requests, %s requests/sec\n", grouped(s.Float("goodput_completed_requests"), 0), grouped(s.Float("goodput_request_throughput_rps"), 2))
	}
	fmt.Fprintf(&b, "Virtual time: %s s, simulated in %s s of wall time\n", grouped(s.Float("duration_ms")/1000, 2), grouped(s.Float("wall_time_ms")/1000, 3))
	if saved != "" {
		fmt.Fprintf(&b, "Saved: %s\n", saved)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func renderMetrics(s *Summary, columns []metricColumn, narrow bool) string {
	t := table.NewWriter()
	style(t, 0)
	header := table.Row{"Metric"}
	configs := []table.ColumnConfig{{Number: 1, Align: text.AlignRight, AlignHeader: text.AlignRight}}
	for i, c := range columns {
		header = append(header, c.title)
		configs = append(configs, table.ColumnConfig{Number: i + 2, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.AppendHeader(header)
	t.SetColumnConfigs(configs)
	decimals := 2
	if narrow {
		decimals = 1
	}
	for _, r := range metricRows {
		title := r.title
		if narrow {
			title = r.narrow
		}
		row := table.Row{title}
		for _, c := range columns {
			row = append(row, s.metric(r, c.prefix, decimals))
		}
		t.AppendRow(row)
	}
	return t.Render()
}

// metric gives one cell.
func (s *Summary) metric(r metricRow, prefix string, decimals int) string {
	const none = "N/A"
	if r.distribution == "" {
		if prefix != "mean_" {
			return none
		}
		if n, ok := s.values[r.key].(int64); ok {
			return grouped(float64(n), 0)
		}
		return grouped(s.Float(r.key), decimals)
	}
	if s.Float(samplesKey[r.distribution]) == 0 {
		return none
	}
	return grouped(s.Float(prefix+r.distribution), decimals)
}

// grouped writes a number with commas between thousands.
func grouped(f float64, decimals int) string {
	t := strconv.FormatFloat(f, 'f', decimals, 64)
	whole, rest, _ := strings.Cut(t, ".")
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "-", whole[1:]
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if rest != "" {
		rest = "." + rest
	}
	return sign + whole + rest
}

// lineWidth is the widest line of a text.
func lineWidth(s string) int {
	widest := 0
	for line := range strings.Lines(s) {
		widest = max(widest, utf8.RuneCountInString(strings.TrimRight(line, "\n")))
	}
	return widest
}
