package tui

import (
	"context"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/clewdev/clew/cmd/clew/internal/ask"
	"github.com/clewdev/clew/cmd/clew/internal/compose"
	"github.com/clewdev/clew/cmd/clew/internal/keymap"
	"github.com/clewdev/clew/internal/pause"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/sessions"
)

// A ChatOptions configures a chat, apart from its driver.
type ChatOptions struct {
	Options
	// Mail delivers the news of the conversation.
	Mail *Mailbox
	// Source provides the conversation's rows. If it is nil, they can't be shown.
	Source Source
	// History has earlier prompts.
	History *compose.History
}

// Chat shows a conversation until it ends. It returns the lines that were not shown.
func Chat(ctx context.Context, t Terminal, d Driver, opts ChatOptions) (unseen []string, err error) {
	var c *chat
	err = run(ctx, t, &app{opts: opts.Options, src: opts.Source}, func(a *app) screen {
		c = newChat(a, d, opts)
		return c
	})
	opts.Mail.Close()
	news, _ := opts.Mail.Take()
	return slices.Concat(c.above, news.Print), err
}

// A chat is the conversation screen. Final lines are printed above it and stay there. Keys go to
// the composer, or to a question that has the focus.
type chat struct {
	base
	driver Driver
	mail   *Mailbox
	editor compose.Editor
	news   News     // without the lines to print
	above  []string // lines to print with the next frame
	queue  []string // prompts that wait for the end of the turn
	held   bool     // the queue waits until the user sends another prompt

	docks    []*dock
	answered map[string]bool // questions that are open until the driver has the answer
	focus    focus

	hint      string // in place of the status, until the next key
	leaving   bool   // the next ctrl+c or ctrl+d ends the chat
	begun     bool   // the first prompt can be sent
	stopping  bool   // the turn was interrupted
	escaped   bool   // the last key was esc
	chord     string // the first key of two
	completed compose.Query
	ticking   bool
	columns   int
	rows      int
}

// A focus decides where keys go. A question gets the focus by itself only if the user is not
// typing, and keeps it only if no key comes right after: such a key was meant for the composer.
type focus struct {
	question  bool      // a question has it
	settled   bool      // a question has it for a while
	dismissed bool      // the user left the questions
	typed     time.Time // when the last key came
	timer     int       // the number of the last timer: earlier ones don't count
}

// asks reports whether keys go to the question.
func (f *focus) asks() bool { return f.question && f.settled }

// FocusPause is the time without a key before a question gets the focus by itself, and again until
// keys can answer it. Tests with their own keys set a longer one.
var FocusPause = 500 * time.Millisecond

func newChat(a *app, d Driver, opts ChatOptions) *chat {
	c := &chat{base: newBase(a), driver: d, mail: opts.Mail, answered: map[string]bool{}}
	c.editor.History = opts.History
	return c
}

func (c *chat) scope() keymap.Scope {
	if c.focus.question {
		return keymap.InQuestion
	}
	return keymap.InChat
}

func (c *chat) start() tea.Cmd { return c.receive() }

// The messages of a chat.
type (
	newsMsg      struct{}
	secondMsg    struct{} // a second of a turn is over
	pauseMsg     struct{ timer int }
	completedMsg struct {
		query   compose.Query
		choices []compose.Choice
	}
	sessionMsg struct {
		info sessions.SessionInfo
		err  error
	}
	editedMsg struct {
		text string
		err  error
	}
)

// receive waits for news.
func (c *chat) receive() tea.Cmd {
	return background(c, func() tea.Msg {
		if !c.mail.wait() {
			return nil
		}
		return newsMsg{}
	})
}

func (c *chat) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case newsMsg:
		return c.learn()
	case secondMsg:
		c.ticking = false
		return c.tick()
	case pauseMsg:
		return c.paused(msg.timer)
	case completedMsg:
		c.editor.Offer(msg.query, msg.choices)
	case sessionMsg:
		return c.showRows(msg)
	case editedMsg:
		if msg.err != nil {
			c.hint = tty.Line(msg.err.Error())
		} else {
			c.editor.SetText(strings.TrimRight(msg.text, "\n"))
		}
		c.write()
		return c.consider()
	}
	return nil
}

// write notes that the user is writing a text: no question keeps the focus.
func (c *chat) write() {
	c.unfocus()
	c.focus.typed = time.Now()
}

