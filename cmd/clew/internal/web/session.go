package web

import (
	"cmp"
	"context"
	"net/http"
	"strings"

	"github.com/clewdev/clew/cmd/clew/internal/view"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/sessions"
)

// A sessionHead is the head of a session, shown above its rows.
type sessionHead struct {
	Revision int    `json:"revision"`
	Title    string `json:"title"`
	Live     bool   `json:"live"`
	Waiting  bool   `json:"waiting"` // for the user
	Total    int    `json:"total"`   // rows at depth 0
	HTML     string `json:"html"`
	Driven   string `json:"driven"` // the agent that has it and is driven from here, or ""
}

// session answers with the head of a session.
func (s *Server) session(w http.ResponseWriter, r *http.Request) error {
	v, err := s.read(r)
	if err != nil {
		return err
	}
	defer v.close()
	var m markup
	s.head(&m, v)
	head := sessionHead{
		Revision: v.Revision, Title: v.title(), Live: v.state.Live, Waiting: v.state.Waits, Total: len(v.Top),
		HTML: m.String(), Driven: s.drivenBy(v.entry.ID),
	}
	v.close()
	return reply(w, head)
}

// title returns the title of the session, as far as it is known.
func (v *reading) title() string {
	return cmp.Or(view.TitleOfOpen(&v.entry.Summary, v.Snapshot.Transcript), v.entry.Name)
}

// head writes the title, the facts and the figures of a session, and the command that resumes it.
func (s *Server) head(m *markup, v *reading) {
	m.raw(`<p class="kicker">Claude Code session</p>`)
	m.element("h1", "", v.title())
	if v.state.Live {
		m.raw(`<p class="state">`)
		m.span(styleClasses[v.state.Style()], v.state.Whole(""))
		m.raw(" ")
		m.span("note", v.state.How)
		m.raw("</p>")
	}
	s.facts(m, v)
	s.figures(m, v)
	m.raw(`<p class="resume"><span class="label">resume</span> <code data-command>`)
	m.text(view.ResumeCommand(v.entry.ID, v.entry.CWD, v.entry.Path))
	m.raw("</code></p>")
	if err := v.Snapshot.Err; err != nil {
		m.element("p", "missing", "Not everything can be read: "+err.Error())
	}
	if v.Snapshot.Gone {
		m.element("p", "missing", "The file of the session was deleted. This is what was read before.")
	}
}

func (s *Server) facts(m *markup, v *reading) {
	t := v.Snapshot.Transcript
	m.raw(`<p class="facts">`)
	dir := cmp.Or(v.entry.Directory(), t.CWD)
	fact(m, "project", dir, render.ProjectName(dir, v.entry.Project))
	fact(m, "branch", "", render.BranchName(t.GitBranch))
	fact(m, "tag", "", t.Tag)
	fact(m, "model", t.Model, render.ShortModel(t.Model))
	if t.PermissionMode != "default" {
		fact(m, "mode", "", t.PermissionMode)
	}
	fact(m, "when", "", wording.Span(t.Created.In(s.opts.Zone), t.Modified))
	fact(m, "agent", "", t.Version)
	fact(m, "id", v.entry.ID, view.ShortID(v.entry.ID))
	m.raw("</p>")
}

// fact writes a fact with its name, unless it is not known.
func fact(m *markup, name, title, text string) {
	if text == "" {
		return
	}
	m.raw(`<span class="fact"`)
	if title != "" {
		m.attr("title", title)
	}
	m.raw(`><span class="label">`, name, "</span> ")
	m.text(text)
	m.raw("</span> ")
}

