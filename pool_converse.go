package clew

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/clewdev/clew/wire"
)

// traceless are the tools that leave nothing behind in the agent that /clear does not remove. Those of MCP servers are
// the servers' own business. Others may register hooks, change folders, or have something run later.
var traceless = []string{
	"AskUserQuestion", "Bash", "Edit", "Glob", "Grep", "NotebookEdit", "Read",
	"StructuredOutput", "WebFetch", "WebSearch", "Write",
}

// leavesTraces reports whether a prompt is one after which an agent can't be used again: a command, which may change
// anything, or one that is not answered.
func leavesTraces(prompt *wire.UserMessage) bool {
	unanswered := prompt.ShouldQuery != nil && !*prompt.ShouldQuery
	return unanswered || strings.HasPrefix(strings.TrimSpace(prompt.Content.Text()), "/")
}

// A poolRun is a prompt that an agent of a pool was given.
type poolRun struct {
	agent    *poolAgent
	prompt   string // its id
	last     bool   // of its agent
	seen     progress
	answered bool // the model has said something
	traces   bool // a tool was used that may leave some
}

// converse yields the messages of a conversation, and ends the agent, or gives it back.
func (p *Pool) converse(ctx context.Context, c *poolRun, yield func(wire.Message, error) bool) {
	s := c.agent.session
	over := false
	defer func() {
		if !over || !p.giveBack(c.agent) {
			s.Close() //nolint:errcheck // how the agent ended after all was said is of no interest
		}
	}()
	c.seen.sent(c.prompt)
	if c.last {
		s.saidLast()
	}
	for msg, err := range s.Messages(ctx) {
		if err != nil {
			yield(nil, join(err, s.closeForLosses()))
			return
		}
		settled := c.see(msg)
		over = settled && !c.last && !c.traces && !c.seen.working() && c.seen.verdict(nil) == nil
		if !yield(msg, nil) || over {
			return
		}
		if _, answer := msg.(*wire.AssistantMessage); answer && !c.answered {
			c.answered = true
			p.underWay()
		}
		if settled && !c.last { // and the agent can't be used again
			c.last = true
			s.saidLast()
		}
	}
	if errors.Is(s.Err(), ErrClosed) {
		yield(nil, join(ErrPoolClosed, s.closeForLosses()))
	}
}

// see takes note of a message. It reports whether everything is answered with it.
func (c *poolRun) see(msg wire.Message) bool {
	switch m := msg.(type) {
	case *wire.InitMessage:
		if c.agent.face == "" {
			c.agent.face = faceOf(m)
		}
	case *wire.AssistantMessage:
		for _, use := range m.Content.ToolUses() {
			c.traces = c.traces || !slices.Contains(traceless, use.Name) && !strings.HasPrefix(use.Name, "mcp__")
		}
	}
	return c.seen.see(msg) && c.seen.settled()
}
