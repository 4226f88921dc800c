package config

import (
	"os"
	"strings"
)

// nearest returns the key that was probably meant by a word, or "".
func nearest(word string) string {
	word = strings.ToLower(strings.ReplaceAll(word, "-", "_"))
	best, distance := "", 3 // more changes than two make another word
	for i := range table {
		key := table[i].Key
		if strings.ReplaceAll(key, "_", "") == strings.ReplaceAll(word, "_", "") {
			return key
		}
		if d := changes(word, key); d < distance && d <= len(key)/2 {
			best, distance = key, d
		}
	}
	return best
}

// changes counts the letters that have to be added, taken away or changed to make b of a. Words that differ much in
// length are far apart.
func changes(a, b string) int {
	if len(a) > 2*len(b) {
		return len(a)
	}
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
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// Strangers returns the names of those variables of environ, each NAME=VALUE, that look like settings and are none,
// with the name that was probably meant, or "".
func Strangers(environ []string) map[string]string {
	strangers := map[string]string{}
	for _, variable := range environ {
		name, _, _ := strings.Cut(variable, "=")
		rest, ours := strings.CutPrefix(name, "CLEW_")
		if !ours || name == familyVariable || isVariable(name) {
			continue
		}
		strangers[name] = ""
		if near := find(nearest(rest)); near != nil {
			strangers[name] = near.Variable
		}
	}
	return strangers
}

// familyVariable marks the processes that belong to an agent.
const familyVariable = "CLEW_FAMILY"

func isVariable(name string) bool {
	for i := range table {
		if table[i].Variable == name {
			return true
		}
	}
	return false
}

func hasSeparator(path string) bool {
	for i := range len(path) {
		if os.IsPathSeparator(path[i]) {
			return true
		}
	}
	return false
}
