package termtest

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// obey takes what is whole from the pending bytes.
func (t *Terminal) obey() {
	for len(t.pending) > 0 {
		n := t.take(t.pending)
		if n == 0 {
			return
		}
		t.pending = t.pending[n:]
	}
	t.pending = nil
}

// take obeys the first character or sequence, and returns its length, or 0 if it is not whole.
func (t *Terminal) take(p []byte) int {
	switch {
	case p[0] == '\x1b':
		return t.escape(p)
	case p[0] < ' ' || p[0] == '\x7f':
		t.control(p[0])
		return 1
	case !utf8.FullRune(p):
		return 0
	}
	r, size := utf8.DecodeRune(p)
	t.keep(t.screen().put(r, t.modes.Wrap))
	return size
}

// keep adds lines to the scrollback, if they left the main screen.
func (t *Terminal) keep(gone []line) {
	if !t.modes.AltScreen {
		t.scrollback = append(t.scrollback, gone...)
	}
}

func (t *Terminal) control(c byte) {
	s := t.screen()
	switch c {
	case '\r':
		s.move(0, s.y)
	case '\n', '\v', '\f':
		t.keep(s.feed())
	case '\b':
		s.move(s.x-1, s.y)
	case '\t':
		s.move((s.x/8+1)*8, s.y)
	case '\a':
		t.bells++
	case 0:
	default:
		t.unknown = append(t.unknown, string(rune(c)))
	}
}

// escape obeys the sequence at the beginning of p.
func (t *Terminal) escape(p []byte) int {
	if len(p) < 2 {
		return 0
	}
	s := t.screen()
	switch p[1] {
	case '[':
		return t.csi(p)
	case ']', 'P', '_', '^', 'X':
		return t.stringSequence(p)
	case '(', ')':
		if len(p) < 3 {
			return 0
		}
		return 3 // sets of characters: everything is UTF-8
	case '7':
		s.save()
	case '8':
		s.restore()
	case 'M':
		if s.y == s.top {
			s.scrollDown(1)
		} else {
			s.move(s.x, s.y-1)
		}
	case 'c':
		t.reset()
	case '=', '>', '\\':
	default:
		t.unknown = append(t.unknown, string(p[:2]))
	}
	return 2
}

// reset returns to the state of a new terminal. The scrollback stays.
func (t *Terminal) reset() {
	t.main, t.alt = newScreen(t.columns, t.rows), newScreen(t.columns, t.rows)
	t.modes, t.keyboard = Modes{Cursor: true, Wrap: true}, nil
}

func (s *screen) save() { s.savedX, s.savedY, s.savedStyle = s.x, s.y, s.style }

func (s *screen) restore() {
	s.move(s.savedX, s.savedY)
	s.style = s.savedStyle
}

// stringSequence obeys a sequence that ends in BEL or ESC \.
func (t *Terminal) stringSequence(p []byte) int {
	for i := 2; i < len(p); i++ {
		switch {
		case p[i] == '\a' && p[1] == ']':
			t.osc(string(p[2:i]), string(p[:i+1]))
			return i + 1
		case p[i] == '\x1b' && i+1 == len(p):
			return 0
		case p[i] == '\x1b' && p[i+1] == '\\':
			if p[1] == ']' {
				t.osc(string(p[2:i]), string(p[:i+2]))
			} else {
				t.unknown = append(t.unknown, string(p[:i+2]))
			}
			return i + 2
		case p[i] == '\x1b':
			t.unknown = append(t.unknown, string(p[:i]))
			return i
		}
	}
	return 0
}

// osc obeys a command of the operating system.
func (t *Terminal) osc(text, whole string) {
	number, rest, _ := strings.Cut(text, ";")
	switch number {
	case "0", "2":
		t.title = rest
	case "8":
		_, t.screen().link, _ = strings.Cut(rest, ";")
	case "9", "777":
		t.notices = append(t.notices, rest)
	case "52":
		_, data, _ := strings.Cut(rest, ";")
		if data == "?" {
			t.queries = append(t.queries, whole)
			return
		}
		if decoded, err := base64.StdEncoding.DecodeString(data); err == nil {
			t.clipboard = append(t.clipboard, string(decoded))
			return
		}
		t.unknown = append(t.unknown, whole)
	case "10", "11":
		t.query(whole, "\x1b]"+number+";rgb:0000/0000/0000\x1b\\")
	default:
		t.unknown = append(t.unknown, whole)
	}
}

func (t *Terminal) query(whole, answer string) {
	t.queries = append(t.queries, whole)
	if t.replies != nil {
		t.answers = append(t.answers, answer...)
	}
}

// csi obeys a control sequence.
func (t *Terminal) csi(p []byte) int {
	for i := 2; i < len(p); i++ {
		switch c := p[i]; {
		case c >= '@' && c <= '~':
			if !t.sequence(string(p[2:i]), c) {
				t.unknown = append(t.unknown, string(p[:i+1]))
			}
			return i + 1
		case c < ' ' || c > '~':
			t.unknown = append(t.unknown, string(p[:i]))
			return i
		}
	}
	return 0
}

