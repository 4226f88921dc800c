package clew

import (
	"context"
	"errors"
	"strings"

	"github.com/clewdev/clew/internal/rawjson"
	"github.com/clewdev/clew/wire"
)

// A QuestionFunc puts questions of the agent to the user. It takes the place of a [CanUseToolFunc] for the tool
// AskUserQuestion: an error denies, calls may run at once, and the context ends when the agent no longer needs the
// answer or dies. The agent waits as long as it takes.
//
// Nil without an error means that the user won't answer, and the model is told so.
type QuestionFunc func(ctx context.Context, req *QuestionRequest) (*QuestionResult, error)

// A QuestionRequest holds the questions that the agent asks at once.
type QuestionRequest struct {
	Questions []Question `json:"questions"`
	// Permission is the request as a [CanUseToolFunc] would get it.
	Permission *PermissionRequest `json:"-"`
}

// A Question is a question to the user. The user may choose among the options or say something else.
type Question struct {
	// Question is the full text, by which the answer goes, and Header a word or two for it.
	Question string           `json:"question"`
	Header   string           `json:"header"`
	Options  []QuestionOption `json:"options"`
	// MultiSelect allows more than one option.
	MultiSelect bool `json:"multiSelect"`
}

// A QuestionOption is one answer to choose.
type QuestionOption struct {
	Label       string `json:"label"`
	Description string `json:"description"`
	// Preview shows what the option leads to, or is empty.
	Preview string `json:"preview"`
}

// A QuestionResult is what the user says to a [QuestionRequest].
type QuestionResult struct {
	// Answers are the labels of the chosen options, or the user's own words, by [Question.Question]. A question without
	// an answer was passed over.
	Answers map[string][]string
	// Annotations add to the answers, by [Question.Question] too.
	Annotations map[string]QuestionAnnotation
	// Response is what the user says instead of answering. Unless it is empty, the model sees it alone.
	Response string
}

// A QuestionAnnotation adds to the answer to one question.
type QuestionAnnotation struct {
	// Notes are the user's own words beside the choice.
	Notes string `json:"notes,omitempty"`
	// Preview is that of the chosen option.
	Preview string `json:"preview,omitempty"`
	// Unanswered says why there is no answer: skipped, replied_in_chat or dismissed.
	Unanswered string `json:"unanswered,omitempty"`
}

// questionTool is the tool by which the agent asks the user.
const questionTool = "AskUserQuestion"

func (c *callbacks) question(ctx context.Context, permission *PermissionRequest) (wire.JSON, error) {
	req := &QuestionRequest{Permission: permission}
	if err := rawjson.Decode(questionTool, permission.Input, req); err != nil {
		return "", err
	}
	return c.guard(ctx, "OnQuestion", func() (any, error) {
		result, err := c.options.OnQuestion(ctx, req)
		if err != nil {
			return nil, err
		}
		if result == nil {
			return Deny("The user declined to answer.").answer(permission)
		}
		input, err := result.input(permission)
		if err != nil {
			return nil, err
		}
		return AllowWith(input).answer(permission)
	})
}

