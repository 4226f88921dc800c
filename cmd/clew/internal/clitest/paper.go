// Package clitest holds what tests of the commands share. It has a terminal on paper, the
// frames of an agent at work, and the widths of screens.
package clitest

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/clewdev/clew/cmd/clew/internal/pty"
	"github.com/clewdev/clew/internal/tty"
)

// A Paper is a terminal that does not scroll: it shows the output of a program as a user would see
// it. It knows the sequences that chat uses, and records others.
type Paper struct {
	mu      sync.Mutex
	changed *sync.Cond
	rest    string
	rows    [][]cell
	row     int
	column  int
	columns int
	Wrapped bool     // a line was broken by the terminal
	Wide    string   // the last one of them
	Unknown []string // sequences
	Painted bool     // the text has its styles
	style   string   // the sequences of the style that is on
	Bells   int
	// Requests are the requests to the terminal other than drawing: links and notifications.
	Requests []string
	written  string // everything
}

func (p *Paper) Write(data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rest += string(data)
	p.written += string(data)
	for p.rest != "" && (utf8.FullRuneInString(p.rest)) {
		n := p.take()
		if n == 0 {
			break
		}
		p.rest = p.rest[n:]
	}
	p.changed.Broadcast()
	return len(data), nil
}

// Whole returns everything that was written.
func (p *Paper) Whole() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.written
}

// take shows the first character or sequence, and returns its length.
func (p *Paper) take() int {
	r, size := utf8.DecodeRuneInString(p.rest)
	switch r {
	case '\r':
		p.column = 0
	case '\n':
		p.row++
		for p.row >= len(p.rows) {
			p.rows = append(p.rows, nil)
		}
	case '\a':
		p.Bells++
	case '\b':
		p.column = max(p.column-1, 0)
	case '\x1b':
		return p.sequence()
	default:
		p.put(r)
	}
	return size
}

func (p *Paper) sequence() int {
	if len(p.rest) < 3 {
		return 0
	}
	if p.rest[1] == ']' { // a link or a notification
		end := strings.Index(p.rest, "\x1b\\")
		if end < 0 {
			return 0
		}
		p.Requests = append(p.Requests, p.rest[2:end])
		return end + 2
	}
	end := strings.IndexFunc(p.rest[2:], func(r rune) bool { return r >= 0x40 && r <= 0x7e })
	if end < 0 {
		return 0
	}
	body := p.rest[2 : end+3]
	n, err := strconv.Atoi(body[:len(body)-1])
	if err != nil {
		n = 1
	}
	switch {
	case strings.HasSuffix(body, "A"):
		p.row = max(p.row-n, 0)
	case strings.HasSuffix(body, "C"):
		p.column += n
	case body == "J":
		p.rows = p.rows[:p.row+1]
		p.cut()
	case body == "K":
		p.cut()
	case body == "0m":
		p.style = ""
	case strings.HasSuffix(body, "m"):
		p.style += p.rest[:end+3]
	case body == "?2004h", body == "?2004l":
	default:
		p.Unknown = append(p.Unknown, body)
	}
	return end + 3
}

func (p *Paper) cut() {
	p.rows[p.row] = p.rows[p.row][:min(p.column, len(p.rows[p.row]))]
}

func (p *Paper) put(r rune) {
	w := tty.Width(string(r))
	if p.column+w > p.columns {
		p.Wrapped = true
		p.Wide = p.line(p.rows[p.row])
	}
	for len(p.rows[p.row]) < p.column+w {
		p.rows[p.row] = append(p.rows[p.row], cell{text: " "})
	}
	p.rows[p.row][p.column] = cell{string(r), p.style}
	for i := 1; i < w; i++ {
		p.rows[p.row][p.column+i] = cell{style: p.style}
	}
	p.column += w
}

// Text returns the visible text. The cursor is shown as a bar.
func (p *Paper) Text() string {
	var b strings.Builder
	for i, cells := range p.rows {
		line := p.line(cells)
		if i == p.row {
			at := min(p.column, len(cells))
			line = p.line(cells[:at]) + strings.Repeat(" ", p.column-at) + "|" + p.line(cells[at:])
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// All is like Text, for a program that still writes.
func (p *Paper) All() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.Text()
}

// SetColumns changes the width.
func (p *Paper) SetColumns(columns int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.columns = columns
}

// CheckOutput fails if the terminal had to break a line, or got a sequence that a paper does not know.
func (p *Paper) CheckOutput(t *testing.T) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.Wrapped || len(p.Unknown) > 0 {
		t.Errorf("wrapped: %v, unknown sequences: %q; the screen:\n%s", p.Wrapped, p.Unknown, p.Text())
	}
}

// line returns cells as a text, with their styles if the paper is painted.
func (p *Paper) line(cells []cell) string {
	var b strings.Builder
	style := ""
	for _, c := range cells {
		if p.Painted && c.style != style {
			if style != "" {
				b.WriteString("\x1b[0m")
			}
			b.WriteString(c.style)
			style = c.style
		}
		b.WriteString(c.text)
	}
	if style != "" {
		b.WriteString("\x1b[0m")
	}
	return b.String()
}

// See waits until a text is visible at the end of the output, not counting the line with the
// agent's activity.
func (p *Paper) See(t *testing.T, want string) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	late := false
	timer := time.AfterFunc(SeeLimit, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		late = true
		p.changed.Broadcast()
	})
	defer timer.Stop()
	for !strings.HasSuffix(strings.TrimRight(spinner.ReplaceAllString(p.Text(), "\n|"), "\n"), want) {
		if late {
			t.Fatalf("the screen does not end with %q:\n%s", want, p.Text())
		}
		p.changed.Wait()
	}
}

// A cell is a place of a paper. The second cell of a wide character is "".
type cell struct{ text, style string }

// NewPaper returns an empty paper.
func NewPaper(columns int) *Paper {
	p := &Paper{columns: columns, rows: [][]cell{nil}}
	p.changed = sync.NewCond(&p.mu)
	return p
}

// SeeLimit is the time limit for a text to appear, on a machine that may be busy.
const SeeLimit = 5 * time.Minute

// spinner matches the last line of a screen on which the agent works.
var spinner = regexp.MustCompile(`(^|\n)[|/\\-] \d[^\n]* · [^\n]*\|\n*$`)

// OpenTerminal returns the two ends of a pseudo-terminal of the given width.
func OpenTerminal(t *testing.T, columns int) (screen, tty *os.File) {
	t.Helper()
	screen, tty, err := pty.Open(columns, 24)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = screen.Close() })
	return screen, tty
}
