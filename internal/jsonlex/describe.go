package jsonlex

import (
	"strconv"
	"unicode/utf8"
)

// typeName returns the name of the JSON type that a value's first byte tells.
func typeName(first byte) string {
	switch first {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}

// describe names the character at offset for an error message.
func describe(data []byte, offset int) string {
	if offset >= len(data) {
		return "end of JSON"
	}
	r, size := utf8.DecodeRune(data[offset:])
	if r == utf8.RuneError && size == 1 {
		return "byte 0x" + strconv.FormatUint(uint64(data[offset]), 16)
	}
	return strconv.QuoteRune(r)
}
