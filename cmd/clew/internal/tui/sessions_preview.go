package tui

import (
	"cmp"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/clewdev/clew/cmd/clew/internal/view"
	"github.com/clewdev/clew/internal/markdown"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/sessions"
)

// A previewState holds the visibility, the place and the contents of the preview.
type previewState struct {
	off, on       bool // the user hid it, or wants it where it would be hidden
	toSide, below bool // the user chose a place
	area          previewArea
	glances       map[string]*glance
	reading       string // the key of the session that is being read
}

// A glance is the end of a session that was read for the preview.
type glance struct {
	view.Glance
	modified time.Time
	err      error
}

// A previewArea is the division of the screen between list and preview.
type previewArea struct {
	listWidth, listHeight int
	right                 int // columns of the preview with the line before it, or 0
	below                 int // rows of the preview with the line above it, or 0
	x, y                  int // its top left corner
}

const (
	sideWidth   = 100 // columns from which the preview is at the right
	belowHeight = 24  // rows from which it is below, if it is not at the right
)

func noPreview(width, height, top int) previewArea {
	return previewArea{listWidth: width, listHeight: max(height-top-1, 0)}
}

// place divides the screen. The list starts at the row top, and the last row is for the keys.
func (p *previewState) place(width, height, top int) previewArea {
	p.area = noPreview(width, height, top)
	a := &p.area
	side := width >= sideWidth
	switch {
	case p.toSide:
		side = width >= 50
	case p.below:
		side = false
	}
	switch {
	case p.off || !p.on && !side && height < belowHeight:
	case side:
		a.right = max(min(width*30/100, 64), 34)
		a.listWidth = width - a.right
		a.x, a.y = a.listWidth, top
	case a.listHeight >= 8 && width >= 20:
		a.below = max(min(a.listHeight/3+1, 12), 4)
		a.listHeight -= a.below
		a.y = top + a.listHeight
	}
	return *a
}

// shows reports whether the preview is at a place of the screen.
func (p *previewState) shows(x, y int) bool {
	return p.area.right > 0 && x >= p.area.x || p.area.below > 0 && y >= p.area.y
}

func (p *previewState) isShown() bool { return p.area.right+p.area.below > 0 }

// toggle shows or hides the preview.
func (p *previewState) toggle(width, height int) {
	shown := p.isShown()
	p.on, p.off = !shown, shown
	p.place(width, height, 1)
}

// move puts the preview at the right or below.
func (p *previewState) move(width, height int) {
	p.off, p.on = false, true
	p.toSide, p.below = p.area.right == 0, p.area.right > 0
	p.place(width, height, 1)
}

// readGlance reads the end of the selected session, if the preview shows it, then the ends of live
// sessions on the screen.
func (s *sessionsScreen) readGlance() tea.Cmd {
	if s.preview.reading != "" {
		return nil
	}
	wanted := func(e *view.Entry) bool {
		g := s.preview.glances[e.Key()]
		return e.Path != "" && e.Read && e.Err == nil && (g == nil || !g.modified.Equal(e.Modified))
	}
	if e := s.selected(); e != nil && s.preview.isShown() && wanted(e) {
		return s.glanceAt(e.SessionInfo)
	}
	for _, e := range s.visibleEntries() {
		if s.data.State(e).Live && wanted(e) {
			return s.glanceAt(e.SessionInfo)
		}
	}
	return nil
}

func (s *sessionsScreen) glanceAt(info sessions.SessionInfo) tea.Cmd {
	src, ctx := s.src, s.ctx
	s.preview.reading = info.Path
	return background(s, func() tea.Msg {
		end, err := src.Glance(ctx, info)
		return glanceMsg{info.Path, &glance{Glance: end, modified: info.Modified, err: err}}
	})
}

// callOf returns a session's pending call, if it is known.
func (s *sessionsScreen) callOf(e *view.Entry) string {
	if g := s.preview.glances[e.Key()]; g != nil {
		return tty.Line(g.Call)
	}
	return ""
}

