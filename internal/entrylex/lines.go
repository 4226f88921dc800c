package entrylex

import (
	"bytes"
	"iter"
)

// A transcript file consists of lines that end with a line feed. NUL bytes, of which a crash can
// leave megabytes, end a
// line as well, but don't count as a line in line numbers.

// ByteOrderMark is what some editors write at the beginning of a file. It is not part of the first
// line.
const ByteOrderMark = "\ufeff"

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
