package tooluse

import (
	"strings"

	"github.com/clewdev/clew/internal/entrylex"
	"github.com/clewdev/clew/wire"
)

// An AgentInput starts a subagent. It belongs to Agent, and to Task, its older name.
type AgentInput struct {
	// Description is a title of a few words, for people.
	Description string `json:"description"`
	// Prompt is the task of the subagent.
	Prompt string `json:"prompt"`
	// SubagentType is the kind of subagent, such as "general-purpose" or "Explore". Empty leaves
	// the choice to the agent.
	SubagentType string `json:"subagent_type"`
	// Model is sonnet, opus, haiku or fable. Empty means the model of the subagent's definition, or
	// else the default.
	Model string `json:"model"`
	// Effort is the model's effort level, such as "high". Empty means the usual effort.
	Effort string `json:"effort"`
	// RunInBackground asks the agent not to wait for the subagent. It is also false if the model
	// left it out; [AgentResult.Status] reports how the subagent was started.
	RunInBackground bool `json:"run_in_background"`
	// Isolation is worktree, for a temporary git worktree, or remote, for a machine in the cloud.
	// Empty means neither.
	Isolation string `json:"isolation"`
	// Mode is a permission mode, such as "plan". Current agents ignore it.
	Mode string `json:"mode"`
	// Name is the name that other agents can send messages to. It is empty for most subagents.
	Name string `json:"name"`
	// TeamName is the team that the subagent joins. Current agents ignore it.
	TeamName string `json:"team_name"`
}

// An AgentResult is the outcome of a subagent. Which fields are set depends on Status.
type AgentResult struct {
	// Status is completed, async_launched, remote_launched, teammate_spawned or another word.
	Status string `json:"status"`
	// AgentID is the subagent's ID. Its transcript is subagents/agent-ID.jsonl below the session.
	AgentID string `json:"agentId"`
	// AgentType is the kind of subagent, such as "general-purpose". Older agents leave it out.
	AgentType string `json:"agentType"`
	// Description is the description in the input. It comes with async_launched and
	// remote_launched.
	Description string `json:"description"`
	// Prompt is the task that the subagent was given.
	Prompt string `json:"prompt"`
	// Model is the model that the subagent was started with, or "" if the agent does not report it.
	Model string `json:"resolvedModel"`

	// Content is the answer. It comes with completed; see [AgentResult.Text].
	Content []AgentText `json:"content"`
	// TotalDuration is the time the subagent ran. It comes with completed.
	TotalDuration wire.Millis `json:"totalDurationMs"`
	// TotalTokens is the agent's count of tokens. It comes with completed.
	TotalTokens int `json:"totalTokens"`
	// TotalToolUseCount is the number of tool calls the subagent made. It comes with completed.
	TotalToolUseCount int `json:"totalToolUseCount"`
	// ToolsUsed names the tools that the subagent called. Older agents leave it out.
	ToolsUsed []string `json:"toolsUsed"`
	// Usage is the usage of the last answer, as the API writes it: see usage.Decode.
	Usage wire.JSON `json:"usage"`
	// WorktreePath is the directory of a subagent that ran in its own git worktree, or "".
	WorktreePath string `json:"worktreePath"`
	// WorktreeBranch is the branch of that worktree, or "".
	WorktreeBranch string `json:"worktreeBranch"`

	// OutputFile is the path of the file that a subagent in the background writes to.
	OutputFile string `json:"outputFile"`
	// TaskID is the task of a subagent that runs elsewhere. It comes with remote_launched.
	TaskID string `json:"taskId"`
	// SessionURL is the web page of that session. It comes with remote_launched.
	SessionURL string `json:"sessionUrl"`

	// TeammateID is "name@team". It and the fields below come with teammate_spawned.
	TeammateID string `json:"agent_id"`
	// Name is the name of a member of a team.
	Name string `json:"name"`
	// TeamName is the team that the member joined.
	TeamName string `json:"team_name"`
	// Color is the color in which the agent shows the member, such as "blue".
	Color string `json:"color"`
}

