package tui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/clewdev/clew/cmd/clew/internal/keymap"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/rows"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/transcript"
)

// A panelKind is a list about a session.
type panelKind int

// The panels, in the order of their tabs.
const (
	outlinePanel panelKind = iota
	agentsPanel
	filesPanel
	turnsPanel
	contextPanel
	usagePanel
	branchesPanel
	panelCount
)

var panelNames = [panelCount]string{"Outline", "Agents", "Files", "Turns", "Context", "Usage", "Branches"}

// panelOf are the panels that keys open.
var panelOf = map[keymap.Action]panelKind{
	keymap.Agents: agentsPanel, keymap.Files: filesPanel, keymap.Context: contextPanel, keymap.Usage: usagePanel, keymap.Branches: branchesPanel,
}

// A panelScreen is a list over a session: its subagents, the files that it changed, the contents of
// its context, its usage, or the rewound parts. Each line leads to a row.
type panelScreen struct {
	base
	session  *sessionScreen
	kind     panelKind
	lines    []render.PanelLine // of the kind, as far as they were made
	made     panelState         // of lines
	wanted   panelState         // the state of the lines being made, or the zero value
	pick     pick
	places   [panelCount]string // the selection in each panel
	finder   finder
	tabSpans [][2]int
}

// A panelState identifies the input from which lines are made.
type panelState struct {
	kind     panelKind
	width    int
	revision int
	live     bool // the session is open in an agent
}

// newPanel returns a panel over a session.
func newPanel(s *sessionScreen, kind panelKind) screen {
	return &panelScreen{base: newBase(s.app), session: s, kind: kind}
}

func (s *sessionScreen) openPanel(a keymap.Action) tea.Cmd { return s.push(newPanel(s, panelOf[a])) }

func (p *panelScreen) scope() keymap.Scope { return keymap.InPanel }

func (p *panelScreen) start() tea.Cmd { return p.build(max(p.width-2, 1)) }

// A panelMsg has the lines of a panel.
type panelMsg struct {
	state panelState
	lines []render.PanelLine
}

// build makes the lines, unless they exist or are being made. This takes long for a large session,
// so it runs beside the program's loop, with a separate list of rows.
func (p *panelScreen) build(width int) tea.Cmd {
	snapshot := p.session.snapshot
	if snapshot == nil || snapshot.Transcript == nil {
		return nil
	}
	state := panelState{p.kind, width, snapshot.Revision, p.session.running != nil}
	if state == p.made || p.wanted.width > 0 && p.wanted.kind == p.kind {
		return nil
	}
	p.wanted = state
	o, t := p.session.layout.options(width), snapshot.Transcript
	return background(p, func() tea.Msg {
		l := rows.List{Live: state.live}
		l.Update(t, 0)
		return panelMsg{state, panelLines(o, state.kind, t, &l)}
	})
}

func panelLines(o render.Options, kind panelKind, t *transcript.Transcript, l *rows.List) []render.PanelLine {
	switch kind {
	case outlinePanel:
		return o.Outline(l)
	case agentsPanel:
		return o.AgentsPanel(t, l)
	case filesPanel:
		return o.FilesPanel(t, l)
	case turnsPanel:
		return o.TurnsPanel(t, l)
	case contextPanel:
		return o.ContextPanel(t, l)
	case usagePanel:
		return o.UsagePanel(t, l)
	}
	return o.BranchesPanel(l)
}

func (p *panelScreen) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case panelMsg:
		if msg.state == p.wanted {
			p.wanted = panelState{}
			p.take(msg)
			return p.build(max(p.width-2, 1)) // the session may have grown
		}
	case sayMsg:
		p.say(string(msg))
	}
	return nil
}

// resized makes the lines again.
func (p *panelScreen) resized() tea.Cmd { return p.build(max(p.width-2, 1)) }

func (p *panelScreen) grown(s *sessionScreen) tea.Cmd {
	if p.session != s {
		return nil
	}
	return p.resized()
}

// take shows lines that were made. The selected line stays selected.
func (p *panelScreen) take(msg panelMsg) {
	key, offset := p.places[msg.state.kind], p.pick.offset()
	if p.made.kind == msg.state.kind && p.lines != nil {
		key = p.key(p.pick.selected)
	}
	p.lines, p.made = msg.lines, msg.state
	lines, items := make([]int, len(p.lines)), 0
	for i := range p.lines {
		if lines[i] = -1; p.lines[i].Text != "" {
			lines[i] = items
			items++
		}
	}
	p.pick.set(lines)
	p.pick.choose(0)
	for i := range items { // the first one that leads somewhere, if it is on the screen
		if p.pick.lineOf(i) < p.height-2 && *p.line(i) != (render.PanelLine{Text: p.line(i).Text}) {
			p.pick.choose(i)
			break
		}
	}
	for i := range items {
		if p.key(i) == key && key != "" {
			p.pick.keep(i, offset)
			break
		}
	}
}

// line returns the line of the selected item, or nil.
func (p *panelScreen) line(item int) *render.PanelLine {
	if item < 0 || item >= p.pick.len() {
		return nil
	}
	return &p.lines[p.pick.lineOf(item)]
}

// key identifies an item after the lines were made again.
func (p *panelScreen) key(item int) string {
	l := p.line(item)
	if l == nil {
		return ""
	}
	return string(l.Row) + "\x00" + l.Path + "\x00" + l.Agent
}

