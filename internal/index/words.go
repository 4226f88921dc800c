package index

import (
	"hash/maphash"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxWord is how many bytes of a word count.
const maxWord = 64

// A cutter cuts texts into words: runs of letters and digits, in small letters.
// Where a script puts no spaces between words, or not between all, each character is
// a word of its own.
type cutter struct {
	word   []byte // the word that next has found, valid until the next call
	marked bool   // it has marks that belong to the letters before them
}

// small maps the bytes of ASCII that belong to words to small letters.
var small = func() (table [utf8.RuneSelf]byte) {
	for c := range byte(utf8.RuneSelf) {
		switch {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'z':
			table[c] = c
		case c >= 'A' && c <= 'Z':
			table[c] = c - 'A' + 'a'
		}
	}
	return table
}()

// next finds the first word from an index of text on, and returns where it begins
// and ends. The end is 0 if there is none.
func (c *cutter) next(text string, from int) (start, end int) {
	if start, end = c.cut(text, from); c.marked {
		c.word = norm.NFC.Append(nil, c.word...)
	}
	return start, end
}

func (c *cutter) cut(text string, from int) (start, end int) {
	c.word, c.marked = c.word[:0], false
	start = from
	for i := from; i < len(text); {
		if b := text[i]; b < utf8.RuneSelf {
			if b = small[b]; b != 0 {
				c.add(b)
				i++
				continue
			}
			if len(c.word) > 0 {
				return start, i
			}
			i += separator(text[i:])
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case alone(r) && len(c.word) > 0, !inWord(r) && len(c.word) > 0:
			return start, i
		case alone(r):
			c.word = utf8.AppendRune(c.word, r)
			return start, i + size
		case inWord(r):
			c.addRune(folded(r))
			c.marked = c.marked || unicode.IsMark(r)
		default:
			start = i + size
		}
		i += size
	}
	if len(c.word) == 0 {
		return 0, 0
	}
	return start, len(text)
}

// separator returns the length of what begins a text and is no word: one byte, or
// a whole escape sequence that sets colours, behind which words often stand.
func separator(text string) int {
	if !strings.HasPrefix(text, "\x1b[") {
		return 1
	}
	for i := 2; i < len(text) && i < 32; i++ {
		switch c := text[i]; {
		case c >= '0' && c <= '9' || c == ';' || c == ':':
		case c == 'm' || c == 'K':
			return i + 1
		default:
			return 1
		}
	}
	return 1
}

func (c *cutter) add(b byte) {
	if len(c.word) < maxWord {
		c.word = append(c.word, b)
	}
}

func (c *cutter) addRune(r rune) {
	if len(c.word)+utf8.RuneLen(r) <= maxWord {
		c.word = utf8.AppendRune(c.word, r)
	}
}

func inWord(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r))
}

// folded returns the same for capital and small letters, ς and σ among them.
func folded(r rune) rune { return unicode.ToLower(unicode.ToUpper(r)) }

// alone reports whether a character is a word of its own.
func alone(r rune) bool {
	const longVowel, halfLongVowel = 'ー', 'ｰ' // of kana, but by Unicode of no script
	return r >= 0x0E00 && (r == longVowel || r == halfLongVowel || unicode.In(r,
		unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar))
}

// A vocabulary collects the words of a text, each once, and their pairs. It is a hash
// table that needs no clearing: a slot counts if it is of the text at hand.
type vocabulary struct {
	cutter
	pairs pairList
	seed  maphash.Seed
	slots []slot // a power of two
	text  uint32 // the number of the text, from 1
	count int    // of its words
	words []byte // with a space behind each
}

type slot struct{ text, start, end uint32 }

// of returns the words of a text, with the marks in front. It is valid until the
// next call.
func (v *vocabulary) of(text string, marks ...string) []byte {
	if v.slots == nil || v.text == math.MaxUint32 {
		v.seed, v.slots, v.text = maphash.MakeSeed(), make([]slot, 1<<10), 0
	}
	v.text, v.count, v.words = v.text+1, 0, v.words[:0]
	v.pairs.begin()
	for _, m := range marks {
		v.words = append(append(v.words, m...), ' ')
	}
	for _, end := v.next(text, 0); end > 0; _, end = v.next(text, end) {
		v.pairs.add(v.word)
		if at := v.slot(v.word); at.text != v.text {
			start := len(v.words)
			v.words = append(v.words, v.word...)
			*at = slot{v.text, uint32(start), uint32(len(v.words))} //nolint:gosec // no text is that long
			v.words = append(v.words, ' ')
			v.grow()
		}
	}
	return v.words
}

// slot returns the slot of a word, or the one where it belongs.
func (v *vocabulary) slot(word []byte) *slot {
	mask := uint64(len(v.slots) - 1)
	for i := maphash.Bytes(v.seed, word) & mask; ; i = (i + 1) & mask {
		at := &v.slots[i]
		if at.text != v.text || string(v.words[at.start:at.end]) == string(word) {
			return at
		}
	}
}

// grow counts a word, and makes room for more.
func (v *vocabulary) grow() {
	if v.count++; v.count <= len(v.slots)/2 {
		return
	}
	old := v.slots
	v.slots = make([]slot, 2*len(old))
	for _, s := range old {
		if s.text == v.text {
			*v.slot(v.words[s.start:s.end]) = s
		}
	}
}
