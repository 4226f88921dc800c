package main

import (
	"bytes"
	"iter"
)

// peek finds the type of a frame, and the subtype of a system frame, without
// parsing it. It trusts the line to be JSON: json.Unmarshal checks that next.
func peek(line []byte) (kind, subtype []byte) {
	for name, value := range members(line) {
		switch string(name) {
		case "type":
			kind = text(value)
			if string(kind) != "system" || subtype != nil {
				return kind, subtype
			}
		case "subtype":
			subtype = text(value)
			if kind != nil {
				return kind, subtype
			}
		}
	}
	return kind, subtype
}

// text is a string without escapes, which the kinds all are.
func text(value []byte) []byte { return bytes.Trim(value, `"`) }

// members yields the members of a compact object.
func members(line []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		for at := 1; at < len(line) && line[at] == '"'; at++ {
			name := line[at+1 : at+1+bytes.IndexByte(line[at+1:], '"')]
			at += len(name) + 3
			end := at + valueLength(line[at:])
			if !yield(name, line[at:end]) {
				return
			}
			at = end
		}
	}
}

// valueLength is the length of the value at the start of b.
func valueLength(b []byte) int {
	depth := 0
	for at := 0; at < len(b); at++ {
		switch b[at] {
		case '"':
			at += stringLength(b[at:]) - 1
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			if depth < 0 {
				return at
			}
		case ',':
			if depth == 0 {
				return at
			}
		}
	}
	return len(b)
}

// stringLength is the length of the string at the start of b, quotes included.
func stringLength(b []byte) int {
	for at := 1; at < len(b); at++ {
		switch b[at] {
		case '\\':
			at++
		case '"':
			return at + 1
		}
	}
	return len(b)
}
