package policy

// nearest is the known word that is likeliest meant, "" where none is near: at most a third of its letters differ, by a
// letter too many, too few, other or swapped with its neighbour (optimal string alignment distance).
func nearest(word string, known []string) string {
	best, least := "", 1+len(word)/3
	for _, candidate := range known {
		if d := distance(word, candidate, least); d < least || d == least && best == "" {
			best, least = candidate, d
		}
	}
	return best
}

// distance counts the edits between two words, byte by byte; more than most is most + 1.
func distance(a, b string, most int) int {
	if max(len(a), len(b))-min(len(a), len(b)) > most {
		return most + 1
	}
	before, above, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := range a {
		row[0] = i + 1
		for j := range b {
			change := above[j]
			if a[i] != b[j] {
				change++
			}
			row[j+1] = min(change, above[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, above, row = above, row, before
	}
	return min(above[len(b)], most+1)
}
