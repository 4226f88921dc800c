package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/term"

	"github.com/clewdev/clew/internal/lineedit"
	"github.com/clewdev/clew/internal/tty"
)

// A terminalUser is a user at a terminal, which is in raw mode after begin. Keys go to an open
// question or to the editor. While a turn runs, they wait, except for Ctrl-C and Escape, which
// interrupt.
type terminalUser struct {
	chat       *chat
	in         *os.File
	display    *lineedit.Display
	history    *lineedit.History
	questioner *questioner
	begun      bool         // the first prompt has been asked for
	asked      atomic.Int64 // how often an answer was wanted

	mu        sync.Mutex
	editor    *lineedit.Editor // nil while a turn runs
	entered   chan lineedit.Event
	typed     []lineedit.Key // since the editor was closed
	interrupt func()         // nil while nothing runs
	stopping  bool           // interrupt was called
	withdraw  func()         // ends the open question, or nil
	answer    chan string    // gets the answer to the question; nil before it is shown, and once it is answered
	line      []rune         // the incomplete answer
	gone      bool           // the terminal can't be read any more
}

// maxTyped is the number of keys that wait while a turn runs.
const maxTyped = 4096

func newTerminalUser(ctx context.Context, s Streams, c *chat) *terminalUser {
	in := s.In.(*os.File) //nolint:forcetypeassert // it is a terminal
	c.screen.raw(s)
	u := &terminalUser{chat: c, in: in, entered: make(chan lineedit.Event, 1)}
	u.questioner = newQuestioner(ctx, s, c.screen)
	u.questioner.console = console{in: u, size: u.size}
	u.questioner.claim = u.claim
	u.display = &lineedit.Display{Out: s.Err, Size: u.size, Color: colored(s.Err)}
	return u
}

func (u *terminalUser) size() (columns, rows int) { return terminalSize(u.in) }

// begin puts the terminal into raw mode.
func (u *terminalUser) begin() (end func(), err error) {
	u.history = openChatHistory()
	fd := int(u.in.Fd())
	before, err := term.MakeRaw(fd)
	if err != nil {
		return nil, &failure{code: exitInput, err: err}
	}
	u.display.Begin()
	stop := onResize(u.redraw)
	go u.read()
	return func() {
		stop()
		u.hangUp()
		u.leave()
		u.display.End()
		_ = term.Restore(fd, before) // there is nothing else to try
	}, nil
}

// read reads keys. It may still run when the chat ends: nothing can end a read from a terminal.
func (u *terminalUser) read() {
	_ = lineedit.ReadKeys(u.in, u.press) // every error ends the input
	u.hangUp()
}

// hangUp ends the input.
func (u *terminalUser) hangUp() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.gone = true
	u.enter(lineedit.Ended)
	if u.answer != nil {
		close(u.answer)
		u.answer = nil
	}
}

// next lets the user edit a prompt.
func (u *terminalUser) next(ctx context.Context, proposal string) (string, error) {
	u.chat.updateContext(ctx)
	u.questioner.waitForAnswer()
	u.chat.screen.resize(u.size())
	if err := u.chat.screen.newLine(); err != nil {
		return "", &writeError{err}
	}
	if u.begun {
		u.chat.screen.say("\n")
	}
	if !u.begun {
		u.chat.greet()
	}
	u.begun = true
	editor := &lineedit.Editor{Header: u.chat.status.line(), Complete: u.chat.complete, History: u.history}
	editor.SetText(proposal)
	u.open(editor)
	defer u.leave()
	select {
	case event := <-u.entered:
		if event == lineedit.Ended {
			return "", io.EOF
		}
	case <-ctx.Done():
		return "", ctx.Err()
	}
	text := editor.Text()
	_ = u.history.Add(strings.TrimSpace(text)) // the chat works without a history
	return text, nil
}

// open shows an editor, and passes it the keys that were typed before.
func (u *terminalUser) open(e *lineedit.Editor) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.editor = e
	if u.withdraw == nil {
		u.display.Draw(e)
	}
	if u.gone {
		u.enter(lineedit.Ended)
	}
	u.retype()
}

// retype passes the keys that have waited to the editor, unless there is a question.
func (u *terminalUser) retype() {
	if u.withdraw != nil {
		return
	}
	typed := u.typed
	u.typed = nil
	for _, key := range typed {
		u.route(key, false)
	}
}

// leave closes the editor, if it is open.
func (u *terminalUser) leave() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.editor != nil {
		u.display.Erase()
		u.editor = nil
	}
}

// press handles keys that arrived together. They answer only a question that was there when they
// arrived, and not one that came while they waited for their turn here.
func (u *terminalUser) press(keys []lineedit.Key) {
	asked := u.asked.Load()
	u.mu.Lock()
	defer u.mu.Unlock()
	answers := asked == u.asked.Load()
	for _, key := range keys {
		u.route(key, answers)
	}
}

