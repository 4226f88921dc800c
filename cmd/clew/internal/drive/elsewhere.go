package drive

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/cmd/clew/internal/ask"
	"github.com/clewdev/clew/permission"
	"github.com/clewdev/clew/wire"
)

// An ElsewhereRequest is a question from a session in another process, passed on by a hook of that
// session.
type ElsewhereRequest struct {
	Session  string // its ID, with its project after an @ if several projects have one with that ID
	Dir      string // where the session works
	Tool     string
	Input    wire.JSON
	Subagent string
}

// maxElsewhere is the maximum number of sessions of other processes that can ask at the same time.
const maxElsewhere = 32

// errElsewhere refuses what only the process that runs a session can do.
var errElsewhere = &Error{
	Kind: Forbidden, Reason: "another process runs this session", Hint: "Only its questions can be answered here.",
}

// AskElsewhere asks a question from a session in another process, until ctx ends. It can be allowed
// once or denied. The result is nil if there is no answer: the other process asks its own user
// then, as it would without us. The same applies to plans and choices, and for sessions that are
// driven here and so ask here anyway.
func (a *Agents) AskElsewhere(ctx context.Context, req *ElsewhereRequest) (permission.Result, error) {
	about := &permission.Request{
		ToolName: req.Tool, Input: req.Input, AgentID: req.Subagent, SuppressAlwaysAllowRule: true,
	}
	if a.Driving(req.Session) != "" || ask.NeedsChoice(about) || req.Tool == "ExitPlanMode" {
		return nil, nil
	}
	g, err := a.elsewhere(req)
	if err != nil {
		return nil, err
	}
	defer g.askedElsewhere()
	result, err := g.permit(ctx, about)
	if err != nil {
		return nil, nil // nobody answered
	}
	return result, nil
}

// elsewhere returns the agent that stands for a session of another process.
func (a *Agents) elsewhere(req *ElsewhereRequest) (*Agent, error) {
	id, project, _ := strings.Cut(req.Session, "@")
	a.mu.Lock()
	defer a.mu.Unlock()
	asking := 0
	for _, g := range a.agents {
		if !g.elsewhere {
			continue
		}
		g.mu.Lock()
		is := g.session == id && g.project == project && g.opts.Dir == req.Dir
		if is {
			g.asking++
			g.ended = false
		}
		asking += min(g.asking, 1)
		g.mu.Unlock()
		if is {
			return g, nil
		}
	}
	switch {
	case a.closed:
		return nil, errClosing
	case asking >= maxElsewhere:
		return nil, &Error{Kind: TooMany, Reason: "too many sessions are asking"}
	}
	g := newAgent(a, &clew.Options{Dir: req.Dir, Session: clew.SessionOptions{Resume: id}})
	g.elsewhere, g.asking, g.project = true, 1, project
	close(g.done) // nothing runs
	a.forgetLocked(true)
	a.agents = append(a.agents, g)
	return g, nil
}

// forgetLocked removes the oldest ended agent, elsewhere or here, if there are too many. Agents
// with returned prompts are removed last.
func (a *Agents) forgetLocked(elsewhere bool) {
	var oldest, needed *Agent
	n := 0
	for _, g := range a.agents {
		if g.elsewhere != elsewhere || !g.hasEnded() {
			continue
		}
		n++
		if g.hasReturned() {
			needed = cmp.Or(needed, g)
		} else {
			oldest = cmp.Or(oldest, g)
		}
	}
	if n >= maxEnded {
		oldest = cmp.Or(oldest, needed)
		a.agents = slices.DeleteFunc(a.agents, func(g *Agent) bool { return g == oldest })
		a.forgetFile(oldest.id)
	}
}

// askedElsewhere notes that another process's question is over.
func (g *Agent) askedElsewhere() {
	g.change(func() {
		if g.asking--; g.asking == 0 {
			g.ended, g.why = true, "it asks nothing"
		}
	})
}
