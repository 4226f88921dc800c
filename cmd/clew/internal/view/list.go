package view

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/clewdev/clew/cmd/clew/internal/fuzzy"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/sessions"
)

// A List is a session list. Its zero value is an empty list. It is for one goroutine at a time.
type List struct {
	// Order are the sessions, the newest first.
	Order []*Entry
	// Running are the sessions that agents have open, by ID. It may be nil.
	Running map[string]sessions.RunningSession
	// Here is the name of this machine in archives.
	Here string

	entries  map[string]*Entry // by key
	machines bool              // the sessions are of several machines
}

// Find returns the session with that key, or nil.
func (l *List) Find(key string) *Entry { return l.entries[key] }

// Take takes a new list by the files. Unchanged sessions keep their summaries and figures, and
// others keep their titles until they are read again.
func (l *List) Take(infos []sessions.SessionInfo) {
	known := l.entries
	l.entries, l.Order = make(map[string]*Entry, len(infos)), make([]*Entry, 0, len(infos))
	for _, info := range infos {
		e := known[info.Path]
		switch {
		case e == nil:
			e = &Entry{Described: Described{SessionInfo: info}}
		case !e.Modified.Equal(info.Modified) || e.Size != info.Size:
			e.Modified, e.Size, e.Read = info.Modified, info.Size, false
		}
		l.entries[e.Key()] = e
		l.Order = append(l.Order, e)
	}
	l.machines = slices.ContainsFunc(l.Order, func(e *Entry) bool { return l.MachineName(e) != l.MachineName(l.Order[0]) })
}

// MachineName returns the machine that a session was recorded on, or "" if no archive is read.
func (l *List) MachineName(e *Entry) string {
	if len(sessions.ArchiveRoots()) == 0 {
		return ""
	}
	return cmp.Or(MachineIn(e.Path), l.Here)
}

// Machines reports whether the list has sessions of several machines.
func (l *List) Machines() bool { return l.machines }

// Machine returns the machine that a session was recorded on, if the list has sessions of several.
func (l *List) Machine(e *Entry) string {
	if !l.machines {
		return ""
	}
	return tty.Line(l.MachineName(e))
}

// MachineIn returns the machine whose archived session is at a path, or "" for the agent's own files.
func MachineIn(path string) string {
	if root, ok := sessions.FromArchive(path); ok {
		return filepath.Base(root)
	}
	return ""
}

// TakeFigures takes the figures of sessions. A session that is no longer listed is left out.
func (l *List) TakeFigures(infos []sessions.SessionInfo, figures []*Figures) {
	for i := range figures {
		if e := l.Find(infos[i].Path); e != nil {
			e.Figures = figures[i]
		}
	}
}

// TakeSummaries takes the summaries of sessions as they were listed when they began to be read. Sessions that the list
// knows to have changed since stay unread.
func (l *List) TakeSummaries(infos []sessions.SessionInfo, found []Described) {
	for i := range found {
		e := l.entries[infos[i].Path]
		if e == nil || !e.Modified.Equal(infos[i].Modified) || e.Size != infos[i].Size {
			continue
		}
		modified := e.Modified
		e.Described, e.Read = found[i], true
		e.Modified = modified // the order of the list
	}
}

// endOngoing ends Ongoing of the sessions whose agent has written nothing for long, and reports whether there was one.
// It returns the time at which the next one ends, or the zero time if no agent works.
func (l *List) endOngoing(now time.Time) (next time.Time, ended bool) {
	for _, e := range l.Order {
		if !e.Ongoing {
			continue
		}
		switch at := e.OngoingUntil(); {
		case !now.Before(at):
			e.Ongoing, ended = false, true
		case next.IsZero() || at.Before(next):
			next = at
		}
	}
	return next, ended
}

// Remove removes a session.
func (l *List) Remove(e *Entry) {
	delete(l.entries, e.Key())
	l.Order = slices.DeleteFunc(l.Order, func(other *Entry) bool { return other == e })
}

// CountUnread returns the number of sessions that were not read.
func (l *List) CountUnread() (n int) {
	for _, e := range l.Order {
		if !e.Read {
			n++
		}
	}
	return n
}

// Unread returns at most n sessions that were not read.
func (l *List) Unread(n int) (found []sessions.SessionInfo) {
	for _, e := range l.Order {
		if !e.Read && len(found) < n {
			found = append(found, e.SessionInfo)
		}
	}
	return found
}

// Running makes the map of [List.Running]. Of two agents with the same session the first one counts.
func Running(list []sessions.RunningSession) map[string]sessions.RunningSession {
	running := make(map[string]sessions.RunningSession, len(list))
	for _, r := range list {
		if _, ok := running[r.ID]; !ok {
			running[r.ID] = r
		}
	}
	return running
}

