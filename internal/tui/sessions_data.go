package tui

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/clewdev/clew/internal/fuzzy"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/usage"
)

// A sessionData is what the sessions screen knows, and what it is about to find out.
type sessionData struct {
	listed  bool              // the list has come
	here    map[string]bool   // names of the projects of this directory
	entries map[string]*entry // by key
	order   []*entry          // the newest first
	running map[string]sessions.RunningSession
	trash   []sessions.TrashedSession
	lists   chan listMsg // the newest list that was not looked at
	err     error        // why the list is not complete

	reading   bool // summaries are being read
	measuring bool // figures are being counted
}

// An entry is a session of the list.
type entry struct {
	described
	read    bool     // it has its summary
	figures *figures // nil if they were not counted
}

// A described session has its texts as the list needs them.
type described struct {
	sessions.SessionInfo
	title   string // clean
	project string // its name, clean
	text    fuzzy.Text
}

// describe prepares the texts of a session. The text for the filter begins with the title.
func describe(info sessions.SessionInfo) described {
	d := described{SessionInfo: info, project: tty.Line(render.ProjectName(info.CWD, info.Project))}
	d.title = cmp.Or(tty.Line(info.Title()), "(no title)")
	if info.Err != nil {
		d.title = tty.Line("cannot read: " + info.Err.Error())
	}
	parts := []string{d.title, d.project, tty.Line(render.BranchName(info.GitBranch)), tty.Line(info.Tag), tty.Line(info.ID)}
	for _, prompt := range []string{info.FirstPrompt, info.LastPrompt} {
		if prompt = tty.Line(prompt); !strings.HasPrefix(prompt, d.title) {
			parts = append(parts, prompt)
		}
	}
	d.text = fuzzy.Prepare(strings.Join(parts, "\n"))
	return d
}

func (d *described) filterText() fuzzy.Text { return d.text }

// figures are what is counted in a session.
type figures struct {
	size   int64 // of the transcript at that time
	failed bool
	turns  int
	tokens int
	files  int
	costs  usage.Costs
}

// key identifies a session. Several projects may have one with the same ID.
func (e *entry) key() string { return cmp.Or(e.Path, e.ID) }

// hidden reports whether the session is not worth listing.
func (e *entry) hidden() bool { return e.read && !e.Listed() }

// A listMsg is a list of all sessions by their files.
type listMsg struct {
	infos []sessions.SessionInfo
	here  map[string]bool // nil except for the first one
	err   error
}

// Messages to the sessions screen.
type (
	summariesMsg []described
	figuresMsg   struct {
		infos   []sessions.SessionInfo
		figures []*figures
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

// watch starts the list, which goes on as sessions change, and waits for the first one.
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

// nextList returns the channel of lists, or one that has a message if the screen is closed.
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

// waitForList waits until the list has changed.
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
	case func() tea.Cmd: // what follows a check
		return msg()
	}
	return s.more()
}

// takeList takes a new list. Sessions that have not changed keep what is known of them.
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
		d.takeInfos(msg.infos)
	}
	d.listed = true
	if !s.scoped {
		s.scoped = true
		s.scopeAll = !slices.ContainsFunc(d.order, func(e *entry) bool { return d.here[e.Project] })
	}
	s.changed()
}

func (d *sessionData) takeInfos(infos []sessions.SessionInfo) {
	known := d.entries
	d.entries, d.order = make(map[string]*entry, len(infos)), make([]*entry, 0, len(infos))
	for _, info := range infos {
		e := known[info.Path]
		switch {
		case e == nil:
			e = &entry{described: described{SessionInfo: info}}
		case !e.Modified.Equal(info.Modified) || e.Size != info.Size:
			e.Modified, e.Size, e.read = info.Modified, info.Size, false // the old title is shown until it is read
		}
		d.entries[e.key()] = e
		d.order = append(d.order, e)
	}
}

// takeSummaries takes summaries. Sessions that have changed since are read again.
func (s *sessionsScreen) takeSummaries(found []described) {
	for i := range found {
		e := s.data.entries[found[i].Path]
		if e == nil {
			continue
		}
		modified := e.Modified
		e.described, e.read = found[i], true
		e.Modified = modified // the order of the list
	}
	s.changed()
}

func (s *sessionsScreen) takeFigures(msg figuresMsg) {
	for i, info := range msg.infos {
		if e := s.data.entries[info.Path]; e != nil {
			e.figures = msg.figures[i]
		}
	}
}

// liveInterval is how often the screen looks which agents run: a process that was killed changes no
// file. If none runs, that is rarely needed, since an agent that starts soon changes the list.
const (
	liveInterval = 10 * time.Second
	idleInterval = time.Minute
)

