package tooluse

import (
	"encoding/json"
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
	TotalDurationMs   float64     `json:"totalDurationMs"`
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

// A ReadInput names a file, and the part of it to read. Zero values mean all of it.
type ReadInput struct {
	FilePath string `json:"file_path"`
	// Offset is the number of the first line, counted from 1, and Limit how many to read.
	Offset int `json:"offset"`
	Limit  int `json:"limit"`
	// Pages are those of a PDF, such as "1-5".
	Pages string `json:"pages"`
}

// A ReadResult is a file that was read.
type ReadResult struct {
	// Type is text, image, notebook, pdf, parts (the pages of a PDF as pictures) or another word.
	Type string   `json:"type"`
	File ReadFile `json:"file"`
}

// A ReadFile is what was read of a file. Which fields are set depends on [ReadResult.Type].
type ReadFile struct {
	FilePath string `json:"filePath"`

	// Content are NumLines lines of text from StartLine on, of TotalLines.
	Content    string `json:"content"`
	NumLines   int    `json:"numLines"`
	StartLine  int    `json:"startLine"`
	TotalLines int    `json:"totalLines"`

	// Base64 is a picture or a PDF, MediaType that of a picture.
	Base64       string `json:"base64"`
	MediaType    string `json:"type"`
	OriginalSize int64  `json:"originalSize"`

	// Cells are those of a notebook, as a JSON list.
	Cells wire.JSON `json:"cells"`

	// Count is how many pages were put into OutputDir.
	Count     int    `json:"count"`
	OutputDir string `json:"outputDir"`
}

// A WriteInput is a file to write.
type WriteInput struct {
	FilePath string `json:"file_path"`
	Content  string `json:"content"`
}

// A WriteResult is a file that was written.
type WriteResult struct {
	// Type is create or update.
	Type     string `json:"type"`
	FilePath string `json:"filePath"`
	Content  string `json:"content"`
	// OriginalFile is what was in the file, or nil if there was none.
	OriginalFile    *string  `json:"originalFile"`
	StructuredPatch []Hunk   `json:"structuredPatch"`
	UserModified    bool     `json:"userModified"`
	GitDiff         *GitDiff `json:"gitDiff"`
}

// An EditInput replaces a piece of a file.
type EditInput struct {
	FilePath   string `json:"file_path"`
	OldString  string `json:"old_string"`
	NewString  string `json:"new_string"`
	ReplaceAll bool   `json:"replace_all"`
}

// A MultiEditInput replaces pieces of a file, one after the other.
type MultiEditInput struct {
	FilePath string       `json:"file_path"`
	Edits    []StringEdit `json:"edits"`
}

// A StringEdit replaces one string by another: where it stands first, or everywhere.
type StringEdit struct {
	OldString  string `json:"old_string"`
	NewString  string `json:"new_string"`
	ReplaceAll bool   `json:"replace_all"`
}

// An EditResult is a file that was changed, by Edit or MultiEdit.
type EditResult struct {
	FilePath   string `json:"filePath"`
	OldString  string `json:"oldString"`
	NewString  string `json:"newString"`
	ReplaceAll bool   `json:"replaceAll"`
	// Edits are those of a MultiEdit.
	Edits []StringEdit `json:"edits"`
	// OriginalFile is what was in the file, or nil if the agent does not tell. MultiEdit has OriginalFileContents.
	OriginalFile         *string `json:"originalFile"`
	OriginalFileContents *string `json:"originalFileContents"`
	StructuredPatch      []Hunk  `json:"structuredPatch"`
	// UserModified says that the user changed the edit before it was made.
	UserModified bool     `json:"userModified"`
	GitDiff      *GitDiff `json:"gitDiff"`
}

// A Hunk is a piece of a file that was changed, with some lines around it.
type Hunk struct {
	// OldStart and NewStart are the numbers of the first line, counted from 1, or the number of the line before if there
	// are no lines.
	OldStart int `json:"oldStart"`
	OldLines int `json:"oldLines"`
	NewStart int `json:"newStart"`
	NewLines int `json:"newLines"`
	// Lines begin with a space, a plus, a minus, or, for the remark that the line before has no end, a backslash.
	Lines []string `json:"lines"`
}

// UnmarshalJSON takes an object. Members of another type count as absent, and lines that are no strings are left out.
func (h *Hunk) UnmarshalJSON(data []byte) error {
	var loose struct {
		OldStart, OldLines, NewStart, NewLines int
		Lines                                  []json.RawMessage
	}
	if err := entrylex.DecodeLoosely(wire.JSON(data), &loose); err != nil {
		return err
	}
	*h = Hunk{OldStart: loose.OldStart, OldLines: loose.OldLines, NewStart: loose.NewStart, NewLines: loose.NewLines}
	for _, raw := range loose.Lines {
		var line string
		if raw[0] == '"' && json.Unmarshal(raw, &line) == nil {
			h.Lines = append(h.Lines, line)
		}
	}
	return nil
}

// A GitDiff is a change as git sees it.
type GitDiff struct {
	Filename string `json:"filename"`
	// Status is modified or added.
	Status    string `json:"status"`
	Additions int    `json:"additions"`
	Deletions int    `json:"deletions"`
	// Patch are the hunks of a unified diff.
	Patch string `json:"patch"`
}

// A NotebookEditInput changes a cell of a notebook.
type NotebookEditInput struct {
	NotebookPath string `json:"notebook_path"`
	CellID       string `json:"cell_id"`
	NewSource    string `json:"new_source"`
	CellType     string `json:"cell_type"`
	// EditMode is replace, insert, delete or "", which means replace.
	EditMode string `json:"edit_mode"`
}

// A NotebookEditResult is a notebook that was changed.
type NotebookEditResult struct {
	NotebookPath string `json:"notebook_path"`
	CellID       string `json:"cell_id"`
	CellType     string `json:"cell_type"`
	Language     string `json:"language"`
	EditMode     string `json:"edit_mode"`
	OldSource    string `json:"old_source"`
	NewSource    string `json:"new_source"`
	// OriginalFile and UpdatedFile are the notebook before and after, as text.
	OriginalFile string `json:"original_file"`
	UpdatedFile  string `json:"updated_file"`
	// Error says what went wrong, if something did.
	Error string `json:"error"`
}

// An LSInput names a folder.
type LSInput struct {
	Path   string   `json:"path"`
	Ignore []string `json:"ignore"`
}

// A GrepInput searches files for a regular expression.
type GrepInput struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path"`
	Glob    string `json:"glob"`
	Type    string `json:"type"`
	// OutputMode is content, files_with_matches, count or "".
	OutputMode  string `json:"output_mode"`
	Before      int    `json:"-B"`
	After       int    `json:"-A"`
	Around      int    `json:"-C"`
	Context     int    `json:"context"`
	LineNumbers bool   `json:"-n"`
	IgnoreCase  bool   `json:"-i"`
	OnlyMatches bool   `json:"-o"`
	HeadLimit   int    `json:"head_limit"`
	Offset      int    `json:"offset"`
	Multiline   bool   `json:"multiline"`
}

