package tooluse

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/clewdev/clew/internal/entrylex"
	"github.com/clewdev/clew/wire"
)

// An Input is the input of a tool call. Its variants are pointers to the types whose names end in
// Input, such as [*BashInput]; the input of any other tool is an [*OtherInput].
type Input interface{ toolInput() }

// An OtherInput is the input of a tool without a specific type, such as a tool of an MCP server, or
// an input that is not a JSON object.
type OtherInput struct {
	Name string    // the name of the tool, such as "mcp__calc__add"
	Raw  wire.JSON // the whole input
}

// DecodeInput decodes a tool's input. Members that are unknown, or not of the type that the tool
// wants, count as absent. It returns an error if input is not JSON.
func DecodeInput(name string, input wire.JSON) (Input, error) {
	variant := inputs[name]
	if variant == nil || entrylex.FirstByte(input) != '{' {
		if !json.Valid([]byte(input)) {
			return nil, fmt.Errorf("tooluse: the input of %s is not JSON", name)
		}
		return &OtherInput{name, input}, nil
	}
	in := variant()
	if err := entrylex.DecodeLoosely(input, in); err != nil {
		return nil, fmt.Errorf("tooluse: the input of %s: %w", name, err)
	}
	return in, nil
}

// inputs makes, by the name of a tool, the variant of its input.
var inputs = map[string]func() Input{
	"Bash":                     newInput[BashInput],
	"PowerShell":               newInput[BashInput],
	"BashOutput":               newInput[BashOutputInput],
	"KillShell":                newInput[TaskStopInput],
	"KillBash":                 newInput[TaskStopInput],
	"TaskStop":                 newInput[TaskStopInput],
	"TaskOutput":               newInput[TaskOutputInput],
	"Monitor":                  newInput[MonitorInput],
	"Read":                     newInput[ReadInput],
	"Write":                    newInput[WriteInput],
	"Edit":                     newInput[EditInput],
	"MultiEdit":                newInput[MultiEditInput],
	"NotebookEdit":             newInput[NotebookEditInput],
	"LS":                       newInput[LSInput],
	"Grep":                     newInput[GrepInput],
	"Glob":                     newInput[GlobInput],
	"LSP":                      newInput[LSPInput],
	"ToolSearch":               newInput[ToolSearchInput],
	"WebFetch":                 newInput[WebFetchInput],
	"WebSearch":                newInput[WebSearchInput],
	"Task":                     newInput[AgentInput],
	"Agent":                    newInput[AgentInput],
	"Skill":                    newInput[SkillInput],
	"Workflow":                 newInput[WorkflowInput],
	"TodoWrite":                newInput[TodoWriteInput],
	"TaskCreate":               newInput[TaskCreateInput],
	"TaskUpdate":               newInput[TaskUpdateInput],
	"TaskGet":                  newInput[TaskGetInput],
	"TaskList":                 newInput[TaskListInput],
	"TeamCreate":               newInput[TeamCreateInput],
	"TeamDelete":               newInput[TeamDeleteInput],
	"SendMessage":              newInput[SendMessageInput],
	"AskUserQuestion":          newInput[AskUserQuestionInput],
	"ExitPlanMode":             newInput[ExitPlanModeInput],
	"ListMcpResourcesTool":     newInput[ListMCPResourcesInput],
	"ListMcpResources":         newInput[ListMCPResourcesInput],
	"ReadMcpResourceTool":      newInput[ReadMCPResourceInput],
	"ReadMcpResource":          newInput[ReadMCPResourceInput],
	"ReadMcpResourceDirTool":   newInput[ReadMCPResourceDirInput],
	"ReadMcpResourceDir":       newInput[ReadMCPResourceDirInput],
	"RefreshMcpTools":          newInput[RefreshMCPToolsInput],
	"EnterPlanMode":            newInput[EnterPlanModeInput],
	"EnterWorktree":            newInput[EnterWorktreeInput],
	"ExitWorktree":             newInput[ExitWorktreeInput],
	"CronCreate":               newInput[CronCreateInput],
	"CronDelete":               newInput[CronDeleteInput],
	"CronList":                 newInput[CronListInput],
	"ScheduleWakeup":           newInput[ScheduleWakeupInput],
	"RemoteTrigger":            newInput[RemoteTriggerInput],
	"PushNotification":         newInput[PushNotificationInput],
	"ReadNotifications":        newInput[ReadNotificationsInput],
	"ReportFindings":           newInput[ReportFindingsInput],
	"SendFeedback":             newInput[SendFeedbackInput],
	"Artifact":                 newInput[ArtifactInput],
	"Projects":                 newInput[ProjectsInput],
	"ClaudeDesign":             newInput[ClaudeDesignInput],
	"propose_skills":           newInput[ProposeSkillsInput],
	"ProposeSkills":            newInput[ProposeSkillsInput],
	"SetGoal":                  newInput[SetGoalInput],
	"ProposeGoal":              newInput[SetGoalInput],
	"OfferChromeSetup":         newInput[OfferChromeSetupInput],
	"ShowOnboardingRolePicker": newInput[ShowOnboardingRolePickerInput],
}

