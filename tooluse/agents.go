package tooluse

import (
	"strings"

	"github.com/clewdev/clew/internal/entrylex"
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
	TotalDuration     wire.Millis `json:"totalDurationMs"`
	TotalTokens       int         `json:"totalTokens"`
	TotalToolUseCount int         `json:"totalToolUseCount"`
	ToolsUsed         []string    `json:"toolsUsed"`
	// Usage is that of the last answer, as the API writes it: see usage.Decode.
	Usage          wire.JSON `json:"usage"`
	WorktreePath   string    `json:"worktreePath"`
	WorktreeBranch string    `json:"worktreeBranch"`

	// OutputFile is where one in the background writes.
	OutputFile string `json:"outputFile"`
	// TaskID and SessionURL are those of one that runs elsewhere.
	TaskID     string `json:"taskId"`
	SessionURL string `json:"sessionUrl"`

	// The fields below are set for members of a team. TeammateID is "name@team".
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
	// RunID names the directory of its subagents.
	RunID         string `json:"runId"`
	Summary       string `json:"summary"`
	TranscriptDir string `json:"transcriptDir"`
	ScriptPath    string `json:"scriptPath"`
	SessionURL    string `json:"sessionUrl"`
	Warning       string `json:"warning"`
	Error         string `json:"error"`
}

// A Todo is an item of a list of things to do.
type Todo struct {
	Content string `json:"content"`
	// Status is pending, in_progress or completed.
	Status     string `json:"status"`
	ActiveForm string `json:"activeForm"`
}

// A TodoWriteInput is the new list of things to do.
type TodoWriteInput struct {
	Todos []Todo `json:"todos"`
}

// A TodoWriteResult is the list of things to do, before and after.
type TodoWriteResult struct {
	OldTodos []Todo `json:"oldTodos"`
	NewTodos []Todo `json:"newTodos"`
}

// A TaskCreateInput puts a task on the board.
type TaskCreateInput struct {
	Subject     string    `json:"subject"`
	Description string    `json:"description"`
	ActiveForm  string    `json:"activeForm"`
	Metadata    wire.JSON `json:"metadata"`
}

// A TaskUpdateInput changes a task. Fields that are "" or nil stay as they are.
type TaskUpdateInput struct {
	TaskID      string `json:"taskId"`
	Subject     string `json:"subject"`
	Description string `json:"description"`
	ActiveForm  string `json:"activeForm"`
	// Status is pending, in_progress, completed or deleted.
	Status       string    `json:"status"`
	Owner        string    `json:"owner"`
	AddBlocks    []string  `json:"addBlocks"`
	AddBlockedBy []string  `json:"addBlockedBy"`
	Metadata     wire.JSON `json:"metadata"`
}

// A TaskGetInput asks for a task.
type TaskGetInput struct {
	TaskID string `json:"taskId"`
}

// A TaskListInput asks for all tasks.
type TaskListInput struct{}

// A TaskRecord is a task as a tool reports it.
type TaskRecord struct {
	ID          string   `json:"id"`
	Subject     string   `json:"subject"`
	Description string   `json:"description"`
	Status      string   `json:"status"`
	Owner       string   `json:"owner"`
	Blocks      []string `json:"blocks"`
	BlockedBy   []string `json:"blockedBy"`
}

// A TaskCreateResult is a task that was put on the board.
type TaskCreateResult struct {
	Task TaskRecord `json:"task"`
}

// A TaskUpdateResult says what was changed.
type TaskUpdateResult struct {
	Success       bool        `json:"success"`
	TaskID        string      `json:"taskId"`
	UpdatedFields []string    `json:"updatedFields"`
	StatusChange  *TaskChange `json:"statusChange"`
	Error         string      `json:"error"`
}

// A TaskChange is a change of a task's status.
type TaskChange struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// A TaskGetResult is a task, or nil if there is none with that ID.
type TaskGetResult struct {
	Task *TaskRecord `json:"task"`
}

