package entrylex

import (
	"bytes"
	"iter"
)

// A transcript file consists of lines that end with a line feed. NUL bytes, of which a crash can
// leave megabytes, end a line as well, but don't count as a line in line numbers.

// ByteOrderMark is the mark that some editors write at the beginning of a file. It is not part of
// the first line.
const ByteOrderMark = "\ufeff"

// An append of several entries to a store that is a directory is one write, but a process that is
// killed can leave a part of it. So the lines of such an append have marks: white space before the
// first JSON object, and after the others. If the last line of an append is missing, none of its
// entries counts. An append of one entry needs no mark: a part of its line is not an entry.
const (
	FirstMark  = " \t "
	MiddleMark = " \t\t"
	LastMark   = "\t \t"
)

// Mark returns the mark of a line that is complete, or "".
func Mark(line []byte) string {
	switch {
	case bytes.HasPrefix(line, []byte(FirstMark)):
		return FirstMark
	case bytes.HasSuffix(line, []byte(MiddleMark)):
		return MiddleMark
	case bytes.HasSuffix(line, []byte(LastMark)):
		return LastMark
	}
	return ""
}

// LineEnd returns the index of the first byte that ends a line, which is a line feed or a NUL byte.
// It returns the length of the text if there is none.
func LineEnd(text []byte) int {
	if end := bytes.IndexByte(text, '\n'); end >= 0 {
		text = text[:end]
	}
	if end := bytes.IndexByte(text, 0); end >= 0 {
		return end
	}
	return len(text)
}

// TrimNULs returns text without the NUL bytes at its beginning.
func TrimNULs(text []byte) []byte { return bytes.TrimLeft(text, "\x00") }

// Lines returns the lines in text that are not empty, without what ends them.
func Lines(text []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for len(text) > 0 {
			end := LineEnd(text)
			if end > 0 && !yield(text[:end:end]) {
				return
			}
			text = text[min(end+1, len(text)):]
			if len(text) > 0 && text[0] == 0 {
				text = TrimNULs(text)
			}
		}
	}
}

// MaxString is the number of bytes of a string that a [Shortener] keeps. Figures, times and IDs are
// shorter.
const MaxString = 64 << 10

// A Shortener shortens a line that it gets in pieces: it leaves out the ends of long strings. The
// result is JSON if the line is.
type Shortener struct {
	// Text is the line so far.
	Text []byte

	inString bool
	kept     int  // bytes of the string
	cutting  bool // the rest of the string is left out
	escape   int  // the bytes that are left of an escape, or -1 after a backslash
}

// Add adds a piece of the line.
func (s *Shortener) Add(piece []byte) {
	for _, c := range piece {
		if s.keeps(c) {
			s.Text = append(s.Text, c)
		}
	}
}

// keeps reports whether the next byte of the line is kept.
func (s *Shortener) keeps(c byte) bool {
	switch {
	case !s.inString:
		s.inString, s.kept, s.cutting, s.escape = c == '"', 0, false, 0
		return true
	case c == 0, s.escape == 0 && c == '"': // a NUL byte ends a string that a crash has cut
		s.inString = false
		return true
	case s.escape > 0:
		s.escape--
	case s.escape < 0 && c == 'u':
		s.escape = 4
	case s.escape < 0:
		s.escape = 0
	default:
		if s.cutting = s.kept >= MaxString; c == '\\' {
			s.escape = -1
		}
	}
	s.kept++
	return !s.cutting
}

// pictureTokens is the approximate number of tokens of a picture, whatever the length of its text.
// In a text that is shorter than pictureBytes it makes no difference.
const (
	pictureTokens = 1600
	pictureBytes  = 32 << 10
)

// EstimateTokens returns about how many tokens a JSON text stands for.
func EstimateTokens[T ~string | ~[]byte](text T) int {
	size := len(text)
	if size <= 2 { // "", [], {}
		return 0
	}
	pictures := 0
	if size > pictureBytes {
		if text := []byte(text); bytes.Contains(text, []byte(`"base64"`)) {
			var bytes int
			pictures, bytes = encoded(text)
			size -= bytes
		}
	}
	return (size+3)/4 + pictures*pictureTokens
}

// encoded returns the number of pictures and other files in a JSON text, and the length of their
// data.
func encoded(text []byte) (files, size int) {
	const open = `"data":"`
	for {
		i := bytes.Index(text, []byte(open))
		if i < 0 {
			return files, size
		}
		text = text[i+len(open):]
		end := bytes.IndexByte(text, '"')
		if end < 0 {
			return files, size
		}
		files++
		size += end
		text = text[end:]
	}
}
