package tui

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/clewdev/clew/cmd/clew/internal/keymap"

	tea "charm.land/bubbletea/v2"
)

// Options configures the look of the interface.
type Options struct {
	// Color allows escape sequences for colors, and Lines those characters that draw lines: without
	// them, boxes are of ASCII.
	Color, Lines bool
	// Links allows links (OSC 8).
	Links bool
	// Mouse makes the wheel and clicks work. The terminal then selects text only with the shift key.
	Mouse bool
	// Zone is the time zone of times, and Now returns the time. Nil means the local zone, and time.Now.
	Zone *time.Location
	Now  func() time.Time
	// Dir is the working directory.
	Dir string
	// Machine is the name of this machine in archives.
	Machine string
	// Keys is the table of keys. Nil means [keymap.Bindings].
	Keys *keymap.Map
	// Jobs provides access to jobs.
	Jobs Jobs
}

// An app is shared by all screens: the terminal, the source, and the stack of screens.
type app struct {
	// mu is held while a message is handled and while a screen is drawn. It guards the lists that are
	// kept up to date meanwhile.
	mu      sync.Mutex
	ctx     context.Context //nolint:containedctx // it ends with the program
	opts    Options
	src     Source
	display *display
	width   int
	height  int
	stack   []screen
	notice  string // for the last line of the screen, until the next key
	fleet   Fleet  // nil if there is none, or it is not known yet
}

// push opens a screen on top of the others.
func (a *app) push(s screen) tea.Cmd {
	a.stack = append(a.stack, s)
	return s.start()
}

// pop closes the screen on top. Closing the last one ends the program.
func (a *app) pop() tea.Cmd {
	if len(a.stack) == 0 {
		return tea.Quit
	}
	a.top().close()
	a.stack = a.stack[:len(a.stack)-1]
	if len(a.stack) == 0 {
		return tea.Quit
	}
	if c, ok := a.top().(*chat); ok {
		return c.returned()
	}
	return nil
}

// leave closes the screen on top for an action that goes back. Only Close ends the program: who goes back once
// too often stays on the first screen.
func (a *app) leave(action keymap.Action) tea.Cmd {
	if action == keymap.Close || !a.isFirst() {
		return a.pop()
	}
	if key := a.opts.Keys.KeyFor(a.top().scope(), keymap.Close); key != "" {
		a.say(key + " quits")
	}
	return nil
}

// isFirst reports whether the screen on top is the only one.
func (a *app) isFirst() bool { return len(a.stack) < 2 }

// hints returns the keys for the last line of the top screen.
func (a *app) hints(scope keymap.Scope) []string { return a.opts.Keys.Hints(scope, a.isFirst()) }

// inChat reports whether there is a chat below the other screens. It keeps running while they are
// shown.
func (a *app) inChat() bool {
	if len(a.stack) < 2 {
		return false
	}
	_, ok := a.stack[0].(*chat)
	return ok
}

// quit ends the program, or goes back to the chat.
func (a *app) quit() tea.Cmd {
	if !a.inChat() {
		return tea.Quit
	}
	var cmd tea.Cmd
	for len(a.stack) > 1 {
		cmd = a.pop()
	}
	return cmd
}

// top returns the screen that is shown.
func (a *app) top() screen { return a.stack[len(a.stack)-1] }

// say shows a line at the bottom of the screen until the next key.
func (a *app) say(line string) { a.notice = line }

// hand gives the terminal to another program. done turns the program's error into a message for a
// screen.
func (a *app) hand(to screen, program func() (runner, error), done func(error) tea.Msg) tea.Cmd {
	return tea.Exec(&handover{display: a.display, program: program}, func(err error) tea.Msg {
		return answer{to, done(err)}
	})
}

// A model is the tea.Model of the whole interface.
type model struct{ *app }

// Init starts the first screen.
func (m model) Init() tea.Cmd {
	if len(m.stack) == 0 {
		return tea.Quit
	}
	return m.top().start()
}

// Update gives a message to the screen that it is for.
func (m model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m, m.handle(msg)
}

func (m model) handle(msg tea.Msg) tea.Cmd {
	if len(m.stack) == 0 {
		return tea.Quit
	}
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		var cmds []tea.Cmd
		for _, s := range m.stack {
			if s, ok := s.(resizer); ok {
				cmds = append(cmds, s.resized())
			}
		}
		return tea.Batch(cmds...)
	case suspendMsg:
		return m.suspend()
	case continueMsg:
		m.display.retake()
	case tea.KeyPressMsg:
		m.notice = ""
		return m.press(msg)
	case tea.PasteMsg:
		return m.top().paste(msg.Content)
	case tea.MouseWheelMsg:
		return m.turn(msg.Mouse())
	case tea.MouseClickMsg:
		if mouse := msg.Mouse(); mouse.Button == tea.MouseLeft {
			return m.top().click(mouse.X, mouse.Y)
		}
	case answer:
		if slices.Contains(m.stack, msg.to) {
			return msg.to.update(msg.msg)
		}
	}
	return nil
}

// wheelLines is the number of lines that one step of the wheel scrolls.
const wheelLines = 3

func (m model) turn(mouse tea.Mouse) tea.Cmd {
	switch mouse.Button {
	case tea.MouseWheelUp:
		return m.top().wheel(-wheelLines)
	case tea.MouseWheelDown:
		return m.top().wheel(wheelLines)
	}
	return nil
}

func (m model) press(key tea.KeyPressMsg) tea.Cmd {
	if cmd, used := m.top().typed(key); used {
		return cmd
	}
	action, ok := m.opts.Keys.Action(m.top().scope(), key.String())
	if !ok {
		return nil
	}
	return m.act(action)
}

// act runs an action of the table of keys.
func (a *app) act(action keymap.Action) tea.Cmd {
	switch action {
	case keymap.Suspend:
		return a.suspend()
	case keymap.Repaint:
		a.display.forget()
		return nil
	case keymap.Quit:
		return a.quit()
	case keymap.Help:
		return a.push(newHelp(a, a.top()))
	case keymap.Palette:
		return a.push(newPalette(a, a.top()))
	case keymap.ShowJobs:
		return a.showJobs()
	}
	return a.top().do(action)
}

// View draws the screen. Bubble Tea itself draws nothing.
func (m model) View() tea.View {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.stack) > 0 && m.width > 0 && m.height > 0 {
		m.display.show(m.top().draw, m.width, m.height)
	}
	return tea.View{}
}
