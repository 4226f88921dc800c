package transcript

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clewdev/clew/internal/jsonlex"
)

// A Match is a place in a transcript at which something was found, see [Transcript.Find].
type Match struct {
	// Place locates the chunk that has the text, and the item in it. ItemIndex is -1 if the text
	// belongs to the chunk itself.
	Place
	// Item is the item that has the text, or nil if ItemIndex is -1.
	Item *DisplayItem
	// Field is the kind of text in the chunk or the item.
	Field Field
	// Text is the whole text, and From and To are where in it the match starts and ends, in bytes.
	// Of an input it is one value, such as the command of Bash.
	Text     string
	From, To int
}

// A Field is a kind of text in a transcript. As text and JSON it is a word, such as "result".
type Field int

// The kinds of texts.
const (
	// FieldPrompt is the text of a user chunk.
	FieldPrompt Field = iota
	// FieldText is text of the model, or the message of a teammate.
	FieldText
	// FieldThinking is thinking of the model.
	FieldThinking
	// FieldTool is the name of a tool that was called.
	FieldTool
	// FieldInput is a value in a tool's input: a string, or a number or word as JSON. Names of
	// members are not included.
	FieldInput
	// FieldResult is the text of a tool's result.
	FieldResult
	// FieldNotice is the text or the standard error of a system chunk, or the summary of a
	// compaction.
	FieldNotice
)

var fields = []string{"prompt", "text", "thinking", "tool", "input", "result", "notice"}

// String returns the name of the field, such as "thinking".
func (f Field) String() string { return wordOf(int(f), fields, "Field") }

// MarshalText returns the name of the field, see String. It returns an error for an unknown field.
func (f Field) MarshalText() ([]byte, error) { return marshalWord(int(f), fields, "text") }

// UnmarshalText sets the field by its name. It returns an error for an unknown name.
func (f *Field) UnmarshalText(text []byte) error {
	n, err := parseWord(string(text), fields, "text")
	if err == nil {
		*f = Field(n)
	}
	return err
}

// A Matcher finds something in a text. A [*regexp.Regexp] is one, and so is the result of
// [IgnoreCase].
type Matcher interface {
	// FindAllStringIndex returns the beginning and the end of each match, in order and without
	// overlaps, but not more than n of them unless n is negative.
	FindAllStringIndex(text string, n int) [][]int
}

// Find yields each place at which the matcher finds something in the texts of the transcript, in
// the order of [Transcript.All]: first the conversation, with each subagent after the call that
// started it, then branches, and then subagents that no item started. It looks in all texts that
// [Field] names, and nowhere else: neither in structured results nor in texts that the agent
// injected for the model. Matches of nothing, which some regular expressions have, are left out.
//
//	for m := range t.Find(transcript.IgnoreCase("time-out")) {
//		fmt.Println(m.Depth, m.ChunkIndex, m.Field, m.Text[m.From:m.To])
//	}
//
// It works as the loop continues, so a loop that is left after the first match has not looked at
// the rest. The transcript must not change meanwhile.
func (t *Transcript) Find(m Matcher) iter.Seq[Match] {
	return func(yield func(Match) bool) {
		f := finder{matcher: m, yield: yield}
		w := walk{seen: map[*Transcript]bool{}, chunk: f.chunk, item: f.item}
		w.transcript(Place{Transcript: t})
	}
}

// A finder is one loop over matches. Its methods report whether it continues.
type finder struct {
	matcher Matcher
	yield   func(Match) bool
	lexer   jsonlex.Lexer
}

// chunk looks in the texts of the chunk itself. The text of an answer is in its items as well.
func (f *finder) chunk(at Place, c *Chunk) bool {
	m := Match{Place: at}
	switch c.Type {
	case UserChunk:
		return f.text(m, FieldPrompt, c.Text)
	case AIChunk:
		return len(c.Items) > 0 || f.text(m, FieldText, c.Text)
	}
	return f.text(m, FieldNotice, c.Text) && f.text(m, FieldNotice, c.Stderr)
}

func (f *finder) item(at Place, item *DisplayItem) bool {
	m := Match{Place: at, Item: item}
	switch {
	case item.Type == ItemThinking:
		return f.text(m, FieldThinking, item.Text)
	case item.IsCall():
		return f.text(m, FieldTool, item.ToolName) && f.input(m) && f.text(m, FieldResult, item.ToolResult)
	case item.ToolID != "": // the result of a call that is not there
		return f.text(m, FieldResult, item.Text)
	}
	return f.text(m, FieldText, item.Text)
}

// input looks in the values of a call's input, or in its text if it is not JSON.
func (f *finder) input(m Match) bool {
	text := string(m.Item.ToolInput)
	data := []byte(text)
	if jsonlex.Valid(data) != nil {
		return f.text(m, FieldInput, text)
	}
	f.lexer = jsonlex.Lexer{}
	f.lexer.Reset(data)
	f.lexer.Share(text)
	return f.value(m)
}

