package cli

import (
	"errors"
	"io"
	"os"
)

// A console is the terminal for questions: stdin and stderr or, if one of them is redirected, the
// terminal that the program was started from.
type console struct {
	in  io.Reader
	out io.Writer // nil for the screen
}

// openConsole opens the controlling terminal. Tests replace it, since they have none.
var openConsole = openSystemConsole

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

// colored reports whether output to the console is colored.
func (a *questioner) colored() bool {
	if a.console.out == nil {
		return colored(a.streams.Err)
	}
	return colored(a.console.out)
}

// say writes to the console. It ignores errors: without output, there will be no answer.
func (a *questioner) say(text string) {
	if a.console.out == nil {
		a.screen.say(text)
		return
	}
	_, _ = io.WriteString(a.console.out, text)
}