// sequence obeys a control sequence of parameters and a last character. It reports whether it knows
// it.
func (t *Terminal) sequence(text string, last byte) bool {
	if text != "" && strings.ContainsRune("?<>=", rune(text[0])) || strings.ContainsAny(text, " $!\"'") {
		return t.private(text, last)
	}
	parameters := numbers(text)
	n := max(parameters.at(0, 1), 1)
	s := t.screen()
	switch last {
	case 'H', 'f':
		s.move(parameters.at(1, 1)-1, parameters.at(0, 1)-1)
	case 'A':
		s.move(s.x, s.y-n)
	case 'B':
		s.move(s.x, s.y+n)
	case 'C':
		s.move(s.x+n, s.y)
	case 'D':
		s.move(s.x-n, s.y)
	case 'E':
		s.move(0, s.y+n)
	case 'F':
		s.move(0, s.y-n)
	case 'G', '`':
		s.move(n-1, s.y)
	case 'd':
		s.move(s.x, n-1)
	case 'm':
		return s.paint(text)
	case 'r':
		s.region(parameters.at(0, 1)-1, parameters.at(1, s.rows))
	case 's':
		s.save()
	case 'u':
		s.restore()
	default:
		return t.edit(parameters, n, last)
	}
	return true
}

// edit obeys the sequences that change cells.
func (t *Terminal) edit(parameters parameters, n int, last byte) bool {
	s := t.screen()
	switch last {
	case 'J':
		return t.eraseDisplay(parameters.at(0, 0))
	case 'K':
		return s.eraseLine(parameters.at(0, 0))
	case 'X':
		s.erase(s.y, s.x, s.x+n)
	case 'S':
		t.keep(s.scrollUp(n))
	case 'T':
		s.scrollDown(n)
	case 'L':
		s.within(func() { s.scrollDown(n) })
	case 'M':
		s.within(func() { s.scrollUp(n) }) // deleted lines don't go to the scrollback
	case 'P':
		s.deleteCells(n)
	case '@':
		s.insertCells(n)
	case 'n':
		return t.report(parameters.at(0, 0))
	case 'c':
		t.query("\x1b[c", "\x1b[?62;22;52c")
	case 't':
		t.queries = append(t.queries, "\x1b["+strconv.Itoa(parameters.at(0, 0))+"t")
	default:
		return false
	}
	return true
}

func (s *screen) deleteCells(n int) {
	cells := s.lines[s.y].cells
	copy(cells[s.x:], cells[min(s.x+n, s.columns):])
	s.erase(s.y, s.columns-n, s.columns)
}

func (s *screen) insertCells(n int) {
	cells := s.lines[s.y].cells
	if s.x+n < s.columns {
		copy(cells[s.x+n:], cells[s.x:])
	}
	s.erase(s.y, s.x, s.x+n)
}

// region sets the rows that scroll. An invalid one is ignored.
func (s *screen) region(top, bottom int) {
	if top < 0 || bottom > s.rows || top+1 >= bottom {
		return
	}
	s.top, s.bottom = top, bottom
	s.move(0, 0)
}

func (t *Terminal) eraseDisplay(kind int) bool {
	s := t.screen()
	switch kind {
	case 0:
		s.erase(s.y, s.x, s.columns)
		s.eraseRows(s.y+1, s.rows)
	case 1:
		s.eraseRows(0, s.y)
		s.erase(s.y, 0, s.x+1)
	case 2:
		s.eraseRows(0, s.rows)
	case 3:
		t.scrollback = nil
	default:
		return false
	}
	return true
}

func (s *screen) eraseLine(kind int) bool {
	switch kind {
	case 0:
		s.erase(s.y, s.x, s.columns)
	case 1:
		s.erase(s.y, 0, s.x+1)
	case 2:
		s.erase(s.y, 0, s.columns)
	default:
		return false
	}
	return true
}

func (t *Terminal) report(kind int) bool {
	s := t.screen()
	switch kind {
	case 5:
		t.query("\x1b[5n", "\x1b[0n")
	case 6:
		t.query("\x1b[6n", fmt.Sprintf("\x1b[%d;%dR", s.y+1, s.x+1))
	default:
		return false
	}
	return true
}

