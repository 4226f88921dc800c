package compose

import (
	"slices"
	"strings"

	"github.com/clewdev/clew/internal/tty"
)

// maxEntries is the number of texts that a history keeps.
const maxEntries = 1000

// A History lists earlier texts, oldest first. The zero value is empty.
type History struct{ entries []string }

// NewHistory returns a history of texts, oldest first.
func NewHistory(entries []string) *History {
	h := &History{entries: slices.Clone(entries)}
	h.forget()
	return h
}

// forget removes the oldest entries if there are too many.
func (h *History) forget() {
	if n := len(h.entries) - maxEntries; n > 0 {
		h.entries = slices.Delete(h.entries, 0, n)
	}
}

// Len returns the number of texts. A nil history has none.
func (h *History) Len() int {
	if h == nil {
		return 0
	}
	return len(h.entries)
}

// Newest returns the nth newest text, counted from 1.
func (h *History) Newest(n int) string { return h.entries[len(h.entries)-n] }

// Add adds a text. It reports false, and does nothing, if it is the newest one already.
func (h *History) Add(entry string) bool {
	if entry == "" || h.Len() > 0 && h.Newest(1) == entry {
		return false
	}
	h.entries = append(h.entries, entry)
	h.forget()
	return true
}

// A recall is a position in the history.
type recall struct {
	n     int    // of the entry that is shown, or 0 for the draft
	draft string // the text that is not from the history
}

// remember shows the text before or after the current one, or in the end the draft.
func (e *Editor) remember(older bool) Event {
	n := e.recall.n - 1
	if older {
		n = e.recall.n + 1
	}
	if n < 0 || n > e.History.Len() {
		return Unused
	}
	if e.recall.n == 0 {
		e.recall.draft = e.Text()
	}
	text := e.recall.draft
	if n > 0 {
		text = e.History.Newest(n)
	}
	e.SetText(text)
	e.recall.n = n
	return Edited
}

// A search is a search for an earlier text, as it is typed.
type search struct {
	words  string
	n      int // the entry that was found, or 0
	failed bool
	before draft // the text before the search
}

func (e *Editor) beginSearch() Event {
	if e.History.Len() == 0 {
		return Unused
	}
	e.undo.stop()
	e.search = &search{before: draft{e.text, e.at}}
	return Edited
}

// Searching returns the line with the search text, or "" if there is no search.
func (e *Editor) Searching() string {
	switch s := e.search; {
	case s == nil:
		return ""
	case s.failed:
		return "no earlier prompt has: " + tty.CleanLine(s.words)
	default:
		return "search earlier prompts: " + tty.CleanLine(s.words)
	}
}

// pressInSearch handles a key during a search. Keys without a meaning in it end the search, and
// have their usual effect.
func (e *Editor) pressInSearch(k Key) (event Event, done bool) {
	s := e.search
	switch k.Code {
	case Insert, Paste:
		s.words += strings.ToValidUTF8(k.Text, "\uFFFD")
		e.find(max(s.n, 1))
	case Search:
		e.find(s.n + 1)
	case Backspace:
		if words := []rune(s.words); len(words) > 0 {
			s.words = string(words[:len(words)-1])
		}
		e.find(1)
	case Escape:
		e.text, e.at, e.search = s.before.text, s.before.at, nil
	case Enter, Tab:
		e.endSearch()
	default:
		e.endSearch()
		return Unused, false
	}
	return Edited, true
}

// endSearch keeps the text that was found.
func (e *Editor) endSearch() {
	found := draft{e.text, e.at}
	e.text, e.at, e.search = e.search.before.text, e.search.before.at, nil
	e.change(replacing)
	e.text, e.at = found.text, found.at
}

// find shows the newest text from the nth on that has the words.
func (e *Editor) find(n int) {
	s := e.search
	if s.words == "" {
		e.text, e.at, s.n, s.failed = s.before.text, s.before.at, 0, false
		return
	}
	words := strings.ToLower(s.words)
	for ; n <= e.History.Len(); n++ {
		if entry := e.History.Newest(n); strings.Contains(strings.ToLower(entry), words) {
			e.text = []rune(entry)
			e.at, s.n, s.failed = len(e.text), n, false
			return
		}
	}
	s.failed = true
}