func (s *sessionsScreen) takeRunning(msg agentsMsg) tea.Cmd {
	running := map[string]sessions.RunningSession{}
	for _, r := range msg.running {
		if _, ok := running[r.ID]; !ok {
			running[r.ID] = r
		}
	}
	if !maps.Equal(running, s.data.running) {
		s.data.running = running
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

// findRunning looks which sessions agents have open. The first look is the beginning of regular ones.
func (s *sessionsScreen) findRunning() tea.Cmd {
	src, ctx, again := s.src, s.ctx, s.data.running == nil
	if again {
		s.data.running = map[string]sessions.RunningSession{}
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
	// readAtOnce is how many summaries are read behind what is visible, which takes some 20 ms.
	readAtOnce = 400
	// measuredAtOnce is how many sessions are counted at a time.
	measuredAtOnce = 8
	// maxCounted is the size of the largest transcript that is counted for a list.
	maxCounted = 256 << 20
)

// more returns commands that read what the screen shows, and then the rest.
func (s *sessionsScreen) more() tea.Cmd {
	return tea.Batch(s.readSummaries(), s.countFigures(), s.readGlance())
}

// readSummaries reads the summaries of what is visible or, if these are known, of others.
func (s *sessionsScreen) readSummaries() tea.Cmd {
	if s.data.reading || !s.data.listed {
		return nil
	}
	wanted := s.visibleEntries(func(e *entry) bool { return !e.read && e.Path != "" })
	if len(wanted) == 0 {
		for _, e := range s.data.order {
			if !e.read && len(wanted) < readAtOnce {
				wanted = append(wanted, e.SessionInfo)
			}
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	s.data.reading = true
	src, ctx := s.src, s.ctx
	return ask(s, func() tea.Msg {
		var found summariesMsg
		for _, info := range src.Summarize(ctx, wanted) {
			found = append(found, describe(info))
		}
		return found
	})
}

// countFigures counts turns and cost of what is visible.
func (s *sessionsScreen) countFigures() tea.Cmd {
	if s.data.measuring {
		return nil
	}
	wanted := s.visibleEntries(func(e *entry) bool {
		return e.read && e.Err == nil && e.Path != "" && e.Size <= maxCounted && (e.figures == nil || e.figures.size != e.Size)
	})
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
			msg.figures = append(msg.figures, countOf(&wanted[i], &f, prices))
		}
		return msg
	})
}

func countOf(info *sessions.SessionInfo, f *sessions.Figures, prices usage.Prices) *figures {
	n := &figures{size: info.Size, failed: f.Err != nil, turns: f.Turns, files: f.FilesChanged, costs: usage.Cost(f.Calls, prices)}
	for i := range f.Calls {
		n.tokens += f.Calls[i].Usage.TotalTokens()
	}
	return n
}

// visibleEntries returns the sessions on the screen for which a condition holds.
func (s *sessionsScreen) visibleEntries(holds func(*entry) bool) []sessions.SessionInfo {
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
func (s *sessionsScreen) recentEntries() []*entry {
	var found []*entry
	for _, e := range s.data.order {
		if !e.hidden() && s.inScope(e) {
			found = append(found, e)
		}
	}
	return found
}

func (s *sessionsScreen) inScope(e *entry) bool {
	switch {
	case s.project != "":
		return e.Project == s.project
	case s.scopeAll:
		return true
	}
	return s.data.here[e.Project]
}

// liveEntries returns the sessions that agents have open or work in. Those that wait for the user come
// first.
func (s *sessionsScreen) liveEntries() []*entry {
	var found []*entry
	seen := map[string]bool{}
	for _, e := range s.data.order {
		if _, open := s.data.running[e.ID]; open || e.Ongoing {
			seen[e.ID] = true
			found = append(found, e)
		}
	}
	for id, r := range s.data.running {
		if !seen[id] { // nothing was written yet
			info := sessions.SessionInfo{ID: id, Modified: r.Started, Summary: sessions.Summary{CWD: r.CWD, CustomTitle: r.Name}}
			e := &entry{described: describe(info), read: true}
			found = append(found, e)
		}
	}
	slices.SortStableFunc(found, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(s.urgency(a), s.urgency(b)), b.Modified.Compare(a.Modified), strings.Compare(a.ID, b.ID))
	})
	return found
}

func (s *sessionsScreen) urgency(e *entry) int {
	if s.stateOf(e).waits {
		return 0
	}
	return 1
}

// A projectRow is a project of the list.
type projectRow struct {
	name      string // in the agent's directory
	directory string
	count     int
	live      int
	newest    time.Time
}

func (p *projectRow) shown() string { return tty.Line(render.ProjectName(p.directory, p.name)) }

func (p *projectRow) filterText() fuzzy.Text {
	return fuzzy.Prepare(p.shown() + "\n" + tty.Line(cmp.Or(p.directory, p.name)))
}

// projectRows returns the projects, the newest first.
func (s *sessionsScreen) projectRows() []*projectRow {
	byName := map[string]*projectRow{}
	var found []*projectRow
	for _, e := range s.data.order {
		if e.hidden() {
			continue
		}
		p := byName[e.Project]
		if p == nil {
			p = &projectRow{name: e.Project, newest: e.Modified}
			byName[e.Project] = p
			found = append(found, p)
		}
		p.count++
		p.directory = cmp.Or(p.directory, e.CWD)
		if s.stateOf(e).live {
			p.live++
		}
	}
	return found
}

// A liveState is what an agent does in a session, as far as that is known.
type liveState struct {
	live  bool
	waits bool   // for the user
	text  string // working, waits for you, open
	what  string // what it waits for
	how   string // how that is known
}

// stateOf returns what is known of the agent that has a session open.
func (s *sessionsScreen) stateOf(e *entry) liveState {
	r, open := s.data.running[e.ID]
	switch {
	case !open && e.Ongoing:
		return liveState{live: true, text: "working", how: "by its transcript"}
	case !open:
		return liveState{}
	}
	state := liveState{live: true, how: "by its process"}
	switch r.Status {
	case "busy":
		state.text = "working"
	case "waiting":
		state.text, state.waits, state.what = "waits for you", true, tty.Line(r.WaitingFor)
	case "idle":
		state.text = "open"
	case "":
		state.text, state.what, state.how = "unknown", "its process does not say what it does", ""
		if e.Ongoing {
			state.text, state.what, state.how = "working", "", "by its transcript"
		}
	default:
		state.text = tty.Line(r.Status)
	}
	return state
}