// Live returns the sessions that agents have open or work in. Those that wait for the user come first.
func (l *List) Live() []*Entry {
	var found []*Entry
	seen := map[string]bool{}
	for _, e := range l.Order {
		if _, open := l.Running[e.ID]; open || e.Ongoing {
			seen[e.ID] = true
			found = append(found, e)
		}
	}
	for id, r := range l.Running {
		if !seen[id] { // nothing was written yet
			info := sessions.SessionInfo{ID: id, Modified: r.Started, Summary: sessions.Summary{CWD: r.CWD, CustomTitle: r.Name}}
			found = append(found, &Entry{Described: Describe(info), Read: true})
		}
	}
	slices.SortStableFunc(found, func(a, b *Entry) int {
		return cmp.Or(cmp.Compare(l.urgency(a), l.urgency(b)), b.Modified.Compare(a.Modified), strings.Compare(a.ID, b.ID))
	})
	return found
}

func (l *List) urgency(e *Entry) int {
	if l.State(e).Waits {
		return 0
	}
	return 1
}

// A Project is a project of the list.
type Project struct {
	Name      string // in the agent's directory
	Directory string // of the sessions that were read and of jobs, or ""
	Count     int    // sessions
	Live      int    // number of live sessions
	Newest    time.Time
}

// Shown returns the name for people. It is clean.
func (p *Project) Shown() string { return tty.Line(render.ProjectName(p.Directory, p.Name)) }

// FilterText returns the text that a filter searches. It starts with the name.
func (p *Project) FilterText() fuzzy.Text {
	return fuzzy.Prepare(p.Shown() + "\n" + tty.Line(cmp.Or(p.Directory, p.Name)))
}

// Projects returns the projects, the newest first.
func (l *List) Projects() []*Project {
	byName := map[string]*Project{}
	var found []*Project
	for _, e := range l.Order {
		if e.Hidden() {
			continue
		}
		name := e.Home()
		p := byName[name]
		if p == nil {
			p = &Project{Name: name, Newest: e.Modified}
			byName[name] = p
			found = append(found, p)
		}
		p.Count++
		p.Directory = cmp.Or(p.Directory, e.Directory())
		if l.State(e).Live {
			p.Live++
		}
	}
	return found
}

// A State is the known state of an agent in a session. Its texts are clean.
type State struct {
	Live  bool
	Waits bool   // for the user
	Text  string // working, waits for you, open
	What  string // the thing that it waits for
	How   string // how that is known
}

// State returns the known state of the agent that has a session open.
func (l *List) State(e *Entry) State {
	r, open := l.Running[e.ID]
	switch {
	case !open && e.Ongoing:
		return State{Live: true, Text: "working", How: "by its transcript"}
	case !open:
		return State{}
	}
	state := State{Live: true, How: "by its process"}
	switch r.Status {
	case "busy":
		state.Text = "working"
	case "waiting":
		state.Text, state.Waits, state.What = "waits for you", true, tty.Line(r.WaitingFor)
	case "idle":
		state.Text = "open"
	case "":
		state.Text, state.What, state.How = "unknown", "its process does not say what it does", ""
		if e.Ongoing {
			state.Text, state.What, state.How = "working", "", "by its transcript"
		}
	default:
		state.Text = tty.Line(r.Status)
	}
	return state
}

// Working reports whether the agent works.
func (s State) Working() bool { return s.Text == "working" }

// Whole returns the state with its subject: the thing that the agent waits for or works at. call is
// the pending tool call, or "".
func (s State) Whole(call string) string {
	what := s.What
	if s.Waits || s.Working() {
		what = cmp.Or(call, what)
	}
	if what == "" {
		return s.Text
	}
	return s.Text + ": " + what
}

// Short returns the state in few letters.
func (s State) Short() string {
	word, _, _ := strings.Cut(s.Text, " ")
	return word
}

// Style returns how a state is painted.
func (s State) Style() tty.Style {
	switch {
	case s.Waits:
		return tty.Waiting
	case s.Working():
		return tty.Success
	}
	return tty.Dim
}

// Age returns the time since a session changed, or below the heading of a day the time of day.
func (l *List) Age(e *Entry, now time.Time, byDay bool) string {
	at := e.Modified.In(now.Location())
	switch {
	case l.State(e).Working():
		return "now"
	case byDay && render.DayNumber(at) != render.DayNumber(now):
		return at.Format("15:04")
	}
	return wording.Age(e.Modified, now)
}
