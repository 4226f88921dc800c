package corpus

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

// An object is a JSON object as alternating names and values, in the order in
// which they are written.
type object []any

// append writes o in the form of JSON.stringify: no spaces, names in order,
// only those characters escaped that must be.
func (o object) append(dst []byte) []byte {
	dst = append(dst, '{')
	for i := 0; i < len(o); i += 2 {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, o[i].(string))
		dst = append(dst, ':')
		dst = appendValue(dst, o[i+1])
	}
	return append(dst, '}')
}

func appendValue(dst []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...)
	case string:
		return appendString(dst, v)
	case int:
		return strconv.AppendInt(dst, int64(v), 10)
	case float64:
		return strconv.AppendFloat(dst, v, 'f', -1, 64)
	case bool:
		return strconv.AppendBool(dst, v)
	case object:
		return v.append(dst)
	case []object:
		return appendList(dst, v)
	case []string:
		return appendList(dst, v)
	}
	panic(fmt.Sprintf("corpus: no JSON form for %T", v))
}

func appendList[T any](dst []byte, list []T) []byte {
	dst = append(dst, '[')
	for i, v := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendValue(dst, v)
	}
	return append(dst, ']')
}

func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for _, r := range s {
		dst = appendRune(dst, r)
	}
	return append(dst, '"')
}

func appendRune(dst []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(dst, '\\', byte(r))
	case '\n':
		return append(dst, `\n`...)
	case '\t':
		return append(dst, `\t`...)
	case '\r':
		return append(dst, `\r`...)
	}
	if r < 0x20 {
		return fmt.Appendf(dst, `\u%04x`, r)
	}
	return utf8.AppendRune(dst, r)
}
