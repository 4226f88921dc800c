package tui

import (
	"cmp"
	"maps"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/view"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/usage"
)

// A sessionData holds the data of the sessions screen, and the state of pending reads.
type sessionData struct {
	view.List
	listed bool            // the list arrived
	here   map[string]bool // names of the projects of this directory
	trash  []sessions.TrashedSession
	lists  chan listMsg // the newest list that was not looked at
	err    error        // why the list is not complete

	reading   bool // summaries are being read
	measuring bool // figures are being counted
}

// A listMsg lists all sessions by their files.
type listMsg struct {
	infos []sessions.SessionInfo
	here  map[string]bool // nil except for the first one
	err   error
}

// Messages to the sessions screen.
type (
	summariesMsg []view.Described
	figuresMsg   struct {
		infos   []sessions.SessionInfo
		figures []*view.Figures
	}
	agentsMsg struct {
		running []sessions.RunningSession
		err     error
		again   bool // it is the regular look
	}
	trashMsg struct {
		trash []sessions.TrashedSession
		err   error
	}
	glanceMsg struct {
		key    string
		glance *glance
	}
)

// watch starts the list, which is updated as sessions change, and waits for the first one.
func (s *sessionsScreen) watch() tea.Cmd {
	s.data.lists = make(chan listMsg, 1)
	ctx, src, lists := s.ctx, s.src, s.data.lists
	return ask(s, func() tea.Msg {
		go func() {
			for infos, err := range src.List(ctx) {
				msg := listMsg{infos: infos, err: err}
				select {
				case old := <-lists: // it is out of date, but not its error
					msg.err = cmp.Or(msg.err, old.err)
				default:
				}
				lists <- msg
			}
		}()
		here := src.Here(ctx)
		msg := <-nextList(s)
		msg.here = here
		return msg
	})
}

// nextList returns the channel of lists, or a channel with a message if the screen is closed.
func nextList(s *sessionsScreen) <-chan listMsg {
	next := make(chan listMsg, 1)
	select {
	case msg := <-s.data.lists:
		next <- msg
	case <-s.ctx.Done():
		next <- listMsg{err: s.ctx.Err()}
	}
	return next
}

// waitForList waits until the list changes.
func (s *sessionsScreen) waitForList() tea.Cmd {
	return ask(s, func() tea.Msg { return <-nextList(s) })
}

func (s *sessionsScreen) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case listMsg:
		s.takeList(msg)
		return tea.Batch(s.waitForList(), s.more(), s.findRunning())
	case summariesMsg:
		s.data.reading = false
		s.takeSummaries(msg)
	case figuresMsg:
		s.data.measuring = false
		s.takeFigures(msg)
	case agentsMsg:
		return tea.Batch(s.takeRunning(msg), s.more())
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

// takeList takes a new list. Unchanged sessions keep their summaries and figures.
func (s *sessionsScreen) takeList(msg listMsg) {
	d := &s.data
	if msg.err != nil {
		d.err = msg.err
		s.say("the list is not complete: " + tty.Line(msg.err.Error()))
	}
	if msg.here != nil {
		d.here = msg.here
	}
	if msg.infos != nil || !d.listed {
		d.Take(msg.infos)
	}
	d.listed = true
	if !s.scoped {
		s.scoped = true
		s.scopeAll = !slices.ContainsFunc(d.Order, func(e *view.Entry) bool { return d.here[e.Project] })
	}
	s.changed()
}

// takeSummaries takes summaries. Sessions that changed since are read again.
func (s *sessionsScreen) takeSummaries(found []view.Described) {
	s.data.TakeSummaries(found)
	s.changed()
}

func (s *sessionsScreen) takeFigures(msg figuresMsg) {
	for i, info := range msg.infos {
		if e := s.data.Find(info.Path); e != nil {
			e.Figures = msg.figures[i]
		}
	}
}

