package fuzzy

// maxDistant is the number of characters of a text that [Distance] considers.
const maxDistant = 80

// Distance returns the number of characters that must be added, removed, changed or exchanged with
// the next one to turn one text into the other. Long texts are cut.
func Distance(a, b string) int {
	from, to := []rune(a), []rune(b)
	from, to = from[:min(maxDistant, len(from))], to[:min(maxDistant, len(to))]
	earlier, last, row := make([]int, len(to)+1), make([]int, len(to)+1), make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i := range from {
		earlier, last, row = last, row, earlier
		row[0] = i + 1
		for j := range to {
			cost := last[j]
			if from[i] != to[j] {
				cost++
			}
			row[j+1] = min(cost, row[j]+1, last[j+1]+1)
			if i > 0 && j > 0 && from[i] == to[j-1] && from[i-1] == to[j] {
				row[j+1] = min(row[j+1], earlier[j-1]+1)
			}
		}
	}
	return row[len(to)]
}
