package tui

import (
	"slices"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/clewdev/clew/cmd/clew/internal/view"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/sessions"
)

// A sessionData holds the data of the sessions screen.
type sessionData struct {
	*view.Listing
	listed   bool            // the list arrived
	here     map[string]bool // names of the projects of this directory
	trash    []sessions.TrashedSession
	news     chan struct{} // has a value if the list changed
	watching sync.WaitGroup
	said     error // why the list is not complete, as far as the user knows
}

// Messages to the sessions screen.
type (
	listedMsg  map[string]bool // the list arrived; the names of the projects of this directory
	changedMsg struct{}        // the list changed
	trashMsg   struct {
		trash []sessions.TrashedSession
		err   error
	}
	glanceMsg struct {
		key    string
		glance *glance
	}
)

// listPace is the minimum time between two changes of the list that are shown.
const listPace = 25 * time.Millisecond

// watch starts the list, which is updated as sessions and agents change.
func (s *sessionsScreen) watch() tea.Cmd {
	s.data.news = make(chan struct{}, 1)
	ctx, src, list, news, mu := s.ctx, s.src, s.data.Listing, s.data.news, &s.mu
	s.data.watching.Go(func() {
		_ = list.Watch(ctx, listPace, func(int) { // it ends with the screen
			select {
			case news <- struct{}{}:
			default: // it is known
			}
		})
	})
	return background(s, func() tea.Msg {
		here := src.Here(ctx)
		if list.Open(ctx) != nil {
			return nil
		}
		mu.Unlock()
		return listedMsg(here)
	})
}

// wait waits until the list is no longer read.
func (s *sessionsScreen) wait() {
	s.data.watching.Wait()
	s.data.Close()
}

// waitForNews waits until the list changes.
func (s *sessionsScreen) waitForNews() tea.Cmd {
	ctx, news := s.ctx, s.data.news
	return background(s, func() tea.Msg {
		select {
		case <-news:
			return changedMsg{}
		case <-ctx.Done():
			return nil
		}
	})
}

func (s *sessionsScreen) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case listedMsg:
		s.takeList(msg)
		return tea.Batch(s.waitForNews(), s.more())
	case changedMsg:
		s.tellError()
		s.refresh()
		return tea.Batch(s.waitForNews(), s.more())
	case trashMsg:
		s.data.trash = msg.trash
		if msg.err != nil {
			s.say("the trash can't be read: " + tty.Line(msg.err.Error()))
		}
		s.changed()
	case glanceMsg:
		s.preview.take(msg)
	case doneMsg:
		return s.finish(msg)
	case fleetMsg:
		s.takeFleet(msg)
	case func() tea.Cmd: // follows a check
		return msg()
	}
	return s.more()
}

// takeList takes the first list.
func (s *sessionsScreen) takeList(here map[string]bool) {
	d := &s.data
	d.here, d.listed = here, true
	s.tellError()
	if !s.scoped {
		s.scoped = true
		s.scopeAll = !slices.ContainsFunc(d.Order, func(e *view.Entry) bool { return d.here[e.Home()] })
	}
	s.changed()
}

// tellError tells the user once why the list is not complete.
func (s *sessionsScreen) tellError() {
	if err := s.data.Err; err != nil && err != s.data.said { //nolint:errorlint // each error is told
		s.data.said = err
		s.say("the list is not complete: " + tty.Line(err.Error()))
	}
}

func (s *sessionsScreen) findTrash() tea.Cmd {
	src, ctx := s.src, s.ctx
	return background(s, func() tea.Msg {
		trash, err := src.Trash(ctx)
		return trashMsg{trash, err}
	})
}

// more has the data for the visible rows read.
func (s *sessionsScreen) more() tea.Cmd {
	if s.data.listed {
		s.data.Want(s.visibleEntries())
	}
	return s.readGlance()
}

// visibleEntries returns the sessions on the screen.
func (s *sessionsScreen) visibleEntries() []*view.Entry {
	var found []*view.Entry
	height := max(s.pick.height, 20)
	from := max(s.pick.top, 0)
	for _, item := range s.pick.lines[min(from, len(s.pick.lines)):min(from+height, len(s.pick.lines))] {
		if item >= 0 && item < len(s.rows) {
			found = append(found, s.rows[item])
		}
	}
	return found
}

// recentEntries returns the sessions of the chosen project, of this project, or all.
func (s *sessionsScreen) recentEntries() []*view.Entry {
	var found []*view.Entry
	for _, e := range s.data.Order {
		if !e.Hidden() && s.inScope(e) {
			found = append(found, e)
		}
	}
	return found
}

func (s *sessionsScreen) inScope(e *view.Entry) bool {
	switch {
	case s.project != "":
		return e.Home() == s.project
	case s.scopeAll:
		return true
	}
	return s.data.here[e.Home()]
}
