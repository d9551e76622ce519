package queries_test

import (
	"cmp"
	"math"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/dynosim/dynosim/internal/fakerun"
	"github.com/dynosim/dynosim/queries"
	"github.com/dynosim/dynosim/schemas"
)

// figures are the nine of a distribution, in the order of prefixes.
var prefixes = []string{"mean_", "min_", "max_", "median_", "p75_", "p90_", "p95_", "p99_", "std_"}

// naive computes the nine figures of spec 11 section 3 the direct way.
func naive(xs []float64) []float64 {
	if len(xs) == 0 {
		return make([]float64, 9)
	}
	s := slices.Sorted(slices.Values(xs))
	var sum, squares float64
	for _, x := range s {
		sum += x
	}
	mean := sum / float64(len(s))
	for _, x := range s {
		squares += (x - mean) * (x - mean)
	}
	at := func(p int) float64 { return s[int(math.Round(float64((len(s)-1)*p)/100))] }
	return []float64{mean, s[0], s[len(s)-1], at(50), at(75), at(90), at(95), at(99), math.Sqrt(squares / float64(len(s)))}
}

// checkFigures compares the nine keys of a distribution: mean and deviation to 1e-9, the
// others, which are values that occurred, to the last bit.
func checkFigures(t *rapid.T, s *queries.Summary, suffix string, samples []float64) {
	t.Helper()
	want := naive(samples)
	for i, prefix := range prefixes {
		got := s.Float(prefix + suffix)
		tolerance := 0.0
		if prefix == "mean_" || prefix == "std_" {
			tolerance = 1e-9 * math.Max(math.Abs(want[i]), math.Abs(want[0])*1e-3)
		}
		if math.Abs(got-want[i]) > tolerance {
			t.Errorf("%s%s of %d samples is %v, want %v", prefix, suffix, len(samples), got, want[i])
		}
	}
}

// timeMS draws lengths of time that are often equal, zero or far apart.
var timeMS = rapid.OneOf(
	rapid.SampledFrom([]float64{0, 1, 5.5, 1e-9, 1e6}),
	rapid.Float64Range(0, 100),
	rapid.Map(rapid.IntRange(0, 5_000_000), func(ns int) float64 { return float64(ns) / 1e6 }),
)

// TestLatencyFigures compares the SQL with the direct way over random requests of every
// status, without and with tokens.
func TestLatencyFigures(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := newPopulation()
		b := &p.results
		p.run.SLA = schemas.SLA{TTFTMS: math.NaN(), ITLMS: math.NaN(), E2EMS: math.NaN()}
		if rapid.Bool().Draw(rt, "ttft bound") {
			p.run.SLA.TTFTMS = timeMS.Draw(rt, "sla_ttft_ms")
		}
		if rapid.Bool().Draw(rt, "itl bound") {
			p.run.SLA.ITLMS = timeMS.Draw(rt, "sla_itl_ms")
		}
		if rapid.Bool().Draw(rt, "e2e bound") {
			p.run.SLA.E2EMS = timeMS.Draw(rt, "sla_e2e_ms")
		}
		var ttft, ttst, tpot, e2e []float64
		var completed, input, output, reused, good, goodTokens int64
		duration := 0.0
		for range rapid.SampledFrom([]int{0, 1, 2, 3, 20, 60}).Draw(rt, "requests") {
			i := grow(b)
			b.Node[i], b.CreationOrdinal[i], b.Worker[i] = int32(i), int32(i), -1
			b.Status[i] = rapid.SampledFrom([]schemas.Status{schemas.StatusCompleted, schemas.StatusCompleted, schemas.StatusCompleted, schemas.StatusRejected, schemas.StatusFailed, schemas.StatusUnfinished}).Draw(rt, "status")
			b.AdmissionCount[i] = int32(rapid.SampledFrom([]int{1, 1, 1, 0, 2}).Draw(rt, "admissions"))
			b.InputTokens[i] = rapid.Int32Range(0, 1000).Draw(rt, "input")
			b.ReusedInputTokens[i] = rapid.Int32Range(0, b.InputTokens[i]).Draw(rt, "reused")
			n := rapid.SampledFrom([]int32{0, 1, 2, 3, 50}).Draw(rt, "output")
			b.OutputTokens[i] = n
			nan := math.NaN()
			arrival := timeMS.Draw(rt, "arrival")
			t1, t2, last, end := nan, nan, nan, arrival+timeMS.Draw(rt, "end")
			if n >= 1 {
				t1 = arrival + timeMS.Draw(rt, "ttft")
				last, end = t1, t1
			}
			if n >= 2 {
				t2 = t1 + timeMS.Draw(rt, "ttst")
				last = t2
			}
			if n >= 3 {
				last = t2 + timeMS.Draw(rt, "rest")
			}
			if n >= 1 {
				end = last
			}
			b.ArrivalMS[i], b.FirstAdmitMS[i], b.FirstTokenMS[i], b.SecondTokenMS[i], b.LastTokenMS[i], b.TerminalMS[i] = arrival, arrival, t1, t2, last, end
			if b.Status[i] == schemas.StatusUnfinished {
				b.TerminalMS[i] = nan
			}
			if b.Status[i] != schemas.StatusCompleted || b.AdmissionCount[i] == 0 {
				continue
			}
			completed++
			input, output, reused = input+int64(b.InputTokens[i]), output+int64(n), reused+int64(b.ReusedInputTokens[i])
			duration = math.Max(duration, end)
			if n >= 1 {
				ttft, e2e = append(ttft, max(t1-arrival, 0)), append(e2e, max(last-arrival, 0))
			}
			if n >= 2 {
				ttst, tpot = append(ttst, max(t2-t1, 0)), append(tpot, max(last-t1, 0)/float64(n-1))
			}
			if isGood(p.run.SLA, n, max(t1-arrival, 0), max(last-arrival, 0), end-arrival) {
				good, goodTokens = good+1, goodTokens+int64(n)
			}
		}
		recorded := b.N // the recorder empties the batch
		s := summarize(t, p)
		checkFigures(rt, s, "ttft_ms", ttft)
		checkFigures(rt, s, "ttst_ms", ttst)
		checkFigures(rt, s, "tpot_ms", tpot)
		checkFigures(rt, s, "e2e_latency_ms", e2e)
		seconds := max(duration/1000, 1e-9)
		want := map[string]float64{
			"num_requests": float64(recorded), "completed_requests": float64(completed), "total_input_tokens": float64(input), "total_output_tokens": float64(output),
			"duration_ms": duration, "request_throughput_rps": float64(completed) / seconds, "output_throughput_tok_s": float64(output) / seconds,
			"prefix_cache_reused_ratio": float64(reused) / max(float64(input), 1), "num_ttft_samples": float64(len(ttft)), "num_tpot_samples": float64(len(tpot)),
			"num_e2e_latency_samples": float64(len(e2e)), "processed_tokens": float64(input + output),
		}
		_, has := s.Value("goodput_completed_requests")
		if has != p.run.SLA.Set() {
			rt.Errorf("goodput present: %v, bounds %v", has, p.run.SLA)
		}
		if has {
			want["goodput_completed_requests"] = float64(good)
			want["goodput_request_throughput_rps"] = float64(good) / seconds
			want["goodput_output_throughput_tok_s"] = float64(goodTokens) / seconds
		}
		for key, w := range want {
			if got := s.Float(key); math.Abs(got-w) > 1e-12*math.Abs(w) {
				rt.Errorf("%s is %v, want %v", key, got, w)
			}
		}
	})
}

