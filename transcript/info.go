package transcript

import (
	"cmp"
	"time"
)

// Info is what the entries of a transcript say of the session. Where they differ the last one counts, except for Created
// and CWD. Those of subagents in the same file tell only the times.
type Info struct {
	SessionID string
	AgentID   string
	// ToolUseID is the call that started the subagent, in a running session.
	ToolUseID string
	// Title is the one that the user gave, AITitle the one that the agent gave, and Recap that of an older agent.
	Title      string
	AITitle    string
	Recap      string
	LastPrompt string
	Tag        string
	CWD        string
	GitBranch  string
	Version    string
	// Model is the last one that has answered.
	Model          string
	PermissionMode string
	TeamName       string
	AgentName      string
	Created        time.Time
	Modified       time.Time
	// CostStates are the agent's own accounts of what it has used, in their order.
	CostStates []CostState
}

// note takes what an entry says of the session.
func (i *Info) note(e *Entry) {
	last(&i.SessionID, e.SessionID)
	last(&i.AgentID, e.AgentID)
	last(&i.GitBranch, e.GitBranch)
	last(&i.Version, e.Version)
	last(&i.PermissionMode, e.PermissionMode)
	last(&i.TeamName, e.TeamName)
	last(&i.AgentName, e.AgentName)
	i.CWD = cmp.Or(i.CWD, e.CWD)
	if m := e.Message; m != nil && e.Type == "assistant" && m.Model != synthetic {
		last(&i.Model, m.Model)
	}
	if !e.Chained() {
		i.noteBeside(e)
	}
}

func (i *Info) noteTime(e *Entry) {
	if e.Timestamp.IsZero() {
		return
	}
	if i.Created.IsZero() {
		i.Created = e.Timestamp
	}
	i.Modified = e.Timestamp
}

// noteBeside takes what stands beside the conversation.
func (i *Info) noteBeside(e *Entry) {
	switch e.Type {
	case "custom-title":
		i.Title = textAt(e.Raw, "customTitle")
	case "ai-title":
		i.AITitle = textAt(e.Raw, "aiTitle")
	case "summary":
		i.Recap = textAt(e.Raw, "summary")
	case "last-prompt":
		last(&i.LastPrompt, textAt(e.Raw, "lastPrompt"))
	case "tag":
		i.Tag = textAt(e.Raw, "tag")
	case "agent-name":
		i.AgentName = e.AgentName
	case "cost-state":
		if state, ok := CostStateOf(e); ok {
			i.CostStates = append(i.CostStates, state)
		}
	}
}

// last keeps the later of two texts, unless it is empty.
func last(to *string, text string) {
	if text != "" && text != *to {
		*to = text
	}
}
