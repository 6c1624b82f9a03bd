package settings

// nearest returns the name that differs least from a misspelt one, empty if every name
// differs in more than a third of its letters.
func nearest(word string, names []string) (like string) {
	if len(word) > 40 {
		return "" // longer than any key
	}
	best := 0
	for _, name := range names {
		if d := distance(word, name); d <= max(1, len(name)/3) && (like == "" || d < best) {
			like, best = name, d
		}
	}
	return like
}

// distance is the number of letters to insert, delete, or replace to turn a into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
