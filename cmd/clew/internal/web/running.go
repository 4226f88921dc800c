package web

import (
	"net/http"
	"net/url"

	"github.com/clewdev/clew/cmd/clew/internal/fuzzy"
	"github.com/clewdev/clew/cmd/clew/internal/view"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
)

// A runningAgent is an agent that has a session open.
type runningAgent struct {
	Session string `json:"session"`
	State   string `json:"state"`
	Waits   string `json:"waits"` // the thing that it waits for, or ""
}

// running answers with the running agents and the calls that they wait for.
func (s *Server) running(w http.ResponseWriter, r *http.Request) error {
	l := s.listing
	if err := l.open(r.Context()); err != nil {
		return err
	}
	l.Look()
	l.Complete(r.Context(), l.Live())
	live := l.Live()
	infos := make([]view.Entry, len(live))
	for i, e := range live {
		infos[i] = *e
	}
	l.mu.Unlock()
	calls := s.openCalls(r, infos)
	var m markup
	agents := []runningAgent{}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range infos {
		e := &infos[i]
		state := l.State(e)
		agent := runningAgent{Session: e.ID, State: state.Text}
		if state.Waits {
			agent.Waits = state.Whole(calls[i])
		}
		agents = append(agents, agent)
		s.runningAgent(&m, e, state, calls[i])
	}
	return reply(w, struct {
		fragment
		Agents []runningAgent `json:"agents"`
	}{fragment{m.String()}, agents})
}

// maxGlances is the number of agents whose calls are looked up.
const maxGlances = 50

// openCalls returns the tool calls that agents wait for, or "", in the order of the sessions.
func (s *Server) openCalls(r *http.Request, entries []view.Entry) []string {
	calls := make([]string, len(entries))
	for i := range entries[:min(len(entries), maxGlances)] {
		if entries[i].Path == "" {
			continue
		}
		if glance, err := s.opts.Source.Glance(r.Context(), entries[i].SessionInfo); err == nil {
			calls[i] = tty.Line(glance.Call)
		}
	}
	return calls
}

// runningAgent writes an agent: its activity, its place, and the evidence for its state.
func (s *Server) runningAgent(m *markup, e *view.Entry, state view.State, call string) {
	m.raw(`<section class="agent-state`)
	if state.Waits {
		m.raw(" asks")
	}
	m.raw(`"><h2>`)
	if e.Path == "" {
		m.text(e.Name)
	} else {
		m.raw("<a")
		m.attr("href", "/s/"+url.PathEscape(e.ID))
		m.raw(">")
		(&listDrawer{query: fuzzy.Query{}}).marked(m, e.Name, e.FilterText())
		m.raw("</a>")
	}
	m.raw(`</h2><p class="facts">`)
	m.span("state "+styleClasses[state.Style()], state.Whole(call))
	m.span("note", state.How)
	m.span("project", e.ProjectName)
	if r, ok := s.listing.Running[e.ID]; ok {
		m.span("path", r.CWD)
		m.span("note", r.Entrypoint)
		m.time(r.StatusSince, "since "+wording.Clock(r.StatusSince, s.now()))
	}
	m.raw("</p></section>")
}
