package differential

import (
	"context"
	"strconv"
	"strings"
)

// Targets of equal cost: the reference chooses one of them by an unseeded draw, the program the first
// one. A case in which that matters is compared with several reports of the reference. It is right
// when one of them is the program's, which is one of as many outcomes as ties can have.

const (
	// mostOutcomes is how many outcomes of ties are worth looking for.
	mostOutcomes = 100
	// triesPerOutcome makes missing one outcome of n that are equally likely less likely than 1 in 2000.
	triesPerOutcome = 8
)

// tiesQuery counts the outcomes: the product of the numbers of cheapest targets of all decisions.
const tiesQuery = `SELECT coalesce(exp(sum(ln(n))), 1) AS outcomes FROM (
	SELECT count(*) AS n FROM (SELECT *, min(cost) OVER (PARTITION BY node, routing_ordinal) AS least FROM routing_candidates)
	WHERE cost = least GROUP BY node, routing_ordinal)`

// outcomes is the number of outcomes that the ties of the program's run in out can have, 1 where
// there is no run.
func (k *Checker) outcomes(ctx context.Context, dir, out string) float64 {
	limited, cancel := context.WithTimeout(ctx, programLimit)
	defer cancel()
	done := k.Program(limited, dir, "query", out, tiesQuery, "--format", "csv")
	lines := strings.Split(strings.TrimSpace(done.Stdout), "\n")
	n, err := strconv.ParseFloat(lines[len(lines)-1], 64)
	if done.Exit != 0 || err != nil {
		return 1
	}
	return n
}

// retry judges the case again by further reports of the reference, as long as one of them may be the
// program's.
func (k *Checker) retry(ctx context.Context, c *Case, dir string, j *Judgement, ran []execution) (*Judgement, error) {
	n := k.outcomes(ctx, dir, ran[0].out)
	if n <= 1.5 {
		return j, nil
	}
	if n > mostOutcomes {
		j.Outcome = Tied
		return j, nil
	}
	for range int(n * triesPerOutcome) {
		expected, err := k.Reference.Report(ctx, dir, c.Call())
		if err != nil {
			return nil, err
		}
		again := k.judge(expected, ran)
		if again.Outcome != Different {
			return again, nil
		}
		if len(again.Differences) < len(j.Differences) {
			j = again
		}
	}
	return j, nil
}
