package transcript

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/clewdev/clew/wire"
)

// An Input is what a tool was called with. Its variants are pointers to the types whose names end in Input, such as
// [*BashInput]; the input of any other tool is an [*OtherInput].
type Input interface{ toolInput() }

// An OtherInput is that of a tool without a type of its own, such as one of an MCP server, or one that is no JSON
// object.
type OtherInput struct {
	Name string
	Raw  wire.JSON
}

// DecodeInput decodes the input of a tool. Members that are unknown, or not of the type that the tool wants, count as
// absent. It returns an error if input is not JSON.
func DecodeInput(name string, input wire.JSON) (Input, error) {
	variant := inputs[name]
	if variant == nil || firstByte(input) != '{' {
		if !json.Valid([]byte(input)) {
			return nil, fmt.Errorf("transcript: the input of %s is not JSON", name)
		}
		return &OtherInput{name, input}, nil
	}
	in := variant()
	if err := decodeLoosely(input, in); err != nil {
		return nil, fmt.Errorf("transcript: the input of %s: %w", name, err)
	}
	return in, nil
}

// inputs makes, by the name of a tool, the variant of its input.
var inputs = map[string]func() Input{
	"Bash":            newInput[BashInput],
	"PowerShell":      newInput[BashInput],
	"BashOutput":      newInput[BashOutputInput],
	"KillShell":       newInput[TaskStopInput],
	"KillBash":        newInput[TaskStopInput],
	"TaskStop":        newInput[TaskStopInput],
	"TaskOutput":      newInput[TaskOutputInput],
	"Monitor":         newInput[MonitorInput],
	"Read":            newInput[ReadInput],
	"Write":           newInput[WriteInput],
	"Edit":            newInput[EditInput],
	"MultiEdit":       newInput[MultiEditInput],
	"NotebookEdit":    newInput[NotebookEditInput],
	"LS":              newInput[LSInput],
	"Grep":            newInput[GrepInput],
	"Glob":            newInput[GlobInput],
	"LSP":             newInput[LSPInput],
	"ToolSearch":      newInput[ToolSearchInput],
	"WebFetch":        newInput[WebFetchInput],
	"WebSearch":       newInput[WebSearchInput],
	"Task":            newInput[AgentInput],
	"Agent":           newInput[AgentInput],
	"Skill":           newInput[SkillInput],
	"Workflow":        newInput[WorkflowInput],
	"TodoWrite":       newInput[TodoWriteInput],
	"TaskCreate":      newInput[TaskCreateInput],
	"TaskUpdate":      newInput[TaskUpdateInput],
	"TaskGet":         newInput[TaskGetInput],
	"TaskList":        newInput[TaskListInput],
	"TeamCreate":      newInput[TeamCreateInput],
	"TeamDelete":      newInput[TeamDeleteInput],
	"SendMessage":     newInput[SendMessageInput],
	"AskUserQuestion": newInput[AskUserQuestionInput],
	"ExitPlanMode":    newInput[ExitPlanModeInput],
}

func newInput[T any, P interface {
	*T
	Input
}]() Input {
	return P(new(T))
}

// decodeLoosely decodes an object into v, and leaves out what is of another type.
func decodeLoosely(text wire.JSON, v any) error {
	err := text.Decode(v)
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		return nil
	}
	return err
}

// firstByte returns the first byte of a JSON text, or 0.
func firstByte(text wire.JSON) byte {
	for i := range len(text) {
		switch c := text[i]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
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
