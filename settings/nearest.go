package settings

import "slices"

// Nearest returns the name that is the fewest edits from a misspelt one, empty if every
// name differs in more than a third of its letters and one.
func Nearest(word string, names []string) (like string) {
	if len(word) > 40 {
		return "" // longer than any name
	}
	best := 0
	for _, name := range names {
		if d := distance(word, name); d <= 1+len(word)/3 && (like == "" || d < best) {
			like, best = name, d
		}
	}
	return like
}

// distance returns the edits (insert, delete, replace, swap of neighbours) that
// turn a into b.
func distance(a, b string) int {
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	for j := range rows[1] {
		rows[1][j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row := rows[(i+2)%3], rows[i%3], rows[(i+1)%3]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = slices.Min([]int{row[j-1] + 1, last[j] + 1, last[j-1] + cost})
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return rows[(len(a)+1)%3][len(b)]
}
