package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// A style is how a character looks.
type style struct {
	bold, dim bool
	colour    int // 0 is the terminal's own; 30 to 37 and 90 to 97 are those of the escape sequences
}

// A cell is one place of a terminal; the zero rune is a blank.
type cell struct {
	char rune
	style
}

// A terminal keeps what is on a screen. It knows what the program writes, and no more: anything else is an error.
type terminal struct {
	lines    [][]cell
	row, col int
	style    style
}

func newTerminal() *terminal {
	t := new(terminal)
	for range rows {
		t.lines = append(t.lines, make([]cell, columns))
	}
	return t
}

// escape is a control sequence at the beginning of a text.
var escape = regexp.MustCompile(`^\x1b\[([0-9;]*)([A-Za-z])`)

// write shows text.
func (t *terminal) write(text string) error {
	for text != "" {
		if text[0] == '\x1b' {
			found := escape.FindStringSubmatch(text)
			if found == nil {
				return fmt.Errorf("no escape sequence that is known here: %.20q", text)
			}
			if err := t.obey(found[1], found[2]); err != nil {
				return err
			}
			text = text[len(found[0]):]
			continue
		}
		for i, char := range text {
			if char == '\x1b' {
				text = text[i:]
				break
			}
			t.put(char)
			if i+len(string(char)) == len(text) {
				text = ""
			}
		}
	}
	return nil
}

// put shows a character.
func (t *terminal) put(char rune) {
	switch char {
	case '\r':
		t.col = 0
	case '\n':
		t.down()
	default:
		if t.col == columns {
			t.col = 0
			t.down()
		}
		t.lines[t.row][t.col] = cell{char, t.style}
		t.col++
	}
}

// down goes to the next line, and scrolls behind the last one.
func (t *terminal) down() {
	if t.row < rows-1 {
		t.row++
		return
	}
	copy(t.lines, t.lines[1:])
	t.lines[rows-1] = make([]cell, columns)
}

// obey does what an escape sequence says.
func (t *terminal) obey(args, command string) error {
	switch command {
	case "m":
		for arg := range strings.SplitSeq(args, ";") {
			if err := t.restyle(arg); err != nil {
				return err
			}
		}
	case "K":
		from := t.col
		if args == "2" {
			from = 0
		}
		clear(t.lines[t.row][min(from, columns):])
	case "A":
		n, err := strconv.Atoi(args)
		if err != nil {
			n = 1
		}
		t.row = max(t.row-n, 0)
	default:
		return fmt.Errorf("an escape sequence that is not known here: %s%s", args, command)
	}
	return nil
}

func (t *terminal) restyle(arg string) error {
	n, err := strconv.Atoi(arg)
	switch {
	case arg == "" || n == 0 && err == nil:
		t.style = style{}
	case n == 1:
		t.style.bold = true
	case n == 2:
		t.style.dim = true
	case n == 22:
		t.style.bold, t.style.dim = false, false
	case n >= 30 && n <= 37, n >= 90 && n <= 97:
		t.style.colour = n
	case n == 39:
		t.style.colour = 0
	default:
		return fmt.Errorf("a style that is not known here: %s", arg)
	}
	return nil
}
