package transcript

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/clewdev/clew/wire"
)

// A Result is the structured result of a tool: what the agent knows of it, beside the text that the model was given.
// Its variants are pointers to the types whose names end in Result, such as [*BashResult]. Any tool can give a
// [*TextResult] or a [*ContentResult]; what has no type of its own is an [*OtherResult].
type Result interface{ toolResult() }

// A TextResult is a text alone. Calls that failed or were refused have one.
type TextResult struct{ Text string }

// Rejected reports whether the user did not let the tool run.
func (r *TextResult) Rejected() bool { return r.Text == rejected }

// Failure returns what went wrong, or "" if the text does not say that something did.
func (r *TextResult) Failure() string {
	text, ok := strings.CutPrefix(r.Text, "Error: ")
	if !ok {
		return ""
	}
	return text
}

// A ContentResult is a list of blocks. Tools of MCP servers give one.
type ContentResult struct{ Content wire.Content }

// An OtherResult is that of a tool without a type of its own.
type OtherResult struct {
	Name string
	Raw  wire.JSON
}

// DecodeResult decodes the structured result of a tool. Members that are unknown, or not of the type that they should
// be, count as absent. It returns an error if structured is not JSON.
func DecodeResult(name string, structured wire.JSON) (Result, error) {
	r, err := decodeResult(name, structured)
	if err != nil {
		return nil, fmt.Errorf("transcript: the result of %s: %w", name, err)
	}
	return r, nil
}

func decodeResult(name string, structured wire.JSON) (Result, error) {
	switch variant := results[name]; firstByte(structured) {
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
			return r, decodeLoosely(structured, r)
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
