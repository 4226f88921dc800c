package tui

import (
	"context"
	"errors"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/clewdev/clew/cmd/clew/internal/fuzzy"
	"github.com/clewdev/clew/cmd/clew/internal/jobview"
	"github.com/clewdev/clew/cmd/clew/internal/keymap"
	"github.com/clewdev/clew/internal/tty"
)

// A Fleet has the jobs that the viewer shows. Only commands call its methods, which may block.
type Fleet = jobview.Fleet

// Jobs provides access to jobs. The zero value means that there are none.
type Jobs struct {
	// Connect returns the fleet, or nil if there is none. It is called beside the program's loop: when
	// the viewer starts, and again when the user wants to see jobs and there was none.
	Connect func(ctx context.Context) (Fleet, error)
	// IsNamed means that the user named a fleet. Flags are the flags that other commands need for
	// the same fleet, such as " --fleet URL", or "".
	IsNamed bool
	Flags   string
}

// A fleetMsg is the fleet that there is, or nil.
type fleetMsg struct {
	fleet Fleet
	err   error
}

// connect looks for the fleet, unless it is there.
func (a *app) connect(to screen) tea.Cmd {
	connect, ctx := a.opts.Jobs.Connect, a.ctx
	if connect == nil || a.fleet != nil {
		return nil
	}
	return background(to, func() tea.Msg {
		f, err := connect(ctx)
		return fleetMsg{f, err}
	})
}

// takeFleet takes the fleet, or reports why a fleet that the user named is missing.
func (a *app) takeFleet(msg fleetMsg) {
	if msg.fleet != nil {
		a.fleet = msg.fleet
	}
	if msg.err != nil && a.opts.Jobs.IsNamed && !errors.Is(msg.err, context.Canceled) {
		a.say("jobs are not shown: " + tty.Line(msg.err.Error()))
	}
}

// showJobs opens the job list.
func (a *app) showJobs() tea.Cmd {
	if a.opts.Jobs.Connect == nil {
		a.say("jobs are in the list of sessions of clew, not here")
		return nil
	}
	return a.push(&jobsScreen{base: newBase(a)})
}

// A jobsScreen lists the jobs of a fleet, and follows them.
type jobsScreen struct {
	base
	board  *jobview.Board // nil until there is a fleet
	missed bool           // there is none
	err    error          // why there is none
	told   chan struct{}  // has a value if the board changed

	list    jobview.Listing
	query   string // that the list matches
	listing bool   // another list is being made
	stale   bool   // and will be old

	filter field
	typing bool // keys go into the filter
	pick   pick
}

// Messages to the jobs screen.
type (
	boardMsg   struct{} // jobs changed
	listingMsg struct {
		list  *jobview.Listing
		query string
	}
	minuteMsg  struct{} // ages changed
	connectMsg struct{} // it is time to look for the fleet again
)

// connectPause is the time before the screen looks for the fleet again, since somebody may start a
// worker.
const connectPause = 2 * time.Second

func (s *jobsScreen) scope() keymap.Scope { return keymap.InJobs }

func (s *jobsScreen) start() tea.Cmd {
	if s.fleet == nil {
		return s.connect(s)
	}
	return s.follow()
}

// follow follows the jobs of the fleet.
func (s *jobsScreen) follow() tea.Cmd {
	s.told = make(chan struct{}, 1)
	told, ctx := s.told, s.ctx
	board := jobview.NewBoard(s.fleet, func(jobview.News) {
		select {
		case told <- struct{}{}:
		default: // the screen did not look yet
		}
	})
	s.board = board
	return tea.Batch(s.refresh(), s.minute(), background(s, func() tea.Msg {
		board.Follow(ctx)
		return s.wait()
	}))
}

// wait waits for a change of the board.
func (s *jobsScreen) wait() tea.Msg {
	select {
	case <-s.told:
		return boardMsg{}
	case <-s.ctx.Done():
		return nil
	}
}

// minute draws the ages again.
func (s *jobsScreen) minute() tea.Cmd {
	return tea.Tick(time.Minute, func(time.Time) tea.Msg { return answer{s, minuteMsg{}} })
}

func (s *jobsScreen) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case fleetMsg:
		if !s.missed || msg.fleet != nil { // the screen shows the error from then on
			s.takeFleet(msg)
		}
		if s.missed, s.err = s.fleet == nil, msg.err; s.missed {
			return tea.Tick(connectPause, func(time.Time) tea.Msg { return answer{s, connectMsg{}} })
		} else if s.board == nil {
			return s.follow()
		}
	case connectMsg:
		switch {
		case !slices.Contains(s.stack, screen(s)): // it was left
		case s.fleet == nil:
			return s.connect(s)
		case s.board == nil: // another screen found it
			s.missed = false
			return s.follow()
		}
	case boardMsg:
		cmds := []tea.Cmd{s.refresh(), background(s, s.wait)}
		for _, above := range s.stack {
			if j, ok := above.(*jobScreen); ok && j.list == s {
				cmds = append(cmds, j.refresh())
			}
		}
		return tea.Batch(cmds...)
	case listingMsg:
		s.listing = false
		s.take(msg)
		if s.stale {
			return s.refresh()
		}
	case minuteMsg:
		for _, above := range s.stack {
			if j, ok := above.(*jobScreen); ok && j.list == s {
				j.stale = true // it also has times
			}
		}
		return s.minute()
	}
	return nil
}