func newInput[T any, P interface {
	*T
	Input
}]() Input {
	return P(new(T))
}

func (*OtherInput) toolInput()           {}
func (*BashInput) toolInput()            {}
func (*BashOutputInput) toolInput()      {}
func (*TaskStopInput) toolInput()        {}
func (*TaskOutputInput) toolInput()      {}
func (*MonitorInput) toolInput()         {}
func (*ReadInput) toolInput()            {}
func (*WriteInput) toolInput()           {}
func (*EditInput) toolInput()            {}
func (*MultiEditInput) toolInput()       {}
func (*NotebookEditInput) toolInput()    {}
func (*LSInput) toolInput()              {}
func (*GrepInput) toolInput()            {}
func (*GlobInput) toolInput()            {}
func (*LSPInput) toolInput()             {}
func (*ToolSearchInput) toolInput()      {}
func (*WebFetchInput) toolInput()        {}
func (*WebSearchInput) toolInput()       {}
func (*AgentInput) toolInput()           {}
func (*SkillInput) toolInput()           {}
func (*WorkflowInput) toolInput()        {}
func (*TodoWriteInput) toolInput()       {}
func (*TaskCreateInput) toolInput()      {}
func (*TaskUpdateInput) toolInput()      {}
func (*TaskGetInput) toolInput()         {}
func (*TaskListInput) toolInput()        {}
func (*TeamCreateInput) toolInput()      {}
func (*TeamDeleteInput) toolInput()      {}
func (*SendMessageInput) toolInput()     {}
func (*AskUserQuestionInput) toolInput() {}
func (*ExitPlanModeInput) toolInput()    {}

// A Result is a structured tool result: what the agent knows of it, beside the text that the
// model was given. Its variants are pointers to the types whose names end in Result, such as
// [*BashResult]. Any tool can give a [*TextResult] or a [*ContentResult]. A result without a
// specific type is an [*OtherResult].
type Result interface{ toolResult() }

// A TextResult is a text alone. Calls that failed or were refused have one.
type TextResult struct {
	Text string // such as "Error: …" or "User rejected tool use"
}

// Rejected reports whether the user did not let the tool run.
func (r *TextResult) Rejected() bool { return r.Text == entrylex.Rejected }

// Failure returns a description of the failure, or "" if the text does not report one.
func (r *TextResult) Failure() string {
	text, ok := strings.CutPrefix(r.Text, "Error: ")
	if !ok {
		return ""
	}
	return text
}

// ExitCode returns the exit code of a command that failed: the text of such a result starts with
// "Error: Exit code 3". It returns false for any other text.
func (r *TextResult) ExitCode() (code int, ok bool) {
	text, ok := strings.CutPrefix(r.Failure(), "Exit code ")
	if !ok {
		return 0, false
	}
	first, _, _ := strings.Cut(text, "\n")
	code, err := strconv.Atoi(first)
	return code, err == nil
}

// A ContentResult is a list of blocks. Tools of MCP servers give one.
type ContentResult struct {
	Content wire.Content // the blocks, in order
}

// An OtherResult is the result of a tool without a specific type.
type OtherResult struct {
	Name string    // the name of the tool
	Raw  wire.JSON // the whole result, which may be null
}

// DecodeResult decodes a structured tool result. Members that are unknown, or not of the
// type that they should be, count as absent. It returns an error if structured is not JSON.
func DecodeResult(name string, structured wire.JSON) (Result, error) {
	r, err := decodeResult(name, structured)
	if err != nil {
		return nil, fmt.Errorf("tooluse: the result of %s: %w", name, err)
	}
	return r, nil
}

func decodeResult(name string, structured wire.JSON) (Result, error) {
	switch variant := results[name]; entrylex.FirstByte(structured) {
	case '"':
		r := new(TextResult)
		return r, structured.Decode(&r.Text)
	case '[':
		if content, err := wire.DecodeContent(structured); err == nil {
			return &ContentResult{content}, nil
		}
	case '{':
		if variant != nil {
			r := variant()
			return r, entrylex.DecodeLoosely(structured, r)
		}
	}
	var raw json.RawMessage
	return &OtherResult{name, structured}, structured.Decode(&raw)
}

