package tty

import "strings"

// ShellWord returns a text as a shell reads it as one word.
func ShellWord(s string) string {
	isOdd := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("@%+=:,./-_", r)
	}
	if s != "" && !strings.ContainsFunc(s, isOdd) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