// A GrepResult is what was found. Which fields are set depends on Mode.
type GrepResult struct {
	// Mode is content, files_with_matches or count.
	Mode       string   `json:"mode"`
	NumFiles   int      `json:"numFiles"`
	Filenames  []string `json:"filenames"`
	Content    string   `json:"content"`
	NumLines   int      `json:"numLines"`
	NumMatches int      `json:"numMatches"`
	// AppliedLimit is how many were asked for, if there are more.
	AppliedLimit int  `json:"appliedLimit"`
	TimedOut     bool `json:"timedOut"`
}

// A GlobInput searches for files by name.
type GlobInput struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path"`
}

// A GlobResult names the files that were found.
type GlobResult struct {
	Filenames  []string `json:"filenames"`
	NumFiles   int      `json:"numFiles"`
	Truncated  bool     `json:"truncated"`
	TimedOut   bool     `json:"timedOut"`
	DurationMs float64  `json:"durationMs"`
}

// An LSPInput asks a language server about a place in a file.
type LSPInput struct {
	// Operation is goToDefinition, findReferences, hover or another word.
	Operation string `json:"operation"`
	FilePath  string `json:"filePath"`
	Line      int    `json:"line"`
	Character int    `json:"character"`
}

// An LSPResult is what a language server said.
type LSPResult struct {
	Operation   string `json:"operation"`
	FilePath    string `json:"filePath"`
	Result      string `json:"result"`
	ResultCount int    `json:"resultCount"`
	FileCount   int    `json:"fileCount"`
}

