package view

import (
	"time"

	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
)

// A Column is a fact of sessions that lists show beside the title.
type Column struct {
	// Name is the heading in lower case. In pages, the class is fact-NAME.
	Name string
	// Width is the usual maximum width of the fact on a terminal.
	Width int
	Right bool
	// Varies is set if the column is only worth its room in lists whose sessions differ in it.
	Varies bool
	// Text returns the fact of a session, clean, or "" if it is not known.
	Text func(l *List, e *Entry) string

	style tty.Style
}

// Columns are the facts that ls, the terminal viewer and the pages show, in the order of their places.
var Columns = []*Column{
	{Name: "project", Width: 12, Varies: true, style: tty.Path, Text: func(_ *List, e *Entry) string { return e.ProjectName }},
	{Name: "machine", Width: 12, Varies: true, style: tty.Dim, Text: (*List).Machine},
	{Name: "branch", Width: 10, style: tty.Dim, Text: func(_ *List, e *Entry) string { return tty.Line(render.BranchName(e.GitBranch)) }},
	{Name: "model", Width: 10, style: tty.Dim, Text: func(_ *List, e *Entry) string { return render.ShortModel(e.Model) }},
	{Name: "turns", Width: 9, Right: true, Text: (*List).turns},
	{Name: "time", Width: 6, Right: true, Text: func(_ *List, e *Entry) string { return e.time() }},
	{Name: "tokens", Width: 12, Right: true, Text: func(_ *List, e *Entry) string { return e.Tokens() }},
	{Name: "files", Width: 8, Right: true, Text: func(_ *List, e *Entry) string { return e.FilesChanged() }},
	{Name: "cost", Width: 8, Right: true, style: tty.Cost, Text: func(_ *List, e *Entry) string { return e.Cost() }},
}

// Chosen names the columns in the order in which a terminal shows them while there is room.
var Chosen = []string{"cost", "turns", "time", "project", "machine", "model", "branch", "tokens", "files"}

// ColumnOf returns the column with that name, or nil.
func ColumnOf(name string) *Column {
	for _, c := range Columns {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// Style returns how the fact of a session is painted.
func (c *Column) Style(l *List, e *Entry) tty.Style {
	if state := l.State(e); c.Name == "turns" && state.Live {
		return state.Style()
	}
	return c.style
}

// turns returns the number of turns, or the state of a session that an agent has open.
func (l *List) turns(e *Entry) string {
	if state := l.State(e); state.Live {
		return state.Short()
	}
	return e.Turns()
}

// Duration returns the time from the first to the last entry.
func (e *Entry) Duration() time.Duration {
	if e.Created.IsZero() {
		return 0
	}
	return max(e.LastTime.Sub(e.Created), 0)
}

func (e *Entry) time() string {
	if d := e.Duration(); d >= time.Second {
		return wording.ShortDuration(d)
	}
	return ""
}
