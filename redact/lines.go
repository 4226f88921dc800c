package redact

import "strings"

const (
	// maxBroken bounds a key that is broken by line ends, and maxPieces the number of its pieces.
	maxBroken = 512
	maxPieces = 8
	// minPiece is the length of the shortest piece after a line end.
	minPiece = 4
)

// isKeyLetter reports whether a character can be part of a key.
func isKeyLetter(c byte) bool { return isAlphanumeric(c) || strings.IndexByte("_-.+/=~", c) >= 0 }

// keyLength returns the number of characters at the beginning of text that can be part of a key.
func keyLength(text string) int {
	n := 0
	for n < len(text) && isKeyLetter(text[n]) {
		n++
	}
	return n
}

// breakLength returns the length of a line end at the beginning of text, or 0: with the indentation
// or the sign of a diff after it, and with the quotes and the operator of a string that continues in the
// next line. A line end may be written as \n.
func breakLength(text string) int {
	rest := strings.TrimLeft(text, " \t")
	quoted := len(text) > 0 && (text[0] == '"' || text[0] == '\'' || text[0] == '`')
	joined := false
	if quoted {
		rest = strings.TrimLeft(text[1:], " \t")
		if rest != "" && (rest[0] == '+' || rest[0] == '.' || rest[0] == '\\' && !strings.HasPrefix(rest, `\n`)) {
			joined = rest[0] != '\\'
			rest = strings.TrimLeft(rest[1:], " \t")
		}
	} else if strings.HasPrefix(rest, "\\\n") || strings.HasPrefix(rest, "\\\r\n") {
		rest = rest[1:]
	}
	ended := false
	for _, end := range []string{"\r\n", "\n", `\\r\\n`, `\\n`, `\r\n`, `\n`} {
		if after, found := strings.CutPrefix(rest, end); found {
			rest, ended = after, true
			break
		}
	}
	if !ended && !joined {
		return 0
	}
	rest = strings.TrimLeft(rest, " \t")
	for _, indent := range []string{`\t`, "+ ", "+", "> ", ". "} {
		rest = strings.TrimLeft(strings.TrimPrefix(rest, indent), " \t")
	}
	if quoted {
		if rest == "" || rest[0] != text[0] {
			return 0
		}
		rest = rest[1:]
	}
	return len(text) - len(rest)
}

// acrossLines returns the bounds of a match at start that continues after a line end. The match without
// what follows the line end is in match, or nil.
func (r *Rule) acrossLines(text string, start int, match []int, left *int) (span [2]int, found bool) {
	rest := text[start:min(len(text), start+maxBroken)]
	n := keyLength(rest)
	if n == len(rest) || strings.IndexByte("\r\n\\\"'`", rest[n]) < 0 {
		return span, false
	}
	if match != nil {
		if _, last := group(match); last != n {
			return span, false
		}
	}
	joined := rest[:n]
	ends := []int{n}   // of the pieces in joined
	starts := []int{0} // of the pieces in rest
	whole := match
	for at := n; len(starts) < maxPieces && *left > 0; {
		gap := breakLength(rest[at:])
		if gap == 0 {
			break
		}
		piece := rest[at+gap : at+gap+keyLength(rest[at+gap:])]
		// A key that is complete already does not continue with words.
		if len(piece) < minPiece || whole != nil && isWords(piece) || r.startsWithAnchor(piece) {
			break
		}
		starts = append(starts, at+gap)
		joined += piece
		ends = append(ends, len(joined))
		at += gap + len(piece)
		from := prefix{text: joined, limit: len(joined)}
		whole = r.match(&from)
		*left -= from.at
	}
	if len(starts) == 1 || whole == nil {
		return span, false
	}
	first, last := group(whole)
	if last <= n || first >= n || isWords(joined[first:last]) || !r.accepts(text[:start], joined[:first], joined[first:last]) {
		return span, false
	}
	for i, end := range ends {
		if last <= end {
			return [2]int{start + first, start + starts[i] + last - (end - pieceLength(ends, i))}, true
		}
	}
	return span, false
}

// pieceLength returns the length of a piece, of which the ends are given.
func pieceLength(ends []int, i int) int {
	if i == 0 {
		return ends[0]
	}
	return ends[i] - ends[i-1]
}

// startsWithAnchor reports whether a text starts with an anchor of the rule.
func (r *Rule) startsWithAnchor(text string) bool {
	for _, anchor := range r.anchors {
		if len(text) >= len(anchor) && strings.EqualFold(text[:len(anchor)], anchor) {
			return true
		}
	}
	return false
}
