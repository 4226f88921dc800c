package jsonlex

import "bytes"

// Lookup returns the value of the first member of that name in the object at
// pos, without looking at anything behind it. It returns nil when there is no
// object, no such member, or a fault before it.
func Lookup(data []byte, pos int, name string) []byte {
	start, end := Find(data, pos, name)
	if start < 0 {
		return nil
	}
	return data[start:end:end]
}

// Find is Lookup for callers that want the place of the value. It returns
// negative numbers where that returns nil.
func Find(data []byte, pos int, name string) (start, end int) {
	i := skipSpace(data, pos)
	if i >= len(data) || data[i] != '{' {
		return -1, -1
	}
	i = skipSpace(data, i+1)
	for i < len(data) && data[i] == '"' {
		key := i + 1
		start, fault := skipKey(data, i)
		if fault != 0 {
			return -1, -1
		}
		end, fault := skipValue(data, start, 1)
		if fault != 0 {
			return -1, -1
		}
		if keyIs(data[key:start], name) {
			return start, end
		}
		i = skipSpace(data, end)
		if i < len(data) && data[i] == ',' {
			i = skipSpace(data, i+1)
		}
	}
	return -1, -1
}

// keyIs reports whether text, which starts behind the opening quote of a key,
// starts with the key of that name.
func keyIs(text []byte, name string) bool {
	if len(text) > len(name) && text[len(name)] == '"' && string(text[:len(name)]) == name {
		return true
	}
	quote := bytes.IndexByte(text, '"')
	if bytes.IndexByte(text[:quote], '\\') < 0 {
		return false
	}
	var l Lexer
	l.Reset(append([]byte{'"'}, text...))
	return string(l.Bytes()) == name
}

// Unquote returns what a JSON string stands for. It returns false when value is
// not a string. The result may share the memory of value.
func Unquote(value []byte) ([]byte, bool) {
	if len(value) < 2 || value[0] != '"' {
		return nil, false
	}
	if end, ascii := plainEnd(value, 1); ascii && end == len(value)-1 {
		return value[1:end], true
	}
	var l Lexer
	l.Reset(value)
	s := l.Bytes()
	return s, l.err == nil
}