// An AgentText is a block of a subagent's answer.
type AgentText struct {
	Type string `json:"type"` // "text"
	Text string `json:"text"` // the text, or "" for a block of another type
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
	// Skill is the name of the skill, such as "code-review".
	Skill string `json:"skill"`
	// Args are the arguments, as one string. Most calls have none.
	Args string `json:"args"`
	// Command is the older name of Skill.
	Command string `json:"command"`
}

// A SkillResult reports that a skill was started, or what it gave if it ran as a subagent.
type SkillResult struct {
	// Success reports whether the skill exists, or, if it ran as a subagent, whether it succeeded.
	Success bool `json:"success"`
	// CommandName is the name of the skill.
	CommandName string `json:"commandName"`
	// AllowedTools are the tools that the skill allows, or nil.
	AllowedTools []string `json:"allowedTools"`
	// Model is the model that the skill runs on if it asks for one, and "" otherwise.
	Model string `json:"model"`
	// Status is forked if the skill ran as a subagent. Otherwise it is inline or "".
	Status string `json:"status"`
	// AgentID is the ID of that subagent. It comes with forked.
	AgentID string `json:"agentId"`
	// Result is the answer of that subagent. It comes with forked.
	Result string `json:"result"`
}

// A WorkflowInput starts a workflow: one with a name, or a script.
type WorkflowInput struct {
	// Name is the name of a saved workflow, or "" with Script and ScriptPath.
	Name string `json:"name"`
	// Title is accepted and ignored by current agents.
	Title string `json:"title"`
	// Description is accepted and ignored by current agents.
	Description string `json:"description"`
	// Script is the source of a workflow, or "".
	Script string `json:"script"`
	// ScriptPath is a file with the source of a workflow, or "".
	ScriptPath string `json:"scriptPath"`
	// Args is the value that the workflow is called with, or "".
	Args wire.JSON `json:"args"`
	// ResumeFromRunID is the [WorkflowResult.RunID] of the run to resume, or "" for a new run.
	ResumeFromRunID string `json:"resumeFromRunId"`
}

// A WorkflowResult reports that a workflow was started.
type WorkflowResult struct {
	// Status is async_launched or remote_launched.
	Status string `json:"status"`
	// TaskID is the task that runs the workflow, as in messages about tasks.
	TaskID string `json:"taskId"`
	// TaskType is local_workflow or remote_agent. Older agents leave it out.
	TaskType string `json:"taskType"`
	// WorkflowName is the name that the script gives itself. Older agents leave it out.
	WorkflowName string `json:"workflowName"`
	// RunID is the run, for [WorkflowInput.ResumeFromRunID]. It also names the directory of the
	// run's subagents. It is "" with remote_launched.
	RunID string `json:"runId"`
	// Summary is a text about the workflow, or "".
	Summary string `json:"summary"`
	// TranscriptDir is the directory of the subagents' transcripts.
	TranscriptDir string `json:"transcriptDir"`
	// ScriptPath is the file in which the agent saved the script.
	ScriptPath string `json:"scriptPath"`
	// SessionURL is the web page of the session. It comes with remote_launched.
	SessionURL string `json:"sessionUrl"`
	// Warning is a text for people about a problem that did not stop the workflow, or "".
	Warning string `json:"warning"`
	// Error explains why the workflow could not be started, or is "".
	Error string `json:"error"`
}

// A Todo is an item of a list of things to do.
type Todo struct {
	// Content is the task, such as "Run the tests".
	Content string `json:"content"`
	// Status is pending, in_progress or completed.
	Status string `json:"status"`
	// ActiveForm is the text to show while the item is in progress, such as "Running the tests".
	ActiveForm string `json:"activeForm"`
}

// A TodoWriteInput is the new list of things to do.
type TodoWriteInput struct {
	// Todos is the whole list. It replaces the one before.
	Todos []Todo `json:"todos"`
}

// A TodoWriteResult is the list of things to do, before and after.
type TodoWriteResult struct {
	OldTodos []Todo `json:"oldTodos"` // the list before the call
	NewTodos []Todo `json:"newTodos"` // the list after the call
}

