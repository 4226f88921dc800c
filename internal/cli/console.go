package cli

import (
	"errors"
	"io"
	"os"
)

// A place is a terminal to ask on: stdin and stderr or, where one of them leads
// elsewhere, as in a pipe, the terminal that the program was started from.
type place struct {
	in  io.Reader
	out io.Writer // nil for the screen
}

// console opens that terminal. In tests there is none: they ask nobody.
var console = openConsole

var (
	errNoTerminal = errors.New("there is no terminal to ask on")
	errBackground = errors.New("the program runs in the background, and can't ask")
)

// open finds the place, and checks that somebody can answer there.
func (a *asker) open() error {
	if a.place.in == nil {
		p, err := findPlace(a.streams)
		if err != nil {
			return errNoTerminal
		}
		a.place = p
	}
	if tty, ok := a.place.in.(*os.File); ok && !inForeground(tty) {
		return errBackground
	}
	return nil
}

func findPlace(s Streams) (place, error) {
	in, isFile := s.In.(*os.File)
	typed, seen := isFile && isTerminal(in), isTerminal(s.Err)
	if typed && seen {
		return place{in: in}, nil
	}
	consoleIn, consoleOut, err := console()
	if err != nil {
		return place{}, err
	}
	p := place{in: consoleIn, out: consoleOut}
	if typed {
		p.in = in
	}
	if seen {
		p.out = nil
	}
	return p, nil
}

// coloured reports whether the place may get colours.
func (a *asker) coloured() bool {
	if a.place.out == nil {
		return coloured(a.streams.Err)
	}
	return coloured(a.place.out)
}

// say writes to the place. Errors are ignored: where nobody reads, nobody answers.
func (a *asker) say(text string) {
	if a.place.out == nil {
		a.screen.say(text)
		return
	}
	_, _ = io.WriteString(a.place.out, text)
}