// writes reports whether the user writes or searches for a text.
func (c *chat) writes() bool { return !c.editor.IsEmpty() || c.editor.Searching() != "" }

// learn takes the news.
func (c *chat) learn() tea.Cmd {
	news, _ := c.mail.Take()
	c.above = append(c.above, news.Print...)
	c.news = news
	if news.Notice != "" {
		c.display.write(news.Notice)
	}
	if news.Ended {
		c.display.forget() // so that the last frame is drawn
		return tea.Quit
	}
	if news.Idle {
		c.begun, c.stopping = true, false
	}
	asked := c.dock(news.Questions)
	if p := news.Proposal; p != nil {
		c.held = true
		if !c.writes() {
			c.editor.SetText(p.Text)
			c.write()
		} else {
			c.hint = "the prompt is in the history: up recalls it"
		}
	}
	if news.Idle && len(c.queue) > 0 && !c.held {
		text := c.queue[0]
		c.queue = c.queue[1:]
		c.begin(text)
	}
	cmds := []tea.Cmd{c.receive(), c.tick()}
	if asked {
		if c.inChat() {
			c.say("the agent asks: q goes back to the chat")
		}
		cmds = append(cmds, c.consider())
	}
	return tea.Batch(cmds...)
}

// dock shows the questions that are open, and no others. It reports whether one is new.
func (c *chat) dock(open []*ask.Question) (asked bool) {
	first := c.question()
	c.docks = slices.DeleteFunc(c.docks, func(d *dock) bool { return !isOpen(d.ID, open) })
	if len(c.docks) == 0 {
		c.focus.dismissed = false
	}
	for id := range c.answered {
		if !isOpen(id, open) {
			delete(c.answered, id)
		}
	}
	for _, q := range open {
		if !c.answered[q.ID] && !slices.ContainsFunc(c.docks, func(d *dock) bool { return d.ID == q.ID }) {
			c.docks = append(c.docks, newDock(q))
			asked = true
		}
	}
	if first != c.question() { // keys for a withdrawn question are not for another one
		c.unfocus()
		return asked || len(c.docks) > 0
	}
	return asked
}

// question returns the question that is shown, or nil.
func (c *chat) question() *dock {
	if len(c.docks) == 0 {
		return nil
	}
	return c.docks[0]
}

func (c *chat) unfocus() {
	c.focus.question, c.focus.settled = false, false
	c.focus.timer++
}

// consider gives the focus to a question if the user is not typing, or looks again later.
func (c *chat) consider() tea.Cmd {
	f := &c.focus
	if f.question || f.dismissed || len(c.docks) == 0 || c.inChat() { // nothing is asked below another screen
		return nil
	}
	if !c.writes() && time.Since(f.typed) >= FocusPause {
		f.question, f.settled = true, false
	}
	return c.pause()
}

// pause waits for a while without a key.
func (c *chat) pause() tea.Cmd {
	c.focus.timer++
	timer := c.focus.timer
	return c.after(FocusPause, pauseMsg{timer})
}

func (c *chat) paused(timer int) tea.Cmd {
	f := &c.focus
	switch {
	case timer != f.timer:
	case f.question:
		f.settled = true
	case !c.writes():
		return c.consider()
	}
	return nil
}

// after returns a message in a while.
func (c *chat) after(d time.Duration, msg tea.Msg) tea.Cmd {
	return background(c, func() tea.Msg {
		if pause.For(c.ctx, d) != nil {
			return nil
		}
		return msg
	})
}

// tick draws the time of a turn again, each second while it runs and does not wait for the user.
func (c *chat) tick() tea.Cmd {
	if c.news.Work.Doing == "" || c.ticking || len(c.docks) > 0 {
		return nil
	}
	c.ticking = true
	elapsed := c.opts.Now().Sub(c.news.Work.Since)
	return c.after(time.Second-max(elapsed, 0)%time.Second, secondMsg{})
}

// afterEscape maps keys that a terminal can't distinguish from others right after an Escape.
var afterEscape = map[string]tea.KeyPressMsg{
	"ctrl+alt+c": {Code: 'c', Mod: tea.ModCtrl}, "alt+ctrl+c": {Code: 'c', Mod: tea.ModCtrl},
	"ctrl+alt+d": {Code: 'd', Mod: tea.ModCtrl}, "alt+ctrl+d": {Code: 'd', Mod: tea.ModCtrl},
	"alt+esc": {Code: tea.KeyEscape},
}

