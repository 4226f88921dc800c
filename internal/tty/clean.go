// Package tty prepares text for terminals. It removes what a terminal would interpret, measures,
// wraps and paints. It is pure.
//
// Every text from an agent or a transcript passes through here on its way to a terminal, and
// through the escaping of package export on its way to a page. One set of hostile texts runs
// through every command and format.
package tty

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	tabStop = 4

	joiner     = '\u200d' // joins two emoji into one
	nonJoiner  = '\u200c' // keeps letters from being joined
	emojiStyle = '\ufe0f' // makes an emoji of the symbol before it
	keycap     = '\u20e3' // makes a key of a digit and an emojiStyle
)

// Clean makes untrusted text safe for a terminal. Line breaks stay, tabs and unusual spaces become
// spaces, and characters that a terminal might interpret or hide are escaped as in a Go string.
// Parts of an emoji that are invisible by themselves stay within one.
func Clean(s string) string {
	if isASCII(s) {
		return s
	}
	return cleaner{text: s}.clean()
}

// isASCII reports whether a text has nothing but visible characters of ASCII, spaces and line
// breaks.
func isASCII(s string) bool {
	for i := range len(s) {
		if c := s[i]; c > '~' || c < ' ' && c != '\n' {
			return false
		}
	}
	return true
}

// CleanIn is like [Clean], for lines of so many columns. In one column there is no place for a wide
// character, which becomes "…".
func CleanIn(s string, columns int) string {
	s = Clean(s)
	if columns != 1 {
		return s
	}
	return strings.Map(func(r rune) rune {
		if RuneWidth(r) > 1 {
			return '…'
		}
		return r
	}, s)
}

// CleanExactly is like [Clean], but keeps tabs, all kinds of spaces, and the joiners of scripts. It
// is for text that is printed as it is, without wrapping.
func CleanExactly(s string) string { return cleaner{text: s, exactly: true}.clean() }

// CleanLine is like [Clean] for a line of which every character counts: it also escapes line breaks
// and unusual spaces.
func CleanLine(s string) string { return cleaner{text: s, strict: true}.clean() }

// CleanPiece is like [Clean] for a piece of a text that comes in pieces. before is what came
// before.
func CleanPiece[T string | []byte](before T, piece string) string {
	return pieceCleaner(before, piece).clean()
}

// CleanPieceExactly is like [CleanPiece], but keeps what [CleanExactly] keeps.
func CleanPieceExactly[T string | []byte](before T, piece string) string {
	c := pieceCleaner(before, piece)
	c.exactly = true
	return c.clean()
}

// pieceCleaner looks at the last characters before a piece, since they decide whether the piece
// continues an emoji.
func pieceCleaner[T string | []byte](before T, piece string) cleaner {
	const longest = 3 * utf8.UTFMax
	last := string(before[max(0, len(before)-longest):])
	return cleaner{text: last + piece, from: len(last), more: true}
}

// A cleaner cleans a text from an offset on.
type cleaner struct {
	text    string
	from    int
	more    bool // the text continues
	exactly bool
	strict  bool
}

func (c cleaner) clean() string {
	var b strings.Builder
	for i := c.from; i < len(c.text); {
		r, size := utf8.DecodeRuneInString(c.text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			b.WriteString(`\x` + strconv.FormatUint(uint64(c.text[i]), 16))
		case r == '\r' && !c.strict && strings.HasPrefix(c.text[i+1:], "\n"):
		case r == '\n' && !c.strict, IsVisible(r), c.joins(r, c.text[:i], c.text[i+size:]):
			b.WriteRune(r)
		case c.exactly && (r == '\t' || unicode.Is(unicode.Zs, r)):
			b.WriteRune(r)
		case r == '\t':
			b.WriteString(strings.Repeat(" ", tabStop))
		case unicode.Is(unicode.Zs, r) && !c.strict:
			b.WriteByte(' ')
		default:
			b.WriteString(escape(r))
		}
		i += size
	}
	return b.String()
}

// escape returns a rune as it is written in a Go string.
func escape(r rune) string {
	quoted := strconv.QuoteRuneToASCII(r)
	return quoted[1 : len(quoted)-1]
}

// IsVisible reports whether a character leaves a mark on the screen, or is the usual space.
func IsVisible(r rune) bool {
	return strconv.IsPrint(r) &&
		!unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point, blanks)
}

// blanks are printable characters that are drawn as nothing.
var blanks = &unicode.RangeTable{
	R16: []unicode.Range16{{Lo: 0x2800, Hi: 0x2800, Stride: 1}}, // the empty Braille pattern
	R32: []unicode.Range32{
		{Lo: 0x13441, Hi: 0x13442, Stride: 1}, // hieroglyphic blanks
		{Lo: 0x16fe4, Hi: 0x16fe4, Stride: 1}, // the Khitan filler
		{Lo: 0x1d159, Hi: 0x1d159, Stride: 1}, // the null notehead
	},
}

// joins reports whether an invisible character is a part of the text around it: an emoji or, in an
// exact text, a word of a script whose letters are joined.
func (c cleaner) joins(r rune, before, after string) bool {
	last, size := utf8.DecodeLastRuneInString(before)
	next, _ := utf8.DecodeRuneInString(after)
	open := after == "" && c.more
	switch r {
	case emojiStyle:
		return isEmoji(last) || isKey(last) && (next == keycap || open)
	case joiner:
		if last == emojiStyle || unicode.Is(unicode.Sk, last) {
			last, _ = utf8.DecodeLastRuneInString(before[:len(before)-size])
		}
		return isEmoji(last) && (isEmoji(next) || open) || c.exactly && isJoined(last) && isJoined(next)
	case nonJoiner:
		return c.exactly && isJoined(last) && (isJoined(next) || open)
	}
	return false
}

// isEmoji reports whether a character may be an emoji, or become one.
func isEmoji(r rune) bool {
	return unicode.Is(unicode.So, r) && r != utf8.RuneError && IsVisible(r) || strings.ContainsRune("‼⁉↔◽◾〰", r)
}

func isKey(r rune) bool { return r >= '0' && r <= '9' || r == '#' || r == '*' }

// isJoined reports whether a character belongs to a word of a script that may need joiners, such as
// Arabic and the scripts of India.
func isJoined(r rune) bool {
	return r >= 0x600 && r < 0x1900 && unicode.In(r, unicode.L, unicode.M) && IsVisible(r)
}
