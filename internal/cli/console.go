package cli

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/clewdev/clew/internal/clikit"
	"github.com/clewdev/clew/internal/termio"
	"github.com/clewdev/clew/internal/tty"
)

// A console is the terminal for questions: stdin and stderr or, if one of them is redirected, the
// terminal that the program was started from.
type console struct {
	in  answerer
	tty *os.File  // the source of in, or nil if somebody else takes care of it
	out io.Writer // nil for the screen
	// size returns the numbers of columns and rows.
	size func() (columns, rows int)
}

// An answerer reads the answers that the user types.
type answerer interface {
	// want discards earlier input, and returns a channel for the next line. The channel is closed
	// if the input ended.
	want() <-chan string
	// awaited reports whether somebody already waits for the next line.
	awaited() bool
}

var (
	errNoTerminal = errors.New("there is no terminal to ask on")
	errBackground = errors.New("the program runs in the background and can't ask")
)

// open finds the console, and checks that the user can answer there.
func (a *questioner) open() error {
	if a.console.in == nil {
		p, err := findConsole(a.streams)
		if err != nil {
			return errNoTerminal
		}
		a.console = p
	}
	if a.console.tty != nil && !termio.InForeground(a.console.tty) {
		return errBackground
	}
	return nil
}

func findConsole(s Streams) (console, error) {
	in, isFile := s.In.(*os.File)
	typed, seen := isFile && clikit.IsTerminal(in), clikit.IsTerminal(s.Err)
	if typed && seen {
		return console{in: newLineSource(in, in), tty: in, size: sizeOf(s.Err)}, nil
	}
	consoleIn, consoleOut, err := termio.Open()
	if err != nil {
		return console{}, err
	}
	p := console{out: consoleOut, size: sizeOf(consoleOut)}
	if !typed {
		in = consoleIn
	}
	p.in, p.tty = newLineSource(in, in), in
	if seen {
		p.out = nil
	}
	return p, nil
}

// sizeOf returns the size of a terminal that questions are written to.
func sizeOf(out io.Writer) func() (columns, rows int) {
	return func() (columns, rows int) {
		if f, ok := out.(*os.File); ok {
			return termio.Size(f)
		}
		return termio.DefaultColumns, termio.DefaultRows
	}
}

// colored reports whether output to the console is colored.
func (a *questioner) colored() bool {
	if a.console.out == nil {
		return a.screen.color
	}
	return clikit.Colored(a.console.out)
}

// say writes to the console. It ignores errors: without output, there will be no answer.
func (a *questioner) say(text string) {
	if a.console.out == nil {
		a.screen.say(text)
		return
	}
	_, _ = io.WriteString(a.console.out, text)
}

// notices holds the state for notifying a user that the screen waits for them. The screen's lock
// guards it.
type notices struct {
	wanted bool
	title  string    // the title of the session, for users who run several
	acted  time.Time // when the user last sent a prompt or an answer
}

// awayAfter is the time after a prompt or an answer until the user counts as away.
const awayAfter = 10 * time.Second

// wantsNotices reports whether notifications are on.
func wantsNotices() bool {
	on, err := strconv.ParseBool(os.Getenv("CLEW_NOTIFY"))
	return err != nil || on
}

// notice returns what makes a terminal notify the user.
func (n *notices) notice(text string) string {
	title := "clew"
	if n.title != "" {
		title += " " + n.title
	}
	return tty.Notification(os.Getenv("TERM"), os.Getenv("TERM_PROGRAM"), title, text)
}

// userActed notes that the user is here.
func (s *screen) userActed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.acted = s.now()
}

// untilAway returns the time until the user counts as away.
func (s *screen) untilAway() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return awayAfter - s.now().Sub(s.acted)
}

// turnEnded notifies a user who is away that it is their turn.
func (s *screen) turnEnded() {
	if s.untilAway() > 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noticeLocked("the turn ended")
}

// noticeLocked notifies the user, if they want that.
func (s *screen) noticeLocked(text string) {
	switch {
	case !s.wanted:
	case s.board != nil:
		s.board.notify(s.notice(text))
	default:
		s.toErr(s.notice(text))
	}
}

// noticeQuestion notifies the user that a question waits for them.
func (s *screen) noticeQuestion() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noticeLocked(questionWaits)
}

// notify notifies the user that a question waits for them.
func (a *questioner) notify() {
	a.screen.mu.Lock()
	defer a.screen.mu.Unlock()
	switch out := a.console.out; {
	case out == nil:
		a.screen.noticeLocked(questionWaits)
	case clikit.IsTerminal(out) && os.Getenv("TERM") != "dumb" && wantsNotices():
		_, _ = io.WriteString(out, a.screen.notice(questionWaits)) // as say does
	}
}

const questionWaits = "a question waits for you"

// A lineSource reads lines only on demand: input that is typed ahead stays in the terminal, which
// can discard it.
type lineSource struct {
	in  *bufio.Reader
	tty *os.File // nil if in is not a terminal

	mu      sync.Mutex
	reading bool
	to      chan<- string // the receiver of the line that is being read
	err     error         // why there are no more lines
}

func newLineSource(in io.Reader, tty *os.File) *lineSource {
	return &lineSource{in: bufio.NewReader(in), tty: tty}
}

func (s *lineSource) want() <-chan string {
	to := make(chan string, 1)
	s.wantFor(to)
	return to
}

// wantFor is like want, for a channel with room for a line. It returns the channel that waited for
// the line until now, or nil.
func (s *lineSource) wantFor(to chan<- string) (instead chan<- string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tty != nil {
		termio.Discard(s.tty)
	}
	if !s.reading && s.tty != nil {
		_, _ = s.in.Discard(s.in.Buffered()) // it can't fail
	}
	return s.sendLocked(to)
}

// send sends the next line, which may be typed already, to a channel with room for it.
func (s *lineSource) send(to chan<- string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sendLocked(to)
}

func (s *lineSource) sendLocked(to chan<- string) (instead chan<- string) {
	if s.err != nil {
		close(to)
		return nil
	}
	if s.reading {
		instead = s.to
	} else {
		go s.read()
	}
	s.reading, s.to = true, to
	return instead
}

func (s *lineSource) awaited() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reading
}

// read reads a line. Nothing can end a read from a terminal, so it may still run when the program
// ends.
func (s *lineSource) read() {
	line, err := s.line()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reading = false
	if err != nil {
		s.err = err
		close(s.to)
		return
	}
	s.to <- line
}

func (s *lineSource) line() (string, error) {
	var line []byte
	for {
		part, err := s.in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxPrompt:
			return "", bufio.ErrTooLong
		case err == nil, errors.Is(err, io.EOF) && len(line) > 0:
			return string(bytes.TrimSuffix(line, []byte("\n"))), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return "", err
		}
	}
}

// failure returns the error that ended the input, or nil for a normal end.
func (s *lineSource) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if errors.Is(s.err, io.EOF) {
		return nil
	}
	return s.err
}
