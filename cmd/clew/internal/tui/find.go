package tui

import (
	"context"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"github.com/clewdev/clew/internal/pause"
	"github.com/clewdev/clew/internal/rows"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/transcript"
)

// A finder finds a text on a screen. Its zero value finds nothing.
type finder struct {
	typing  bool
	field   field
	text    string // the search text, as it was typed
	last    string // the last search text, for a repeated search
	matcher transcript.Matcher
	err     string // why the text can't be found
	matches []match
	current int  // of the matches, or -1
	looking bool // more matches may come
	more    bool // there are more matches than are kept
	ahead   int  // matches to advance by, once there are any
	started int  // counts the searches, so that results of an old one are dropped
	stop    context.CancelFunc
	// again means that the session grew and is searched again: the matches go to next, and replace
	// the others when the search is complete.
	again bool
	next  []match
	// revision is the revision of the session that was searched. loading means that there was more
	// to read.
	revision int
	loading  bool
	// from is the row at which the search started. back returns there, for the next typed text and
	// for Escape.
	from rows.ID
	back func()
	// opened are the rows that were unfolded for a match.
	opened []rows.ID
}

// A match is a place at which the text was found.
type match struct {
	id     rows.ID
	index  int // of the row, as far as that is known
	number int // of the match within its row, from 0
}

// same reports whether both are the same place.
func (m match) same(other match) bool { return m.id == other.id && m.number == other.number }

// maxMatches is the number of matches that are kept.
const maxMatches = 20000

// set changes the text. It reports whether there is something to look for.
func (f *finder) set(text string) bool {
	f.cancel()
	f.text, f.matches, f.current, f.more, f.ahead = text, nil, -1, false, 0
	f.matcher, f.err = newMatcher(text)
	return f.matcher != nil
}

// cancel ends a running search.
func (f *finder) cancel() {
	f.started++
	f.looking, f.again, f.next = false, false, nil
	if f.stop != nil {
		f.stop()
		f.stop = nil
	}
}

// clear removes the search.
func (f *finder) clear() {
	if f.text != "" {
		f.last = f.text
	}
	f.set("")
	f.field.set("")
	f.typing = false
}

// newMatcher returns what finds a text: between slashes a regular expression, otherwise the text
// itself. Capital letters count if there are any. It is nil for an empty text and for an expression that is
// not valid, which err explains.
func newMatcher(text string) (m transcript.Matcher, err string) {
	if expression, ok := strings.CutPrefix(text, "/"); ok && expression != "" {
		expression = strings.TrimSuffix(expression, "/")
		if expression == "" {
			return nil, ""
		}
		if strings.ToLower(expression) == expression {
			expression = "(?i)" + expression
		}
		re, failed := regexp.Compile(expression)
		if failed != nil {
			return nil, tty.Line(strings.TrimPrefix(failed.Error(), "error parsing regexp: "))
		}
		return re, ""
	}
	switch {
	case text == "" || text == "/":
		return nil, ""
	case strings.IndexFunc(text, unicode.IsUpper) >= 0:
		return exactly(text), ""
	}
	return transcript.IgnoreCase(text), ""
}

// findable returns a text that finds the words of a search over all sessions in a single session:
// the word, or an expression for several. Words that only restrict the search, such as role:user,
// are left out.
func findable(words string) string {
	var found []string
	for i, piece := range strings.Split(words, `"`) {
		if i%2 == 1 {
			found = append(found, piece) // a phrase
			continue
		}
		for _, word := range strings.Fields(piece) {
			if word = strings.TrimSuffix(word, "*"); word != "" && !qualifier().MatchString(word) {
				found = append(found, word)
			}
		}
	}
	found = slices.DeleteFunc(found, func(word string) bool { return strings.TrimSpace(word) == "" })
	if len(found) == 1 && !strings.HasPrefix(found[0], "/") {
		return found[0]
	}
	for i := range found {
		found[i] = regexp.QuoteMeta(found[i])
	}
	if len(found) == 0 {
		return ""
	}
	return "/" + strings.Join(found, "|") + "/"
}