// liveInterval is the interval of checks for running agents: a killed process does not change a
// file. If no agent runs, the check is rarely needed, since an agent that starts soon changes the
// list.
const (
	liveInterval = 10 * time.Second
	idleInterval = time.Minute
)

func (s *sessionsScreen) takeRunning(msg agentsMsg) tea.Cmd {
	running := view.Running(msg.running)
	if !maps.Equal(running, s.data.Running) {
		s.data.Running = running
		s.changed()
	}
	if !msg.again {
		return nil
	}
	interval := liveInterval
	if len(running) == 0 {
		interval = idleInterval
	}
	src, ctx := s.src, s.ctx
	return tea.Tick(interval, func(time.Time) tea.Msg {
		running, err := src.Running(ctx)
		return answer{s, agentsMsg{running, err, true}}
	})
}

// findRunning looks for sessions that agents have open. The first call starts regular checks.
func (s *sessionsScreen) findRunning() tea.Cmd {
	src, ctx, again := s.src, s.ctx, s.data.Running == nil
	if again {
		s.data.Running = map[string]sessions.RunningSession{}
	}
	return ask(s, func() tea.Msg {
		running, err := src.Running(ctx)
		return agentsMsg{running, err, again}
	})
}

func (s *sessionsScreen) findTrash() tea.Cmd {
	src, ctx := s.src, s.ctx
	return ask(s, func() tea.Msg {
		trash, err := src.Trash(ctx)
		return trashMsg{trash, err}
	})
}

const (
	// readAtOnce is the number of summaries to read in addition to the visible ones, which takes
	// some 20 ms.
	readAtOnce = 400
	// measuredAtOnce is the number of sessions to count at a time.
	measuredAtOnce = 8
)

// more returns commands that read the data for the visible rows, and then the rest.
func (s *sessionsScreen) more() tea.Cmd {
	return tea.Batch(s.readSummaries(), s.countFigures(), s.readGlance())
}

// readSummaries reads the summaries of the visible rows or, if these are known, of others.
func (s *sessionsScreen) readSummaries() tea.Cmd {
	if s.data.reading || !s.data.listed {
		return nil
	}
	wanted := s.visibleEntries(func(e *view.Entry) bool { return !e.Read && e.Path != "" })
	if len(wanted) == 0 {
		wanted = s.data.Unread(readAtOnce)
	}
	if len(wanted) == 0 {
		return nil
	}
	s.data.reading = true
	src, ctx := s.src, s.ctx
	return ask(s, func() tea.Msg {
		var found summariesMsg
		for _, info := range src.Summarize(ctx, wanted) {
			found = append(found, view.Describe(info))
		}
		return found
	})
}

// countFigures counts turns and cost of the visible rows.
func (s *sessionsScreen) countFigures() tea.Cmd {
	if s.data.measuring {
		return nil
	}
	wanted := s.visibleEntries((*view.Entry).Uncounted)
	if len(wanted) == 0 {
		return nil
	}
	wanted = wanted[:min(measuredAtOnce, len(wanted))]
	s.data.measuring = true
	src, ctx := s.src, s.ctx
	return ask(s, func() tea.Msg {
		msg := figuresMsg{infos: wanted}
		prices := usage.DefaultPrices()
		for i, f := range src.Measure(ctx, wanted) {
			msg.figures = append(msg.figures, view.Count(&wanted[i], &f, prices))
		}
		return msg
	})
}

// visibleEntries returns the sessions on the screen for which a condition holds.
func (s *sessionsScreen) visibleEntries(holds func(*view.Entry) bool) []sessions.SessionInfo {
	var found []sessions.SessionInfo
	height := max(s.pick.height, 20)
	from := max(s.pick.top, 0)
	for _, item := range s.pick.lines[min(from, len(s.pick.lines)):min(from+height, len(s.pick.lines))] {
		if item >= 0 && item < len(s.rows) && holds(s.rows[item]) {
			found = append(found, s.rows[item].SessionInfo)
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
		return e.Project == s.project
	case s.scopeAll:
		return true
	}
	return s.data.here[e.Project]
}
