package clikit

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/clewdev/clew/cmd/clew/internal/termio"
)

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Dumb reports whether TERM is dumb or, except on Windows, not set: a terminal that can't move its cursor.
func Dumb() bool { return dumb(os.Getenv("TERM")) }

func dumb(kind string) bool { return kind == "dumb" || kind == "" && runtime.GOOS != "windows" }

// Redraws reports whether a stream is a terminal whose lines can be drawn again.
func Redraws(stream any) bool { return IsTerminal(stream) && !Dumb() }

// TerminalWidth returns the number of columns of a terminal.
func TerminalWidth(stream any) int {
	if f, ok := stream.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return termio.DefaultColumns
}

// colorChoices are the values of --color and of the setting color.
var colorChoices = []string{"auto", "always", "never"}

// A ColorFlag is the value of --color, or "" if it was not given.
type ColorFlag string

// GivenColor is the value of --color. Like the variables about color it is one of the process, so
// that an error about the other flags has its color as well.
var GivenColor ColorFlag

// AddColorFlag adds --color to all commands.
func AddColorFlag(root *cobra.Command) {
	root.PersistentFlags().Var(&GivenColor, "color", "use color: auto (on a terminal), always or never")
	CompleteFlag(root, "color", CompleteList(colorChoices))
}

// Type names the value in the help.
func (c *ColorFlag) Type() string { return "when" }

func (c *ColorFlag) String() string { return string(*c) }

// Set reads one of the choices.
func (c *ColorFlag) Set(text string) error {
	if !slices.Contains(colorChoices, text) {
		return errors.New("must be auto, always or never")
	}
	*c = ColorFlag(text)
	return nil
}

// Colored reports whether output to a stream is colored.
func Colored(stream any) bool {
	color, _ := DecideColor(GivenColor, os.Getenv, IsTerminal(stream))
	return color
}

// DecideColor reports whether output has colors, and names the reason: a flag, a setting or a
// variable, or "" for the terminal itself.
func DecideColor(flag ColorFlag, getenv func(string) string, terminal bool) (color bool, by string) {
	choice, by := getenv("CLEW_COLOR"), "the setting color"
	if flag != "" {
		choice, by = string(flag), "--color"
	}
	if choice == "always" || choice == "never" {
		return choice == "always", by
	}
	if getenv("NO_COLOR") != "" {
		return false, "NO_COLOR"
	}
	for _, name := range []string{"CLICOLOR_FORCE", "FORCE_COLOR"} {
		if value := getenv(name); value != "" && value != "0" {
			return true, name
		}
	}
	if getenv("CLICOLOR") == "0" {
		return false, "CLICOLOR"
	}
	return terminal && !dumb(getenv("TERM")), ""
}

// TextWidth returns the width for text: the terminal's or, without a terminal, COLUMNS or
// otherwise.
func TextWidth(stream any, otherwise int) int {
	if IsTerminal(stream) {
		return TerminalWidth(stream)
	}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	return otherwise
}