// route passes a key to the question, the editor or the turn. Keys that answer nothing wait while
// there is a question.
func (u *terminalUser) route(key lineedit.Key, answers bool) {
	switch {
	case u.withdraw != nil && (stops(key) || answers && u.answer != nil):
		u.reply(key)
	case u.editor != nil && u.withdraw == nil:
		u.edit(key)
	case stops(key) && u.interrupt != nil:
		u.interruptBy(key)
	case len(u.typed) < maxTyped && key.Code != lineedit.Escape:
		u.typed = append(u.typed, key)
	}
}

func stops(key lineedit.Key) bool {
	return key.Code == lineedit.Interrupt || key.Code == lineedit.Escape
}

// interruptBy interrupts what runs. Only Ctrl-C does so again, which ends the chat.
func (u *terminalUser) interruptBy(key lineedit.Key) {
	if key.Code == lineedit.Escape && u.stopping {
		return
	}
	u.stopping = true
	u.interrupt()
}

func (u *terminalUser) edit(key lineedit.Key) {
	if key.Code == lineedit.Redraw {
		u.display.Clear()
	}
	switch event := u.editor.Press(key); event {
	case lineedit.Submitted:
		u.display.Finish(u.editor)
		u.enter(event)
	case lineedit.Ended:
		u.enter(event)
	default:
		u.display.Draw(u.editor)
	}
}

// enter closes the editor with an event. Later keys wait.
func (u *terminalUser) enter(event lineedit.Event) {
	if u.editor == nil {
		return
	}
	if event == lineedit.Ended {
		u.display.Erase()
	}
	u.editor = nil
	u.entered <- event
}

func (u *terminalUser) redraw() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.editor != nil && u.withdraw == nil {
		u.display.Draw(u.editor)
	}
}

func (u *terminalUser) onInterrupt(interrupt func()) (over func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.interrupt, u.stopping = interrupt, false
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.interrupt = nil
	}
}

func (u *terminalUser) questions() *questioner { return u.questioner }

// claim reserves the terminal for a question, even while the editor is open. Ctrl-C and Escape end
// the question and interrupt the turn.
func (u *terminalUser) claim(ctx context.Context) (asked context.Context, leave func()) {
	asked, cancel := context.WithCancelCause(ctx)
	u.ask(func() { cancel(errUserStopped) })
	return asked, func() {
		if errors.Is(context.Cause(asked), errUserStopped) {
			u.stop()
		}
		cancel(nil)
		u.ask(nil)
	}
}

// stop interrupts a running turn.
func (u *terminalUser) stop() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.interrupt != nil {
		u.interruptBy(lineedit.Key{Code: lineedit.Interrupt})
	}
}

// ask opens a question, or with nil closes it and shows the editor again.
func (u *terminalUser) ask(withdraw func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.withdraw, u.answer, u.line = withdraw, nil, nil
	switch {
	case u.editor == nil:
	case withdraw != nil:
		u.display.Erase()
	default:
		u.display.Draw(u.editor)
		u.retype()
	}
}

// want makes the keys from now on the answer to the question that is on the screen.
func (u *terminalUser) want() <-chan string {
	u.mu.Lock()
	defer u.mu.Unlock()
	discardInput(u.in)
	u.asked.Add(1)
	to := make(chan string, 1)
	if u.gone {
		close(to)
		return to
	}
	u.answer, u.line = to, nil
	return to
}

// awaited reports false: keys before a question are for the editor.
func (u *terminalUser) awaited() bool { return false }

// reply edits the answer to a question.
func (u *terminalUser) reply(key lineedit.Key) {
	switch key.Code {
	case lineedit.Interrupt, lineedit.Escape:
		u.withdraw()
	case lineedit.Enter:
		u.chat.screen.say("\n")
		u.answer <- string(u.line)
		u.answer, u.line = nil, nil
	case lineedit.Rune:
		u.extend(string(key.Rune))
	case lineedit.Paste:
		u.extend(strings.ReplaceAll(key.Text, "\n", " "))
	case lineedit.Backspace:
		if n := len(u.line); n > 0 {
			u.chat.screen.say(wiped(tty.Clean(string(u.line[n-1]))))
			u.line = u.line[:n-1]
		}
	}
}

func (u *terminalUser) extend(text string) {
	u.line = append(u.line, []rune(text)...)
	u.chat.screen.say(tty.Clean(text))
}

// wiped returns the output that erases a text before the cursor.
func wiped(text string) string {
	return strings.Repeat("\b \b", tty.Width(text))
}

// openChatHistory returns the prompts of other chats. If their file is missing or can't be read,
// the history is empty and is not saved.
func openChatHistory() *lineedit.History {
	path, err := stateFile("history")
	if err != nil {
		return new(lineedit.History)
	}
	history, err := lineedit.OpenHistory(path)
	if err != nil {
		return new(lineedit.History)
	}
	return history
}

