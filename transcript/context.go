package transcript

import (
	"strings"
	"time"
)

// A ContextReport tells how the model's context filled up in the course of a session.
type ContextReport struct {
	Turns       []ContextTurn
	Compactions []ContextCompaction
}

// A ContextTurn is how full the context was at the last answer of a turn.
type ContextTurn struct {
	// Line and Time are those of the answer's first entry, and Model is who gave it.
	Line  int
	Time  time.Time
	Model string
	// Tokens is what the answer was told to have taken in, cached or not. It is measured.
	Tokens int
	// Window is the size of the model's context, and Percent how much of it was full. Both are 0 where the size is not
	// known.
	Window  int
	Percent float64
	// By tells what the tokens were. The classes add up to Tokens, but each is an estimate: four bytes are taken for a
	// token, and the result is scaled. What an older transcript does not show, such as the system prompt and the
	// definitions of tools, is what the first answer took in beyond that; it is in [ContextSystem].
	By map[ContextClass]int
}

// A ContextClass is a kind of thing that fills the context.
type ContextClass string

// The classes of what fills the context.
const (
	// ContextMemory is what files such as CLAUDE.md say.
	ContextMemory ContextClass = "memory"
	// ContextSkills is the list of skills, and the text of those in use.
	ContextSkills ContextClass = "skills"
	// ContextTools is the definitions of tools, MCP servers and agents.
	ContextTools ContextClass = "tools"
	// ContextHooks is what hooks have added.
	ContextHooks ContextClass = "hooks"
	// ContextFiles is files that the user has named, that were read, or that have changed.
	ContextFiles ContextClass = "files"
	// ContextToolCalls is all other calls of tools, and their results.
	ContextToolCalls ContextClass = "tool_calls"
	ContextThinking  ContextClass = "thinking"
	// ContextConversation is prompts, answers and summaries.
	ContextConversation ContextClass = "conversation"
	// ContextSystem is the system prompt, and reminders of any other kind.
	ContextSystem ContextClass = "system"
)

// A ContextCompaction is a place where the context was made smaller.
type ContextCompaction struct {
	Line int
	Time time.Time
	// Trigger is auto or manual.
	Trigger string
	// Before and After are the tokens as the agent tells them, or else what the answers before and after it took in.
	Before int
	After  int
	// Duration is 0 where the agent does not tell it.
	Duration time.Duration
	// Micro says that only old results of tools were taken out, and the conversation went on.
	Micro bool
}

// The sizes of contexts.
const (
	usualWindow = 200_000
	largeWindow = 1_000_000
)

// ContextWindow returns the size of a model's context in tokens. It returns false for a model whose context is not
// known. A model that has both sizes has the smaller one, unless its name ends in [1m].
func ContextWindow(model string) (tokens int, ok bool) {
	_, name, found := strings.Cut(model, "claude-")
	if !found {
		return 0, false
	}
	switch {
	case strings.Contains(name, "[1m]"), strings.HasPrefix(name, "opus-5-5"):
		return largeWindow, true
	case strings.HasPrefix(name, "3-"), strings.HasPrefix(name, "opus-4"), strings.HasPrefix(name, "sonnet-4"),
		strings.HasPrefix(name, "haiku-4"):
		return usualWindow, true
	}
	return 0, false
}
