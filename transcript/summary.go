package transcript

import (
	"bytes"
	"strconv"
	"strings"
	"sync"

	"github.com/clewdev/clew/internal/jsonlex"
	"github.com/clewdev/clew/wire"
)

// ToolSummary describes a call of a tool in one line, such as "b/c.go - 3 lines" for an Edit. Where the input says
// nothing, or is no JSON object, that is the name of the tool.
func ToolSummary(name string, input wire.JSON) string {
	s := summarizers.Get().(*summarizer) //nolint:forcetypeassert // nothing else is in there
	defer s.release()
	if s.read(input) {
		s.write(name)
	}
	if len(s.out) == 0 {
		return Truncate(name, 100)
	}
	return string(s.out)
}

var summarizers = sync.Pool{New: func() any { return new(summarizer) }}

// A summarizer writes the summary of one call. It is kept and used again, so that a summary costs one allocation.
type summarizer struct {
	lexer   jsonlex.Lexer
	data    []byte // the input
	names   []byte // those of the members, one behind the other
	members []member
	scratch []byte
	out     []byte
}

type member struct{ name, value []byte }

// release gives s back, without the memory of a large input.
func (s *summarizer) release() {
	const keep = 64 << 10
	if cap(s.data) > keep {
		*s = summarizer{}
	}
	s.lexer.Reset(nil)
	clear(s.members)
	s.data, s.names, s.members, s.out = s.data[:0], s.names[:0], s.members[:0], s.out[:0]
	summarizers.Put(s)
}

// read finds the members of an input. It returns false if that is no object.
func (s *summarizer) read(input wire.JSON) bool {
	s.data = append(s.data, input...)
	l := &s.lexer
	l.Reset(s.data)
	for key, ok := l.FirstKey(); ok; key, ok = l.NextKey() {
		start := len(s.names)
		s.names = append(s.names, key...)
		s.members = append(s.members, member{s.names[start:], l.Skip()})
	}
	l.End()
	return l.Err() == nil
}

func (s *summarizer) write(name string) {
	if describe := summaries[name]; describe != nil {
		describe(s)
	} else if tool, ok := strings.CutPrefix(name, "mcp__"); ok {
		s.mcp(tool)
	}
	if len(s.out) == 0 {
		s.argument()
	}
}

// value returns the JSON text of a member, or nil.
func (s *summarizer) value(name string) []byte {
	for i := len(s.members) - 1; i >= 0; i-- {
		if string(s.members[i].name) == name {
			return s.members[i].value
		}
	}
	return nil
}

// first returns the first of the members that has a text.
func (s *summarizer) first(names ...string) []byte {
	for _, name := range names {
		if value := s.value(name); isText(value) || isNumber(value) {
			return value
		}
	}
	return nil
}

// isText reports whether value is a string with something in it.
func isText(value []byte) bool { return len(value) > 2 && value[0] == '"' }

// isNumber reports whether value is a number, which some models write where a string is meant.
func isNumber(value []byte) bool { return len(value) > 0 && (value[0] == '-' || value[0]-'0' < 10) }

// int returns a member that is a whole number, or 0.
func (s *summarizer) int(name string) int64 {
	s.lexer.Reset(s.value(name))
	n := s.lexer.Int()
	if s.lexer.Err() != nil {
		return 0
	}
	return n
}

// text returns what value stands for, at least as far as maxLen runes and one more go: a command can be long, and only
// its beginning shows. It is valid until the next call.
func (s *summarizer) text(value []byte, maxLen int) []byte {
	if len(value) == 0 || value[0] != '"' {
		return value
	}
	const longestRune = len(`\ud83d\ude00`)
	if end := longestRune * (maxLen + 2); end < len(value) {
		s.scratch = append(append(s.scratch[:0], value[:wholeEscapes(value, end)]...), '"')
		value = s.scratch
	}
	s.lexer.Reset(value)
	return s.lexer.Bytes()
}

