package cli

import (
	"cmp"
	"context"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/search"
	"github.com/clewdev/clew/sessions"
)

// A hitGroup has the hits of one session, as a terminal shows them.
type hitGroup struct {
	hits    []*search.Hit
	title   string // untrusted, as are the others
	project string
	path    string // of the transcript, if several projects have a session with this ID
}

// groupHits groups hits by session. Sessions are in the order of their first hits.
func groupHits(hits []search.Hit) []*hitGroup {
	type key struct{ project, session string }
	groups := map[key]*hitGroup{}
	var list []*hitGroup
	for i := range hits {
		h := &hits[i]
		k := key{h.File.Project, h.SessionID}
		if groups[k] == nil {
			groups[k] = new(hitGroup)
			list = append(list, groups[k])
		}
		groups[k].hits = append(groups[k].hits, h)
	}
	return list
}

// name looks up the title and the project of the session. If it is not found, the hits have to do.
func (g *hitGroup) name(ctx context.Context, repeated map[string]bool) {
	first := g.hits[0]
	info, _ := sessions.Get(ctx, first.SessionID, &sessions.Options{ProjectName: first.File.Project})
	g.title = info.Title()
	g.project = projectName(info.CWD, first.File.Project)
	for _, h := range g.hits {
		if info.CWD == "" && h.Directory != "" {
			g.project = h.Directory
		}
	}
	if repeated[first.SessionID] {
		g.path = mainPath(first) // show needs it
	}
}

// newest returns the time of the newest hit, or the zero time.
func (g *hitGroup) newest() (at time.Time) {
	for _, h := range g.hits {
		if h.Time.After(at) {
			at = h.Time
		}
	}
	return at
}

// text returns the group in so many columns: a line about the session, then two for each hit.
func (g *hitGroup) text(now time.Time, columns int, color bool) string {
	var b strings.Builder
	b.WriteString(g.heading(now, columns, color) + "\n")
	if g.path != "" {
		for _, line := range tty.Wrap(tty.Line(g.path), columns) {
			b.WriteString(tty.Path.Paint(tty.Fit(line, columns), color) + "\n") // one column has no wide character
		}
	}
	for _, h := range g.hits {
		b.WriteString(tty.Dim.Paint(tty.Fit("  "+placeInSession(h, now.Location()), columns), color) + "\n")
		indent := strings.Repeat(" ", min(len(excerptIndent), max(columns-10, 0)))
		excerpt := excerptOf(h, columns-len(indent), color)
		if columns < 10 {
			excerpt = tty.Fit(excerptOf(h, 10, false), columns)
		}
		b.WriteString(indent + excerpt + "\n")
	}
	return b.String()
}

// heading returns the line about the session: its ID and its title, its project and its age at the
// right.
func (g *hitGroup) heading(now time.Time, columns int, color bool) string {
	id := shortID(tty.Line(g.hits[0].SessionID)) + "  "
	about := tty.Line(g.project)
	if at := g.newest(); !at.IsZero() {
		about = render.Join(about, ageOf(at, now))
	}
	title := cmp.Or(tty.Line(g.title), "-")
	room := columns - tty.Width(id) - tty.Width(about) - cellGap
	if room < leastHeading {
		about, room = "", columns-tty.Width(id)
	}
	if room < leastHeading {
		id, room = "", columns
	}
	title = tty.Fit(title, max(room, 1))
	line := tty.Dim.Paint(id, color) + tty.Title.Paint(title, color)
	if about != "" {
		line += strings.Repeat(" ", cellGap) + tty.Dim.Paint(about, color)
	}
	return line
}

// leastHeading is the least width of the title above hits.
const leastHeading = 16

// placeInSession describes the position of a hit in its session.
func placeInSession(h *search.Hit, zone *time.Location) string {
	var cells []string
	if h.AgentID != "" {
		cells = append(cells, "agent "+h.AgentID)
	}
	switch {
	case h.File.Spill:
		cells = append(cells, filepath.Base(h.File.Path)+":"+strconv.Itoa(h.Line))
	case h.Turn > 0:
		cells = append(cells, "turn "+strconv.Itoa(h.Turn))
	default:
		cells = append(cells, "line "+strconv.Itoa(h.Line))
	}
	role := h.Role.String()
	if h.Tool != "" {
		role += " " + h.Tool
	}
	cells = append(cells, role)
	if !h.Time.IsZero() {
		cells = append(cells, h.Time.In(zone).Format(timeLayout))
	}
	for i, cell := range cells {
		cells[i] = tty.Line(cell)
	}
	return strings.Join(cells, "  ")
}