// typed handles all keys except the keys that the model handles for every screen.
func (c *chat) typed(key tea.KeyPressMsg) (tea.Cmd, bool) {
	name := key.String()
	if second, ok := afterEscape[name]; ok {
		first, _ := c.typed(tea.KeyPressMsg{Code: tea.KeyEscape})
		rest, _ := c.typed(second)
		return tea.Batch(first, rest), true
	}
	if c.chord != "" {
		name, c.chord = c.chord+" "+name, ""
	} else if name == "ctrl+x" {
		c.chord = name
		return nil, true
	}
	if action, ok := c.opts.Keys.Action(c.scope(), name); ok && (action == keymap.Suspend || action == keymap.Repaint) {
		return nil, false
	}
	c.driver.Acted()
	cmd := c.press(name, key)
	c.focus.typed = time.Now()
	return tea.Batch(cmd, c.consider(), c.complete()), true
}

func (c *chat) do(keymap.Action) tea.Cmd { return nil }

func (c *chat) wheel(int) tea.Cmd { return nil }

func (c *chat) paste(text string) tea.Cmd {
	c.driver.Acted()
	c.hint = ""
	if d := c.question(); c.focus.asks() && d.takesText() {
		d.press("", compose.Key{Code: compose.Paste, Text: text}, true)
		c.focus.typed = time.Now()
	} else {
		c.editor.Press(compose.Key{Code: compose.Paste, Text: text})
		c.write()
	}
	return tea.Batch(c.consider(), c.complete())
}

// press handles a key: for the question if that has the focus, and otherwise for the composer.
func (c *chat) press(name string, key tea.KeyPressMsg) tea.Cmd {
	leaving, escaped := c.leaving, c.escaped
	c.hint, c.leaving, c.escaped = "", false, false
	if c.focus.question && !c.focus.settled {
		c.unfocus() // the key was typed before the question was there
	}
	action, _ := c.opts.Keys.Action(c.scope(), name)
	switch action {
	case keymap.GoToQuestion:
		c.toggle()
		return nil
	case keymap.InterruptOrEnd:
		c.interruptOrEnd(leaving)
		return nil
	}
	if c.focus.question && c.ask(name, key) {
		return nil
	}
	action, _ = c.opts.Keys.Action(keymap.InChat, name)
	if action == keymap.Interrupt && !c.editor.HasMenu() && c.editor.Searching() == "" {
		c.interrupt(escaped)
		return nil
	}
	return c.compose(name, action, key, leaving)
}

// toggle moves the focus.
func (c *chat) toggle() {
	f := &c.focus
	switch {
	case f.question:
		c.unfocus()
		f.dismissed = true
	case len(c.docks) > 0:
		c.unfocus()
		f.question, f.settled, f.dismissed = true, true, false
	default:
		c.hint = "there is no question"
	}
}

// ask passes a key to the question. It reports false if the key is one for the composer, which then
// has the focus.
func (c *chat) ask(name string, key tea.KeyPressMsg) bool {
	d := c.question()
	k, ok := composeKey(name, key)
	part := d.part
	a, event := d.press(name, k, ok)
	switch event {
	case answered:
		c.driver.Answer(d.ID, a)
		c.answered[d.ID] = true
		c.docks = slices.Delete(c.docks, 0, 1)
		c.unfocus() // the next one has to be seen first
		c.focus.dismissed = false
	case left:
		c.unfocus()
		c.focus.dismissed = true
	case skipped:
		c.docks = append(c.docks[1:], d)
		c.refocus()
	case foreign:
		c.unfocus()
		return false
	case kept:
		if d.part != part {
			c.refocus()
		}
	}
	return true
}

// refocus makes keys count again only after a while, because another question is shown.
func (c *chat) refocus() {
	c.unfocus()
	c.focus.dismissed = false
}

// interrupt stops the turn. The second time, it also clears the queue.
func (c *chat) interrupt(again bool) {
	c.escaped = true
	if again && len(c.queue) > 0 {
		c.queue = nil
		c.hint = "the queue is empty"
	}
	if c.news.Work.Doing != "" && !c.stopping {
		c.stopping = true
		c.driver.Interrupt()
	}
}