// maxGlances is the number of cached session ends.
const maxGlances = 200

func (p *previewState) take(msg glanceMsg) {
	if len(p.glances) >= maxGlances {
		clear(p.glances)
	}
	p.glances[msg.key] = msg.glance
	p.reading = ""
}

// previewLines returns the preview of the selected session.
func (s *sessionsScreen) previewLines(width, height int) []string {
	e := s.selected()
	if e == nil || width < 4 || height < 1 {
		return nil
	}
	p := previewText{app: s.app, width: width, height: height}
	p.add(e.Name, tty.Title, 2)
	p.add(render.Join(render.ShortModel(e.Model), tty.Line(render.BranchName(e.GitBranch)), tty.Line(e.Tag)), tty.Dim, 1)
	p.add(s.span(e), tty.Dim, 1)
	p.add(render.Join(e.Turns(), e.FilesChanged(), e.Tokens(), e.Cost()), tty.Dim, 1)
	p.add(tty.Line(e.CWD), tty.Path, 1)
	g := s.preview.glances[e.Key()]
	if g == nil {
		g = new(glance)
	}
	p.state(s.data.State(e), s.callOf(e))
	p.gap()
	first, last := tty.Line(e.FirstPrompt), tty.Line(cmp.Or(g.Prompt, e.LastPrompt))
	p.add(prompted(first), tty.Prompt, 3)
	if last != first && last != "" {
		p.add(prompted(last), tty.Prompt, 3)
	}
	switch {
	case g.err != nil:
		p.add("cannot read: "+tty.Line(g.err.Error()), tty.Failure, 2)
	case g.Answer != "":
		p.answer(g.Answer)
	}
	return p.lines
}

func prompted(text string) string {
	if text == "" {
		return ""
	}
	return "> " + text
}

// span returns the time of a session and its duration.
func (s *sessionsScreen) span(e *view.Entry) string {
	if e.Created.IsZero() {
		return wording.Age(e.Modified, s.now())
	}
	from := s.inZone(e.Created)
	text := from.Format("2 Jan 15:04")
	if from.Year() != s.now().Year() {
		text = from.Format(wording.DateTime)
	}
	if e.LastTime.After(e.Created) {
		text += " for " + wording.Duration(e.LastTime.Sub(e.Created))
	}
	return text
}

// A previewText collects lines as far as there is room.
type previewText struct {
	*app
	width, height int
	lines         []string
}

func (p *previewText) gap() {
	if len(p.lines) > 0 && len(p.lines) < p.height-1 {
		p.lines = append(p.lines, "")
	}
}

// add adds a clean text in at most the given number of lines.
func (p *previewText) add(text string, style tty.Style, most int) {
	most = min(most, p.height-len(p.lines))
	if text == "" || most < 1 {
		return
	}
	lines := tty.Wrap(text, p.width)
	if len(lines) > most {
		lines = lines[:most]
		lines[most-1] = tty.Fit(lines[most-1]+" ...", p.width)
	}
	for _, line := range lines {
		p.lines = append(p.lines, style.Paint(tty.Fit(line, p.width), p.opts.Color))
	}
}

// state describes the agent's activity, and the evidence for it.
func (p *previewText) state(state view.State, call string) {
	if !state.Live {
		return
	}
	p.add(state.Whole(call), state.Style(), 3)
	if state.How != "" {
		p.add("known "+state.How, tty.Dim, 1)
	}
}

// answer adds the last answer of the model, as far as there is room.
func (p *previewText) answer(text string) {
	p.gap()
	room := p.height - len(p.lines)
	if room < 1 {
		return
	}
	const most = 4 << 10 // more does not fit
	if len(text) > most {
		text = text[:most]
	}
	lines := markdown.Render(text, markdown.Options{Width: p.width, Color: p.opts.Color})
	for _, line := range lines[:min(room, len(lines))] {
		p.lines = append(p.lines, tty.CutPainted(line, p.width))
	}
}
