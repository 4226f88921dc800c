package clew

import (
	"context"
	"strings"

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
	if err := decode(questionTool, permission.Input, req); err != nil {
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
