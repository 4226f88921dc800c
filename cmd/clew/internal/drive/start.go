package drive

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/internal/newid"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

// A StartRequest asks for an agent: in a project, for a new session, or for a session to be continued.
type StartRequest struct {
	// ID is made by the sender: see [Agents.Start].
	ID string
	// Project is the ID of a [Project], for a new session. Session is the ID of a session to continue,
	// with Fork as a copy. After an @ it can have the name of its project, for an ID that several
	// projects have. One of both must be set.
	Project, Session string
	Fork             bool
	// Model and Mode may be empty.
	Model string
	Mode  wire.PermissionMode
	// Prompt and Images are the first prompt, if they are not empty.
	Prompt string
	Images [][]byte
}

// modelName matches the valid names of models. None can be mistaken for a flag.
var modelName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:@/\[\]-]{0,99}$`)
})

// Start starts an agent, and returns it while it may still be starting. A request with a known ID
// starts nothing, and gets the result of the first one.
//
// A session that another process has open is not driven: both would write to the same file.
func (a *Agents) Start(ctx context.Context, req StartRequest) (Status, error) {
	return once(ctx, a, a.starts, req.ID, req, func(ctx context.Context) (Status, error) {
		g, err := a.start(ctx, &req)
		if err != nil {
			return Status{}, err
		}
		return g.Status(), nil
	})
}

func (a *Agents) start(ctx context.Context, req *StartRequest) (*Agent, error) {
	first, err := firstPrompt(req)
	if err != nil {
		return nil, err
	}
	opts, err := a.options(ctx, req)
	if err != nil {
		return nil, err
	}
	g := newAgent(a, opts)
	_, g.project, _ = strings.Cut(req.Session, "@")
	g.note, err = a.trust(opts)
	if err != nil {
		return nil, failed("the directory can't be used", err)
	}
	g.startID = req.ID
	if first != nil {
		g.queue = append(g.queue, first)
	}
	err = g.saveLocked() // nobody else knows the agent yet
	if err == nil {
		err = a.add(g)
	}
	if err != nil {
		g.cancel()
		a.forgetFile(g.id)
		return nil, err
	}
	go g.run() //nolint:contextcheck // the agent has its own context
	a.changed(g.id)
	return g, nil
}

// firstPrompt returns the prompt of a request to start, or nil if it has none.
func firstPrompt(req *StartRequest) (*prompt, error) {
	if (req.Project == "") == (req.Session == "") {
		return nil, &Error{Kind: Invalid, Reason: "a project or a session has to be named, and not both"}
	}
	if req.Model != "" && !modelName().MatchString(req.Model) {
		return nil, errModelName
	}
	if req.Prompt == "" && len(req.Images) == 0 {
		return nil, nil
	}
	return newPrompt(&PromptRequest{ID: req.ID, Text: req.Prompt, Images: req.Images})
}

var errModelName = &Error{Kind: Invalid, Reason: "that is not the name of a model"}

// options returns the agent options for a request.
func (a *Agents) options(ctx context.Context, req *StartRequest) (*clew.Options, error) {
	opts := a.opts.Base
	if opts.PermissionMode = req.Mode; req.Mode == "" {
		opts.PermissionMode = a.opts.Mode
	}
	if !a.allows(opts.PermissionMode) {
		return nil, errMode(opts.PermissionMode)
	}
	if req.Model != "" {
		opts.Model = req.Model
	}
	opts.IncludePartialMessages, opts.EnableFileCheckpointing = true, true
	opts.Session.ID = newid.UUID()
	var err error
	if req.Session == "" {
		opts.Dir, err = a.project(ctx, req.Project)
		return &opts, err
	}
	info, err := a.session(ctx, req.Session)
	if err != nil {
		return nil, err
	}
	opts.Dir, opts.Session.Resume, opts.Session.Fork = info.CWD, info.ID, req.Fork
	if config := sessions.OtherConfigDir(info.Path); config != "" {
		opts.Env = append(slices.Clip(opts.Env), "CLAUDE_CONFIG_DIR="+config)
	}
	if !req.Fork {
		opts.Session.ID = ""
		err = a.checkFree(ctx, info.ID)
	}
	return &opts, err
}

// errMode refuses a permission mode.
func errMode(mode wire.PermissionMode) error {
	return &Error{
		Kind: Forbidden, Reason: fmt.Sprintf("the permission mode %q can't be set from a page", mode),
		Hint: "Start the server with it, as in clew serve --drive --permission-mode MODE.",
	}
}

// checkFree returns an error if a process has a session open, or if that can't be found out.
func (a *Agents) checkFree(ctx context.Context, session string) error {
	if id := a.Driving(session); id != "" {
		return &Error{Kind: Conflict, Reason: "the session is driven here already", Agent: id}
	}
	running, err := a.opts.Running(ctx)
	for _, r := range running {
		if r.ID == session {
			return openElsewhere(&r)
		}
	}
	if err != nil {
		return failed("it is not known whether another process has the session open", err)
	}
	return nil
}

func openElsewhere(r *sessions.RunningSession) error {
	where := fmt.Sprintf("process %d", r.PID)
	if r.Entrypoint == "cli" {
		where += ", in a terminal"
	}
	return &Error{
		Kind: Conflict, Reason: "the session is open in another process (" + where + ")",
		Hint: "Watch it here, answer there, or fork it: a copy of it can be driven.",
	}
}

// trust leaves out what an untrusted directory brings.
func (a *Agents) trust(opts *clew.Options) (note string, err error) {
	if a.opts.Trust == nil {
		return "", nil
	}
	return a.opts.Trust(opts.Dir, opts)
}
