package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/clewdev/clew/cmd/clew/internal/keymap"
	"github.com/clewdev/clew/cmd/clew/internal/view"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/rows"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/transcript"
)

func (s *sessionScreen) do(a keymap.Action) tea.Cmd {
	if s.move(a) {
		return nil
	}
	switch a {
	case keymap.Open:
		return s.open()
	case keymap.Back, keymap.Close:
		return s.goBack(a)
	case keymap.Fold:
		s.list.toggle()
	case keymap.FoldAll:
		s.foldAll()
	case keymap.Follow:
		s.toggleFollow()
	case keymap.Thinking:
		s.toggleThinking()
	case keymap.Find:
		s.beginFind()
	case keymap.NextMatch:
		return s.nextMatch(1)
	case keymap.PreviousMatch:
		return s.nextMatch(-1)
	case keymap.Preview:
		return s.outline.toggle(s)
	case keymap.Agents, keymap.Files, keymap.Context, keymap.Usage, keymap.Branches:
		return s.openPanel(a)
	default:
		return s.outside(a)
	}
	return nil
}

// move runs the actions that move in the list. It reports whether it is one.
func (s *sessionScreen) move(a keymap.Action) bool {
	l := s.list
	switch a {
	case keymap.Down:
		l.down()
	case keymap.Up:
		l.up()
	case keymap.HalfDown:
		l.page(0.5)
	case keymap.HalfUp:
		l.page(-0.5)
	case keymap.PageDown:
		l.page(1)
	case keymap.PageUp:
		l.page(-1)
	case keymap.Top:
		l.begin()
	case keymap.Bottom:
		l.end()
	case keymap.NextGroup:
		s.jump(1, rows.IsPrompt, "no more prompts")
	case keymap.PreviousGroup:
		s.jump(-1, rows.IsPrompt, "no prompt before this one")
	case keymap.NextFailure:
		s.jump(1, rows.IsFailure, "no more failures")
	case keymap.PreviousFailure:
		s.jump(-1, rows.IsFailure, "no failure before this one")
	default:
		return false
	}
	return true
}

// jump goes to the next matching row in a direction.
func (s *sessionScreen) jump(direction int, match func(*rows.Row) bool, none string) {
	find := s.layout.rows.Next
	if direction < 0 {
		find = s.layout.rows.Previous
	}
	row := find(s.list.selected, match)
	if row < 0 {
		s.say(none)
		return
	}
	s.list.reveal(row, 0, 1)
}

// open unfolds the row, then opens it.
func (s *sessionScreen) open() tea.Cmd {
	r := s.selected()
	if r == nil {
		return nil
	}
	if item := s.list.at(s.list.selected); !item.open && s.layout.unfolds(s.list.selected) {
		s.list.toggle()
		return nil
	}
	return s.push(newRow(s, r.ID, ""))
}

// goBack leaves the innermost state: the search, an open row, a subagent's rows, the screen.
func (s *sessionScreen) goBack(a keymap.Action) tea.Cmd {
	if s.finder.text != "" {
		s.finder.clear()
		return nil
	}
	r := s.selected()
	if r == nil {
		return s.leave(a)
	}
	if item := s.list.at(s.list.selected); item.open && !s.layout.startsOpen(s.list.selected) {
		s.list.setOpen(s.list.selected, false)
		return nil
	}
	if r.Parent >= 0 {
		s.list.reveal(r.Parent, 0, 1)
		return nil
	}
	return s.leave(a)
}

// foldAll folds all rows, then unfolds all, then returns to the usual state.
func (s *sessionScreen) foldAll() {
	switch s.list.mode {
	case foldUsual:
		s.list.setMode(foldAll)
		s.say("all rows are folded")
	case foldAll:
		s.list.setMode(foldNone)
		s.say("all rows are unfolded")
	default:
		s.list.setMode(foldUsual)
		s.say("prompts and answers are unfolded")
	}
}

func (s *sessionScreen) toggleFollow() {
	if s.list.following {
		s.list.unfollow()
		s.say("stays here")
		return
	}
	s.list.end()
	s.say("follows the end")
}

func (s *sessionScreen) toggleThinking() {
	s.list.settle()
	s.layout.thinking = !s.layout.thinking
	s.list.remeasure()
	if s.layout.thinking {
		s.say("thinking is shown")
	} else {
		s.say("thinking is hidden")
	}
}

