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
	"github.com/clewdev/clew/internal/render"
)

// A terminalUser is a user at a terminal, which is in raw mode after begin. Keys go to an open
// question or to the editor. While a turn runs, they wait, except for Ctrl-C, which interrupts.
type terminalUser struct {
	chat       *chat
	in         *os.File
	display    *lineedit.Display
	history    *lineedit.History
	questioner *questioner
	answers    *answers
	begun      bool // the first prompt has been asked for

	mu        sync.Mutex
	editor    *lineedit.Editor // nil while a turn runs
	entered   chan lineedit.Event
	typed     []lineedit.Key // since the editor was closed
	interrupt func()         // nil while nothing runs
	withdraw  func()         // ends the open question, or nil
	line      []rune         // the incomplete answer to the question
	gone      bool           // the terminal can't be read any more
}

// maxTyped is the number of keys that wait while a turn runs.
const maxTyped = 4096

func newTerminalUser(ctx context.Context, s Streams, c *chat) *terminalUser {
	in := s.In.(*os.File) //nolint:forcetypeassert // it is a terminal
	c.screen.raw(s)
	u := &terminalUser{chat: c, in: in, answers: newAnswers(), entered: make(chan lineedit.Event, 1)}
	u.questioner = newQuestioner(ctx, s, c.screen)
	u.questioner.console.in, u.questioner.claim = u.answers, u.claim
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
		u.answers.close()
		u.leave()
		u.display.End()
		_ = term.Restore(fd, before) // there is nothing else to try
	}, nil
}

// read reads keys. It may still run when the chat ends: nothing can end a read from a terminal.
func (u *terminalUser) read() {
	_ = lineedit.ReadKeys(u.in, u.press) // every error ends the input
	u.mu.Lock()
	defer u.mu.Unlock()
	u.gone = true
	u.enter(lineedit.Ended)
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
	typed := u.typed
	u.typed = nil
	for _, key := range typed {
		u.route(key)
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

// press handles keys that arrived together. None of them answers a question that another one of
// them has led to.
func (u *terminalUser) press(keys []lineedit.Key) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, key := range keys {
		u.route(key)
	}
}

// route passes a key to the question, the editor or the turn.
func (u *terminalUser) route(key lineedit.Key) {
	switch {
	case u.withdraw != nil:
		u.reply(key)
	case u.editor != nil:
		u.edit(key)
	case key.Code == lineedit.Interrupt && u.interrupt != nil:
		u.interrupt()
	case len(u.typed) < maxTyped:
		u.typed = append(u.typed, key)
	}
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
	u.interrupt = interrupt
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.interrupt = nil
	}
}

func (u *terminalUser) questions() *questioner { return u.questioner }

// claim reserves the terminal for a question, even while the editor is open. Ctrl-C ends the
// question and interrupts the turn.
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
		u.interrupt()
	}
}

// ask opens a question, or with nil closes it and shows the editor again.
func (u *terminalUser) ask(withdraw func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.withdraw, u.line = withdraw, nil
	u.answers.drop()
	switch {
	case u.editor == nil:
	case withdraw != nil:
		u.display.Erase()
	default:
		u.display.Draw(u.editor)
	}
}

// reply edits the answer to a question.
func (u *terminalUser) reply(key lineedit.Key) {
	switch key.Code {
	case lineedit.Interrupt:
		u.withdraw()
	case lineedit.Enter:
		u.chat.screen.say("\n")
		u.answers.add(string(u.line))
		u.line = nil
	case lineedit.Rune:
		u.extend(string(key.Rune))
	case lineedit.Paste:
		u.extend(strings.ReplaceAll(key.Text, "\n", " "))
	case lineedit.Backspace:
		if n := len(u.line); n > 0 {
			u.chat.screen.say(wiped(render.Clean(string(u.line[n-1]))))
			u.line = u.line[:n-1]
		}
	}
}

func (u *terminalUser) extend(text string) {
	u.line = append(u.line, []rune(text)...)
	u.chat.screen.say(render.Clean(text))
}