// A lineReader is a user whose prompts are the lines of stdin: a pipe, or a dumb terminal, which
// also answers questions.
type lineReader struct {
	screen     *screen
	questioner *questioner
	in         *input
	typed      bool // at a terminal
	lines      *lineSource

	mu       sync.Mutex
	asking   bool          // a question is open
	prompted chan<- string // gets the next prompt, or nil
	unread   bool          // no line is read for the prompt, because of a question
}

func newLineReader(ctx context.Context, s Streams, scr *screen) (*lineReader, error) {
	in, err := newInput(ctx, "stdin", s.In)
	if err != nil {
		return nil, err
	}
	r := &lineReader{screen: scr, in: in, typed: isTerminal(s.In) && isTerminal(s.Err)}
	r.questioner = newQuestioner(ctx, s, scr)
	r.lines = newLineSource(in, nil)
	if r.typed {
		r.lines.tty, _ = s.In.(*os.File)
		r.questioner.console = console{in: r, tty: r.lines.tty, size: sizeOf(s.Err)}
		r.questioner.claim = r.claim
	}
	return r, nil
}

func (r *lineReader) begin() (end func(), err error) { return func() {}, nil }

func (r *lineReader) next(ctx context.Context, _ string) (string, error) {
	var text strings.Builder
	for {
		lines := make(chan string, 1)
		r.prompt(lines)
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case line, more := <-lines:
			r.prompt(nil)
			if !more {
				return r.last(text.String())
			}
			line, joined := strings.CutSuffix(strings.TrimSuffix(line, "\r"), `\`)
			text.WriteString(line)
			switch {
			case text.Len() > maxPrompt:
				return "", errPromptTooLong()
			case joined:
				text.WriteByte('\n')
			case strings.TrimSpace(text.String()) != "":
				return strings.ToValidUTF8(text.String(), "\uFFFD"), nil
			default:
				text.Reset()
			}
		}
	}
}

// prompt makes the next line a prompt, once no question is open. With nil, the prompt is there.
func (r *lineReader) prompt(to chan<- string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.prompted, r.unread = to, to != nil
	r.resume()
}

// resume reads a line for the prompt, unless there is a question or somebody does.
func (r *lineReader) resume() {
	if r.asking || !r.unread {
		return
	}
	r.unread = false
	if r.typed {
		r.screen.say("> ")
	}
	r.lines.send(r.prompted)
}

// last returns an unfinished prompt at the end of the input, or an error.
func (r *lineReader) last(text string) (string, error) {
	err := r.lines.failure()
	switch {
	case errors.Is(err, bufio.ErrTooLong):
		return "", errPromptTooLong()
	case err != nil:
		return "", &failure{code: exitInput, err: r.in.readError(err)}
	case strings.TrimSpace(text) != "":
		return strings.ToValidUTF8(text, "\uFFFD"), nil
	}
	return "", io.EOF
}

// onInterrupt does nothing: without raw mode, an interrupt ends the chat.
func (r *lineReader) onInterrupt(func()) (over func()) { return func() {} }

func (r *lineReader) questions() *questioner { return r.questioner }

// claim makes typed lines answer a question. A prompt waits.
func (r *lineReader) claim(ctx context.Context) (asked context.Context, leave func()) {
	r.ask(true)
	return ctx, func() { r.ask(false) }
}

func (r *lineReader) ask(asking bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asking = asking
	r.resume()
}

// want takes the next line away from a prompt that waits for it.
func (r *lineReader) want() <-chan string {
	r.mu.Lock()
	defer r.mu.Unlock()
	to := make(chan string, 1)
	if instead := r.lines.wantFor(to); instead != nil && instead == r.prompted {
		r.unread = true
	}
	return to
}

func (r *lineReader) awaited() bool { return r.lines.awaited() }

// raw prepares the screen for a terminal in raw mode, which needs a carriage return before each
// line feed.
func (s *screen) raw(streams Streams) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = rawWriter{s.err}
	if isTerminal(streams.Out) {
		s.out = rawWriter{s.out}
	}
}

// resize changes the width of lines.
func (s *screen) resize(columns, _ int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.width = columns
}

// A rawWriter writes a carriage return before each line feed.
type rawWriter struct{ w io.Writer }

func (r rawWriter) Write(p []byte) (int, error) {
	if _, err := r.w.Write(bytes.ReplaceAll(p, []byte("\n"), []byte("\r\n"))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// The size of a terminal that does not tell its own.
const defaultColumns, defaultRows = 80, 24

// terminalSize returns the numbers of columns and rows of a terminal.
func terminalSize(f *os.File) (columns, rows int) {
	columns, rows, err := term.GetSize(int(f.Fd()))
	if err != nil || columns <= 0 {
		columns = defaultColumns
	}
	if err != nil || rows <= 0 {
		rows = defaultRows
	}
	return columns, rows
}