// outside runs the actions that need something outside of the screen.
func (s *sessionScreen) outside(a keymap.Action) tea.Cmd {
	switch a {
	case keymap.SearchAll:
		return s.push(newSearch(s.app, ""))
	case keymap.SearchThis:
		return s.push(newSearch(s.app, cmp.Or(s.finder.text, s.finder.last)))
	case keymap.Resume:
		return s.run(view.ResumeAgent)
	case keymap.Continue:
		return s.run(view.ContinueChat)
	case keymap.Export, keymap.Browse:
		return s.export(a == keymap.Browse)
	}
	r := s.selected()
	if r == nil {
		return nil
	}
	switch a {
	case keymap.Copy:
		s.copy(rowText(s.layout.plain(), r), rowName(r))
	case keymap.CopyMore:
		return s.copyMarkdown(r)
	case keymap.OpenOutside:
		return s.openOutside(r)
	case keymap.Inspect:
		return s.push(newRow(s, r.ID, render.TabRaw))
	}
	return nil
}

// run gives the terminal to an agent in this session.
func (s *sessionScreen) run(kind view.ProgramKind) tea.Cmd {
	if s.inChat() {
		s.say("a chat is open: q goes back to it")
		return nil
	}
	if s.running != nil {
		s.say(fmt.Sprintf("process %d has this session open", s.running.PID))
		return nil
	}
	job := view.Program{Kind: kind, Info: s.info}
	return s.hand(s, func() (runner, error) { return s.src.Command(job) }, func(err error) tea.Msg {
		if err != nil {
			return sayMsg(tty.Line(err.Error()))
		}
		return nil
	})
}

// export writes a page with the session.
func (s *sessionScreen) export(show bool) tea.Cmd {
	s.say("exporting …")
	return background(s, func() tea.Msg {
		path, err := s.src.Export(s.ctx, s.info, show)
		if err != nil {
			return sayMsg("can't export the session: " + tty.Line(err.Error()))
		}
		return sayMsg("exported to " + tty.CleanLine(path))
	})
}

// copyMarkdown copies a row as Markdown. That of a subagent is copied as text.
func (s *sessionScreen) copyMarkdown(r *rows.Row) tea.Cmd {
	lines := slices.DeleteFunc([]int{r.At().Line, r.ResultAt().Line}, func(n int) bool { return n == 0 })
	if r.Agent != "" || len(lines) == 0 {
		s.copy(rowText(s.layout.plain(), r), rowName(r))
		return nil
	}
	name := rowName(r) + " as Markdown"
	return background(s, func() tea.Msg {
		text, err := s.src.Markdown(s.ctx, s.info, lines)
		if err != nil {
			return sayMsg("can't copy: " + tty.Line(err.Error()))
		}
		return copyMsg{text, name}
	})
}

// openOutside shows a row in an editor or a pager.
func (s *sessionScreen) openOutside(r *rows.Row) tea.Cmd {
	row, o := *r, s.layout.plain()
	return s.showText(s, func() string {
		if item := row.Item; item != nil {
			if path, ok := transcript.SpillPath(item); ok {
				if data, err := s.src.Spill(s.ctx, s.info, path); err == nil {
					return o.RowLine(&row, render.NoMark) + "\n" + tty.CleanExactly(string(data))
				}
			}
		}
		return rowText(o, &row)
	}, "row.txt")
}

// showText shows a text in an editor or a pager. It is made when it is needed, beside the program's
// loop.
func (a *app) showText(to screen, text func() string, name string) tea.Cmd {
	return a.hand(to, func() (runner, error) {
		return a.src.Command(view.Program{Kind: view.ShowText, Text: text(), Name: name})
	}, func(err error) tea.Msg {
		if err != nil {
			return sayMsg(tty.Line(err.Error()))
		}
		return nil
	})
}

// click selects the row at a place, and folds or unfolds it at its mark.
func (s *sessionScreen) click(x, y int) tea.Cmd {
	line := y - s.listTop
	if x > s.columns && s.outline.columns(s.width) > 0 {
		s.outline.click(s, line)
		return nil
	}
	if line < 0 || line >= len(s.drawn) {
		return nil
	}
	if x == s.columns && x >= minForBar-1 {
		s.list.jump(line, s.list.height)
		return nil
	}
	at := s.drawn[line]
	s.list.settle()
	s.list.following = s.list.following && at.row == s.list.lastShown()
	s.list.selected = at.row
	const markColumns = 3 // the mark of the selection, of folding, and a space
	if indent := 2 * s.layout.rows.At(at.row).Depth; at.line == 0 && x < indent+markColumns {
		s.list.toggle()
	}
	return nil
}

func (s *sessionScreen) wheel(lines int) tea.Cmd {
	s.list.scroll(lines)
	return nil
}

func (s *sessionScreen) close() {
	s.finder.cancel()
	s.base.close()
}

// rowText returns a row as text. The options have no width and no colors.
func rowText(o render.Options, r *rows.Row) string {
	switch r.Kind {
	case rows.Prompt, rows.Answer, rows.Thinking, rows.Notice, rows.Teammate, rows.Compaction:
		return tty.CleanExactly(r.Text)
	}
	lines, _ := o.RowBody(r, 0)
	return strings.Join(append([]string{strings.TrimLeft(o.RowLine(r, render.NoMark), " ")}, lines...), "\n")
}