// input returns the tool's input with the answers in it, which is where the tool looks for them.
func (r *QuestionResult) input(permission *PermissionRequest) (map[string]any, error) {
	var asked map[string]wire.JSON
	if err := permission.DecodeInput(&asked); err != nil {
		return nil, err
	}
	input := make(map[string]any)
	for name, value := range asked {
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

// answers returns the answers in the form in which the agent knows its own labels again.
func (r *QuestionResult) answers() map[string]string {
	answers := make(map[string]string, len(r.Answers))
	for question, labels := range r.Answers {
		if len(labels) > 0 {
			answers[question] = strings.Join(labels, ", ")
		}
	}
	return answers
}

// An ElicitationFunc asks the user for what an MCP server wants to know, or to visit a page. Without one, every such
// request is declined.
//
// Nil without an error means that somebody else answers: nothing is sent, and the server goes on waiting. On an error
// the agent tells the server that the request was cancelled. Calls may run at once. The context ends when the agent no
// longer needs the answer or dies.
type ElicitationFunc func(ctx context.Context, req *ElicitationRequest) (*ElicitationResult, error)

// An ElicitationRequest is an MCP server's question to the user. All texts in it are the server's own: escape them
// before they reach a terminal or a page.
type ElicitationRequest struct {
	raw wire.JSON

	MCPServerName string `json:"mcp_server_name"`
	Message       string `json:"message"`
	// Mode is empty where the agent does not say; the request is a form then.
	Mode ElicitationMode `json:"mode"`
	// URL is the page to visit in [ElicitationModeURL].
	URL           string `json:"url"`
	ElicitationID string `json:"elicitation_id"`
	// RequestedSchema is the JSON schema of the form, and PropertyOrder the order of its fields.
	RequestedSchema wire.JSON `json:"requested_schema"`
	PropertyOrder   []string  `json:"property_order"`

	// Title, DisplayName and Description are for a person to read. Each may be empty.
	Title       string `json:"title"`
	DisplayName string `json:"display_name"`
	Description string `json:"description"`
}

// Raw returns the body of the control request, with the fields that this package does not know.
func (r *ElicitationRequest) Raw() wire.JSON { return r.raw }

// An ElicitationMode says what the user is to do.
type ElicitationMode string

// The modes that the agent knows.
const (
	ElicitationModeForm ElicitationMode = "form"
	ElicitationModeURL  ElicitationMode = "url"
)

// An ElicitationResult is the answer to an [ElicitationRequest].
type ElicitationResult struct {
	// Action must be set.
	Action ElicitationAction `json:"action"`
	// Content is the form as filled in, anything that marshals to a JSON object, and nil unless the action is accept.
	Content any `json:"content,omitempty"`
}

// An ElicitationAction is what the user does with a request.
type ElicitationAction string

// The actions that the agent knows.
const (
	ElicitationAccept  ElicitationAction = "accept"
	ElicitationDecline ElicitationAction = "decline"
	// ElicitationCancel closes the request without a decision.
	ElicitationCancel ElicitationAction = "cancel"
)

func (c *callbacks) elicitation(ctx context.Context, body wire.JSON) (wire.JSON, error) {
	req := &ElicitationRequest{raw: body}
	if err := rawjson.Decode("elicitation", body, req); err != nil {
		return "", err
	}
	if c.options.OnElicitation == nil {
		return rawjson.Encode(&ElicitationResult{Action: ElicitationDecline})
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

// A UserDialogFunc shows a dialog of the agent to the user. The agent asks only for the kinds of dialogs that
// [Options.SupportedDialogKinds] names.
//
// Nil without an error means that somebody else answers: nothing is sent, and the agent goes on waiting. Calls may run
// at once. The context ends when the agent no longer needs the answer or dies.
type UserDialogFunc func(ctx context.Context, req *UserDialogRequest) (*UserDialogResult, error)

// A UserDialogRequest asks for a dialog.
type UserDialogRequest struct {
	raw wire.JSON

	Kind string `json:"dialog_kind"`
	// Payload is what the dialog shows. Its shape depends on the kind.
	Payload wire.JSON `json:"payload"`
	// ToolUseID is the tool call that the dialog belongs to, or empty.
	ToolUseID string `json:"tool_use_id"`
}

// Raw returns the body of the control request, with the fields that this package does not know.
func (r *UserDialogRequest) Raw() wire.JSON { return r.raw }

// A UserDialogResult is how a dialog ended.
type UserDialogResult struct {
	// Result is what the user chose, anything that marshals to JSON. Its shape depends on the kind of the dialog.
	Result any
	// Cancelled says that the user closed the dialog. Result does not count then.
	Cancelled bool
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
		case result.Cancelled:
			return map[string]any{"behavior": "cancelled"}, nil
		}
		return map[string]any{"behavior": "completed", "result": result.Result}, nil
	})
}