// A ToolSearchInput asks for tools that are not loaded yet.
type ToolSearchInput struct {
	Query      string `json:"query"`
	MaxResults int    `json:"max_results"`
}

// A ToolSearchResult names the tools that were loaded.
type ToolSearchResult struct {
	Query         string   `json:"query"`
	Matches       []string `json:"matches"`
	DeferredTools int      `json:"total_deferred_tools"`
}

// A WebFetchInput asks a question about a page.
type WebFetchInput struct {
	URL    string `json:"url"`
	Prompt string `json:"prompt"`
}

// A WebFetchResult is the answer to a question about a page.
type WebFetchResult struct {
	URL string `json:"url"`
	// Code and CodeText are the status of the HTTP response, such as 200 and OK.
	Code       int     `json:"code"`
	CodeText   string  `json:"codeText"`
	Bytes      int64   `json:"bytes"`
	Result     string  `json:"result"`
	DurationMs float64 `json:"durationMs"`
}

// A WebSearchInput searches the web.
type WebSearchInput struct {
	Query          string   `json:"query"`
	AllowedDomains []string `json:"allowed_domains"`
	BlockedDomains []string `json:"blocked_domains"`
}

// A WebSearchResult is what was found on the web.
type WebSearchResult struct {
	Query           string          `json:"query"`
	Results         []WebSearchPart `json:"results"`
	DurationSeconds float64         `json:"durationSeconds"`
	// SearchCount is how many searches it took. They are billed.
	SearchCount int `json:"searchCount"`
}

// A WebSearchPart is a text, or a list of pages.
type WebSearchPart struct {
	Text  string
	Links []WebLink
}

// A WebLink is a page that was found.
type WebLink struct {
	Title   string `json:"title"`
	URL     string `json:"url"`
	Snippet string `json:"snippet"`
}

// UnmarshalJSON takes a string, or an object whose content is a list of pages.
func (p *WebSearchPart) UnmarshalJSON(data []byte) error {
	if entrylex.FirstByte(wire.JSON(data)) == '"' {
		return json.Unmarshal(data, &p.Text)
	}
	var list struct {
		Content []WebLink `json:"content"`
	}
	err := entrylex.DecodeLoosely(wire.JSON(data), &list)
	p.Links = list.Content
	return err
}

// A BashInput is that of Bash, and of PowerShell.
type BashInput struct {
	Command     string `json:"command"`
	Description string `json:"description"`
	// TimeoutMs is 0 for the agent's default.
	TimeoutMs       float64 `json:"timeout"`
	RunInBackground bool    `json:"run_in_background"`
	DisableSandbox  bool    `json:"dangerouslyDisableSandbox"`
}

// A BashResult is that of Bash, and of PowerShell.
type BashResult struct {
	// Stdout is what the command wrote, its errors included where the agent does not part them.
	Stdout      string `json:"stdout"`
	Stderr      string `json:"stderr"`
	Interrupted bool   `json:"interrupted"`
	// IsImage says that Stdout is a picture, as a data URL.
	IsImage          bool `json:"isImage"`
	NoOutputExpected bool `json:"noOutputExpected"`
	// ReturnCodeInterpretation says what the exit code means, such as "No matches found".
	ReturnCodeInterpretation string  `json:"returnCodeInterpretation"`
	TimedOutAfterMs          float64 `json:"timedOutAfterMs"`

	// BackgroundTaskID is set if the command goes on in the background.
	BackgroundTaskID   string `json:"backgroundTaskId"`
	BackgroundedByUser bool   `json:"backgroundedByUser"`

	// PersistedOutputPath is the file with the whole output, if that was too long: see [SpillPath].
	PersistedOutputPath string `json:"persistedOutputPath"`
	PersistedOutputSize int64  `json:"persistedOutputSize"`

	GitOperation *GitOperation `json:"gitOperation"`
	EditDiff     *BashEditDiff `json:"bashEditDiff"`
}

// A GitOperation is what a command did to a repository. What it did not do is nil.
type GitOperation struct {
	Commit *GitCommit `json:"commit"`
	Push   *GitPush   `json:"push"`
	Branch *GitBranch `json:"branch"`
	PR     *GitPR     `json:"pr"`
}