// A TaskListResult are all tasks.
type TaskListResult struct {
	Tasks []TaskRecord `json:"tasks"`
}

// A TeamCreateInput makes a team.
type TeamCreateInput struct {
	TeamName    string `json:"team_name"`
	Description string `json:"description"`
	AgentType   string `json:"agent_type"`
}

// A TeamCreateResult is a team that was made.
type TeamCreateResult struct {
	TeamName     string `json:"team_name"`
	TeamFilePath string `json:"team_file_path"`
	LeadAgentID  string `json:"lead_agent_id"`
}

// A TeamDeleteInput ends a team.
type TeamDeleteInput struct {
	TeamName string `json:"team_name"`
}

// A TeamDeleteResult says whether a team was ended.
type TeamDeleteResult struct {
	Success  bool   `json:"success"`
	Message  string `json:"message"`
	TeamName string `json:"team_name"`
}

// A SendMessageInput is a message to another agent.
type SendMessageInput struct {
	// To is whom it is for: an agent's name or ID, or "*" for all. Older agents write Recipient.
	To        string `json:"to"`
	Recipient string `json:"recipient"`
	Summary   string `json:"summary"`
	// Message is a string, or an object with a type such as shutdown_request. Older agents write
	// Content and Type.
	Message wire.JSON `json:"message"`
	Content string    `json:"content"`
	Type    string    `json:"type"`
	// RequestID and Approve answer a request.
	RequestID string `json:"request_id"`
	Approve   bool   `json:"approve"`
}

// Text returns the text of the message, or "" if it has none.
func (in *SendMessageInput) Text() string {
	var text string
	if entrylex.FirstByte(in.Message) == '"' && in.Message.Decode(&text) == nil {
		return text
	}
	return in.Content
}

// ApprovesShutdown reports whether the agent says that it ends, as it was asked to.
func (in *SendMessageInput) ApprovesShutdown() bool {
	answer := *in
	if entrylex.FirstByte(in.Message) == '{' {
		answer = SendMessageInput{}
		_ = entrylex.DecodeLoosely(in.Message, &answer)
	}
	return answer.Type == "shutdown_response" && answer.Approve
}

// A SendMessageResult says whether a message was sent.
type SendMessageResult struct {
	Success   bool   `json:"success"`
	Message   string `json:"message"`
	RequestID string `json:"request_id"`
	Target    string `json:"target"`
}

// An AskUserQuestionInput asks the user.
type AskUserQuestionInput struct {
	Questions []Question `json:"questions"`
}

// A Question is a question to the user. The user may choose one of the options or answer freely.
type Question struct {
	// Question is the full text. Answers name it.
	Question string `json:"question"`
	// Header is a word or two for the question, such as "Database".
	Header string `json:"header"`
	// Options are the answers to choose from.
	Options []QuestionOption `json:"options"`
	// MultiSelect allows more than one option.
	MultiSelect bool `json:"multiSelect"`
}

// A QuestionOption is one answer to choose.
type QuestionOption struct {
	// Label is the answer.
	Label string `json:"label"`
	// Description explains it.
	Description string `json:"description"`
	// Preview shows the result of the option, as Markdown or HTML, or is empty.
	Preview string `json:"preview"`
}

// An AskUserQuestionResult is what the user answered.
type AskUserQuestionResult struct {
	Questions []Question `json:"questions"`
	// Answers are the answers by question.
	Answers map[string]string `json:"answers"`
	// Response is what the user wrote instead.
	Response string `json:"response"`
}

// An ExitPlanModeInput shows a plan to the user.
type ExitPlanModeInput struct {
	// Plan is "" if it is in a file.
	Plan         string `json:"plan"`
	PlanFilePath string `json:"planFilePath"`
}

// An ExitPlanModeResult is the plan that was agreed on.
type ExitPlanModeResult struct {
	Plan     string `json:"plan"`
	FilePath string `json:"filePath"`
	IsAgent  bool   `json:"isAgent"`
	// PlanWasEdited says that the user changed it.
	PlanWasEdited bool `json:"planWasEdited"`
}
