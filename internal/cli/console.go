package cli

import (
	"errors"
	"io"
	"os"
)

// A console is a terminal to ask on: stdin and stderr or, where one of them leads
// elsewhere, as in a pipe, the terminal that the program was started from.
type console struct {
	in  io.Reader
	out io.Writer // nil for the screen
}

// openConsole opens that terminal. In tests there is none: they ask nobody.
var openConsole = openSystemConsole

var (
	errNoTerminal = errors.New("there is no terminal to ask on")
	errBackground = errors.New("the program runs in the background, and can't ask")
)

// open finds the place, and checks that somebody can answer there.
func (a *questioner) open() error {
	if a.console.in == nil {
		p, err := findConsole(a.streams)
		if err != nil {
			return errNoTerminal
		}
		a.console = p
	}
	if tty, ok := a.console.in.(*os.File); ok && !inForeground(tty) {
		return errBackground
	}
	return nil
}

func findConsole(s Streams) (console, error) {
	in, isFile := s.In.(*os.File)
	typed, seen := isFile && isTerminal(in), isTerminal(s.Err)
	if typed && seen {
		return console{in: in}, nil
	}
	consoleIn, consoleOut, err := openConsole()
	if err != nil {
		return console{}, err
	}
	p := console{in: consoleIn, out: consoleOut}
	if typed {
		p.in = in
	}
	if seen {
		p.out = nil
	}
	return p, nil
}

// coloured reports whether the place may get colours.
func (a *questioner) colored() bool {
	if a.console.out == nil {
		return colored(a.streams.Err)
	}
	return colored(a.console.out)
}

// say writes to the place. Errors are ignored: where nobody reads, nobody answers.
func (a *questioner) say(text string) {
	if a.console.out == nil {
		a.screen.say(text)
		return
	}
	_, _ = io.WriteString(a.console.out, text)
}
