package transcript

import (
	"math"

	"github.com/clewdev/clew/internal/jsonlex"
)

// valueAt returns the value at a path of names in an object, or nil.
func valueAt(object []byte, path ...string) []byte {
	for _, name := range path {
		object = jsonlex.Lookup(object, 0, name)
	}
	return object
}

// textAt returns the string at a path of names, or "".
func textAt(object []byte, path ...string) string {
	text, _ := jsonlex.Unquote(valueAt(object, path...))
	return string(text)
}

// firstText returns the first string that is not empty of those at the names.
func firstText(object []byte, names ...string) string {
	for _, name := range names {
		if text := textAt(object, name); text != "" {
			return text
		}
	}
	return ""
}

// intAt returns the number at a path of names, without what lies behind its point. It returns 0 for one that is negative
// or fits into no int.
func intAt(object []byte, path ...string) int {
	var l jsonlex.Lexer
	l.Reset(valueAt(object, path...))
	n := l.Float()
	if l.Err() != nil || n < 0 || n > math.MaxInt32 {
		return 0
	}
	return int(n)
}

// trueAt reports whether the value at a path of names is true.
func trueAt(object []byte, path ...string) bool { return string(valueAt(object, path...)) == "true" }

// textsAt returns the elements of the list at a path of names: strings, and other values as JSON.
func textsAt(object []byte, path ...string) []string {
	var l jsonlex.Lexer
	l.Reset(valueAt(object, path...))
	if l.Peek() != '[' {
		return nil
	}
	var texts []string
	for ok := l.FirstElem(); ok; ok = l.NextElem() {
		value := l.Skip()
		if text, ok := jsonlex.Unquote(value); ok {
			value = text
		}
		texts = append(texts, string(value))
	}
	return texts
}

// bareText returns what a JSON string says.
func bareText(value string) (string, bool) {
	text, ok := jsonlex.Unquote([]byte(value))
	return string(text), ok
}
