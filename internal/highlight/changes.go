package highlight

import (
	"unicode"
	"unicode/utf8"
)

const (
	// maxPairs limits the comparisons of a long piece that was replaced.
	maxPairs = 200
	// maxWordCells limits the comparison of two lines: the product of their numbers of words.
	maxWordCells = 40_000
	// maxLine is the longest line that is compared, in bytes.
	maxLine = 4 << 10
)

// Changes compares the lines of a hunk that were removed with similar lines that replace them. Each
// line begins with its mark: " ", "-" or "+". It returns the parts of each line that differ, as
// offsets of their beginnings and ends, counted after the mark.
func Changes(hunk []string) [][][2]int {
	parts := make([][][2]int, len(hunk))
	var removed, added []int // lines that are not yet compared
	compare := func() {
		comparePairs(hunk, removed, added, parts)
		removed, added = removed[:0], added[:0]
	}
	for i, line := range hunk {
		switch mark(line) {
		case '-':
			if len(added) > 0 {
				compare()
			}
			removed = append(removed, i)
		case '+':
			added = append(added, i)
		case '\\': // a remark about the line before it
		default:
			compare()
		}
	}
	compare()
	return parts
}

func mark(line string) byte {
	if line == "" {
		return ' '
	}
	return line[0]
}

// comparePairs compares each removed line with the added ones until one is similar.
func comparePairs(hunk []string, removed, added []int, parts [][][2]int) {
	next, compared := 0, 0
	for _, r := range removed {
		for i := next; i < len(added) && compared < maxPairs; i++ {
			compared++
			was, is := hunk[r][1:], hunk[added[i]][1:]
			if len(was) > maxLine || len(is) > maxLine {
				continue
			}
			if before, after, similar := diffWords(was, is); similar {
				parts[r], parts[added[i]], next = before, after, i+1
				break
			}
		}
	}
}

// diffWords compares two lines by words, and returns the parts in which they differ. They are not
// similar if more than half of them differs: then marks would only confuse.
func diffWords(before, after string) (removed, added [][2]int, similar bool) {
	a, b := splitWords(before), splitWords(after)
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	midA, midB := a[head:len(a)-tail], b[head:len(b)-tail]
	if len(midA)*len(midB) > maxWordCells {
		return nil, nil, false
	}
	keptA, keptB := commonWords(midA, midB)
	removed, same := changedParts(a, head, keptA)
	added, _ = changedParts(b, head, keptB)
	return removed, added, same > 0 && 4*same >= letters(a)+letters(b)
}

// splitWords splits a line into words, runs of spaces, and other characters.
func splitWords(line string) []string {
	var all []string
	start, last := 0, 0
	for i, r := range line {
		kind := wordKind(r)
		if i > start && (kind != last || kind == 0) {
			all = append(all, line[start:i])
			start = i
		}
		last = kind
	}
	if start < len(line) {
		all = append(all, line[start:])
	}
	return all
}

// wordKind returns 1 for a part of a word, 2 for a space and 0 for other characters.
func wordKind(r rune) int {
	switch {
	case r == '_' || unicode.In(r, unicode.L, unicode.N, unicode.M):
		return 1
	case r == ' ':
		return 2
	}
	return 0
}

// letters counts the characters of words that are not spaces.
func letters(words []string) int {
	n := 0
	for _, word := range words {
		n += lettersOf(word)
	}
	return n
}

func lettersOf(word string) int {
	if word[0] == ' ' {
		return 0
	}
	return utf8.RuneCountInString(word)
}

// commonWords reports for each word whether it belongs to the longest common subsequence.
func commonWords(a, b []string) (inA, inB []bool) {
	inA, inB = make([]bool, len(a)), make([]bool, len(b))
	longest := make([][]int, len(a)+1) // of a[i:] and b[j:]
	for i := range longest {
		longest[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			if a[i] == b[j] {
				longest[i][j] = max(longest[i][j], longest[i+1][j+1]+1+lettersOf(a[i]))
			}
		}
	}
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j] && longest[i][j] == longest[i+1][j+1]+1+lettersOf(a[i]):
			inA[i], inB[j] = true, true
			i, j = i+1, j+1
		case longest[i][j] == longest[i+1][j]:
			i++
		default:
			j++
		}
	}
	return inA, inB
}

// changedParts returns the offsets of the words that are not kept, and the number of characters of
// the kept words. kept is about the words from head on, and words outside of it are the same in both
// lines.
func changedParts(words []string, head int, kept []bool) (parts [][2]int, same int) {
	at := 0
	for i, word := range words {
		changed := i >= head && i-head < len(kept) && !kept[i-head]
		switch n := len(parts); {
		case !changed:
			same += lettersOf(word)
		case n > 0 && parts[n-1][1] == at:
			parts[n-1][1] = at + len(word)
		default:
			parts = append(parts, [2]int{at, at + len(word)})
		}
		at += len(word)
	}
	return parts, same
}
