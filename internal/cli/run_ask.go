package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/transcript"
)

// An asker puts the agent's questions whether it may use a tool to the user, one at
// a time.
type asker struct {
	ctx    context.Context // of the run: nobody is asked after its end
	in     io.Reader       // nil where nobody can be asked
	screen *screen

	mu    sync.Mutex
	begin sync.Once
	lines chan string // closed at the end of the input
}

func newAsker(ctx context.Context, s Streams, scr *screen) *asker {
	a := &asker{ctx: ctx, screen: scr, lines: make(chan string)}
	if isTerminal(s.In) && isTerminal(s.Err) {
		a.in = s.In
	}
	return a
}

const (
	nobodyToAsk = "Denied: there is no terminal on which the user could be asked. " +
		"The user can allow it beforehand, with --allowedTools or --permission-mode."
	noChoices = "Denied: the user can't choose an answer here. Decide, or end with the question."
)

// decide is a [clew.CanUseToolFunc].
func (a *asker) decide(ctx context.Context, req *clew.PermissionRequest) (clew.PermissionResult, error) {
	switch {
	case req.RequiresUserInteraction || req.ToolName == "AskUserQuestion":
		a.screen.note("! " + req.ToolName + " denied: the agent can't put a choice to you here")
		return clew.Deny(noChoices), nil
	case a.in == nil:
		a.screen.note("! " + req.ToolName + " denied: there is no terminal to ask on; " +
			"see --allowedTools and --permission-mode")
		return clew.Deny(nobodyToAsk), nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.screen.pause(true)
	defer a.screen.pause(false)
	a.dropStale()
	a.screen.say(describe(req))
	return a.ask(ctx, req)
}

// dropStale drops a line that was typed before its question could be read, such as the
// answer to one that the agent has withdrawn.
func (a *asker) dropStale() {
	select {
	case <-a.lines:
	default:
	}
}

// ask repeats the question until it has an answer.
func (a *asker) ask(ctx context.Context, req *clew.PermissionRequest) (clew.PermissionResult, error) {
	always := len(req.Suggestions) > 0 && !req.SuppressAlwaysAllowRule
	question := "Allow it? [y]es, once / [n]o: "
	if always {
		question = "Allow it? [y]es, once / [a]lways / [n]o: "
	}
	a.begin.Do(func() { go a.read() })
	for {
		a.screen.say(question)
		select {
		case line, more := <-a.lines:
			if result := answerOf(line, req, always); result != nil || !more {
				return orDenied(result), nil
			}
		case <-ctx.Done():
			a.screen.say("\n")
			return nil, ctx.Err()
		case <-a.ctx.Done():
			return &clew.DenyResult{Message: "The user interrupted.", Interrupt: true}, nil
		}
	}
}

// orDenied denies where the input has ended without an answer.
func orDenied(result clew.PermissionResult) clew.PermissionResult {
	if result == nil {
		return clew.Deny("The user gave no answer.")
	}
	return result
}

// answerOf returns what an answer means, or nil if that can't be told.
func answerOf(line string, req *clew.PermissionRequest, always bool) clew.PermissionResult {
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return &clew.AllowResult{Classification: clew.PermissionClassificationTemporary}
	case "n", "no":
		return &clew.DenyResult{
			Message: "The user denied this.", Classification: clew.PermissionClassificationReject,
		}
	case "a", "always":
		if always {
			return &clew.AllowResult{
				UpdatedPermissions: req.Suggestions, Classification: clew.PermissionClassificationPermanent,
			}
		}
	}
	return nil
}

// read reads answers until the input ends. Nothing can end a read of a terminal, so
// it is left behind when the program ends.
func (a *asker) read() {
	defer close(a.lines)
	for in := bufio.NewScanner(a.in); in.Scan(); {
		select {
		case a.lines <- in.Text():
		case <-a.ctx.Done():
			return
		}
	}
}

// maxShown is how many bytes of a diff or a command are shown in a question.
const maxShown = 16 << 10

// describe shows what the agent wants to do.
func describe(req *clew.PermissionRequest) string {
	var b strings.Builder
	summary := clip(transcript.ToolSummary(req.ToolName, req.Input))
	fmt.Fprintf(&b, "? The agent wants to use %s: %s\n", printable(req.ToolName), printable(summary))
	if req.DecisionReason != "" {
		fmt.Fprintf(&b, "  %s\n", printable(clip(req.DecisionReason)))
	}
	for line := range strings.Lines(shown(details(req))) {
		b.WriteString("  " + harmless(strings.TrimSuffix(line, "\n")) + "\n")
	}
	return b.String()
}

// details returns the change, the command or the whole input that a question is about.
func details(req *clew.PermissionRequest) string {
	if diff, ok := transcript.InputDiff(req.ToolName, req.Input); ok {
		return diff.String()
	}
	var input struct {
		Command string `json:"command"`
	}
	if req.DecodeInput(&input) == nil && input.Command != "" {
		return input.Command
	}
	return string(req.Input)
}

// shown cuts what is too long to be read, and says so: nobody should allow what was
// not shown without knowing it.
func shown(text string) string {
	if len(text) <= maxShown {
		return text
	}
	return fmt.Sprintf("%s\n(%d bytes more are not shown)\n", strings.ToValidUTF8(text[:maxShown], ""), len(text)-maxShown)
}