func (p *panelScreen) do(a keymap.Action) tea.Cmd {
	if p.pick.act(a) {
		return nil
	}
	switch a {
	case keymap.Back, keymap.Close:
		if p.finder.text != "" {
			p.finder.clear()
			return nil
		}
		return p.leave(a)
	case keymap.Open:
		return p.open()
	case keymap.NextTab:
		return p.turnTo((p.kind + 1) % panelCount)
	case keymap.PreviousTab:
		return p.turnTo((p.kind + panelCount - 1) % panelCount)
	case keymap.NextGroup:
		p.pick.move(1)
	case keymap.PreviousGroup:
		p.pick.move(-1)
	case keymap.Find:
		p.finder.clear()
		p.finder.typing = true
	case keymap.Copy, keymap.CopyMore:
		if l := p.line(p.pick.selected); l != nil {
			text, _ := unpaint(l.Text)
			p.copy(strings.TrimSpace(text), "the line")
		}
	case keymap.OpenOutside:
		return p.showText(p, p.text, strings.ToLower(panelNames[p.kind])+".txt")
	}
	return nil
}

// text returns all lines without colors.
func (p *panelScreen) text() string {
	var b strings.Builder
	for i := range p.lines {
		text, _ := unpaint(p.lines[i].Text)
		b.WriteString(text + "\n")
	}
	return b.String()
}

// turnTo shows another panel.
func (p *panelScreen) turnTo(kind panelKind) tea.Cmd {
	p.places[p.kind] = p.key(p.pick.selected)
	p.kind, p.lines, p.pick, p.made = kind, nil, pick{}, panelState{}
	return p.build(max(p.width-2, 1))
}

// open goes to the target of the selected line: a diff, or a row of the session.
func (p *panelScreen) open() tea.Cmd {
	l := p.line(p.pick.selected)
	if l == nil {
		return nil
	}
	switch p.kind {
	case filesPanel: // the line above the files is about all of them
		return p.push(newDiff(p.session, l.Path, 0))
	case turnsPanel:
		return p.push(newDiff(p.session, l.Path, l.Turn))
	}
	if l.Row == "" {
		return nil
	}
	row, ok := p.session.layout.rows.Index(l.Row)
	if !ok {
		p.say("it is not a row of the session")
		return nil
	}
	cmd := p.pop()
	p.session.show(row, 0)
	if p.kind == agentsPanel || p.kind == branchesPanel {
		p.session.list.setOpen(row, true)
		p.session.list.reveal(row, 0, 1)
	}
	return cmd
}

func (p *panelScreen) typed(key tea.KeyPressMsg) (tea.Cmd, bool) {
	f := &p.finder
	if !f.typing {
		return nil, false
	}
	switch name := key.String(); {
	case name == "esc" || name == "ctrl+c" || name == "backspace" && f.text == "":
		f.clear()
	case name == "enter":
		if f.typing = false; f.matcher == nil {
			f.clear()
		}
	case name == "down" || name == "ctrl+n" || name == "ctrl+j":
		p.next(1)
	case name == "up" || name == "ctrl+p" || name == "ctrl+k":
		p.next(-1)
	case name == "ctrl+z" || name == "ctrl+l":
		return nil, false
	default:
		f.field.press(key)
		p.retype()
	}
	return nil, true
}

func (p *panelScreen) paste(text string) tea.Cmd {
	if p.finder.typing {
		p.finder.field.insert(strings.TrimSpace(text))
		p.retype()
	}
	return nil
}

// retype finds the text in the line, from the selected item on.
func (p *panelScreen) retype() {
	f := &p.finder
	if text := f.field.String(); text != f.text && f.set(text) {
		for i := range p.pick.len() {
			if f.matchesIn(p.line(i).Text) > 0 {
				f.matches = append(f.matches, match{index: i})
			}
		}
		p.pick.move(-1)
		p.next(1)
	}
}

// next selects the next item that matches, around the end.
func (p *panelScreen) next(direction int) {
	f := &p.finder
	n := len(f.matches)
	if n == 0 {
		return
	}
	at := slices.IndexFunc(f.matches, func(m match) bool { return m.index > p.pick.selected })
	if direction < 0 {
		at = slices.IndexFunc(f.matches, func(m match) bool { return m.index >= p.pick.selected }) - 1
	}
	if at < 0 && direction > 0 {
		at = 0
	}
	f.current = (at%n + n) % n
	p.pick.choose(f.matches[f.current].index)
}

func (p *panelScreen) click(x, y int) tea.Cmd {
	if y == 0 {
		for i, span := range p.tabSpans {
			if x >= span[0] && x < span[1] {
				return p.turnTo(panelKind(i))
			}
		}
		return nil
	}
	item, ok := p.pick.at(y - 1)
	if !ok {
		return nil
	}
	if item == p.pick.selected {
		return p.open()
	}
	p.pick.choose(item)
	return nil
}

func (p *panelScreen) wheel(lines int) tea.Cmd {
	p.pick.scroll(lines)
	return nil
}

func (p *panelScreen) draw(width, height int) Frame {
	frame := newFrame(p.session.title(), height)
	var head string
	head, p.tabSpans = p.paintTabs(panelNames[:], int(p.kind), 0, width)
	var body []string
	from, to := p.pick.visible(frame.room())
	for i := from; i < to; i++ {
		line := p.finder.mark(p.lines[i].Text, p.opts.Color)
		selected := p.pick.lines[i] >= 0 && p.pick.lines[i] == p.pick.selected
		body = append(body, tty.CutPainted(p.mark(selected)+line, width))
	}
	if p.made.kind != p.kind || p.lines == nil {
		body = append(body, tty.Dim.Paint(tty.Cut(" reading …", width), p.opts.Color))
	}
	line, cursor := p.footer(&p.finder, keymap.InPanel, width)
	return frame.fill(head, body, line, cursor)
}