// interruptOrEnd does what ctrl+c does.
func (c *chat) interruptOrEnd(leaving bool) {
	switch {
	case !c.begun && !c.editor.IsEmpty():
		c.editor.SetText("")
	case c.news.Work.Doing != "" && c.stopping:
		c.driver.End(true)
	case c.news.Work.Doing != "":
		c.stopping = true
		c.driver.Interrupt()
	case !c.editor.IsEmpty():
		c.editor.SetText("")
	case leaving:
		c.driver.End(false)
	default:
		c.leaving, c.hint = true, "ctrl+c once more, or ctrl+d, ends the chat"
	}
}

// compose passes a key to the composer.
func (c *chat) compose(name string, action keymap.Action, key tea.KeyPressMsg, leaving bool) tea.Cmd {
	empty := !c.writes()
	switch {
	case action == keymap.EndChat && empty:
		c.end(leaving)
		return nil
	case action == keymap.ListKeys && empty:
		c.listKeys()
		return nil
	case action == keymap.NextMode:
		c.driver.NextMode()
		return nil
	case action == keymap.EditOutside:
		return c.edit()
	case action == keymap.ShowRows:
		return c.findSession()
	case name == "up" && empty && len(c.queue) > 0:
		last := len(c.queue) - 1
		c.editor.SetText(c.queue[last])
		c.queue = c.queue[:last]
		return nil
	}
	k, ok := composeKey(name, key)
	switch action {
	case keymap.BreakLine:
		k, ok = compose.Key{Code: compose.Newline}, true
	case keymap.Recall:
		k, ok = compose.Key{Code: compose.Search}, true
	case keymap.Send:
		k, ok = compose.Key{Code: compose.Enter}, true
	}
	if ok && c.editor.Press(k) == compose.Submitted {
		c.submit()
	}
	return nil
}

// end ends the chat. While the agent works, it has to be asked for twice.
func (c *chat) end(leaving bool) {
	if c.news.Work.Doing != "" && !leaving {
		c.leaving, c.hint = true, "the agent works: ctrl+d once more ends the chat"
		return
	}
	c.driver.End(c.news.Work.Doing != "")
}

// submit sends the text, or queues it.
func (c *chat) submit() {
	text := c.editor.Text()
	c.editor.Reset()
	c.completed = compose.Query{}
	if c.editor.History != nil {
		c.editor.History.Add(strings.TrimSpace(text))
	}
	c.driver.Keep(strings.TrimSpace(text))
	if !c.news.Idle || len(c.queue) > 0 && !c.held {
		c.queue = append(c.queue, text)
		return
	}
	c.held = false
	c.begin(text)
}

// begin sends a prompt and prints it.
func (c *chat) begin(text string) {
	c.news.Idle = false
	c.above = append(c.above, c.promptLines(text)...)
	c.driver.Send(text)
}

// complete asks for the completions of the word at the cursor.
func (c *chat) complete() tea.Cmd {
	q, ok := c.editor.Query()
	if !ok {
		c.completed = compose.Query{}
		return nil
	}
	if q == c.completed {
		return nil
	}
	c.completed = q
	return background(c, func() tea.Msg { return completedMsg{q, c.driver.Complete(c.ctx, q)} })
}

// findSession finds the session of the conversation, to show its rows.
func (c *chat) findSession() tea.Cmd {
	if c.src == nil {
		c.hint = "there are no rows to show"
		return nil
	}
	return background(c, func() tea.Msg {
		info, err := c.driver.Session(c.ctx)
		return sessionMsg{info, err}
	})
}

// showRows shows the conversation's rows above the chat, which keeps running.
func (c *chat) showRows(found sessionMsg) tea.Cmd {
	switch {
	case found.err != nil:
		c.hint = tty.Line(found.err.Error())
		return nil
	case c.inChat(): // the key was pressed twice
		return nil
	}
	c.unfocus()
	return c.push(newSession(c.app, found.info, Place{}))
}

// returned is called when the screen above the chat is closed. A question has to be seen before keys
// are for it.
func (c *chat) returned() tea.Cmd {
	c.write()
	return tea.Batch(c.consider(), c.tick())
}

// An editing is an editor that has the terminal.
type editing func() error

// Run is a method of runner.
func (e editing) Run() error { return e() }

// edit lets the user edit the text in another program.
func (c *chat) edit() tea.Cmd {
	text := c.editor.Text()
	program := func() (runner, error) {
		return editing(func() (err error) {
			text, err = c.driver.Edit(c.ctx, text)
			return err
		}), nil
	}
	return c.hand(c, program, func(err error) tea.Msg { return editedMsg{text, err} })
}
