package strict

import (
	"slices"
	"strings"
)

// Nearest is the candidate that word was probably meant to be, or "" when none is close:
// the smallest edit distance, at most a third of the longer of the two words (at least 1).
// The first of several equally near candidates wins.
func Nearest(word string, candidates []string) string {
	best, bestDistance := "", 0
	if len(word) > 100 {
		return ""
	}
	for _, c := range candidates {
		d := distance(strings.ToLower(word), strings.ToLower(c))
		if d > max(1, max(len(word), len(c))/3) {
			continue
		}
		if best == "" || d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// distance counts the insertions, deletions, substitutions and swaps of neighbours that
// turn a into b.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	before, last, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(y)]
}

// suggestion is " (did you mean x?)", or nothing when no candidate is near.
func suggestion(word string, candidates []string) string {
	if near := Nearest(word, candidates); near != "" {
		return " (did you mean " + near + "?)"
	}
	return ""
}

// fewKeys is how many keys are listed beside a suggestion.
const fewKeys = 12

// unknownKey says what may stand in place of a key. Where one of many is meant in all likelihood, the others are
// left out.
func unknownKey(key string, allowed []string) string {
	near := suggestion(key, allowed)
	if near != "" && len(allowed) > fewKeys {
		return "unknown key" + near
	}
	return "unknown key" + near + "; allowed: " + listed(allowed)
}

// listed is the candidates in alphabetical order, separated by commas.
func listed(candidates []string) string {
	if len(candidates) == 0 {
		return "nothing"
	}
	return strings.Join(slices.Sorted(slices.Values(candidates)), ", ")
}