// A TaskCreateInput puts a task on the board.
type TaskCreateInput struct {
	// Subject is the title of the task, such as "Fix the login test".
	Subject string `json:"subject"`
	// Description describes the task.
	Description string `json:"description"`
	// ActiveForm is the text to show while the task is in progress, or "".
	ActiveForm string `json:"activeForm"`
	// Metadata is an object of the model's choice, or "".
	Metadata wire.JSON `json:"metadata"`
}

// A TaskUpdateInput changes a task. Fields that are "" or nil stay as they are.
type TaskUpdateInput struct {
	// TaskID is the [TaskRecord.ID] of the task to change.
	TaskID string `json:"taskId"`
	// Subject is the new title.
	Subject string `json:"subject"`
	// Description is the new description.
	Description string `json:"description"`
	// ActiveForm is the new text to show while the task is in progress.
	ActiveForm string `json:"activeForm"`
	// Status is pending, in_progress, completed, or deleted, which removes the task.
	Status string `json:"status"`
	// Owner is the agent that takes the task over, by name.
	Owner string `json:"owner"`
	// AddBlocks are IDs of tasks that can't start before this one is completed.
	AddBlocks []string `json:"addBlocks"`
	// AddBlockedBy are IDs of tasks that must be completed before this one can start.
	AddBlockedBy []string `json:"addBlockedBy"`
	// Metadata is an object to merge into the task's own. A member that is null removes one.
	Metadata wire.JSON `json:"metadata"`
}

// A TaskGetInput asks for a task.
type TaskGetInput struct {
	// TaskID is the [TaskRecord.ID] of the task.
	TaskID string `json:"taskId"`
}

// A TaskListInput asks for all tasks.
type TaskListInput struct{}

// A TaskRecord is a task as a tool reports it.
type TaskRecord struct {
	// ID is a number as a string, such as "1".
	ID string `json:"id"`
	// Subject is the title of the task.
	Subject string `json:"subject"`
	// Description describes the task. TaskList does not report it.
	Description string `json:"description"`
	// Status is pending, in_progress or completed. TaskCreate does not report it.
	Status string `json:"status"`
	// Owner is the agent that works on the task, or "". Only TaskList reports it.
	Owner string `json:"owner"`
	// Blocks are IDs of tasks that wait for this one. Only TaskGet reports them.
	Blocks []string `json:"blocks"`
	// BlockedBy are IDs of tasks that this one waits for. TaskCreate does not report them.
	BlockedBy []string `json:"blockedBy"`
}

// A TaskCreateResult is a task that was put on the board.
type TaskCreateResult struct {
	// Task is the new task. Only its ID, Subject and, with some agents, Description are set.
	Task TaskRecord `json:"task"`
}

// A TaskUpdateResult lists the changes to a task.
type TaskUpdateResult struct {
	// Success is false if the task was not changed. Error then explains why.
	Success bool `json:"success"`
	// TaskID is the [TaskRecord.ID] of the task.
	TaskID string `json:"taskId"`
	// UpdatedFields names the members of the input that changed the task, such as "status".
	UpdatedFields []string `json:"updatedFields"`
	// StatusChange is nil if the status stayed the same.
	StatusChange *TaskChange `json:"statusChange"`
	// Error explains why the update failed, or is "".
	Error string `json:"error"`
}

// A TaskChange is a change of a task's status.
type TaskChange struct {
	From string `json:"from"` // the old status, such as "pending"
	To   string `json:"to"`   // the new status, such as "in_progress"
}

// A TaskGetResult is a task, or nil if there is none with that ID.
type TaskGetResult struct {
	Task *TaskRecord `json:"task"` // nil if there is no such task
}

// A TaskListResult are all tasks.
type TaskListResult struct {
	Tasks []TaskRecord `json:"tasks"` // empty if there are none
}

// A TeamCreateInput makes a team.
type TeamCreateInput struct {
	// TeamName is the name of the team.
	TeamName string `json:"team_name"`
	// Description is the purpose of the team, or "".
	Description string `json:"description"`
	// AgentType is the kind of agent that leads the team, or "".
	AgentType string `json:"agent_type"`
}

