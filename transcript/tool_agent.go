package transcript

import (
	"strings"

	"github.com/clewdev/clew/wire"
)

// An AgentInput starts a subagent. It is that of Agent, and of Task, which is its older name.
type AgentInput struct {
	Description     string `json:"description"`
	Prompt          string `json:"prompt"`
	SubagentType    string `json:"subagent_type"`
	Model           string `json:"model"`
	Effort          string `json:"effort"`
	RunInBackground bool   `json:"run_in_background"`
	Isolation       string `json:"isolation"`
	Mode            string `json:"mode"`
	// Name and TeamName are those of a member of a team.
	Name     string `json:"name"`
	TeamName string `json:"team_name"`
}

// An AgentResult is what became of a subagent. Which fields are set depends on Status.
type AgentResult struct {
	// Status is completed, async_launched, remote_launched, teammate_spawned or another word.
	Status      string `json:"status"`
	AgentID     string `json:"agentId"`
	AgentType   string `json:"agentType"`
	Description string `json:"description"`
	Prompt      string `json:"prompt"`
	Model       string `json:"resolvedModel"`

	// Content is the answer of one that has completed.
	Content           []AgentText `json:"content"`
	TotalDurationMs   float64     `json:"totalDurationMs"`
	TotalTokens       int         `json:"totalTokens"`
	TotalToolUseCount int         `json:"totalToolUseCount"`
	ToolsUsed         []string    `json:"toolsUsed"`
	RawUsage          wire.JSON   `json:"usage"`
	WorktreePath      string      `json:"worktreePath"`
	WorktreeBranch    string      `json:"worktreeBranch"`

	// OutputFile is where one in the background writes.
	OutputFile string `json:"outputFile"`
	// TaskID and SessionURL are those of one that runs elsewhere.
	TaskID     string `json:"taskId"`
	SessionURL string `json:"sessionUrl"`

	// What follows is set for members of a team. TeammateID is "name@team".
	TeammateID string `json:"agent_id"`
	Name       string `json:"name"`
	TeamName   string `json:"team_name"`
	Color      string `json:"color"`
}

// An AgentText is a block of a subagent's answer.
type AgentText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// Text returns the answer of the subagent.
func (r *AgentResult) Text() string {
	texts := make([]string, 0, len(r.Content))
	for _, block := range r.Content {
		if block.Text != "" {
			texts = append(texts, block.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// Usage returns what the last answer of the subagent used, or nil if that is not told.
func (r *AgentResult) Usage() *Usage {
	var d entryDecoder
	d.Reset([]byte(r.RawUsage))
	u := d.usageMember()
	if d.Err() != nil {
		return nil
	}
	return u
}

// A SkillInput starts a skill.
type SkillInput struct {
	Skill string `json:"skill"`
	Args  string `json:"args"`
	// Command is what older agents write for Skill.
	Command string `json:"command"`
}

// A SkillResult says that a skill was started, or what it gave if it ran as a subagent.
type SkillResult struct {
	Success      bool     `json:"success"`
	CommandName  string   `json:"commandName"`
	AllowedTools []string `json:"allowedTools"`
	Model        string   `json:"model"`
	// Status is forked if it ran as the subagent AgentID, and Result what that answered.
	Status  string `json:"status"`
	AgentID string `json:"agentId"`
	Result  string `json:"result"`
}

// A WorkflowInput starts a workflow: one with a name, or a script.
type WorkflowInput struct {
	Name            string    `json:"name"`
	Title           string    `json:"title"`
	Description     string    `json:"description"`
	Script          string    `json:"script"`
	ScriptPath      string    `json:"scriptPath"`
	Args            wire.JSON `json:"args"`
	ResumeFromRunID string    `json:"resumeFromRunId"`
}

// A WorkflowResult says that a workflow was started.
type WorkflowResult struct {
	// Status is async_launched or remote_launched.
	Status       string `json:"status"`
	TaskID       string `json:"taskId"`
	TaskType     string `json:"taskType"`
	WorkflowName string `json:"workflowName"`
	// RunID names the folder of its subagents.
	RunID         string `json:"runId"`
	Summary       string `json:"summary"`
	TranscriptDir string `json:"transcriptDir"`
	ScriptPath    string `json:"scriptPath"`
	SessionURL    string `json:"sessionUrl"`
	Warning       string `json:"warning"`
	Error         string `json:"error"`
}
