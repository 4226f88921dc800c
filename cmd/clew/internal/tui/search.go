package tui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/clewdev/clew/cmd/clew/internal/keymap"
	"github.com/clewdev/clew/cmd/clew/internal/paint"
	"github.com/clewdev/clew/cmd/clew/internal/view"
	"github.com/clewdev/clew/internal/pause"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/sqlite/search"
)

// A searchScreen searches the text of all sessions while the words are typed.
type searchScreen struct {
	base
	words  field
	typing bool
	found  *view.Found
	asked  string // the words of found
	hits   []foundHit
	pick   pick

	number int                // of the last search
	stop   context.CancelFunc // of the search that runs, or nil
	done   int64              // bytes that were read for the first time
	total  int64
	steps  chan [2]int64
	err    error
}

// A foundHit is a result in the list.
type foundHit struct {
	session int
	hit     *search.Hit
}

type (
	resultMsg struct {
		number int
		words  string
		found  *view.Found
		err    error
	}
	stepMsg struct {
		number      int
		done, total int64
	}
)

const (
	// searchPause is the time to wait for another key before a search starts.
	searchPause = 80 * time.Millisecond
	// indexPause is the time to wait before a search is repeated while the index is being built.
	indexPause = 700 * time.Millisecond
	// searchLimit is the maximum number of results.
	searchLimit = 100
)

func newSearch(a *app, words string) screen {
	s := &searchScreen{base: newBase(a), typing: true}
	s.words.set(words)
	return s
}

func (s *searchScreen) scope() keymap.Scope { return keymap.InSearch }

func (s *searchScreen) start() tea.Cmd { return s.search() }

func (s *searchScreen) close() {
	s.cancelSearch()
	s.base.close()
}

func (s *searchScreen) cancelSearch() {
	if s.stop != nil {
		s.stop()
		s.stop = nil
	}
}

// search looks for the words a moment after the last key. It ends a search that runs.
func (s *searchScreen) search() tea.Cmd { return s.searchAfter(searchPause) }

// searchAfter looks for the words after a pause.
func (s *searchScreen) searchAfter(wait time.Duration) tea.Cmd {
	s.cancelSearch()
	s.number++
	s.done, s.total, s.err = 0, 0, nil
	words := strings.TrimSpace(s.words.String())
	if words == "" {
		s.found, s.hits, s.asked = nil, nil, ""
		s.pick.set(nil)
		return nil
	}
	ctx, stop := context.WithCancel(s.ctx)
	s.stop, s.steps = stop, make(chan [2]int64, 1)
	number, src, steps := s.number, s.src, s.steps
	return tea.Batch(background(s, func() tea.Msg {
		defer close(steps)
		if pause.For(ctx, wait) != nil {
			return nil
		}
		found, err := src.Search(ctx, words, searchLimit, func(done, total int64) {
			select { // a step that was not looked at is dropped
			case <-steps:
			default:
			}
			select {
			case steps <- [2]int64{done, total}:
			default:
			}
		})
		if ctx.Err() != nil {
			return nil
		}
		return resultMsg{number, words, found, err}
	}), s.waitForStep(number, steps))
}

// waitForStep waits until more was read.
func (s *searchScreen) waitForStep(number int, steps <-chan [2]int64) tea.Cmd {
	return background(s, func() tea.Msg {
		step, ok := <-steps
		if !ok {
			return nil
		}
		return stepMsg{number, step[0], step[1]}
	})
}

func (s *searchScreen) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case resultMsg:
		if msg.number == s.number {
			s.cancelSearch()
			s.done, s.total = 0, 0
			s.take(msg)
			if s.found != nil && s.found.Indexing != nil {
				return s.searchAfter(indexPause) // the index has more by then
			}
		}
	case stepMsg:
		if msg.number == s.number && s.stop != nil {
			s.done, s.total = msg.done, msg.total
			return s.waitForStep(msg.number, s.steps)
		}
	}
	return nil
}

