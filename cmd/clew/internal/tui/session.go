package tui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/clewdev/clew/cmd/clew/internal/follow"
	"github.com/clewdev/clew/cmd/clew/internal/keymap"
	"github.com/clewdev/clew/cmd/clew/internal/view"
	"github.com/clewdev/clew/internal/pause"
	"github.com/clewdev/clew/internal/pricelist"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/rows"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/usage"
)

// A Place is the position at which a session is opened. The zero value is the end.
type Place struct {
	Line  int    // of the entry
	Agent string // the ID of the subagent that has the entry, or "" for the session
	Words string // to be found and marked
}

// A sessionScreen shows a session's rows.
type sessionScreen struct {
	base
	info     sessions.SessionInfo
	place    Place // to be gone to when the rows are there
	follower view.Follower
	snapshot *follow.Snapshot
	err      error // why nothing more comes
	layout   *sessionLayout
	list     *rowList
	facts    sessionFacts
	counting bool // the facts are being counted
	running  *sessions.RunningSession
	finder   finder
	outline  outline
	drawn    []drawnRow // of the last frame, by line of the list
	listTop  int        // the first line of the list in the last frame
	columns  int        // of the list in the last frame
}

// ShowSession shows a session until the user leaves it.
func ShowSession(ctx context.Context, t Terminal, src Source, opts Options, info sessions.SessionInfo) error {
	return run(ctx, t, &app{opts: opts, src: src}, func(a *app) screen { return newSession(a, info, Place{}) })
}

// newSession returns a screen for a session.
func newSession(a *app, info sessions.SessionInfo, at Place) screen {
	layout := newSessionLayout(a, cmp.Or(info.CWD, a.opts.Dir))
	s := &sessionScreen{base: newBase(a), info: info, place: at, layout: layout, list: newRowList(layout)}
	s.list.resize(max(a.width-2, 1), max(a.height-2, 1)) // nearly: keys may come before the first frame
	return s
}

func (s *sessionScreen) scope() keymap.Scope { return keymap.InSession }

// A snapshotMsg is a new state of the session, or why there is none.
type snapshotMsg struct {
	follower view.Follower
	snapshot *follow.Snapshot
	rows     *rows.List // of the whole snapshot, or nil if most rows stay
	err      error
}

func (s *sessionScreen) start() tea.Cmd {
	read := background(s, func() tea.Msg {
		follower := s.src.Follow(s.info)
		context.AfterFunc(s.ctx, func() { _ = follower.Close() }) // it was open
		return s.read(follower, true)
	})
	return tea.Batch(read, s.look(0))
}

// read waits for the next state of the session. It also makes the rows of a whole session, to keep
// that work out of the program's loop.
func (s *sessionScreen) read(follower view.Follower, first bool) tea.Msg {
	snapshot, err := follower.Next(s.ctx)
	if s.ctx.Err() != nil {
		return nil
	}
	msg := snapshotMsg{follower: follower, snapshot: snapshot, err: err}
	if err == nil && (first || snapshot.First == 0) && snapshot.Transcript != nil {
		msg.rows = new(rows.List)
		msg.rows.Update(snapshot.Transcript, 0)
	}
	return msg
}

// A runningMsg names the agent that has the session open, if there is one.
type runningMsg struct{ session *sessions.RunningSession }

// lookInterval is the interval of checks whether the session is still open in an agent.
const lookInterval = 5 * time.Second

// look checks after some time whether the session is open in an agent. An agent whose file can't be
// read may just be writing it: a session that was open is checked twice then.
func (s *sessionScreen) look(after time.Duration) tea.Cmd {
	wasOpen := s.running != nil
	return background(s, func() tea.Msg {
		for {
			if pause.For(s.ctx, after) != nil {
				return nil
			}
			running, err := s.src.Running(s.ctx)
			for i := range running {
				if running[i].ID == s.info.ID {
					return runningMsg{&running[i]}
				}
			}
			if err == nil || !wasOpen {
				return runningMsg{}
			}
			after, wasOpen = lookInterval, false
		}
	})
}

func (s *sessionScreen) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case snapshotMsg:
		return s.take(msg)
	case runningMsg:
		return s.takeRunning(msg.session)
	case sessionFacts:
		s.facts, s.counting = msg, false
		if s.snapshot != nil && s.facts.revision != s.snapshot.Revision {
			return s.count(time.Second)
		}
	case foundMsg:
		return s.found(msg)
	case copyMsg:
		s.copy(msg.text, msg.what)
	case sayMsg:
		s.say(string(msg))
	}
	return nil
}

// A sayMsg is shown at the bottom of the screen, and a copyMsg is copied.
type (
	sayMsg  string
	copyMsg struct{ text, what string }
)

