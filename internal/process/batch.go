package process

import "strings"

// isBatch reports whether Windows may take path for a batch file. It starts those with a shell, which reads their
// arguments by its own rules. It drops dots and spaces at the end of a name, and a colon begins the name of a stream.
// Folders count as well, rather than one rule more for where the name begins.
func isBatch(path string) bool {
	for part := range strings.FieldsFuncSeq(path, func(r rune) bool { return strings.ContainsRune(`\/:`, r) }) {
		part = strings.ToLower(strings.TrimRight(part, ". "))
		if strings.HasSuffix(part, ".bat") || strings.HasSuffix(part, ".cmd") {
			return true
		}
	}
	return false
}
