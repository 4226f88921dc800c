package clew

import (
	"context"
	"errors"
	"strings"

	"github.com/clewdev/clew/internal/rawjson"
	"github.com/clewdev/clew/permission"
	"github.com/clewdev/clew/tooluse"
	"github.com/clewdev/clew/wire"
)

// A QuestionFunc asks the user questions of the agent. It replaces a [permission.Func] for the tool
// AskUserQuestion: an error denies, calls may run concurrently, and the context ends when the agent
// no longer needs the answer or exits. The agent waits without a limit.
//
// Nil without an error means that the user declined to answer, which the model learns.
type QuestionFunc func(ctx context.Context, req *QuestionRequest) (*QuestionResult, error)

// A QuestionRequest holds the questions that the agent asks at once.
type QuestionRequest struct {
	// Questions are the questions, usually one to four.
	Questions []Question `json:"questions"`
	// Permission is the request as a [permission.Func] would get it.
	Permission *permission.Request `json:"-"`
}

// A Question is a question to the user, who may choose one of the options or answer freely. Its
// text is the key of the answer in [QuestionResult.Answers]. [Options.QuestionPreview] sets the
// format of the previews of its options.
type Question = tooluse.Question

// A QuestionOption is one answer to choose.
type QuestionOption = tooluse.QuestionOption

// A QuestionResult is the user's answer to a [QuestionRequest].
type QuestionResult struct {
	// Answers are the labels of the chosen options, or the user's own words, by
	// [Question.Question]. A question without an answer was skipped.
	Answers map[string][]string
	// Annotations add to the answers. They have the same keys, [Question.Question].
	Annotations map[string]QuestionAnnotation
	// Response is a text that the user wrote instead of answering. Unless it is empty, the model
	// sees only the response.
	Response string
}

// A QuestionAnnotation adds to the answer to one question.
type QuestionAnnotation struct {
	// Notes are the user's own words in addition to the choice.
	Notes string `json:"notes,omitempty"`
	// Preview is the preview of the chosen option.
	Preview string `json:"preview,omitempty"`
	// Unanswered is the reason for a missing answer: skipped, replied_in_chat or dismissed.
	Unanswered string `json:"unanswered,omitempty"`
}

// questionTool is the tool that the agent uses to ask the user.
const questionTool = "AskUserQuestion"

func (c *callbacks) question(ctx context.Context, asked *permission.Request) (wire.JSON, error) {
	req := &QuestionRequest{Permission: asked}
	if err := rawjson.Decode(questionTool, asked.Input, req); err != nil {
		return "", err
	}
	return c.guard(ctx, "OnQuestion", func() (any, error) {
		result, err := c.options.OnQuestion(ctx, req)
		if err != nil {
			return nil, err
		}
		if result == nil {
			return permissionAnswer(permission.Deny("The user declined to answer."), asked)
		}
		input, err := result.input(asked)
		if err != nil {
			return nil, err
		}
		return permissionAnswer(permission.AllowWith(input), asked)
	})
}

// input returns the tool's input with the answers, because the tool finds them there.
func (r *QuestionResult) input(asked *permission.Request) (map[string]any, error) {
	var members map[string]wire.JSON
	if err := asked.DecodeInput(&members); err != nil {
		return nil, err
	}
	input := make(map[string]any)
	for name, value := range members {
		input[name] = value
	}
	input["answers"] = r.answers()
	if len(r.Annotations) > 0 {
		input["annotations"] = r.Annotations
	}
	if r.Response != "" {
		input["response"] = r.Response
	}
	return input, nil
}

// answers returns the answers in the form in which the agent recognizes its own labels.
func (r *QuestionResult) answers() map[string]string {
	answers := make(map[string]string, len(r.Answers))
	for question, labels := range r.Answers {
		if len(labels) > 0 {
			answers[question] = strings.Join(labels, ", ")
		}
	}
	return answers
}

// An ElicitationFunc asks the user a question of an MCP server, or to visit a page. Without one,
// every such request is declined.
//
// Nil without an error means that another host answers: nothing is sent, and the server keeps
// waiting. After an error the agent reports to the server that the request was cancelled. Calls may
// run concurrently. The context ends when the agent no longer needs the answer or exits.
type ElicitationFunc func(ctx context.Context, req *ElicitationRequest) (*ElicitationResult, error)

