package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A style is the style of a character.
type style struct {
	bold, dim, italic, underlined bool

	color int // 0 is the terminal's default; 30 to 37 and 90 to 97 are as in escape sequences
}

// A cell is one character of a terminal; the zero rune is a space.
type cell struct {
	char rune
	style
}

// A terminal keeps the content of a screen. It knows the escape sequences that the program writes;
// others are an error.
type terminal struct {
	lines    [][]cell
	row, col int
	style    style
	cut      string // the beginning of a sequence whose rest has not come yet
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

// command is an operating system command at the beginning of a text: a notification or a link, which
// a picture does not have.
var command = regexp.MustCompile(`^\x1b\][^\x07\x1b]*(\x07|\x1b\\)`)

// unfinished is a control sequence or a command that may go on.
var unfinished = regexp.MustCompile(`^\x1b(\[[0-9;]*|\][^\x07\x1b]*\x1b?)?$`)

// write writes text to the screen, which comes in pieces.
func (t *terminal) write(text string) error {
	text, t.cut = t.cut+text, ""
	for n := range min(len(text), utf8.UTFMax) {
		if start := len(text) - 1 - n; utf8.RuneStart(text[start]) {
			if !utf8.FullRuneInString(text[start:]) {
				text, t.cut = text[:start], text[start:]
			}
			break
		}
	}
	for text != "" {
		if text[0] == '\x1b' {
			if unfinished.MatchString(text) {
				t.cut = text + t.cut
				return nil
			}
			if ignored := command.FindString(text); ignored != "" {
				text = text[len(ignored):]
				continue
			}
			found := escape.FindStringSubmatch(text)
			if found == nil {
				return fmt.Errorf("unknown escape sequence: %.20q", text)
			}
			if err := t.control(found[1], found[2]); err != nil {
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

// put writes a character to the screen.
func (t *terminal) put(char rune) {
	switch char {
	case '\a':
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

// down moves to the next line, and scrolls after the last one.
func (t *terminal) down() {
	if t.row < rows-1 {
		t.row++
		return
	}
	copy(t.lines, t.lines[1:])
	t.lines[rows-1] = make([]cell, columns)
}

// control carries out an escape sequence.
func (t *terminal) control(args, command string) error {
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
		return fmt.Errorf("unknown escape sequence: %s%s", args, command)
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
	case n == 3:
		t.style.italic = true
	case n == 4 || n == 7: // what is reversed is underlined in a picture
		t.style.underlined = true
	case n == 22:
		t.style.bold, t.style.dim = false, false
	case n >= 30 && n <= 37, n >= 90 && n <= 97:
		t.style.color = n
	case n == 39:
		t.style.color = 0
	default:
		return fmt.Errorf("unknown style: %s", arg)
	}
	return nil
}