// refresh makes the list again, beside the program's loop: it may have 100,000 jobs. While it is made, further
// changes wait for the next one.
func (s *jobsScreen) refresh() tea.Cmd {
	if s.board == nil {
		return nil
	}
	if s.stale = s.listing; s.stale {
		return nil
	}
	s.listing = true
	board, query := s.board, s.filter.String()
	return background(s, func() tea.Msg { return listingMsg{board.List(fuzzy.Parse(query)), query} })
}

// take shows a list. The selected job stays selected, in its place on the screen.
func (s *jobsScreen) take(msg listingMsg) {
	id, offset, narrowed := s.selectedID(), s.pick.offset(), msg.query != s.query
	s.list, s.query = *msg.list, msg.query
	if !s.list.Complete { // a part of them is in no order that stays
		s.list = jobview.Listing{Err: s.list.Err}
	}
	lines := make([]int, 0, len(s.list.Rows)+int(jobview.GroupCount))
	for i, r := range s.list.Rows {
		if i == 0 || r.Group() != s.list.Rows[i-1].Group() {
			lines = append(lines, -1)
		}
		lines = append(lines, i)
	}
	s.pick.set(lines)
	at := slices.IndexFunc(s.list.Rows, func(r jobview.Row) bool { return r.ID == id })
	switch {
	case narrowed:
		s.pick.act(keymap.Top)
	case at >= 0:
		s.pick.keep(at, offset)
	}
}

// selectedID returns the ID of the selected job, or "".
func (s *jobsScreen) selectedID() string {
	if s.pick.selected >= len(s.list.Rows) {
		return ""
	}
	return s.list.Rows[s.pick.selected].ID
}

func (s *jobsScreen) do(a keymap.Action) tea.Cmd {
	if s.pick.act(a) {
		return nil
	}
	id := s.selectedID()
	switch a {
	case keymap.Back, keymap.Close:
		if s.filter.String() == "" {
			return s.leave(a)
		}
		s.filter.set("")
		return s.refresh()
	case keymap.Find:
		s.typing = true
	case keymap.NextGroup:
		s.moveGroup(1)
	case keymap.PreviousGroup:
		s.moveGroup(-1)
	}
	if id == "" {
		return nil
	}
	switch a {
	case keymap.Open:
		return s.push(newJob(s, id))
	case keymap.Copy:
		s.copy(id, "the ID")
	case keymap.CopyMore:
		s.copy(s.command("tail", id), "the command that follows the job")
	}
	return nil
}

// command returns a command about a job, as one types it in a shell.
func (a *app) command(verb, id string) string {
	return "clew jobs " + verb + " " + id + a.opts.Jobs.Flags
}

// moveGroup selects the first job of the next or the previous group.
func (s *jobsScreen) moveGroup(by int) {
	rows, at := s.list.Rows, s.pick.selected
	if at >= len(rows) {
		return
	}
	group := rows[at].Group()
	for at+by >= 0 && at+by < len(rows) {
		at += by
		if rows[at].Group() != group && (at == 0 || rows[at-1].Group() != rows[at].Group()) {
			break
		}
	}
	if rows[at].Group() != group || by < 0 {
		s.pick.choose(at)
	}
}

func (s *jobsScreen) typed(key tea.KeyPressMsg) (tea.Cmd, bool) {
	if !s.typing {
		return nil, false
	}
	switch key.String() {
	case "esc":
		s.typing = false
		s.filter.set("")
		return s.refresh(), true
	case "tab":
		s.typing = false
		return nil, true
	case "enter":
		s.typing = false
		return s.do(keymap.Open), true
	}
	if a, ok := movesWhileTyping[key.String()]; ok {
		s.pick.act(a)
		return nil, true
	}
	if !s.filter.press(key) {
		return nil, false
	}
	return s.refresh(), true
}

func (s *jobsScreen) paste(text string) tea.Cmd {
	if !s.typing {
		return nil
	}
	s.filter.insert(text)
	return s.refresh()
}

// click selects a job. A click on the selected job opens it.
func (s *jobsScreen) click(_, y int) tea.Cmd {
	item, ok := s.pick.at(y - s.listTop())
	switch {
	case !ok:
		return nil
	case item == s.pick.selected:
		return s.do(keymap.Open)
	}
	s.pick.choose(item)
	return nil
}

func (s *jobsScreen) wheel(lines int) tea.Cmd {
	s.pick.scroll(lines)
	return nil
}
