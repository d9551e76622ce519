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

// The columns and the prefix of their keys.
var metricColumns = []struct{ title, prefix string }{
	{"avg", "mean_"}, {"min", "min_"}, {"max", "max_"}, {"p99", "p99_"}, {"p90", "p90_"}, {"p75", "p75_"}, {"std", "std_"},
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
	full := renderMetrics(s, 0, false)
	if width > 0 && lineWidth(full) > width {
		full = renderMetrics(s, width, true)
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

func renderMetrics(s *Summary, width int, narrow bool) string {
	t := table.NewWriter()
	style(t, width)
	header := table.Row{"Metric"}
	configs := []table.ColumnConfig{{Number: 1, Align: text.AlignRight, AlignHeader: text.AlignRight}}
	for i, c := range metricColumns {
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
		for _, c := range metricColumns {
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