// A TeamCreateResult is a team that was made.
type TeamCreateResult struct {
	// TeamName is the name that the team got.
	TeamName string `json:"team_name"`
	// TeamFilePath is the file in which the agent keeps the team's configuration.
	TeamFilePath string `json:"team_file_path"`
	// LeadAgentID is the ID of the agent that leads the team: "name@team".
	LeadAgentID string `json:"lead_agent_id"`
}

// A TeamDeleteInput ends a team.
type TeamDeleteInput struct {
	TeamName string `json:"team_name"` // the team to end, or "" if the model did not name one
}

// A TeamDeleteResult reports whether a team was ended.
type TeamDeleteResult struct {
	Success  bool   `json:"success"`   // whether the team was ended
	Message  string `json:"message"`   // what happened, for people
	TeamName string `json:"team_name"` // the team, or ""
}

// A SendMessageInput is a message to another agent.
type SendMessageInput struct {
	// To is the receiver: an agent's name or ID, or "*" for all agents. Older agents write
	// Recipient.
	To string `json:"to"`
	// Recipient is the older name of To. It is "" with current ones.
	Recipient string `json:"recipient"`
	// Summary is a short version of the message, for people, or "".
	Summary string `json:"summary"`
	// Message is a string, or an object with a type such as shutdown_request. Older agents write
	// Content and Type. See [SendMessageInput.Text].
	Message wire.JSON `json:"message"`
	// Content is the text in the form of older agents.
	Content string `json:"content"`
	// Type is the kind of message in the form of older agents, such as "message", "broadcast" or
	// "shutdown_response". Objects in Message have it as well.
	Type string `json:"type"`
	// RequestID is the request that the message answers, or "".
	RequestID string `json:"request_id"`
	// Approve is the answer to that request. See [SendMessageInput.ApprovesShutdown].
	Approve bool `json:"approve"`
}

// Text returns the text of the message, or "" if it has none.
func (in *SendMessageInput) Text() string {
	var text string
	if entrylex.FirstByte(in.Message) == '"' && in.Message.Decode(&text) == nil {
		return text
	}
	return in.Content
}

// ApprovesShutdown reports whether the agent reports that it ends, as it was asked to.
func (in *SendMessageInput) ApprovesShutdown() bool {
	answer := *in
	if entrylex.FirstByte(in.Message) == '{' {
		answer = SendMessageInput{}
		_ = entrylex.DecodeLoosely(in.Message, &answer)
	}
	return answer.Type == "shutdown_response" && answer.Approve
}

// A SendMessageResult reports whether a message was sent.
type SendMessageResult struct {
	// Success reports whether the message was sent.
	Success bool `json:"success"`
	// Message describes the outcome, for people.
	Message string `json:"message"`
	// RequestID is the ID of a request that was sent, such as one to shut down, or "".
	RequestID string `json:"request_id"`
	// Target is the receiver of such a request, or "".
	Target string `json:"target"`
}

// An AskUserQuestionInput asks the user.
type AskUserQuestionInput struct {
	// Questions are one to four questions.
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

// An AskUserQuestionResult holds the user's answers.
type AskUserQuestionResult struct {
	// Questions are the questions of the input.
	Questions []Question `json:"questions"`
	// Answers are the answers by the text of the question.
	Answers map[string]string `json:"answers"`
	// Response is the user's text in place of chosen answers, or "".
	Response string `json:"response"`
}

// An ExitPlanModeInput shows a plan to the user.
type ExitPlanModeInput struct {
	// Plan is the plan, as Markdown. It is "" if it is in a file.
	Plan string `json:"plan"`
	// PlanFilePath is the file with the plan, or "".
	PlanFilePath string `json:"planFilePath"`
}

// An ExitPlanModeResult is the plan that was agreed on.
type ExitPlanModeResult struct {
	// Plan is the plan, as Markdown, or "".
	Plan string `json:"plan"`
	// FilePath is the file in which the agent saved the plan, or "".
	FilePath string `json:"filePath"`
	// IsAgent reports whether a subagent made the plan, not the agent of the session.
	IsAgent bool `json:"isAgent"`
	// PlanWasEdited reports whether the user changed the plan before agreeing to it.
	PlanWasEdited bool `json:"planWasEdited"`
}
