package cli

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/clewdev/clew/internal/render"
)

// A paper is a terminal that does not scroll: what a program writes, as it would be seen.
// It knows the sequences that chat uses, and keeps note of others.
type paper struct {
	mu      sync.Mutex
	changed *sync.Cond
	rest    string
	rows    [][]string // by cell; what a wide character covers is ""
	row     int
	column  int
	columns int
	wrapped bool // a line was broken by the terminal
	unknown []string
}

func newPaper(columns int) *paper {
	p := &paper{columns: columns, rows: [][]string{nil}}
	p.changed = sync.NewCond(&p.mu)
	return p
}

func (p *paper) Write(data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rest += string(data)
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

// take shows the first character or sequence, and returns its length.
func (p *paper) take() int {
	r, size := utf8.DecodeRuneInString(p.rest)
	switch r {
	case '\r':
		p.column = 0
	case '\n':
		p.row++
		for p.row >= len(p.rows) {
			p.rows = append(p.rows, nil)
		}
	case '\b':
		p.column = max(p.column-1, 0)
	case '\x1b':
		return p.sequence()
	default:
		p.put(r)
	}
	return size
}

func (p *paper) sequence() int {
	if len(p.rest) < 3 {
		return 0
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
	case strings.HasSuffix(body, "m"), body == "?2004h", body == "?2004l":
	default:
		p.unknown = append(p.unknown, body)
	}
	return end + 3
}

func (p *paper) cut() {
	p.rows[p.row] = p.rows[p.row][:min(p.column, len(p.rows[p.row]))]
}

func (p *paper) put(r rune) {
	w := render.Width(string(r))
	if p.column+w > p.columns {
		p.wrapped = true
	}
	for len(p.rows[p.row]) < p.column+w {
		p.rows[p.row] = append(p.rows[p.row], " ")
	}
	p.rows[p.row][p.column] = string(r)
	for i := 1; i < w; i++ {
		p.rows[p.row][p.column+i] = ""
	}
	p.column += w
}

// text returns what is to be seen. The cursor is shown as a bar.
func (p *paper) text() string {
	var b strings.Builder
	for i, cells := range p.rows {
		line := strings.Join(cells, "")
		if i == p.row {
			at := min(p.column, len(cells))
			line = strings.Join(cells[:at], "") + strings.Repeat(" ", p.column-at) + "|" + strings.Join(cells[at:], "")
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// see waits until a text can be seen at the end of what is there.
func (p *paper) see(t *testing.T, want string) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	late := false
	timer := time.AfterFunc(20*time.Second, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		late = true
		p.changed.Broadcast()
	})
	defer timer.Stop()
	for !strings.HasSuffix(strings.TrimRight(p.text(), "\n"), want) {
		if late {
			t.Fatalf("the screen does not end with %q:\n%s", want, p.text())
		}
		p.changed.Wait()
	}
}