// take shows a result. If the same words are searched again, the same hit stays selected.
func (s *searchScreen) take(msg resultMsg) {
	again := msg.words == s.asked
	selected, before := s.pick.selected, s.hits
	s.found, s.asked, s.err = msg.found, msg.words, msg.err
	s.hits = nil
	var lines []int
	if s.found != nil {
		for i := range s.found.Sessions {
			lines = append(lines, -1-i)
			for k := range s.found.Sessions[i].Hits {
				lines = append(lines, len(s.hits))
				s.hits = append(s.hits, foundHit{i, &s.found.Sessions[i].Hits[k]})
			}
		}
	}
	s.pick = pick{height: s.pick.height}
	s.pick.set(lines)
	if !again || selected >= len(before) {
		return
	}
	for i := range s.hits {
		if a, b := s.hits[i].hit, before[selected].hit; a.SessionID == b.SessionID && a.Line == b.Line && a.AgentID == b.AgentID {
			s.pick.choose(i)
		}
	}
}

func (s *searchScreen) do(a keymap.Action) tea.Cmd {
	if s.pick.act(a) {
		return nil
	}
	switch a {
	case keymap.Back, keymap.Close:
		return s.leave(a)
	case keymap.Find:
		s.typing = true
		return nil
	}
	if s.pick.selected >= len(s.hits) {
		return nil
	}
	h := s.hits[s.pick.selected]
	info := s.found.Sessions[h.session].Info
	switch a {
	case keymap.Open:
		return s.push(newSession(s.app, info, placeOf(h.hit, s.asked)))
	case keymap.Copy:
		s.copy(info.ID, "the ID")
	case keymap.CopyMore:
		s.copy(view.ResumeCommand(info.ID, info.CWD, info.Path), "the command that resumes the session")
	}
	return nil
}

// placeOf returns the place of a result in its session. A result in a separate file has no line
// there.
func placeOf(h *search.Hit, words string) Place {
	p := Place{Line: h.Line, Agent: h.AgentID, Words: words}
	if h.File != nil && h.File.Spill {
		p.Line = 0
	}
	return p
}

func (s *searchScreen) typed(key tea.KeyPressMsg) (tea.Cmd, bool) {
	if !s.typing {
		return nil, false
	}
	switch key.String() {
	case "esc":
		s.typing = false
		return s.leave(keymap.Back), true
	case "tab":
		s.typing = false
		return nil, true
	case "enter":
		if (s.stop == nil || s.indexing() != nil) && len(s.hits) > 0 {
			s.typing = false
			return s.do(keymap.Open), true
		}
		return nil, true
	}
	if a, ok := movesWhileTyping[key.String()]; ok {
		s.pick.act(a)
		return nil, true
	}
	before := s.words.String()
	if !s.words.press(key) {
		return nil, false
	}
	if s.words.String() == before {
		return nil, true
	}
	return s.search(), true
}

func (s *searchScreen) paste(text string) tea.Cmd {
	s.typing = true
	s.words.insert(text)
	return s.search()
}

func (s *searchScreen) click(_, y int) tea.Cmd {
	if y == 0 {
		s.typing = true
		return nil
	}
	item, ok := s.pick.at(y - searchTop)
	switch {
	case !ok:
		return nil
	case item == s.pick.selected:
		return s.do(keymap.Open)
	}
	s.pick.choose(item)
	return nil
}

func (s *searchScreen) wheel(lines int) tea.Cmd {
	s.pick.scroll(lines)
	return nil
}

// searchTop is the first line of the results.
const searchTop = 2

func (s *searchScreen) draw(width, height int) Frame {
	const label = " Search  "
	text, x := s.words.draw(max(width-tty.Width(label)-1, 1))
	head := tty.Title.Paint(label, s.opts.Color) + text
	frame := Frame{Title: "clew", Lines: []string{tty.CutPainted(head, width), s.across(width)}}
	if s.typing {
		frame.Cursor = &paint.Cursor{X: min(tty.Width(label)+x, max(width-1, 0))}
	}
	rows := max(height-searchTop-1, 0)
	frame.Lines = append(frame.Lines, padded(s.results(width, rows), rows)...)
	frame.Lines = append(frame.Lines, s.foot(s.hints(), s.status(), width))
	frame.Lines = frame.Lines[max(len(frame.Lines)-height, 0):]
	if height == 1 {
		frame.Lines[0] = tty.CutPainted(head, width)
	}
	return frame
}

