package tui

import (
	"strings"
	"time"

	"github.com/clewdev/clew/cmd/clew/internal/jobview"
	"github.com/clewdev/clew/cmd/clew/internal/keymap"
	"github.com/clewdev/clew/cmd/clew/internal/paint"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
)

func (s *jobsScreen) draw(width, height int) Frame {
	frame := Frame{Title: "clew jobs"}
	head, cursor := s.head(width)
	frame.Lines = append(frame.Lines, head)
	frame.Cursor = cursor
	if s.height >= minRuleHeight {
		frame.Lines = append(frame.Lines, s.across(width))
	}
	room := height - 1 - s.listTop()
	frame.Lines = append(frame.Lines, padded(s.lines(width, room), room)...)
	frame.Lines = append(frame.Lines, s.footer(width))
	frame.Lines = frame.Lines[max(len(frame.Lines)-height, 0):]
	return frame
}

// head returns the first line: the title of the list, and the filter or the jobs that need
// attention at the right.
func (s *jobsScreen) head(width int) (string, *paint.Cursor) {
	title := tty.Title.Paint(tty.Cut(" Jobs ", width), s.opts.Color)
	if s.typing || s.filter.String() != "" {
		room := min(max(width-6, 1), 40)
		text, x := s.filter.draw(max(room-3, 1))
		start := max(width-room, min(6, width))
		line := tty.CutPainted(title+strings.Repeat(" ", max(start-6, 0))+tty.Prompt.Paint("/", s.opts.Color)+" "+text, width)
		if !s.typing {
			return line, nil
		}
		return line, &paint.Cursor{X: min(start+2+x, max(width-1, 0))}
	}
	var counts []string
	for g, name := range jobview.GroupNames {
		if n := s.list.Counts[g]; n > 0 {
			counts = append(counts, wording.Number(n)+" "+strings.ToLower(name))
		}
	}
	return joinColumns(title, tty.Dim.Paint(render.Join(counts...), s.opts.Color)+" ", width), nil
}

func (s *jobsScreen) listTop() int {
	if s.height >= minRuleHeight {
		return 2
	}
	return 1
}

func (s *jobsScreen) footer(width int) string {
	hints := s.app.hints(keymap.InJobs)
	if s.typing {
		hints = []string{"enter open", "tab list", "esc clear"}
	}
	return s.foot(hints, s.counted(), width)
}

// counted returns the number of jobs as text.
func (s *jobsScreen) counted() string {
	switch {
	case s.board == nil:
		return ""
	case !s.list.Complete:
		return "reading"
	}
	text := wording.Count(s.list.Total, "job")
	if s.list.IsCut {
		text = wording.Number(s.list.Total) + " newest jobs"
	}
	if s.query != "" {
		text = wording.Number(len(s.list.Rows)) + " of " + text
	}
	return text
}

// lines returns the visible lines of the list.
func (s *jobsScreen) lines(width, height int) []string {
	var lines []string
	if s.list.Err != nil && s.board != nil {
		text := " The fleet does not answer, so this may be old: " + tty.Line(s.list.Err.Error())
		lines = append(lines, tty.Failure.Paint(tty.Fit(text, width), s.opts.Color))
		height--
	}
	from, to := s.pick.visible(height)
	if len(s.list.Rows) == 0 {
		for _, line := range tty.Wrap(s.empty(), max(width-2, 1)) {
			lines = append(lines, tty.Dim.Paint(tty.Cut(" "+line, width), s.opts.Color))
		}
		return lines
	}
	now := s.now()
	columns := jobColumns(width - listMargin)
	for line := from; line < to; line++ {
		if item := s.pick.lines[line]; item >= 0 {
			lines = append(lines, tty.CutPainted(s.line(item, columns, now), width))
			continue
		}
		group := s.list.Rows[s.pick.lines[line+1]].Group()
		lines = append(lines, tty.Heading.Paint(tty.Fit(" "+jobview.GroupNames[group], width), s.opts.Color))
	}
	return lines
}

// empty explains why the list is empty.
func (s *jobsScreen) empty() string {
	switch {
	case s.board == nil && s.err != nil:
		return "The fleet can't be reached: " + tty.Line(s.err.Error())
	case s.missed:
		return `No fleet runs on this machine. "clew worker" starts one; "clew --fleet URL" shows the jobs of another one.`
	case s.board == nil:
		return "Looking for the fleet ..."
	case !s.list.Complete:
		return "Reading the list of jobs ..."
	case s.query != "":
		return "Nothing matches. Press esc to clear the filter."
	}
	return `There are no jobs yet. clew submit "PROMPT" submits one.`
}

// jobRanked names the columns beside the title in the order in which they are chosen while there is room.
var jobRanked = []string{"state", "age", "reason", "cost", "worker", "id"}

// jobOrder names the columns in the order on the screen.
var jobOrder = func() (names []string) {
	for _, c := range jobview.Columns {
		names = append(names, c.Name)
	}
	return names
}()

// jobColumns chooses columns for a width. The title gets the rest, and a long reason some of that.
func jobColumns(room int) []column {
	const maxReason = 60
	chosen := map[string]column{}
	for i, name := range jobRanked {
		fact := jobview.ColumnOf(name)
		c := column{name, fact.Width, fact.Right}
		least := minTitle
		switch {
		case i == 0:
			least = 8
		case c.name == "id":
			least = enoughTitle + minTitle // why a job waits says more
		}
		if room-c.width-columnGap < least {
			break
		}
		room -= c.width + columnGap
		chosen[c.name] = c
	}
	return shareRoom(chosen, room, "reason", maxReason, jobOrder)
}

// line returns a job's row.
func (s *jobsScreen) line(item int, columns []column, now time.Time) string {
	r, selected := s.list.Rows[item], item == s.pick.selected
	around := jobview.Surroundings{At: now, Flags: s.opts.Jobs.Flags}
	return s.joinCells(s.mark(selected)+s.stateMark(r)+" ", columns, func(c column) listCell {
		fact := jobview.ColumnOf(c.name)
		cell := listCell{text: fact.Text(&around, r), style: fact.Style(r)}
		if selected && c.name == "title" {
			cell.style = tty.Title
		}
		return cell
	})
}

// stateMark returns the painted mark of a state.
func (a *app) stateMark(r jobview.Row) string {
	char, ascii, style := "·", ".", jobview.Style(r.State)
	switch {
	case r.Asks:
		char, ascii, style = "?", "?", tty.Waiting
	case r.State == fleet.Lost, r.State == fleet.Damaged:
		char, ascii = "!", "!"
	case r.State == fleet.Running:
		char, ascii, style = "●", "*", tty.Success
	case r.State == fleet.Claimed:
		char, ascii = "○", "o"
	case r.State == fleet.Done:
		char, ascii = "✓", "+"
	case r.State == fleet.Failed:
		char, ascii = "✗", "x"
	case r.State == fleet.Canceled:
		char, ascii = "-", "-"
	}
	return style.Paint(a.sign(char, ascii), a.opts.Color)
}