// value looks in the value that the lexer comes to next, and in those inside of it.
func (f *finder) value(m Match) bool {
	l := &f.lexer
	switch l.Peek() {
	case '{':
		for _, ok := l.FirstKey(); ok; _, ok = l.NextKey() {
			if !f.value(m) {
				return false
			}
		}
		return true
	case '[':
		for ok := l.FirstElem(); ok; ok = l.NextElem() {
			if !f.value(m) {
				return false
			}
		}
		return true
	case '"':
		return f.text(m, FieldInput, l.String())
	}
	return f.text(m, FieldInput, string(l.Skip()))
}

// text yields the matches in one text.
func (f *finder) text(m Match, field Field, text string) bool {
	m.Field, m.Text = field, text
	if fold, ok := f.matcher.(*folded); ok {
		for m.From, m.To = range fold.all(text) {
			if !f.yield(m) {
				return false
			}
		}
		return true
	}
	// A text may have very many matches, and the loop may end after a few: ask for more and more.
	const more = 16
	done := 0
	for most := more * more; ; most *= more {
		found := f.matcher.FindAllStringIndex(text, most)
		for _, at := range found[min(done, len(found)):] {
			if m.From, m.To = at[0], at[1]; m.From < m.To && !f.yield(m) {
				return false
			}
		}
		if done = len(found); done < most {
			return true
		}
	}
}

// IgnoreCase returns a matcher that finds a text whatever the case of its letters, as
// [strings.EqualFold] compares them. It is many times faster than a regular expression. An empty
// text is found nowhere.
func IgnoreCase(text string) Matcher {
	f := &folded{runes: []rune(text)}
	if len(f.runes) == 0 {
		return f
	}
	for i, r := range f.runes {
		if commonness(r) < commonness(f.runes[f.anchor]) {
			f.anchor = i
		}
	}
	first := f.runes[f.anchor]
	f.forms = append(f.forms, string(first))
	for r := unicode.SimpleFold(first); r != first; r = unicode.SimpleFold(r) {
		f.forms = append(f.forms, string(r))
	}
	return f
}

// A folded finds a text whatever its case. It looks for the forms of its rarest letter, of which
// there are few in a text, and compares what is around them.
type folded struct {
	runes  []rune
	anchor int      // the index of the rarest rune
	forms  []string // in which that may be written
}

// byCommonness are the bytes that are most common in transcripts, the most common first.
const byCommonness = " etaoinsrlcdupmhgfby.,w-v_/\"()k:=1x02j'q3z{}"

// commonness is larger for a rune that is more common.
func commonness(r rune) int {
	if r >= utf8.RuneSelf {
		return 0
	}
	i := strings.IndexRune(byCommonness, unicode.ToLower(r))
	if i < 0 {
		return 1
	}
	return 1 + len(byCommonness) - i
}

// FindAllStringIndex returns the places of the text: see [Matcher].
func (f *folded) FindAllStringIndex(text string, n int) [][]int {
	var found [][]int
	if n == 0 {
		return nil
	}
	for from, to := range f.all(text) {
		if found = append(found, []int{from, to}); len(found) == n {
			break
		}
	}
	return found
}

// all yields the beginning and the end of each place.
func (f *folded) all(text string) iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) {
		next := make([]int, len(f.forms)) // where each form is found next
		for i := range next {
			next[i] = -1
		}
		start := 0 // the end of the last match
		for at := 0; ; {
			form := f.nearest(text, at, next)
			if form < 0 {
				return
			}
			at = next[form]
			from, to, ok := f.around(text, at, at+len(f.forms[form]))
			at++
			if !ok || from < start {
				continue
			}
			if !yield(from, to) {
				return
			}
			start, at = to, max(at, to)
		}
	}
}

// nearest returns which of the forms is the first one in the text from at on, or -1 if there is
// none. The other forms need not be looked for again until they are passed.
func (f *folded) nearest(text string, at int, next []int) int {
	form := -1
	for i := range next {
		if next[i] < at {
			next[i] = len(text)
			if at < len(text) {
				if k := strings.Index(text[at:], f.forms[i]); k >= 0 {
					next[i] = at + k
				}
			}
		}
		if next[i] < len(text) && (form < 0 || next[i] < next[form]) {
			form = i
		}
	}
	return form
}

// around compares what is before and after a form of the rarest rune. It returns where the whole
// text starts and ends.
func (f *folded) around(text string, from, to int) (int, int, bool) {
	for i := f.anchor - 1; i >= 0; i-- {
		r, size := utf8.DecodeLastRuneInString(text[:from])
		if size == 0 || !equalFold(r, f.runes[i]) {
			return 0, 0, false
		}
		from -= size
	}
	for _, want := range f.runes[f.anchor+1:] {
		r, size := utf8.DecodeRuneInString(text[to:])
		if size == 0 || !equalFold(r, want) {
			return 0, 0, false
		}
		to += size
	}
	return from, to, true
}

// equalFold reports whether two runes differ by their case at most.
func equalFold(a, b rune) bool {
	if a == b {
		return true
	}
	if a|b < utf8.RuneSelf && (a|0x20 != b|0x20 || a|0x20 < 'a' || a|0x20 > 'z') {
		return false
	}
	for r := unicode.SimpleFold(a); r != a; r = unicode.SimpleFold(r) {
		if r == b {
			return true
		}
	}
	return false
}
