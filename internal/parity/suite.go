package parity

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
)

// Suite runs cases area by area and reports on them.
type Suite struct {
	Program Program
	Scope   Scope
	// Parallel is how many cases run at a time.
	Parallel int
	// Shown is how many differences of a failed case are printed.
	Shown int
	// Brief prints one line an area and the failures; Verbose adds every refusal's message.
	Brief, Verbose bool
	// Totals is the number of cases of each area, printed when only some of them run.
	Totals map[string]int
}

// Run runs the cases, which are sorted by area, and prints a section for each area as it is
// done, then one line with the totals.
func (s *Suite) Run(ctx context.Context, w io.Writer, cases []*Case) ([]Result, error) {
	var all []Result
	for from := 0; from < len(cases); {
		to := from + 1
		for to < len(cases) && cases[to].Area == cases[from].Area {
			to++
		}
		results := s.area(ctx, cases[from:to])
		if err := ctx.Err(); err != nil {
			return all, err
		}
		all = append(all, results...)
		if err := s.print(w, cases[from].Area, results); err != nil {
			return all, err
		}
		from = to
	}
	t := count(all)
	_, err := fmt.Fprintf(w, "%d passed, %d failed, %d skipped\n", t[Passed], t[Failed], t[Skipped])
	return all, err
}

func (s *Suite) area(ctx context.Context, cases []*Case) []Result {
	results := make([]Result, len(cases))
	var wg sync.WaitGroup
	slots := make(chan struct{}, max(1, s.Parallel))
	for i, c := range cases {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			results[i] = c.Run(ctx, s.Program)
			s.Scope.Enforce(&results[i])
		})
	}
	wg.Wait()
	return results
}

// Failures is the number of failed results.
func Failures(results []Result) int { return count(results)[Failed] }

func count(results []Result) (n [Failed + 1]int) {
	for _, r := range results {
		n[r.Verdict]++
	}
	return n
}

func (s *Suite) print(w io.Writer, area string, results []Result) error {
	var out strings.Builder
	n := count(results)
	fmt.Fprintf(&out, "%-11s %4d passed %4d failed %4d skipped", area, n[Passed], n[Failed], n[Skipped])
	ways := map[Way]int{}
	skipped, leftOut := map[string][]string{}, map[string][]string{}
	for _, r := range results {
		if r.Verdict == Skipped {
			skipped[r.Reason] = append(skipped[r.Reason], r.Case.Name)
			continue
		}
		for _, way := range r.Case.Ways {
			ways[way]++
		}
		if r.Case.LeftOut != "" {
			leftOut[r.Case.LeftOut] = append(leftOut[r.Case.LeftOut], r.Case.Name)
		}
	}
	if total := s.Totals[area]; total > len(results) {
		fmt.Fprintf(&out, "   of %3d", total)
	}
	if n[Passed]+n[Failed] > 0 {
		fmt.Fprintf(&out, "   judged by replay %d, by predict %d", ways[Replay], ways[Predict])
	}
	out.WriteByte('\n')
	for _, r := range results {
		if r.Verdict == Failed {
			s.printFailure(&out, &r)
		}
		if s.Verbose {
			for _, refusal := range r.Refusals {
				fmt.Fprintf(&out, "  refused %s, %s\n", r.Case.ID(), refusal)
			}
		}
	}
	if !s.Brief {
		printReasons(&out, "skipped", skipped)
		printReasons(&out, "not run through predict", leftOut)
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func (s *Suite) printFailure(out *strings.Builder, r *Result) {
	fmt.Fprintf(out, "  FAIL %s (%s): %d differences\n", r.Case.ID(), r.Case.Dir, len(r.Differences))
	for i, d := range r.Differences {
		if i == s.Shown {
			fmt.Fprintf(out, "       and %d more\n", len(r.Differences)-i)
			break
		}
		fmt.Fprintf(out, "       %s\n", d)
	}
}

// printReasons prints the names of cases by their reason, the most frequent first.
func printReasons(out *strings.Builder, what string, names map[string][]string) {
	reasons := make([]string, 0, len(names))
	for reason := range names {
		reasons = append(reasons, reason)
	}
	slices.SortFunc(reasons, func(a, b string) int {
		return cmp.Or(len(names[b])-len(names[a]), strings.Compare(a, b))
	})
	for _, reason := range reasons {
		fmt.Fprintf(out, "  %s, %d: %s\n      %s\n", what, len(names[reason]), reason, strings.Join(names[reason], " "))
	}
}