// wiped returns the output that erases a text before the cursor.
func wiped(text string) string {
	return strings.Repeat("\b \b", render.Width(text))
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

// A lineReader is a user whose prompts are the lines of stdin: a pipe, or a dumb terminal.
type lineReader struct {
	ctx        context.Context // of the chat
	screen     *screen
	questioner *questioner
	in         *input
	typed      bool // at a terminal, which also answers questions
	answers    *answers
	asking     atomic.Bool // a question is open

	lines chan string // closed at the end of the input
	err   error       // of the input, once lines is closed
}

func newLineReader(ctx context.Context, s Streams, scr *screen) (*lineReader, error) {
	in, err := newInput(ctx, "stdin", s.In)
	if err != nil {
		return nil, err
	}
	r := &lineReader{ctx: ctx, screen: scr, in: in, lines: make(chan string), answers: newAnswers()}
	r.typed = isTerminal(s.In) && isTerminal(s.Err)
	r.questioner = newQuestioner(ctx, s, scr)
	if r.typed {
		r.questioner.console.in, r.questioner.claim = r.answers, r.claim
	}
	return r, nil
}

func (r *lineReader) begin() (end func(), err error) {
	go r.read()
	return r.answers.close, nil
}

// read sends lines to an open question, or to next.
func (r *lineReader) read() {
	defer close(r.lines)
	lines := bufio.NewScanner(r.in)
	lines.Buffer(nil, maxPrompt)
	for lines.Scan() {
		if r.typed && r.asking.Load() {
			r.answers.add(lines.Text())
			continue
		}
		select {
		case r.lines <- lines.Text():
		case <-r.ctx.Done():
			return
		}
	}
	r.err = lines.Err()
}

func (r *lineReader) next(ctx context.Context, _ string) (string, error) {
	var text strings.Builder
	for {
		if r.typed {
			r.screen.say("> ")
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case line, more := <-r.lines:
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

// last returns an unfinished prompt at the end of the input, or an error.
func (r *lineReader) last(text string) (string, error) {
	switch {
	case errors.Is(r.err, bufio.ErrTooLong):
		return "", errPromptTooLong()
	case r.err != nil:
		return "", &failure{code: exitInput, err: r.in.readError(r.err)}
	case strings.TrimSpace(text) != "":
		return strings.ToValidUTF8(text, "\uFFFD"), nil
	}
	return "", io.EOF
}

// onInterrupt does nothing: without raw mode, an interrupt ends the chat.
func (r *lineReader) onInterrupt(func()) (over func()) { return func() {} }

func (r *lineReader) questions() *questioner { return r.questioner }

// claim makes typed lines answer a question.
func (r *lineReader) claim(ctx context.Context) (asked context.Context, leave func()) {
	r.asking.Store(true)
	return ctx, func() { r.asking.Store(false) }
}

// answers is a reader of the lines that answer questions.
type answers struct {
	lines chan string
	rest  []byte
	done  chan struct{}
	close func() // ends the reader
}

func newAnswers() *answers {
	a := &answers{lines: make(chan string, 16), done: make(chan struct{})}
	a.close = sync.OnceFunc(func() { close(a.done) })
	return a
}

// add adds a line, unless too many unused lines wait.
func (a *answers) add(line string) {
	select {
	case a.lines <- line + "\n":
	default:
	}
}

// drop discards the waiting lines.
func (a *answers) drop() {
	for {
		select {
		case <-a.lines:
		default:
			return
		}
	}
}

func (a *answers) Read(p []byte) (int, error) {
	if len(a.rest) == 0 {
		select {
		case line := <-a.lines:
			a.rest = []byte(line)
		case <-a.done:
			return 0, io.EOF
		}
	}
	n := copy(p, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}

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

// terminalSize returns the numbers of columns and rows of a terminal.
func terminalSize(f *os.File) (columns, rows int) {
	columns, rows, err := term.GetSize(int(f.Fd()))
	if err != nil || columns <= 0 || rows <= 0 {
		return 80, 24
	}
	return columns, rows
}
