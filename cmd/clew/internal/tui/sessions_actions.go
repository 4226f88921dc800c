package tui

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	tea "charm.land/bubbletea/v2"

	"github.com/clewdev/clew/cmd/clew/internal/keymap"
	"github.com/clewdev/clew/cmd/clew/internal/view"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/sessions"
)

// A doneMsg is the outcome of an action on a session.
type doneMsg struct {
	said  string // the message on success
	err   error
	trash bool // the trash changed
	key   string
}

// act runs an action on the selected row.
func (s *sessionsScreen) act(a keymap.Action) tea.Cmd {
	switch s.tab {
	case projectsTab:
		return s.actOnProject(a)
	case trashTab:
		return s.actOnTrash(a)
	}
	e := s.selected()
	if e == nil {
		return nil
	}
	if e.Path == "" {
		s.say("nothing was written to this session yet")
		return nil
	}
	info := e.SessionInfo
	switch a {
	case keymap.Open:
		return s.push(newSession(s.app, info, Place{}))
	case keymap.Resume, keymap.Continue, keymap.Fork:
		return s.takeOver(a, info)
	case keymap.Export, keymap.Browse:
		return s.export(info, a == keymap.Browse)
	case keymap.Copy:
		s.copy(info.ID, "the ID")
	case keymap.CopyMore:
		s.copy(view.ResumeCommand(info.ID, info.CWD, info.Path), "the command that resumes the session")
	case keymap.Rename:
		return s.askLine("Title:", tty.Line(info.Title()), func(title string) tea.Cmd {
			return s.change(info, "renamed", func(ctx context.Context, src Source) error { return src.Rename(ctx, info, title) })
		})
	case keymap.Tag:
		return s.askLine("Tag (empty for none):", tty.Line(info.Tag), func(tag string) tea.Cmd {
			return s.change(info, "tagged", func(ctx context.Context, src Source) error { return src.Tag(ctx, info, tag) })
		})
	case keymap.Delete:
		return s.delete(info)
	case keymap.Inspect:
		return s.push(newInfo(s.app, s, info.Path))
	}
	return nil
}

// openBy returns the agent that has a session open, as it is now.
func openBy(ctx context.Context, src Source, id string) (sessions.RunningSession, bool) {
	running, _ := src.Running(ctx) // an agent whose file can't be read is not known
	for _, r := range running {
		if r.ID == id {
			return r, true
		}
	}
	return sessions.RunningSession{}, false
}

// takeOver gives the terminal to an agent, unless the session is open in another one.
func (s *sessionsScreen) takeOver(a keymap.Action, info sessions.SessionInfo) tea.Cmd {
	src, ctx := s.src, s.ctx
	kind := map[keymap.Action]view.ProgramKind{keymap.Resume: view.ResumeAgent, keymap.Continue: view.ContinueChat, keymap.Fork: view.ForkChat}[a]
	start := func() tea.Cmd {
		return s.hand(s, func() (runner, error) { return src.Command(view.Program{Kind: kind, Info: info}) },
			func(err error) tea.Msg { return doneMsg{err: err, key: info.Path} })
	}
	if a == keymap.Fork { // the other agent keeps its session
		return s.confirm("Fork \""+tty.Fit(tty.Line(info.Title()), 40)+"\" in clew chat?", start)
	}
	return background(s, func() tea.Msg {
		r, open := openBy(ctx, src, info.ID)
		return func() tea.Cmd {
			if !open {
				return start()
			}
			s.say(fmt.Sprintf("an agent has this session open (process %d): %s views it, %s copies the command, %s forks it",
				r.PID, s.keyFor(keymap.Open), s.keyFor(keymap.CopyMore), s.keyFor(keymap.Fork)))
			return nil
		}
	})
}

func (s *sessionsScreen) export(info sessions.SessionInfo, browse bool) tea.Cmd {
	src, ctx := s.src, s.ctx
	s.say("exporting ...")
	return background(s, func() tea.Msg {
		path, err := src.Export(ctx, info, browse)
		said := "exported to " + tty.Line(path)
		if browse {
			said = "opened " + tty.Line(path)
		}
		return doneMsg{said: said, err: err, key: info.Path}
	})
}

// change changes a session, and reads it again.
func (s *sessionsScreen) change(info sessions.SessionInfo, said string, io func(context.Context, Source) error) tea.Cmd {
	src, ctx := s.src, s.ctx
	return background(s, func() tea.Msg { return doneMsg{said: said, err: io(ctx, src), key: info.Path} })
}

// delete moves a session to the trash if the user says yes, unless an agent has it open: that would
// write the rest to a new file.
func (s *sessionsScreen) delete(info sessions.SessionInfo) tea.Cmd {
	src, ctx := s.src, s.ctx
	yes := func() tea.Cmd {
		return background(s, func() tea.Msg {
			if r, open := openBy(ctx, src, info.ID); open {
				return doneMsg{err: isOpenError(r.PID)}
			}
			said := "moved to the trash; " + s.keyFor(keymap.Rename) + " in the tab Trash restores it"
			return doneMsg{said: said, err: src.Delete(ctx, info), trash: true, key: info.Path}
		})
	}
	return background(s, func() tea.Msg {
		r, open := openBy(ctx, src, info.ID)
		return func() tea.Cmd {
			switch {
			case open:
				s.say(isOpenError(r.PID).Error())
				return nil
			case s.top() != screen(s):
				return nil // the user moved on
			}
			return s.confirm("Move \""+tty.Fit(tty.Line(info.Title()), 40)+"\" to the trash?", yes)
		}
	})
}

func isOpenError(pid int) error {
	return fmt.Errorf("not deleted: an agent has this session open (process %d)", pid)
}

// finish reports the outcome of an action, and reads changed data again.
func (s *sessionsScreen) finish(msg doneMsg) tea.Cmd {
	switch {
	case msg.err != nil && !errors.Is(msg.err, context.Canceled):
		s.say(tty.Line(msg.err.Error()))
	case msg.said != "":
		s.say(msg.said)
	}
	if e := s.data.Find(msg.key); e != nil {
		e.Read = false
		if msg.trash && msg.err == nil {
			s.data.Remove(e)
			s.changed()
		}
	}
	if msg.trash {
		return tea.Batch(s.findTrash(), s.more())
	}
	s.data.LookAgain()
	return s.more()
}

func (s *sessionsScreen) actOnProject(a keymap.Action) tea.Cmd {
	if a != keymap.Open || s.pick.selected >= len(s.projects) {
		return nil
	}
	s.project = s.projects[s.pick.selected].Name
	s.filter.set("")
	s.places[recentTab] = ""
	s.changed()
	return s.show(recentTab)
}

func (s *sessionsScreen) actOnTrash(a keymap.Action) tea.Cmd {
	if s.pick.selected >= len(s.deleted) {
		return nil
	}
	t := s.deleted[s.pick.selected]
	switch a {
	case keymap.Open, keymap.Inspect:
		s.say("deleted " + wording.Clock(t.Deleted, s.now()) + "; " + s.keyFor(keymap.Rename) + " restores it")
	case keymap.Rename:
		src, ctx := s.src, s.ctx
		return background(s, func() tea.Msg {
			said := "restored \"" + tty.Fit(cmp.Or(tty.Line(t.Title), "(no title)"), 40) + "\""
			return doneMsg{said: said, err: src.Restore(ctx, t), trash: true}
		})
	case keymap.Copy:
		s.copy(t.ID, "the ID")
	}
	return nil
}