// An ElicitationRequest is an MCP server's question to the user. All texts come from the server:
// escape them before they reach a terminal or a page.
type ElicitationRequest struct {
	raw wire.JSON

	// MCPServerName is the name of the MCP server.
	MCPServerName string `json:"mcp_server_name"`
	// Message is the question.
	Message string `json:"message"`
	// Mode is empty if the agent does not report it; the request is a form then.
	Mode wire.ElicitationMode `json:"mode"`
	// URL is the page to visit in [wire.ElicitationModeURL].
	URL string `json:"url"`
	// ElicitationID identifies the question, or is empty.
	ElicitationID string `json:"elicitation_id"`
	// RequestedSchema is the JSON schema of the form.
	RequestedSchema wire.JSON `json:"requested_schema"`
	// PropertyOrder is the order of the fields of the form.
	PropertyOrder []string `json:"property_order"`

	// Title is a heading for a person, or empty.
	Title string `json:"title"`
	// DisplayName is the name of the server for a person, or empty.
	DisplayName string `json:"display_name"`
	// Description explains the question to a person, or is empty.
	Description string `json:"description"`
}

// Raw returns the body of the control request, with the fields that this package does not know.
func (r *ElicitationRequest) Raw() wire.JSON { return r.raw }

// An ElicitationResult is the answer to an [ElicitationRequest].
type ElicitationResult struct {
	// Action is the user's action. It must be set.
	Action wire.ElicitationAction `json:"action"`
	// Content is the form as filled in: anything that marshals to a JSON object. It is nil unless
	// the action is [wire.ElicitationAccept].
	Content any `json:"content,omitempty"`
}

func (c *callbacks) elicitation(ctx context.Context, body wire.JSON) (wire.JSON, error) {
	req := &ElicitationRequest{raw: body}
	if err := rawjson.Decode("elicitation", body, req); err != nil {
		return "", err
	}
	if c.options.OnElicitation == nil {
		return rawjson.Encode(&ElicitationResult{Action: wire.ElicitationDecline})
	}
	return c.guard(ctx, "OnElicitation", func() (any, error) {
		result, err := c.options.OnElicitation(ctx, req)
		switch {
		case err != nil:
			return nil, err
		case result == nil:
			return nil, errNoAnswer
		case result.Action == "":
			return nil, errors.New("clew: OnElicitation returned a result without an action")
		}
		return result, nil
	})
}

// A UserDialogFunc shows a dialog of the agent to the user. The agent asks only for the kinds of
// dialogs that [Options.SupportedDialogKinds] names.
//
// Nil without an error means that another host answers: nothing is sent, and the agent keeps
// waiting. Calls may run concurrently. The context ends when the agent no longer needs the answer
// or exits.
type UserDialogFunc func(ctx context.Context, req *UserDialogRequest) (*UserDialogResult, error)

// A UserDialogRequest asks for a dialog.
type UserDialogRequest struct {
	raw wire.JSON

	// Kind is the kind of dialog.
	Kind string `json:"dialog_kind"`
	// Payload is the content of the dialog. Its shape depends on the kind.
	Payload wire.JSON `json:"payload"`
	// ToolUseID is the tool call that the dialog belongs to, or empty.
	ToolUseID string `json:"tool_use_id"`
}

// Raw returns the body of the control request, with the fields that this package does not know.
func (r *UserDialogRequest) Raw() wire.JSON { return r.raw }

// A UserDialogResult is the outcome of a dialog.
type UserDialogResult struct {
	// Result is the user's choice: anything that marshals to JSON. Its shape depends on the kind of
	// the dialog.
	Result any
	// Canceled is true if the user closed the dialog. Result is ignored then.
	Canceled bool
}

func (c *callbacks) userDialog(ctx context.Context, body wire.JSON) (wire.JSON, error) {
	if c.options.OnUserDialog == nil {
		return "", errNoAnswer
	}
	req := &UserDialogRequest{raw: body}
	if err := rawjson.Decode("request_user_dialog", body, req); err != nil {
		return "", err
	}
	return c.guard(ctx, "OnUserDialog", func() (any, error) {
		result, err := c.options.OnUserDialog(ctx, req)
		switch {
		case err != nil:
			return nil, err
		case result == nil:
			return nil, errNoAnswer
		case result.Canceled:
			return map[string]any{"behavior": "cancelled"}, nil
		}
		return map[string]any{"behavior": "completed", "result": result.Result}, nil
	})
}
