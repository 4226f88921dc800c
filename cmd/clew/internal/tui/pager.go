package tui

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/clewdev/clew/cmd/clew/internal/keymap"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/wording"
)

// A pager scrolls in a text that may be very long, and finds something in it. Its zero value has no
// text.
type pager struct {
	text    *render.Text
	width   int // for which the text is laid out
	top     int
	height  int
	place   render.Place // that a line was chosen for
	placed  int          // that line
	finder  finder
	scanned int  // number of lines that the finder searched
	stays   bool // the finder looks again, and does not move the text
}

// set shows another text, from its beginning.
func (p *pager) set(text *render.Text) {
	p.text = text
	p.goTo(render.Place{})
	p.restart()
}

// replace shows another form of the text, at the same place. The caller has to scan it.
func (p *pager) replace(text *render.Text, width int) {
	place := p.at()
	p.text, p.width = text, width
	p.goTo(place)
	p.restart()
	p.stays = true
}

// at returns the place of the first line on the screen. Until the user moves, it is the place for
// which the line was chosen, however often the width changes.
func (p *pager) at() render.Place {
	if p.text == nil || p.top == p.placed && p.place != (render.Place{}) {
		return p.place
	}
	return p.text.PlaceOf(p.top)
}

// goTo goes to a place, now or when the text is there.
func (p *pager) goTo(place render.Place) {
	p.place, p.top = place, 0
	if p.text != nil {
		p.top = p.text.LineOf(place)
	}
	p.placed = p.top
}

// restart makes the finder search from the start.
func (p *pager) restart() {
	p.scanned, p.stays = 0, false
	p.finder.matches, p.finder.current, p.finder.looking = nil, -1, p.finder.matcher != nil
	p.finder.started++
}

// draw returns the lines that are on the screen.
func (p *pager) draw(height int, color bool) []string {
	p.height = max(height, 0)
	if p.text == nil {
		return nil
	}
	p.clamp()
	if p.finder.matcher == nil {
		return p.text.Lines(p.top, height)
	}
	before := min(p.top, findContext)
	lines := p.finder.marked(p.text.Lines(p.top-before, before+height+findContext), p.width, color)
	lines = lines[min(before, len(lines)):]
	return lines[:min(len(lines), height)]
}

// clamp keeps the end of the text at the end of the screen.
func (p *pager) clamp() {
	p.top = max(p.top, 0)
	if p.top == 0 || p.text == nil {
		return
	}
	if got := len(p.text.Lines(p.top, p.height)); got < p.height {
		moved := p.top != p.placed
		if p.top = max(p.text.Count()-p.height, 0); !moved {
			p.placed = p.top
		}
	}
}

// where describes the visible range of lines and their total number.
func (p *pager) where() string {
	if p.text == nil {
		return ""
	}
	n, exact := p.text.Len()
	if n <= p.height && exact {
		return ""
	}
	about := ""
	if !exact {
		about = "about "
	}
	return fmt.Sprintf("%s-%s of %s%s", wording.Number(p.top+1), wording.Number(min(p.top+p.height, n)),
		about, wording.Number(n))
}

// move runs the actions that scroll. It reports whether it is one.
func (p *pager) move(a keymap.Action) bool {
	switch a {
	case keymap.Down:
		p.top++
	case keymap.Up:
		p.top--
	case keymap.HalfDown:
		p.top += max(p.height/2, 1)
	case keymap.HalfUp:
		p.top -= max(p.height/2, 1)
	case keymap.PageDown:
		p.top += max(p.height-1, 1)
	case keymap.PageUp:
		p.top -= max(p.height-1, 1)
	case keymap.Top:
		p.top = 0
	case keymap.Bottom:
		if p.text != nil {
			p.top = p.text.Count() - p.height
		}
	default:
		return false
	}
	p.clamp()
	return true
}

// stop goes to the next place of a kind. It reports whether there is one.
func (p *pager) stop(stop render.Stop, back bool) bool {
	if p.text == nil {
		return false
	}
	line := p.text.Stop(p.top, stop, back)
	if line < 0 {
		return false
	}
	p.top = line
	p.clamp()
	return true
}