// private obeys the sequences with a mark before or after their parameters.
func (t *Terminal) private(text string, last byte) bool {
	mark, rest := text[0], text[1:]
	switch {
	case mark == '?' && (last == 'h' || last == 'l'):
		known := true
		for _, mode := range numbers(rest) {
			known = t.mode(mode, last == 'h') && known
		}
		return known
	case mark == '?' && last == 'p' && strings.HasSuffix(rest, "$"):
		t.query("\x1b["+text+"p", "\x1b[?"+strings.TrimSuffix(rest, "$")+";2$y")
	case mark == '?' && last == 'u':
		t.query("\x1b[?u", "\x1b[?"+strconv.Itoa(t.modes.Keyboard)+"u")
	case mark == '>' && last == 'u':
		t.keyboard = append(t.keyboard, t.modes.Keyboard)
		t.modes.Keyboard = numbers(rest).at(0, 0)
	case mark == '<' && last == 'u':
		t.popKeyboard(max(numbers(rest).at(0, 1), 1))
	case mark == '=' && last == 'u':
		t.modes.Keyboard = numbers(rest).at(0, 0)
	case mark == '>' && last == 'q':
		t.query("\x1b["+text+"q", "\x1bP>|termtest\x1b\\")
	case mark == '>' && (last == 'm' || last == 'c'), strings.HasSuffix(text, " ") && last == 'q':
	default:
		return false
	}
	t.modes.KeyboardDepth = len(t.keyboard)
	return true
}

func (t *Terminal) popKeyboard(n int) {
	for ; n > 0; n-- {
		t.modes.Keyboard = 0
		if last := len(t.keyboard) - 1; last >= 0 {
			t.modes.Keyboard, t.keyboard = t.keyboard[last], t.keyboard[:last]
		}
	}
}

// mode switches a private mode.
func (t *Terminal) mode(mode int, on bool) bool {
	switch mode {
	case 1, 12, 2027, 1007:
	case 7:
		t.modes.Wrap = on
	case 25:
		t.modes.Cursor = on
	case 47, 1047, 1049:
		t.alternate(on)
	case 1000:
		t.modes.Mouse = on
	case 1002, 1003:
		t.modes.Mouse, t.modes.MouseMotion = on, on
	case 1004:
		t.modes.Focus = on
	case 1006:
		t.modes.MouseSGR = on
	case 2004:
		t.modes.Paste = on
	case 2026:
		t.modes.Synchronized = on
	default:
		return false
	}
	return true
}

// alternate enters or leaves the alternate screen, which is empty at first.
func (t *Terminal) alternate(on bool) {
	if on == t.modes.AltScreen {
		return
	}
	if on {
		t.main.save()
		t.alt = newScreen(t.columns, t.rows)
		t.alt.move(t.main.x, t.main.y)
		t.alt.style = t.main.style
	} else {
		t.main.restore()
	}
	t.modes.AltScreen = on
}

// paint sets the style of the text that is written from now on.
func (s *screen) paint(text string) bool {
	codes := strings.FieldsFunc(text, func(r rune) bool { return r == ';' })
	if len(codes) == 0 {
		codes = []string{"0"}
	}
	known := true
	for i := 0; i < len(codes); i++ {
		code, err := strconv.Atoi(codes[i])
		switch {
		case err != nil:
			known = false
		case code == 38 || code == 48:
			n := colorLength(codes[i:])
			*s.color(code) = strings.Join(codes[i:i+n], ";")
			i += n - 1
		default:
			known = s.style.set(code, codes[i]) && known
		}
	}
	return known
}

func colorLength(codes []string) int {
	if len(codes) > 1 && codes[1] == "2" {
		return min(5, len(codes))
	}
	return min(3, len(codes))
}

func (s *screen) color(code int) *string {
	if code == 38 {
		return &s.style.Foreground
	}
	return &s.style.Background
}

// set changes a style by one parameter of a sequence.
func (s *Style) set(code int, text string) bool {
	switch {
	case code == 0:
		*s = Style{}
	case code >= 30 && code <= 37, code >= 90 && code <= 97:
		s.Foreground = text
	case code == 39:
		s.Foreground = ""
	case code >= 40 && code <= 47, code >= 100 && code <= 107:
		s.Background = text
	case code == 49:
		s.Background = ""
	default:
		return s.attribute(code)
	}
	return true
}

func (s *Style) attribute(code int) bool {
	switch code {
	case 1:
		s.Bold = true
	case 2:
		s.Dim = true
	case 3, 23:
		s.Italic = code == 3
	case 4, 24:
		s.Underline = code == 4
	case 5, 25:
		s.Blink = code == 5
	case 7, 27:
		s.Inverse = code == 7
	case 8, 28:
		s.Hidden = code == 8
	case 9, 29:
		s.Struck = code == 9
	case 22:
		s.Bold, s.Dim = false, false
	default:
		return false
	}
	return true
}

// parameters are the numbers of a sequence. A missing one is -1.
type parameters []int

func numbers(text string) parameters {
	var all parameters
	for field := range strings.SplitSeq(text, ";") {
		n, err := strconv.Atoi(field)
		if err != nil {
			n = -1
		}
		all = append(all, n)
	}
	return all
}

// at returns a parameter, or what it is if it is missing.
func (p parameters) at(i, missing int) int {
	if i >= len(p) || p[i] < 0 {
		return missing
	}
	return p[i]
}
