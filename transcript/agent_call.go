package transcript

import (
	"path"
	"slices"
	"strings"
)

// A spawnInput is what is told to a tool that starts agents.
type spawnInput struct {
	SubagentType string `json:"subagent_type"`
	Description  string `json:"description"`
	Prompt       string `json:"prompt"`
	Name         string `json:"name"`
	TeamName     string `json:"team_name"`
}

// A spawnResult is what such a tool answers.
type spawnResult struct {
	Color         string `json:"color"`
	RunID         string `json:"runId"`
	TaskID        string `json:"taskId"`
	TranscriptDir string `json:"transcriptDir"`
}

// newCall returns the call that an item is. What it cannot decode counts as absent.
func newCall(item *DisplayItem, owner *Agent) *call {
	c := &call{item: item, owner: owner}
	if item.Type == ItemSubagent {
		_ = item.ToolInput.Decode(&c.spawnInput)
	}
	if item.Structured != "" {
		_ = item.Structured.Decode(&c.spawnResult)
	}
	return c
}

// free reports whether no agent was linked to the call yet.
func (c *call) free(*Agent) bool { return len(c.item.Agents) == 0 }

// any is true of each call.
func (c *call) any(*Agent) bool { return true }

// open reports whether the call may be taken for that of an agent that nothing names.
func (c *call) open(a *Agent) bool {
	return c.item.Type == ItemSubagent && c.free(a) && !c.namesAnother(a) &&
		(a.Meta.ParentAgentID == "" || c.madeByParent(a))
}

// namesAnother reports whether the result of the call says that it started another agent. The names of teammates are
// not those of their files.
func (c *call) namesAnother(a *Agent) bool {
	if strings.Contains(c.item.AgentID, "@") {
		return a.Teammate() != "" && a.Teammate() != c.item.AgentID
	}
	return c.item.AgentID != ""
}

// teammate returns name@team if the call has started one, or asks for one.
func (c *call) teammate() string {
	if strings.Contains(c.item.AgentID, "@") {
		return c.item.AgentID
	}
	if c.TeamName != "" && c.Name != "" {
		return c.Name + "@" + c.TeamName
	}
	return ""
}

// madeByParent reports whether the agent's parent made the call, which may be the session itself.
func (c *call) madeByParent(a *Agent) bool { return c.ownerID() == a.Meta.ParentAgentID }

// ownerID returns the ID of the agent that made the call; "" is the session itself.
func (c *call) ownerID() string {
	if c.owner == nil {
		return ""
	}
	return c.owner.ID
}

// id and sidecarCall are the ID of the call, and of the one that the sidecar names.
func (c *call) id() string           { return c.item.ToolID }
func (a *Agent) sidecarCall() string { return a.Meta.ToolUseID }

// started and id are the ID of the agent that the result of the call names, and of the agent.
func (c *call) started() string { return c.item.AgentID }
func (a *Agent) id() string     { return a.ID }

// startedSubagent is started of a tool that is known to start subagents.
func (c *call) startedSubagent() string {
	if c.item.Type != ItemSubagent {
		return ""
	}
	return c.item.AgentID
}

// ofWorkflow and inWorkflow are a word for the calls and agents of workflows.
func (c *call) ofWorkflow() string {
	if c.item.ToolName != workflowTool {
		return ""
	}
	return workflowTool
}

func (a *Agent) inWorkflow() string {
	if a.Workflow == "" {
		return ""
	}
	return workflowTool
}

const workflowTool = "Workflow"

// startedRun reports whether the call of a workflow started the run that the agent belongs to.
func (c *call) startedRun(a *Agent) bool {
	id := a.Workflow
	if c.RunID == "" && c.TaskID == "" && c.TranscriptDir == "" {
		return strings.Contains(c.item.ToolResult, id)
	}
	return c.RunID == id || c.TaskID == id || path.Base(c.TranscriptDir) == id
}

// teamGreeting and greetingSummary are what a teammate was called for, and what it was greeted with.
func (c *call) teamGreeting() string {
	if c.teammate() == "" {
		return ""
	}
	return c.spawnInput.Description
}

func (a *Agent) greetingSummary() string {
	if g := a.greeting(); g != nil {
		return g.TeammateSummary
	}
	return ""
}

// trimmedPrompt is what the call tells the agent to do, unless that is a teammate, and what an agent was told.
func (c *call) trimmedPrompt() string {
	if c.teammate() != "" {
		return ""
	}
	return strings.TrimSpace(c.Prompt)
}

func (a *Agent) trimmedPrompt() string { return strings.TrimSpace(a.prompt()) }

// next is who made the call or started the agent, in whose order the next call is that of the next agent. Those of a team
// come in no order.
func (c *call) next() string {
	if c.item.Type != ItemSubagent || c.item.AgentID != "" || c.teammate() != "" {
		return ""
	}
	return "by " + c.ownerID()
}

func (a *Agent) next() string {
	if a.greeting() != nil || a.Teammate() != "" {
		return ""
	}
	return "by " + a.Meta.ParentAgentID
}

func (c *call) facts() callFacts {
	return callFacts{
		kind: c.item.SubagentType, description: c.item.SubagentDesc, color: c.Color, teammate: c.teammate(),
	}
}

// complete puts the agents of the call into their order, and tells the item what they know of themselves.
func (c *call) complete() {
	if len(c.item.Agents) == 0 {
		return
	}
	slices.SortStableFunc(c.item.Agents, compareStarts)
	if c.item.Type != ItemSubagent {
		return
	}
	first := c.item.Agents[0].Meta
	if c.item.SubagentType == "" {
		c.item.SubagentType = first.AgentType
	}
	if c.item.SubagentDesc == "" {
		c.item.SubagentDesc = first.Description
	}
}