// take shows a new state of the session.
func (s *sessionScreen) take(msg snapshotMsg) tea.Cmd {
	s.follower = msg.follower
	if msg.err != nil {
		s.err = msg.err
		return nil
	}
	wasLive := s.running != nil
	s.snapshot = msg.snapshot
	next := background(s, func() tea.Msg { return s.read(s.follower, false) })
	if msg.snapshot.Transcript == nil {
		return next
	}
	if day := msg.snapshot.Transcript.Created; !day.IsZero() {
		s.layout.day = day // the header shows it, unless it is today
	}
	s.layout.dir = cmp.Or(s.info.CWD, msg.snapshot.Transcript.CWD, s.opts.Dir)
	if msg.rows != nil {
		s.layout.rows = msg.rows
		if wasLive {
			s.layout.rows.Live = true
			s.layout.rows.Update(msg.snapshot.Transcript, len(msg.snapshot.Transcript.Chunks))
		}
		s.changed(0)
	} else {
		s.changed(s.layout.rows.Update(msg.snapshot.Transcript, msg.snapshot.First))
	}
	cmds := []tea.Cmd{next, s.goTo()}
	if !s.counting {
		cmds = append(cmds, s.count(0))
	}
	if s.finder.matcher != nil && s.finder.revision == 0 { // it was typed before there was anything
		cmds = append(cmds, s.findWords(s.finder.text))
	} else {
		cmds = append(cmds, s.findAgain())
	}
	cmds = append(cmds, s.tellGrowers())
	if !wasLive && !msg.snapshot.Loading && msg.snapshot.Revision > 1 {
		cmds = append(cmds, s.look(0)) // something writes to it
	}
	return tea.Batch(cmds...)
}

// changed updates the screen after rows from an index on changed.
func (s *sessionScreen) changed(from int) {
	s.list.changed(from)
	s.outline.forget(from)
}

// A grower is a screen that shows something of a session, and does something when that has grown.
type grower interface {
	grown(s *sessionScreen) tea.Cmd
}

func (s *sessionScreen) tellGrowers() tea.Cmd {
	var cmds []tea.Cmd
	for _, over := range s.stack {
		if over, ok := over.(grower); ok {
			cmds = append(cmds, over.grown(s))
		}
	}
	return tea.Batch(cmds...)
}

// takeRunning records the agent in which the session is open.
func (s *sessionScreen) takeRunning(running *sessions.RunningSession) tea.Cmd {
	s.running = running
	var cmd tea.Cmd
	if live := running != nil; s.layout.rows.Live != live {
		s.layout.rows.Live = live
		if s.snapshot != nil && s.snapshot.Transcript != nil {
			t := s.snapshot.Transcript
			s.changed(s.layout.rows.Update(t, len(t.Chunks)))
			cmd = s.tellGrowers()
		}
	}
	if running == nil {
		return cmd
	}
	return tea.Batch(cmd, s.look(lookInterval))
}

// goTo goes to the place at which the session is opened, if its row is there.
func (s *sessionScreen) goTo() tea.Cmd {
	if s.place == (Place{}) {
		return nil
	}
	row := s.layout.at(s.place)
	if row < 0 {
		if !s.snapshot.Loading {
			s.place = Place{}
			s.say("the passage is not shown in the session")
		}
		return nil
	}
	text := findable(s.place.Words)
	s.place = Place{}
	s.show(row, 0)
	if text == "" {
		return nil
	}
	s.finder.from = s.layout.id(row)
	return s.findWords(text)
}

// show selects a row and makes it visible.
func (s *sessionScreen) show(row, line int) {
	if s.layout.rows.At(row).Kind == rows.Thinking {
		s.layout.thinking = true
		s.list.remeasure()
	}
	s.list.reveal(row, line, s.list.height/3)
}

// sessionFacts holds the figures in a session's header.
type sessionFacts struct {
	revision int
	cost     wording.Cost
	context  int // in percent, or -1 if it is not known
}

// count counts the facts after some time.
func (s *sessionScreen) count(after time.Duration) tea.Cmd {
	s.counting = true
	snapshot := s.snapshot
	return background(s, func() tea.Msg {
		if pause.For(s.ctx, after) != nil {
			return nil
		}
		costs := usage.Cost(snapshot.Transcript.Calls(), pricelist.Current())
		return sessionFacts{
			revision: snapshot.Revision, cost: wording.CostOfCalls(costs),
			context: contextFill(snapshot.Transcript.Chunks),
		}
	})
}

// contextFill returns how full the context is after the last answer, in percent, or -1 if that is not
// known.
func contextFill(chunks []transcript.Chunk) int {
	tokens, window, ok := render.ContextFill(chunks)
	if !ok {
		return -1
	}
	return (100*tokens + window/2) / window
}

// title returns the clean title of the session.
func (s *sessionScreen) title() string {
	var read *transcript.Transcript
	if s.snapshot != nil {
		read = s.snapshot.Transcript
	}
	return cmp.Or(view.TitleOfOpen(&s.info.Summary, read), tty.Line(s.info.ID), "session")
}

// selected returns the selected row, or nil if there is none.
func (s *sessionScreen) selected() *rows.Row {
	if s.list.selected >= s.layout.rows.Len() {
		return nil
	}
	return s.layout.rows.At(s.list.selected)
}

// trouble returns why nothing is shown, or nothing more, as one clean line. It is "" if all is well.
func (s *sessionScreen) trouble() string {
	switch {
	case errors.Is(s.err, fs.ErrNotExist) || s.snapshot != nil && s.snapshot.Gone:
		return "the session was deleted"
	case s.err != nil:
		return tty.Line(fmt.Sprintf("can't read the session: %v", s.err))
	case s.snapshot != nil && s.snapshot.Err != nil:
		return tty.Line(fmt.Sprintf("can't read everything: %v", s.snapshot.Err))
	}
	return ""
}