// A scanMsg makes a pager continue its search.
type scanMsg struct{ started int }

// findText looks for a text from now on.
func (p *pager) findText(to screen, text string) tea.Cmd {
	p.finder.set(text)
	p.restart()
	return p.scan(to, p.finder.started)
}

// scanTime is the time for which a pager searches before it yields to others.
const scanTime = 4 * time.Millisecond

// scan looks on for a while.
func (p *pager) scan(to screen, started int) tea.Cmd {
	f := &p.finder
	if started != f.started || f.matcher == nil || p.text == nil {
		return nil
	}
	for begun := time.Now(); f.looking && time.Since(begun) < scanTime; {
		const some = 128
		before := min(p.scanned, findContext)
		found := f.find(p.text.Lines(p.scanned-before, before+some+findContext), p.width)
		found = found[min(before, len(found)):]
		found = found[:min(some, len(found))]
		for i, spans := range found {
			for n := range min(begins(spans), maxMatches-len(f.matches)) {
				f.matches = append(f.matches, match{index: p.scanned + i, number: n})
			}
		}
		p.scanned += len(found)
		f.more = len(f.matches) >= maxMatches
		f.looking = len(found) == some && !f.more
	}
	if f.current < 0 {
		p.firstMatch()
	}
	if !f.looking {
		p.stays = false
		return nil
	}
	return background(to, func() tea.Msg { return scanMsg{started} })
}

// firstMatch goes to the first match on the screen or below it, and else to the first one.
func (p *pager) firstMatch() {
	f := &p.finder
	for i, m := range f.matches {
		if m.index >= p.top {
			p.goToMatch(i)
			return
		}
	}
	if len(f.matches) > 0 && !f.looking {
		p.goToMatch(0)
	}
}

func (p *pager) goToMatch(i int) {
	p.finder.current = i
	if line := p.finder.matches[i].index; !p.stays && (line < p.top || line >= p.top+p.height) {
		p.top = line - p.height/3
		p.clamp()
	}
}

// nextMatch goes to the next match in a direction, around the end.
func (p *pager) nextMatch(direction int) {
	f := &p.finder
	n := len(f.matches)
	if n == 0 {
		return
	}
	p.stays = false
	next := f.current + direction
	if line := f.matches[max(f.current, 0)].index; f.current < 0 || line < p.top || line >= p.top+p.height {
		f.current = -1
		if p.firstMatch(); direction > 0 || f.current < 0 {
			return
		}
		next = f.current - 1
	}
	p.goToMatch((next%n + n) % n)
}

// typed handles keys while the search text is typed.
func (p *pager) typed(to screen, key tea.KeyPressMsg) (tea.Cmd, bool) {
	f := &p.finder
	if !f.typing {
		return nil, false
	}
	switch key.String() {
	case "esc", "ctrl+c":
		f.clear()
		f.back()
	case "enter":
		if f.typing = f.err != ""; f.matcher == nil && !f.typing {
			f.clear()
		}
	case "down", "ctrl+n", "ctrl+j":
		p.nextMatch(1)
	case "up", "ctrl+p", "ctrl+k":
		p.nextMatch(-1)
	case "ctrl+z", "ctrl+l":
		return nil, false
	default:
		if key.String() == "backspace" && f.text == "" {
			f.clear()
			f.back()
			return nil, true
		}
		f.field.press(key)
		return p.retype(to), true
	}
	return nil, true
}

// retype looks for the text in the line, if it was changed.
func (p *pager) retype(to screen) tea.Cmd {
	f := &p.finder
	text := f.field.String()
	if text == f.text {
		return nil
	}
	if !strings.HasPrefix(text, f.text) {
		f.back()
	}
	return p.findText(to, text)
}

// beginFind opens the line in which a text is typed.
func (p *pager) beginFind() {
	p.finder.clear()
	place := p.at()
	p.finder.typing, p.finder.back = true, func() { p.goTo(place) }
}
