package natsclient

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// Escape makes a name safe for a token of a subject, in which dots, stars and spaces have a meaning.
// Bytes other than letters, digits, '-', '_' and '/' are written as '=' and two hexadecimal digits.
func Escape(name string) string {
	var b strings.Builder
	for _, c := range []byte(name) {
		if isPlain(c) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "=%02X", c)
		}
	}
	return b.String()
}

func isPlain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c == '/'
}

// Unescape is the inverse of [Escape].
func Unescape(token string) (string, error) {
	head, rest, found := strings.Cut(token, "=")
	if !found {
		return token, nil
	}
	var b strings.Builder
	for b.WriteString(head); found; {
		if len(rest) < 2 {
			return "", hex.ErrLength
		}
		c, err := hex.DecodeString(rest[:2])
		if err != nil {
			return "", err
		}
		b.Write(c)
		head, rest, found = strings.Cut(rest[2:], "=")
		b.WriteString(head)
	}
	return b.String(), nil
}