func (s *searchScreen) hints() []string {
	if s.typing {
		return []string{"enter open", "tab list", "esc back"}
	}
	return s.app.hints(keymap.InSearch)
}

// indexing returns the progress of the index, if the results are from a part of it.
func (s *searchScreen) indexing() *view.Indexing {
	if s.found == nil || s.asked != strings.TrimSpace(s.words.String()) {
		return nil
	}
	return s.found.Indexing
}

// status returns the number of results, or the progress of the search.
func (s *searchScreen) status() string {
	switch indexing := s.indexing(); {
	case indexing != nil:
		return fmt.Sprintf("%s results so far, reading sessions, %s", wording.Number(len(s.hits)+s.found.More), wording.Percent(float64(indexing.Percent())))
	case s.stop != nil && s.total > 0:
		return "reading sessions, " + wording.Percent(float64(100*s.done/s.total))
	case s.stop != nil:
		return "searching"
	case s.found == nil:
		return ""
	}
	n := len(s.hits) + s.found.More
	text := wording.Count(n, "result")
	if s.found.More > 0 {
		text = fmt.Sprintf("%d of ", len(s.hits)) + text
	}
	return text
}

// results returns the visible results, or a message instead.
func (s *searchScreen) results(width, height int) []string {
	from, to := s.pick.visible(height)
	if len(s.hits) == 0 {
		return s.nothing(width)
	}
	now := s.now()
	var lines []string
	for i := from; i < to; i++ {
		if item := s.pick.lines[i]; item >= 0 {
			lines = append(lines, s.hitLine(item, width))
		} else {
			lines = append(lines, s.sessionHead(&s.found.Sessions[-1-item], now, width))
		}
	}
	return lines
}

func (s *searchScreen) nothing(width int) []string {
	text, style := "Words to find in prompts, answers, tools and their results. \"In quotes\" is a phrase, a* the beginning of a word, and -this is left out. "+
		"role:prompt, tool:Bash and project:NAME narrow the search.", tty.Dim
	switch {
	case s.err != nil:
		text, style = strings.TrimPrefix(s.err.Error(), "search: "), tty.Failure
	case s.indexing() != nil:
		text = "No results so far. The first search reads all sessions and builds an index of their words."
	case s.stop != nil && s.found == nil && s.total > 0:
		text = "The first search reads all sessions and builds an index of their words."
	case s.stop != nil && s.found == nil:
		text = ""
	case s.found != nil:
		text = "No results. " + s.found.Note
	}
	if errors.Is(s.err, context.Canceled) {
		text = ""
	}
	var lines []string
	for _, line := range tty.Wrap(tty.Line(text), max(width-2, 1)) {
		lines = append(lines, style.Paint(tty.Cut(" "+line, width), s.opts.Color))
	}
	return lines
}

// sessionHead returns the line about a session: its title, and at the right its project and age.
func (s *searchScreen) sessionHead(f *view.FoundSession, now time.Time, width int) string {
	about := tty.Line(render.ProjectName(f.Info.Directory(), f.Info.Project))
	if at := newestHit(f); !at.IsZero() {
		about = render.Join(about, wording.Age(at, now))
	}
	if f.More > 0 {
		about = render.Join(fmt.Sprintf("%d more", f.More), about)
	}
	title := cmp.Or(view.TitleOf(&f.Info.Summary), view.ShortID(f.Info.ID))
	room := width - 1
	if used := tty.Width(about) + 3; room-used >= 16 {
		room -= used
	} else {
		about = ""
	}
	line := " " + tty.Title.Paint(tty.Fit(title, max(room, 0)), s.opts.Color)
	if about == "" {
		return tty.CutPainted(line, width)
	}
	return joinColumns(line, tty.Dim.Paint(about, s.opts.Color)+" ", width)
}