// results makes, by the name of a tool, the variant of its result.
var results = map[string]func() Result{
	"Bash":            newResult[BashResult],
	"PowerShell":      newResult[BashResult],
	"BashOutput":      newResult[BashOutputResult],
	"KillShell":       newResult[TaskStopResult],
	"KillBash":        newResult[TaskStopResult],
	"TaskStop":        newResult[TaskStopResult],
	"TaskOutput":      newResult[TaskOutputResult],
	"Monitor":         newResult[MonitorResult],
	"Read":            newResult[ReadResult],
	"Write":           newResult[WriteResult],
	"Edit":            newResult[EditResult],
	"MultiEdit":       newResult[EditResult],
	"NotebookEdit":    newResult[NotebookEditResult],
	"Grep":            newResult[GrepResult],
	"Glob":            newResult[GlobResult],
	"LSP":             newResult[LSPResult],
	"ToolSearch":      newResult[ToolSearchResult],
	"WebFetch":        newResult[WebFetchResult],
	"WebSearch":       newResult[WebSearchResult],
	"Task":            newResult[AgentResult],
	"Agent":           newResult[AgentResult],
	"Skill":           newResult[SkillResult],
	"Workflow":        newResult[WorkflowResult],
	"TodoWrite":       newResult[TodoWriteResult],
	"TaskCreate":      newResult[TaskCreateResult],
	"TaskUpdate":      newResult[TaskUpdateResult],
	"TaskGet":         newResult[TaskGetResult],
	"TaskList":        newResult[TaskListResult],
	"TeamCreate":      newResult[TeamCreateResult],
	"TeamDelete":      newResult[TeamDeleteResult],
	"SendMessage":     newResult[SendMessageResult],
	"AskUserQuestion": newResult[AskUserQuestionResult],
	"ExitPlanMode":    newResult[ExitPlanModeResult],
	"Artifact":        newResult[ArtifactResult],
}

func newResult[T any, P interface {
	*T
	Result
}]() Result {
	return P(new(T))
}

func (*TextResult) toolResult()            {}
func (*ContentResult) toolResult()         {}
func (*OtherResult) toolResult()           {}
func (*BashResult) toolResult()            {}
func (*BashOutputResult) toolResult()      {}
func (*TaskStopResult) toolResult()        {}
func (*TaskOutputResult) toolResult()      {}
func (*MonitorResult) toolResult()         {}
func (*ReadResult) toolResult()            {}
func (*WriteResult) toolResult()           {}
func (*EditResult) toolResult()            {}
func (*NotebookEditResult) toolResult()    {}
func (*GrepResult) toolResult()            {}
func (*GlobResult) toolResult()            {}
func (*LSPResult) toolResult()             {}
func (*ToolSearchResult) toolResult()      {}
func (*WebFetchResult) toolResult()        {}
func (*WebSearchResult) toolResult()       {}
func (*AgentResult) toolResult()           {}
func (*SkillResult) toolResult()           {}
func (*WorkflowResult) toolResult()        {}
func (*TodoWriteResult) toolResult()       {}
func (*TaskCreateResult) toolResult()      {}
func (*TaskUpdateResult) toolResult()      {}
func (*TaskGetResult) toolResult()         {}
func (*TaskListResult) toolResult()        {}
func (*TeamCreateResult) toolResult()      {}
func (*TeamDeleteResult) toolResult()      {}
func (*SendMessageResult) toolResult()     {}
func (*AskUserQuestionResult) toolResult() {}
func (*ExitPlanModeResult) toolResult()    {}
func (*ArtifactResult) toolResult()        {}

// A Category is the kind of work that a tool does. There may be others than those below.
type Category string

// The categories of tools.
const (
	CategoryRead  Category = "Read"
	CategoryEdit  Category = "Edit"
	CategoryWrite Category = "Write"
	CategoryBash  Category = "Bash"
	CategoryGrep  Category = "Grep"
	CategoryGlob  Category = "Glob"
	CategoryTask  Category = "Task"
	CategoryTool  Category = "Tool"
	CategoryWeb   Category = "Web"
	CategoryOther Category = "Other"
)

// CategoryOf returns the category of a tool, in upper or lower case, including tools of other
// agents. Those of MCP servers are in CategoryTool.
func CategoryOf(name string) Category {
	name = strings.ToLower(name)
	switch name {
	case "read", "read_file", "view", "ls", "notebookread":
		return CategoryRead
	case "edit", "multiedit", "apply_patch", "strreplace":
		return CategoryEdit
	case "write", "notebookedit", "write_file", "edit_file":
		return CategoryWrite
	case "bash", "powershell", "bashoutput", "killshell", "killbash", "shell_command", "exec_command", "write_stdin",
		"shell", "run_command", "execute_command":
		return CategoryBash
	case "grep", "search_files":
		return CategoryGrep
	case "glob":
		return CategoryGlob
	case "task", "agent", "workflow":
		return CategoryTask
	case "skill", "report_intent":
		return CategoryTool
	case "webfetch", "websearch":
		return CategoryWeb
	}
	if strings.HasPrefix(name, "mcp__") {
		return CategoryTool
	}
	return CategoryOther
}
