package cli

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/internal/permit"
)

// A questioner asks the user the agent's questions, one at a time, each below the output that came
// before it. No question is answered by what was typed before it was on the screen.
type questioner struct {
	ctx     context.Context // of the run: no questions are asked after its end
	streams Streams
	screen  *screen
	// workspace is where the agent works.
	workspace permit.Workspace
	// claim reserves the terminal for a question until leave is called. The question ends with the
	// context that claim returns.
	claim func(ctx context.Context) (asked context.Context, leave func())

	mu        sync.Mutex // held while there is a question
	console   console
	withdrawn bool // the agent withdrew the last question: the user may be about to answer it
}

func newQuestioner(ctx context.Context, s Streams, scr *screen) *questioner {
	return &questioner{ctx: ctx, streams: s, screen: scr, claim: noClaim}
}

// noClaim is the claim of a terminal that nothing else uses.
func noClaim(ctx context.Context) (asked context.Context, leave func()) { return ctx, func() {} }

// serve makes the agent ask here, unless the options name another way.
func (a *questioner) serve(opts *clew.Options) {
	a.workspace = permit.NewWorkspace(opts.Dir)
	if opts.PermissionPromptTool != "" || opts.PermissionPrompts == clew.PermissionPromptsNone {
		return
	}
	opts.CanUseTool = a.decide
	if a.canAsk() {
		opts.OnQuestion = a.choose
	}
}

const (
	nobodyToAsk = "Denied: there is no terminal to ask the user on. " +
		"The user can allow it in advance with --allowedTools or --permission-mode."
	noChoices = "Denied: the user can't choose an answer here. Decide, or end with the question."
)

// decide is a [clew.CanUseToolFunc].
func (a *questioner) decide(ctx context.Context, req *clew.PermissionRequest) (result clew.PermissionResult, err error) {
	err = a.put(ctx, req, func(ctx context.Context) (err error) {
		result, err = a.permit(ctx, req)
		return err
	})
	return result, err
}

// put asks a question about a tool use when it is its turn, unless the agent has withdrawn it.
func (a *questioner) put(ctx context.Context, about *clew.PermissionRequest, ask func(context.Context) error) error {
	a.screen.waitForTool(ctx, about.ToolUseID)
	a.mu.Lock()
	defer a.mu.Unlock()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	asked, leave := a.claim(ctx)
	defer leave()
	return ask(asked)
}

// waitForAnswer waits until no question is open, so that no text is printed within one.
func (a *questioner) waitForAnswer() {
	a.mu.Lock()
	defer a.mu.Unlock()
}

func (a *questioner) permit(ctx context.Context, req *clew.PermissionRequest) (clew.PermissionResult, error) {
	err := a.open()
	switch {
	case permit.NeedsChoice(req):
		a.screen.refused(req.ToolUseID, req.ToolName, "choices can't be shown here")
		return clew.Deny(noChoices), nil
	case err != nil:
		a.screen.refused(req.ToolUseID, req.ToolName, err.Error()+"; see --allowedTools and --permission-mode")
		return clew.Deny(nobodyToAsk), nil
	}
	defer a.hold()()
	result, err := a.ask(ctx, req)
	_, allowed := result.(*clew.AllowResult)
	a.screen.decided(req.ToolUseID, allowed)
	if a.ctx.Err() != nil || errors.Is(context.Cause(ctx), errUserStopped) {
		return &clew.DenyResult{Message: "The user interrupted.", Interrupt: true}, nil
	}
	return result, err
}

// canAsk reports whether there is a terminal to ask on.
func (a *questioner) canAsk() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.open() == nil
}

// hold pauses the screen until release is called.
func (a *questioner) hold() (release func()) {
	a.screen.pause(true)
	return func() { a.screen.pause(false) }
}

// errUserStopped is the cause of the end of a question that the user interrupted.
var errUserStopped = errors.New("interrupted by the user")

// errInputEnded means that the user can't answer any more.
var errInputEnded = errors.New("the input has ended")

// ask shows a question, page by page, and repeats it until it has an answer.
func (a *questioner) ask(ctx context.Context, req *clew.PermissionRequest) (clew.PermissionResult, error) {
	if err := a.settle(ctx); err != nil {
		return orDenied(err)
	}
	s := describe(req, a.view(), a.workspace)
	a.screen.state("waits for you")
	for above := s.page(longestPrompt(req, s)); ; {
		line, err := a.answer(ctx, above, promptOf(req, s))
		if err != nil {
			return orDenied(err)
		}
		switch r := replyOf(s.letter(line), req, s.complete()); {
		case r.result != nil:
			return r.result, nil
		case r.why:
			return a.askWhy(ctx, s)
		case r.help:
			above = explanation(req, s) + s.repeat()
		case r.refusal == "" && !s.complete():
			_, s.view.rows = a.console.size()
			above = s.page(longestPrompt(req, s))
		case r.refusal == "":
			above = s.repeat()
		default:
			above = lines(s.ours(r.refusal, 0)) + s.repeat()
		}
	}
}

// view returns what questions are shown on now.
func (a *questioner) view() view {
	columns, rows := a.console.size()
	plain := a.screen.plain || os.Getenv("TERM") == "dumb"
	return view{columns: columns, rows: rows, color: a.colored(), plain: plain, lines: drawsLines()}
}

// askWhy asks for a reason, and returns a denial with it.
func (a *questioner) askWhy(ctx context.Context, s *sheet) (clew.PermissionResult, error) {
	line, err := a.answer(ctx, "", s.prompt("Tell the agent why, or what to do instead: "))
	if err != nil {
		return orDenied(err)
	}
	return permit.Denied(line), nil
}

// settle lets the user catch up if another question was withdrawn, or a prompt is being typed: what
// they type next is not meant for the question that follows.
func (a *questioner) settle(ctx context.Context) error {
	if !a.withdrawn && !a.console.in.awaited() {
		return nil
	}
	line, err := a.answer(ctx, "", "Press Enter to see a question from the agent: ")
	if err != nil {
		return err
	}
	if strings.TrimSpace(line) != "" {
		a.say("This line was ignored.\n")
	}
	a.withdrawn = false
	return nil
}

// answer returns the line that the user types below a text and a prompt. It discards
// anything that was typed before the text was shown.
func (a *questioner) answer(ctx context.Context, text, prompt string) (line string, err error) {
	a.say(text)
	lines := a.console.in.want()
	a.say(prompt)
	away := time.NewTimer(a.screen.untilAway())
	defer away.Stop()
	for asked := true; asked; {
		select {
		case line, more := <-lines:
			if !more {
				return "", errInputEnded
			}
			a.screen.userActed()
			return line, nil
		case <-a.ctx.Done():
			return "", a.ctx.Err()
		case <-away.C:
			a.notify()
		case <-ctx.Done():
			asked = false
		}
	}
	a.say("\n")
	if a.ctx.Err() == nil && !errors.Is(context.Cause(ctx), errUserStopped) {
		a.withdrawn = true
		a.say("The agent has withdrawn the question.\n")
	}
	return "", ctx.Err()
}

// orDenied returns a denial if the input has ended without an answer.
func orDenied(err error) (clew.PermissionResult, error) {
	if errors.Is(err, errInputEnded) {
		return clew.Deny("The user gave no answer."), nil
	}
	return nil, err
}