func (s *Server) figures(m *markup, v *reading) {
	f := v.Facts()
	m.raw(`<dl class="figures">`)
	figure(m, "turns", wording.Number(f.Prompts), "")
	failed := ""
	if f.Failed > 0 {
		failed = wording.Number(f.Failed) + " failed"
	}
	figure(m, "tool calls", wording.Number(f.Calls), failed)
	if f.Agents > 0 {
		figure(m, "subagents", wording.Number(f.Agents), "")
	}
	if n := v.entry.Figures; n != nil && n.Files > 0 {
		figure(m, "files changed", wording.Number(n.Files), "")
	}
	if tokens, window := v.contextAtEnd(); tokens > 0 {
		share := ""
		if window > 0 {
			share = render.Percent(tokens, window) + " of " + wording.Rounded(window)
		}
		figure(m, "context", wording.Rounded(tokens), share)
	}
	figure(m, "tokens", wording.Rounded(f.Work.Tokens), "")
	figure(m, "cost", wording.Cost{Amount: f.Work.Cost, Partial: f.Work.UnknownCost}.Long(), "at list prices")
	m.raw("</dl>")
}

func figure(m *markup, name, value, note string) {
	m.raw("<div>")
	m.element("dt", "", name)
	m.element("dd", "", value)
	if note != "" {
		m.element("dd", "note", note)
	}
	m.raw("</div>")
}

// contextAtEnd returns the tokens of the context at the end, and of its window if that is known.
func (v *reading) contextAtEnd() (tokens, window int) {
	report := v.Snapshot.Transcript.Context()
	if len(report.Turns) == 0 {
		return 0, 0
	}
	last := &report.Turns[len(report.Turns)-1]
	return last.Tokens, last.Window
}

const (
	maxTitle = 500
	maxTag   = 100
)

func (s *Server) renameSession(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Title string `json:"title"`
	}
	if err := decodeBody(r, &body); err != nil {
		return err
	}
	if body.Title = strings.TrimSpace(body.Title); body.Title == "" || len(body.Title) > maxTitle {
		return refused(http.StatusBadRequest, "the title must have 1 to %d bytes", maxTitle)
	}
	return s.changeSession(w, r, func(ctx context.Context, info sessions.SessionInfo) error {
		return s.opts.Source.Rename(ctx, info, body.Title)
	})
}

func (s *Server) tagSession(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Tag string `json:"tag"`
	}
	if err := decodeBody(r, &body); err != nil {
		return err
	}
	if len(body.Tag) > maxTag {
		return refused(http.StatusBadRequest, "the tag must have at most %d bytes", maxTag)
	}
	return s.changeSession(w, r, func(ctx context.Context, info sessions.SessionInfo) error {
		return s.opts.Source.Tag(ctx, info, strings.TrimSpace(body.Tag))
	})
}

// deleteSession moves a session to the trash. One that an agent has open is not: the agent would
// write on to a file that nobody sees.
func (s *Server) deleteSession(w http.ResponseWriter, r *http.Request) error {
	return s.changeSession(w, r, func(ctx context.Context, info sessions.SessionInfo) error {
		_, state, err := s.listing.findNow(ctx, r.PathValue("id"))
		if err != nil {
			return err
		}
		if state.Live || s.drivenBy(info.ID) != "" {
			return &refusal{
				status: http.StatusConflict, reason: "an agent has the session open", hint: "End the agent first, then delete the session.",
			}
		}
		return s.opts.Source.Delete(ctx, info)
	})
}

// changeSession changes the files of the session that a request names.
func (s *Server) changeSession(
	w http.ResponseWriter, r *http.Request, change func(context.Context, sessions.SessionInfo) error,
) error {
	entry, _, err := s.listing.find(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	if err := change(r.Context(), entry.SessionInfo); err != nil {
		return err
	}
	return reply(w, struct{}{})
}

// restoreSession brings a session back from the trash. Its ID is that in the list.
func (s *Server) restoreSession(w http.ResponseWriter, r *http.Request) error {
	trash, err := s.opts.Source.Trash(r.Context())
	for i := range trash {
		if id := r.PathValue("id"); id != trashID(&trash[i]) && id != trash[i].ID {
			continue
		}
		if err := s.opts.Source.Restore(r.Context(), trash[i]); err != nil {
			return err
		}
		return reply(w, struct{}{})
	}
	if err != nil {
		return err
	}
	return refused(http.StatusNotFound, "there is no such session in the trash")
}
