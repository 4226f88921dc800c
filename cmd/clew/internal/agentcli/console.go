package agentcli

import (
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/termio"
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

func findConsole(s clikit.Streams) (console, error) {
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
	return func() (columns, rows int) { return clikit.ScreenSize(out) }
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
	case clikit.Redraws(out) && wantsNotices():
		_, _ = io.WriteString(out, a.screen.notice(questionWaits)) // as say does
	}
}

const questionWaits = "a question waits for you"

// AskYes asks on the terminal for a yes or a no, which is the default. It returns an error if nobody
// can be asked.
func AskYes(ctx context.Context, s clikit.Streams, text, prompt string) (yes bool, err error) {
	for ask := newAsker(s); ; text = "" {
		line, err := ask(ctx, text, prompt)
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return true, err
		case "n", "no", "":
			if errors.Is(err, errInputEnded) {
				err = nil
			}
			return false, err
		}
		if errors.Is(err, errInputEnded) {
			return false, ctx.Err()
		}
		if err != nil {
			return false, err
		}
	}
}

// newAsker returns a function that shows a text and a prompt on the terminal, and returns the typed
// line. It returns an error if nobody can be asked, or if the input ended.
func newAsker(s clikit.Streams) func(ctx context.Context, text, prompt string) (line string, err error) {
	var c console
	return func(ctx context.Context, text, prompt string) (string, error) {
		if c.in == nil {
			found, err := findConsole(s)
			if err != nil {
				return "", errNoTerminal
			}
			c = found
		}
		if !termio.InForeground(c.tty) {
			return "", errBackground
		}
		out := c.out
		if out == nil {
			out = s.Err
		}
		if _, err := io.WriteString(out, text); err != nil {
			return "", err
		}
		lines := c.in.want()
		if _, err := io.WriteString(out, prompt); err != nil {
			return "", err
		}
		select {
		case line, more := <-lines:
			if !more {
				return line, errInputEnded
			}
			return line, nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}