// qualifier matches a search word that restricts the search.
var qualifier = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[a-z]+:\S`)
})

// exactly finds a text as it is.
type exactly string

// FindAllStringIndex returns the places of the text: see [transcript.Matcher].
func (e exactly) FindAllStringIndex(text string, n int) (found [][]int) {
	for from := 0; n < 0 || len(found) < n; {
		i := strings.Index(text[from:], string(e))
		if i < 0 {
			break
		}
		found = append(found, []int{from + i, from + i + len(e)})
		from += i + len(e)
	}
	return found
}

// A stoppable finds nothing after its context is done.
type stoppable struct {
	transcript.Matcher
	ctx context.Context //nolint:containedctx // an interface of another package has none
}

// FindAllStringIndex returns the matches: see [transcript.Matcher].
func (s stoppable) FindAllStringIndex(text string, n int) [][]int {
	if s.ctx.Err() != nil {
		return nil
	}
	return s.Matcher.FindAllStringIndex(text, n)
}

// line returns the line of the finder, and the column of the cursor.
func (f *finder) line(width int, color bool) (string, int) {
	shown, cursor := f.field.draw(max(width-16, width/2))
	left := " / " + shown
	style, note := tty.Dim, f.count()
	if f.err != "" {
		style, note = tty.Failure, f.err
	} else if f.matcher != nil && len(f.matches) == 0 && !f.looking {
		style = tty.Failure
	}
	cursor = min(cursor+len(" / "), width-1)
	note = tty.Fit(note, max(width-tty.Width(left)-3, 0))
	return joinColumns(tty.Cut(left, width), style.Paint(note, color)+" ", width), cursor
}

// count returns the number of matches as text.
func (f *finder) count() string {
	n := wording.Number(len(f.matches))
	switch {
	case f.matcher == nil:
		return ""
	case len(f.matches) == 0 && f.looking:
		return "…"
	case len(f.matches) == 0:
		return "not found"
	case f.more:
		n = "more than " + n
	case f.looking:
		n += "…"
	}
	return fmt.Sprintf("%s of %s", wording.Number(f.current+1), n)
}

// A foundMsg has matches of a search.
type foundMsg struct {
	started int
	places  []transcript.Match
	next    func() tea.Msg // finds more, or nil if there are no more
}

// findWords starts to look for a text in the session.
func (s *sessionScreen) findWords(text string) tea.Cmd {
	f := &s.finder
	if f.field.String() != text {
		f.field.set(text)
	}
	if !f.set(text) || s.snapshot == nil || s.snapshot.Transcript == nil {
		return nil
	}
	f.looking = true
	return s.search(0)
}

// againPause is the minimum time before a growing session is searched again.
const againPause = time.Second

// findAgain searches the session again if it has grown since. The place and the match stay.
func (s *sessionScreen) findAgain() tea.Cmd {
	f := &s.finder
	if f.matcher == nil || f.stop != nil || s.snapshot.Transcript == nil || f.revision == s.snapshot.Revision {
		return nil
	}
	pause := againPause
	if f.loading {
		pause = 0 // it was not there yet
	}
	f.again, f.next = true, nil
	f.started++
	return s.search(pause)
}

// search searches the session after some time.
func (s *sessionScreen) search(after time.Duration) tea.Cmd {
	f := &s.finder
	ctx, cancel := context.WithCancel(s.ctx)
	f.stop, f.revision, f.loading = cancel, s.snapshot.Revision, s.snapshot.Loading
	matcher := f.matcher
	if _, slow := matcher.(*regexp.Regexp); slow {
		matcher = stoppable{matcher, ctx}
	}
	started, t := f.started, s.snapshot.Transcript
	return background(s, func() tea.Msg {
		if pause.For(ctx, after) != nil {
			return nil
		}
		search := newPulled(t.Find(matcher))
		context.AfterFunc(ctx, search.end)
		return findMore(ctx, started, search)
	})
}

// A pulled is a search that advances on request and can be stopped meanwhile.
type pulled struct {
	mu   sync.Mutex
	next func() (transcript.Match, bool)
	stop func()
}

func newPulled(matches iter.Seq[transcript.Match]) *pulled {
	p := new(pulled)
	p.next, p.stop = iter.Pull(matches)
	return p
}

func (p *pulled) take() (transcript.Match, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.next()
}

func (p *pulled) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stop()
}

// findSlice is the time for which a search runs before it shows its matches.
const findSlice = 25 * time.Millisecond

// maxPlaces is the number of places that are shown at once.
const maxPlaces = 4096

// findMore continues a search for a while.
func findMore(ctx context.Context, started int, search *pulled) tea.Msg {
	msg := foundMsg{started: started}
	for begun := time.Now(); ; {
		m, ok := search.take()
		if ctx.Err() != nil {
			return nil
		}
		if !ok {
			return msg
		}
		msg.places = append(msg.places, m)
		if n := len(msg.places); n == maxPlaces || n%256 == 0 && time.Since(begun) > findSlice {
			msg.next = func() tea.Msg { return findMore(ctx, started, search) }
			return msg
		}
	}
}

// found adds matches and goes to the first one after the row at which the search started.
func (s *sessionScreen) found(msg foundMsg) tea.Cmd {
	f := &s.finder
	if msg.started != f.started {
		return nil
	}
	into := &f.matches
	if f.again {
		into = &f.next
	}
	for _, m := range msg.places {
		if len(*into) == maxMatches {
			f.more, msg.next = true, nil
			break
		}
		s.addMatch(into, m)
	}
	if msg.next != nil {
		s.goToFirst(false)
		return background(s, msg.next)
	}
	f.stop()
	f.stop, f.looking = nil, false
	if f.again {
		s.replaceMatches()
	} else {
		s.goToFirst(true)
	}
	return s.findAgain() // it may have grown meanwhile
}

// goToFirst goes to the first match, unless a match is already selected. complete means that there
// will be no more matches.
func (s *sessionScreen) goToFirst(complete bool) {
	f := &s.finder
	if f.again {
		return
	}
	s.orderMatches()
	if f.current < 0 && len(f.matches) > 0 {
		s.firstMatch(complete)
	}
	s.goAhead(complete)
}

// goAhead makes the steps from the first match that were requested before there was one. complete
// means that there will be no more matches.
func (s *sessionScreen) goAhead(complete bool) {
	f := &s.finder
	n, to := len(f.matches), f.current+f.ahead
	if f.ahead == 0 || f.current < 0 || !complete && (to < 0 || to >= n) {
		return
	}
	f.ahead = 0
	if f.matches[f.current].index == s.list.selected { // the user did not move since
		s.goToMatch((to%n + n) % n)
	}
}

// replaceMatches takes the matches of a session that has grown.
func (s *sessionScreen) replaceMatches() {
	f := &s.finder
	current := match{number: -1}
	if f.current >= 0 {
		current = f.matches[f.current]
	}
	f.matches, f.next, f.again = f.next, nil, false
	f.current = slices.IndexFunc(f.matches, current.same)
	s.orderMatches()
}

func (s *sessionScreen) addMatch(to *[]match, m transcript.Match) {
	row, ok := s.layout.rows.Find(m.Place)
	if !ok {
		return
	}
	found := match{id: s.layout.rows.At(row).ID, index: row}
	if last := len(*to) - 1; last >= 0 && (*to)[last].id == found.id {
		found.number = (*to)[last].number + 1
	}
	*to = append(*to, found)
}

// orderMatches sorts the matches by row, because rows may have moved.
func (s *sessionScreen) orderMatches() {
	f := &s.finder
	var current match
	if f.current >= 0 {
		current = f.matches[f.current]
	}
	for i := range f.matches {
		if index, ok := s.layout.rows.Index(f.matches[i].id); ok {
			f.matches[i].index = index
		}
	}
	byRow := func(a, b match) int { return a.index - b.index }
	if !slices.IsSortedFunc(f.matches, byRow) {
		slices.SortStableFunc(f.matches, byRow)
		if f.current >= 0 {
			f.current = slices.IndexFunc(f.matches, current.same)
		}
	}
}

// firstMatch goes to the first match at or after the row at which the search started, or to the
// very first match if complete is set.
func (s *sessionScreen) firstMatch(complete bool) {
	f := &s.finder
	from, _ := s.layout.rows.Index(f.from)
	for i, m := range f.matches {
		if m.index >= from {
			s.goToMatch(i)
			return
		}
	}
	if complete {
		s.goToMatch(0)
	}
}

// goToMatch selects the row of a match, and shows the matching line.
func (s *sessionScreen) goToMatch(i int) {
	f := &s.finder
	f.current = i
	m := f.matches[i]
	row, ok := s.layout.rows.Index(m.id)
	if !ok {
		return
	}
	for p := s.layout.parent(row); p >= 0; p = s.layout.parent(p) {
		if !s.list.at(p).open {
			f.opened = append(f.opened, s.layout.id(p))
		}
	}
	s.show(row, 0)
	before := 0
	for pass := range 2 { // first as it is, then open
		before = 0
		for k, spans := range f.find(s.list.lines(row), s.list.width) {
			if before += begins(spans); before > m.number {
				s.list.reveal(row, k, s.list.height/3)
				return
			}
		}
		if pass == 0 {
			s.list.setOpen(row, true)
			f.opened = append(f.opened, m.id)
		}
	}
	s.list.reveal(row, len(s.list.lines(row))-1, s.list.height/3)
}

// nextMatch goes to the next match in a direction, around the end.
func (s *sessionScreen) nextMatch(direction int) tea.Cmd {
	f := &s.finder
	if f.text == "" {
		if f.last == "" {
			s.say("nothing was searched for")
			return nil
		}
		f.from = s.selectedID()
		return s.findWords(f.last)
	}
	n := len(f.matches)
	if n == 0 {
		if f.looking {
			f.ahead += direction
		}
		return nil
	}
	f.ahead = 0
	s.orderMatches()
	next := f.current + direction
	if at := s.list.selected; f.current < 0 || f.matches[f.current].index != at { // the user moved since
		next = slices.IndexFunc(f.matches, func(m match) bool { return m.index >= at })
		if next < 0 {
			next = n
		}
		if direction < 0 {
			next--
		}
	}
	if next < 0 || next >= n {
		s.say("from the other end")
		next = (next%n + n) % n
	}
	s.goToMatch(next)
	return nil
}

// selectedID returns the ID of the selected row.
func (s *sessionScreen) selectedID() rows.ID {
	if r := s.selected(); r != nil {
		return r.ID
	}
	return ""
}

// beginFind opens the line in which a text is typed.
func (s *sessionScreen) beginFind() {
	f := &s.finder
	f.clear()
	f.typing, f.from = true, s.selectedID()
	f.opened = nil
	s.list.settle()
	top, line, selected := s.list.at(s.list.top).id, s.list.line, s.selectedID()
	following, thinking := s.list.following, s.layout.thinking
	f.back = func() {
		s.foldFound()
		if s.layout.thinking != thinking {
			s.layout.thinking = thinking
			s.list.remeasure()
		}
		s.list.restore(top, line, selected)
		if s.list.following = following; following {
			s.list.end()
		}
	}
}

// foldFound folds the rows again that were unfolded for a match.
func (s *sessionScreen) foldFound() {
	for _, id := range s.finder.opened {
		if row, ok := s.layout.rows.Index(id); ok {
			s.list.setOpen(row, false)
		}
	}
	s.finder.opened = nil
}

// typed handles keys while the search text is typed.
func (s *sessionScreen) typed(key tea.KeyPressMsg) (tea.Cmd, bool) {
	f := &s.finder
	if !f.typing {
		return nil, false
	}
	switch key.String() {
	case "esc", "ctrl+c":
		f.clear()
		f.back()
		return nil, true
	case "enter":
		if f.err != "" {
			return nil, true // the line shows the error in the expression
		}
		f.typing = false
		if f.matcher == nil {
			f.clear()
		}
		return nil, true
	case "down", "ctrl+n", "ctrl+j":
		return s.nextMatch(1), true
	case "up", "ctrl+p", "ctrl+k":
		return s.nextMatch(-1), true
	case "ctrl+z", "ctrl+l":
		return nil, false
	}
	if key.String() == "backspace" && f.text == "" {
		f.clear()
		f.back()
		return nil, true
	}
	f.field.press(key)
	return s.retype(), true
}

func (s *sessionScreen) paste(text string) tea.Cmd {
	if !s.finder.typing {
		return nil
	}
	s.finder.field.insert(strings.TrimSpace(text))
	return s.retype()
}

// retype looks for the text in the line, if it was changed.
func (s *sessionScreen) retype() tea.Cmd {
	text := s.finder.field.String()
	if text == s.finder.text {
		return nil
	}
	s.finder.back()
	return s.findWords(text)
}
