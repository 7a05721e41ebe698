// Package spell finds the word that was meant.
package spell

import (
	"fmt"
	"slices"
	"strings"
)

// Hint is ` (did you mean "quorum"?)` if one of the known words is near
// to the one that was written, or is the only one that begins so, and otherwise
// nothing.
func Hint(word string, known []string) string {
	best, near := "", min(len(word)/3+2, len(word))
	for _, k := range known {
		if d := distance(strings.ToLower(word), strings.ToLower(k), near); d < near {
			best, near = k, d
		}
	}
	if best == "" && len(word) > 2 {
		begins := func(k string) bool { return strings.HasPrefix(k, word) }
		if i := slices.IndexFunc(known, begins); i >= 0 && !slices.ContainsFunc(known[i+1:], begins) {
			best = known[i]
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", best)
}

// distance is how many letters must be inserted, left out, changed or swapped
// with their neighbour to make a of b; enough, if it is that or more.
func distance(a, b string, enough int) int {
	if max(len(a), len(b)) > 64 || len(a)-len(b) >= enough || len(b)-len(a) >= enough {
		return enough
	}
	before, above, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(above[j]+cost, above[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, above, row = above, row, before
	}
	return min(above[len(b)], enough)
}
