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
func (c *call) free() bool { return len(c.item.Agents) == 0 }

// open reports whether the call may be taken for that of an agent that nothing names.
func (c *call) open(a *Agent) bool {
	return c.item.Type == ItemSubagent && c.free() && !c.namesAnother(a) &&
		a.started() && a.Meta.ToolUseID == "" && a.Workflow == "" &&
		(a.Meta.ParentAgentID == "" || c.madeBy(a.Meta.ParentAgentID))
}

// namesAnother reports whether the result of the call says that it started another agent. The names of teammates are
// not those of their files.
func (c *call) namesAnother(a *Agent) bool {
	if strings.Contains(c.item.AgentID, "@") {
		return a.Teammate() != "" && a.Teammate() != c.item.AgentID
	}
	return c.item.AgentID != ""
}

// team reports whether the call asks for a teammate.
func (c *call) team() bool { return c.teammate() != "" }

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

// madeBy reports whether the agent of that ID made the call; "" is the session itself.
func (c *call) madeBy(id string) bool {
	if c.owner == nil {
		return id == ""
	}
	return c.owner.ID == id
}

func (c *call) namedBySidecar(a *Agent) bool {
	return a.Meta.ToolUseID != "" && c.item.ToolID == a.Meta.ToolUseID
}

// namesAgent reports whether the result of the call says that it started the agent, and no other one has it.
func (c *call) namesAgent(a *Agent) bool {
	return c.free() && c.item.AgentID != "" && (c.item.AgentID == a.ID || c.item.AgentID == a.Teammate())
}

func (c *call) startedRun(id string) bool {
	if c.item.ToolName != "Workflow" {
		return false
	}
	if c.RunID == "" && c.TaskID == "" && c.TranscriptDir == "" {
		return strings.Contains(c.item.ToolResult, id)
	}
	return c.RunID == id || c.TaskID == id || path.Base(c.TranscriptDir) == id
}

func (c *call) greeted(a *Agent) bool {
	g := a.greeting()
	return g != nil && g.TeammateSummary != "" && g.TeammateSummary == c.Description
}

func (c *call) hasPrompt(a *Agent) bool {
	prompt := strings.TrimSpace(c.Prompt)
	return prompt != "" && prompt == strings.TrimSpace(a.prompt())
}

// isNextOf reports whether the call may be that of the next agent. Those of a team come in no order.
func (c *call) isNextOf(a *Agent) bool {
	return a.greeting() == nil && a.Teammate() == "" && c.madeBy(a.Meta.ParentAgentID)
}

func (c *call) facts() callFacts {
	return callFacts{
		kind: c.item.SubagentType, description: c.item.SubagentDesc, color: c.Color, teammate: c.teammate(),
	}
}

// complete puts the agents of the call into their order, and tells the item what they know of themselves.
func (c *call) complete() {
	if c.free() {
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