func newestHit(f *view.FoundSession) (at time.Time) {
	for i := range f.Hits {
		if t := f.Hits[i].Time; t.After(at) {
			at = t
		}
	}
	return at
}

// hitLine returns a result: where it is, and an excerpt.
func (s *searchScreen) hitLine(item, width int) string {
	h := s.hits[item].hit
	mark := s.mark(item == s.pick.selected) + "  "
	where, room := "", width-3
	if width >= 60 {
		const column = 18
		where = tty.Fit(view.HitPlace(h), column)
		where = tty.Dim.Paint(where, s.opts.Color) + strings.Repeat(" ", column+2-tty.Width(where))
		room -= column + 2
	}
	return tty.CutPainted(mark+where+excerptLine(h, room, s.opts.Color), width)
}

func excerptLine(h *search.Hit, columns int, color bool) string {
	columns = max(columns, 10)
	size := 2 * columns
	if len(h.Text) < columns {
		size = 4 * len(h.Text) // all of it fits
	}
	return view.ExcerptOf(h, size).Line(columns, color)
}

// newInfo returns a page with details about a session in the list.
func newInfo(a *app, s *sessionsScreen, key string) screen {
	p := &page{base: newBase(a), title: "Session", hints: []string{"esc back"}}
	p.lines = func(width int) []string {
		e := s.data.Find(key)
		if e == nil {
			return []string{tty.Fit(" The session is gone.", width)}
		}
		return s.infoLines(e, width)
	}
	return p
}

// infoLines returns everything that is known of a session without reading it.
func (s *sessionsScreen) infoLines(e *view.Entry, width int) []string {
	state := s.data.State(e)
	at := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return s.inZone(t).Format("2006-01-02 15:04:05")
	}
	known := ""
	if state.Live {
		known = render.Join(state.Text, state.What)
		if state.How != "" {
			known = render.Join(known, "known "+state.How)
		}
		if r, ok := s.data.Running[e.ID]; ok {
			known = render.Join(known, fmt.Sprintf("process %d", r.PID))
		}
	}
	facts := [][2]string{
		{"title", e.Name},
		{"id", e.ID}, {"state", known}, {"project", e.Project}, {"job", e.Job.ID}, {"repository", e.Job.Repository}, {"machine", s.data.MachineName(e)}, {"directory", e.CWD}, {"branch", render.BranchName(e.GitBranch)},
		{"tag", e.Tag}, {"model", e.Model}, {"permissions", e.PermissionMode}, {"agent", render.Join(e.Version, e.Entrypoint)},
		{"created", at(e.Created)}, {"last entry", at(e.LastTime)}, {"written", at(e.Modified)},
		{"transcript", e.Path}, {"size", wording.Size(e.Size)},
		{"figures", render.Join(e.Turns(), e.FilesChanged(), e.Tokens(), e.Cost())},
		{"first prompt", e.FirstPrompt}, {"last prompt", e.LastPrompt}, {"resume", view.ResumeCommand(e.ID, e.CWD, e.Path)},
	}
	return s.factLines(facts, " ", width)
}

// factLines returns names after an indent, with their values, which are wrapped. Empty ones are left out.
func (a *app) factLines(facts [][2]string, indent string, width int) []string {
	column := 13 + len(indent)
	if width < 2*column {
		column = 0
	}
	var lines []string
	for _, f := range facts {
		if f[1] == "" {
			continue
		}
		name := tty.Fit(indent+f[0], width)
		values := tty.Wrap(tty.Line(f[1]), max(width-column-1, 1))
		if column == 0 {
			lines = append(lines, tty.Dim.Paint(name, a.opts.Color))
			name = ""
		}
		for _, value := range values {
			pad := strings.Repeat(" ", max(column-tty.Width(name), 0))
			lines = append(lines, tty.CutPainted(tty.Dim.Paint(name, a.opts.Color)+pad+value, width))
			name = ""
		}
	}
	return lines
}
