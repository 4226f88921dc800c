package transcript

import (
	"cmp"
	"strconv"
	"strings"
	"time"
)

// An Agent is a subagent: an agent that a tool of another one has started, with its own transcript.
//
// The first four fields are filled in by whoever has found the agent; only the ID has to be there.
type Agent struct {
	// ID is that of the file agent-<ID>.jsonl, or name@team for a teammate that is a session of its own.
	ID string
	// Meta is the zero value where there is no sidecar.
	Meta AgentMeta
	// Transcript is nil where there is none yet.
	Transcript *Transcript
	// Workflow is the ID of the run that the agent belongs to, or "".
	Workflow string

	// What follows is filled in by [Link].

	// LinkedBy says how the call was found that started the agent. It is "" as long as none was.
	LinkedBy LinkedBy
	// CallID is the ID of that call, and ParentID the agent that made it; "" is the session itself.
	CallID   string
	ParentID string

	call callFacts
}

// callFacts are what the call that started an agent tells of it.
type callFacts struct {
	kind, description, color, teammate string
}

// An AgentKind says what an agent is for.
type AgentKind string

// The kinds of agents. Only the first works on what the user wants: the others are made by the agent for itself, repeat
// the conversation, and are not listed under the items of a transcript.
const (
	AgentWork       AgentKind = "work"
	AgentCompaction AgentKind = "compaction"
	AgentWarmup     AgentKind = "warmup"
	// AgentAside answers a question that the user has asked beside the conversation.
	AgentAside AgentKind = "aside"
	// AgentSuggestion guesses what the user will say next.
	AgentSuggestion AgentKind = "suggestion"
)

// Kind returns what the agent is for.
func (a *Agent) Kind() AgentKind {
	switch {
	case strings.HasPrefix(a.ID, "acompact"):
		return AgentCompaction
	case strings.HasPrefix(a.ID, "aside_question"), a.Meta.AgentType == "aside_question":
		return AgentAside
	case strings.HasPrefix(a.ID, "aprompt_suggestion"):
		return AgentSuggestion
	case a.prompt() == "Warmup":
		return AgentWarmup
	}
	return AgentWork
}

// Type returns the type of the agent, such as Explore, or "" if nothing tells.
func (a *Agent) Type() string { return cmp.Or(a.Meta.AgentType, a.call.kind) }

// Description returns what the agent was started for, in a few words.
func (a *Agent) Description() string { return cmp.Or(a.Meta.Description, a.call.description) }

// Color returns the color that a teammate is shown in, or "".
func (a *Agent) Color() string {
	greeted := ""
	if g := a.greeting(); g != nil {
		greeted = g.TeammateColor
	}
	return cmp.Or(a.Meta.Color, greeted, a.call.color)
}

// Teammate returns name@team for a member of a team, and "" for any other agent.
func (a *Agent) Teammate() string {
	if id, ok := TeamAgent(a.Transcript); ok {
		return id
	}
	if a.Meta.Name != "" && a.Meta.TeamName != "" {
		return a.Meta.Name + "@" + a.Meta.TeamName
	}
	if strings.Contains(a.ID, "@") {
		return a.ID
	}
	return a.call.teammate
}

// Start returns the time of the agent's first entry, or the zero time.
func (a *Agent) Start() time.Time {
	if a.Transcript == nil {
		return time.Time{}
	}
	if !a.Transcript.Created.IsZero() {
		return a.Transcript.Created
	}
	for i := range a.Transcript.Chunks {
		if at := a.Transcript.Chunks[i].Timestamp; !at.IsZero() {
			return at
		}
	}
	return time.Time{}
}

// Ongoing reports whether the agent seems to be at work, by what it has written down. One that was killed looks so too.
func (a *Agent) Ongoing() bool {
	return a.started() && !a.Meta.Finished && Ongoing(a.Transcript.Chunks)
}

// started reports whether the agent has said or was told anything.
func (a *Agent) started() bool { return a.Transcript != nil && len(a.Transcript.Chunks) > 0 }

// prompt returns what the agent was told first.
func (a *Agent) prompt() string {
	if !a.started() {
		return ""
	}
	for i := range a.Transcript.Chunks {
		if c := &a.Transcript.Chunks[i]; c.Type == UserChunk {
			return c.Text
		}
	}
	return ""
}

// greeting returns the message of another agent that a teammate begins with, or nil.
func (a *Agent) greeting() *DisplayItem {
	if !a.started() {
		return nil
	}
	items := a.Transcript.Chunks[0].Items
	if len(items) == 0 || items[0].Type != ItemTeammateMessage {
		return nil
	}
	return &items[0]
}

// compareStarts orders agents by their start, those without one last, and then by ID.
func compareStarts(a, b *Agent) int {
	at, bt := a.Start(), b.Start()
	if at.IsZero() != bt.IsZero() {
		if at.IsZero() {
			return 1
		}
		return -1
	}
	return cmp.Or(at.Compare(bt), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Workflow, b.Workflow))
}

// InlineAgents returns the agents whose conversations older versions wrote into the transcript of the session. They are
// new values at each call: link them together with the others.
func InlineAgents(t *Transcript) []*Agent {
	agents := make([]*Agent, len(t.Sidechains))
	for i, chain := range t.Sidechains {
		agents[i] = &Agent{ID: cmp.Or(chain.AgentID, "inline-"+strconv.Itoa(i+1)), Transcript: chain}
		agents[i].Meta.ToolUseID = chain.ToolUseID
	}
	return agents
}