// A GitCommit is a commit that was made. Kind is committed, amended or cherry-picked.
type GitCommit struct {
	SHA    string `json:"sha"`
	Kind   string `json:"kind"`
	Branch string `json:"branch"`
}

// A GitPush is a branch that was pushed.
type GitPush struct {
	Branch string `json:"branch"`
}

// A GitBranch is a branch that was merged or rebased.
type GitBranch struct {
	Ref    string `json:"ref"`
	Action string `json:"action"`
}

// A GitPR is a pull request that was created, merged or changed in another way.
type GitPR struct {
	Number int    `json:"number"`
	URL    string `json:"url"`
	Action string `json:"action"`
}

// A BashEditDiff tells which files a command changed.
type BashEditDiff struct {
	Files []BashFileDiff `json:"files"`
	// MoreFiles is how many others there are.
	MoreFiles int `json:"moreFiles"`
	// ChangedFiles are the paths of those that the agent noticed.
	ChangedFiles []string `json:"changedFiles"`
}

// A BashFileDiff tells what a command changed in a file.
type BashFileDiff struct {
	FilePath string `json:"filePath"`
	Hunks    []Hunk `json:"hunks"`
	Created  bool   `json:"created"`
	Deleted  bool   `json:"deleted"`
}

// A BashOutputInput asks for the output of a command in the background.
type BashOutputInput struct {
	BashID string `json:"bash_id"`
	Filter string `json:"filter"`
}

// A BashOutputResult is what a command in the background has written since it was last asked.
type BashOutputResult struct {
	ShellID string `json:"shellId"`
	Command string `json:"command"`
	// Status is running, completed, failed or killed.
	Status string `json:"status"`
	// ExitCode is nil while the command runs.
	ExitCode *int   `json:"exitCode"`
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
}

// A TaskStopInput ends what runs in the background. It is that of TaskStop, and of KillShell before it.
type TaskStopInput struct {
	TaskID  string `json:"task_id"`
	ShellID string `json:"shell_id"`
}

// A TaskStopResult says what was ended.
type TaskStopResult struct {
	Message  string `json:"message"`
	TaskID   string `json:"task_id"`
	ShellID  string `json:"shell_id"`
	TaskType string `json:"task_type"`
	Command  string `json:"command"`
}

// A TaskOutputInput asks for the output of what runs in the background.
type TaskOutputInput struct {
	TaskID    string  `json:"task_id"`
	Block     bool    `json:"block"`
	TimeoutMs float64 `json:"timeout"`
}

// A TaskOutputResult is the output of what runs in the background.
type TaskOutputResult struct {
	// Status says whether there was output to be had, such as success or timeout.
	Status string `json:"retrieval_status"`
	// Task is nil if there is no such task.
	Task *BackgroundTask `json:"task"`
}

// A BackgroundTask is something that runs in the background, or did.
type BackgroundTask struct {
	ID          string `json:"task_id"`
	Type        string `json:"task_type"`
	Status      string `json:"status"`
	Description string `json:"description"`
	Output      string `json:"output"`
	ExitCode    *int   `json:"exitCode"`
}

// A MonitorInput has a command or a web socket watched.
type MonitorInput struct {
	Description string         `json:"description"`
	Command     string         `json:"command"`
	Socket      *MonitorSocket `json:"ws"`
	TimeoutMs   float64        `json:"timeout_ms"`
}

// A MonitorSocket is a web socket.
type MonitorSocket struct {
	URL       string   `json:"url"`
	Protocols []string `json:"protocols"`
}

// A MonitorResult names the task that watches.
type MonitorResult struct {
	TaskID     string  `json:"taskId"`
	TimeoutMs  float64 `json:"timeoutMs"`
	Persistent bool    `json:"persistent"`
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

// A TaskUpdateInput changes a task. What is "" or nil stays as it is.
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
	// Message is a string, or an object with a type such as shutdown_request. Older agents write Content and Type.
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

// A Question is one that the user is asked.
type Question struct {
	Question    string           `json:"question"`
	Header      string           `json:"header"`
	Options     []QuestionOption `json:"options"`
	MultiSelect bool             `json:"multiSelect"`
}

// A QuestionOption is an answer to choose.
type QuestionOption struct {
	Label       string `json:"label"`
	Description string `json:"description"`
	Preview     string `json:"preview"`
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