// wholeEscapes returns where to cut a JSON string so that no escape is cut in two, at end or shortly behind it.
func wholeEscapes(value []byte, end int) int {
	i := 1
	for i < end {
		switch {
		case value[i] != '\\':
			i++
		case value[i+1] == 'u':
			i += len(`\u0000`)
		default:
			i += len(`\n`)
		}
	}
	return i
}

// say appends a word of ours.
func (s *summarizer) say(words ...string) {
	for _, word := range words {
		s.out = append(s.out, word...)
	}
}

// number appends n.
func (s *summarizer) number(n int64) { s.out = strconv.AppendInt(s.out, n, 10) }

// count appends how many of something there are.
func (s *summarizer) count(n int, noun string) {
	s.number(int64(n))
	s.say(" ", noun)
	if n != 1 {
		s.say("s")
	}
}

// add appends the text of value, cut to maxLen runes.
func (s *summarizer) add(value []byte, maxLen int) {
	s.out = appendLine(s.out, s.text(value, maxLen), maxLen)
}

// joined appends two texts with sep between them, if both are there, and cuts all to maxLen runes.
func (s *summarizer) joined(first []byte, sep string, second []byte, maxLen int) {
	s.out = append(s.out, s.text(first, maxLen)...)
	if len(first) > 0 && len(second) > 0 {
		s.say(sep)
	}
	s.out = append(s.out, s.text(second, maxLen)...)
	s.cut(maxLen)
}

// cut makes a line of at most maxLen runes of what was appended so far.
func (s *summarizer) cut(maxLen int) {
	s.scratch = appendLine(s.scratch[:0], s.out, maxLen)
	s.out, s.scratch = s.scratch, s.out
}

// path appends the last n segments of a path.
func (s *summarizer) path(value []byte, n int) {
	const longest = 4096
	segments := bytes.FieldsFunc(s.text(value, longest), separator(value))
	for i, segment := range segments[max(0, len(segments)-n):] {
		if i > 0 {
			s.say("/")
		}
		s.out = appendLine(s.out, segment, 80)
	}
}

// separator tells which rune parts the segments of a path. Windows has its own.
func separator(path []byte) func(rune) bool {
	if bytes.IndexByte(path, '/') >= 0 {
		return func(r rune) bool { return r == '/' }
	}
	return func(r rune) bool { return r == '\\' }
}

// known returns the argument that tells most, if one has a name that is known for it.
func (s *summarizer) known() []byte {
	for _, name := range []string{"name", "path", "file", "query", "command"} {
		if value := s.value(name); isText(value) {
			return value
		}
	}
	return nil
}

// argument appends the argument that tells most, or else the first text by name.
func (s *summarizer) argument() {
	if value := s.known(); value != nil {
		s.add(value, 50)
		return
	}
	var least member
	for _, m := range s.members {
		if isText(m.value) && (least.value == nil || bytes.Compare(m.name, least.name) < 0) {
			least = m
		}
	}
	s.add(least.value, 40)
}

// elements counts the elements of a list, and returns the first one. It returns -1 for what is no list.
func (s *summarizer) elements(value []byte) (n int, first []byte) {
	if len(value) == 0 || value[0] != '[' {
		return -1, nil
	}
	s.lexer.Reset(value)
	for ok := s.lexer.FirstElem(); ok; ok = s.lexer.NextElem() {
		if element := s.lexer.Skip(); n == 0 {
			first = element
		}
		n++
	}
	return n, first
}

// countLines counts the lines of a JSON string. One that a line break ends has no empty line behind it.
func countLines(value []byte) int {
	if !isText(value) {
		return 0
	}
	lines, last := 0, 0
	for i := 1; ; {
		next := bytes.IndexByte(value[i:], '\\')
		if next < 0 {
			break
		}
		i += next + 2
		if value[i-1] == 'n' {
			lines, last = lines+1, i
		}
	}
	if last < len(value)-1 {
		lines++
	}
	return lines
}