// isGood is the goodput rule of spec 11 section 3.
func isGood(s schemas.SLA, n int32, ttft, e2e, untilEnd float64) bool {
	unset := func(x float64) bool { return math.IsNaN(x) }
	if n == 0 {
		return !unset(s.E2EMS) && unset(s.TTFTMS) && unset(s.ITLMS) && untilEnd <= s.E2EMS
	}
	return (unset(s.TTFTMS) || ttft <= s.TTFTMS) && (unset(s.ITLMS) || n < 2 || (e2e-ttft)/float64(n-1) <= s.ITLMS) && (unset(s.E2EMS) || e2e <= s.E2EMS)
}

func summarize(t testing.TB, p *population) *queries.Summary {
	t.Helper()
	r, err := queries.OpenReport(t.Context(), p.write(t).Path(), queries.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s, err := r.Summary(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestGapFigures compares the weighted figures with those of the expanded list of gaps.
func TestGapFigures(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := newPopulation()
		gaps := rapid.OneOf(timeMS,
			// Gaps so close that they share a bucket.
			rapid.Map(rapid.IntRange(0, 9), func(k int) float64 { return math.Float64frombits(math.Float64bits(5) + uint64(k)) }),
			rapid.SampledFrom([]float64{1e-12, 3e-7, 2e9, 1e13}))
		var all, rates []float64
		for range rapid.SampledFrom([]int{0, 1, 2, 3, 40, 200}).Draw(rt, "rows") {
			i := grow(&p.gaps)
			p.gaps.GapMS[i] = gaps.Draw(rt, "gap")
			p.gaps.Count[i] = rapid.SampledFrom([]int64{1, 1, 2, 7, 100}).Draw(rt, "count")
			for range p.gaps.Count[i] {
				all = append(all, p.gaps.GapMS[i])
				if p.gaps.GapMS[i] > 0 {
					rates = append(rates, 1000/p.gaps.GapMS[i])
				}
			}
		}
		// The naive sums need an order that does not lose small values.
		slices.SortFunc(all, cmp.Compare[float64])
		slices.SortFunc(rates, cmp.Compare[float64])
		s := summarize(t, p)
		checkFigures(rt, s, "itl_ms", all)
		checkFigures(rt, s, "output_token_throughput_per_user", rates)
	})
}

// TestReportIsTheSameEveryTime computes a report with sums over many rows twice.
func TestReportIsTheSameEveryTime(t *testing.T) {
	dir := fakeRun(t, fakerun.Shape{Requests: 2_000, Passes: 200_000, Gaps: 200_000, Workers: 4})
	var first string
	for i := range 4 {
		s, err := queries.WriteReport(t.Context(), dir, queries.ReportOptions{WallTimeMS: 1})
		if err != nil {
			t.Fatal(err)
		}
		b, err := s.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = string(b)
		} else if first != string(b) {
			t.Errorf("report %d is\n%s\nthe first is\n%s", i, b, first)
		}
	}
}

// TestReportFindsTheMemoryItNeeds starts with far too little.
func TestReportFindsTheMemoryItNeeds(t *testing.T) {
	dir := fakeRun(t, fakerun.Shape{Requests: 20_000, Passes: 1_000, Gaps: 100_000, Workers: 4})
	for _, mb := range []int{1, 2, 8} {
		o := queries.ReportOptions{WallTimeMS: 1, CapturePerRequest: true, DB: queries.Options{MemoryMB: mb, TempDir: t.TempDir()}}
		s, err := queries.WriteReport(t.Context(), dir, o)
		if err != nil {
			t.Errorf("%d MB: %v", mb, err)
		} else if n := s.Float("num_requests"); n != 20_000 {
			t.Errorf("%d MB: %v requests", mb, n)
		}
		if left, err := os.ReadDir(o.DB.TempDir); err != nil || len(left) > 0 {
			t.Errorf("%d MB: %v left in the temporary folder, error %v", mb, left, err)
		}
	}
}
