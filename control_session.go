package clew

import (
	"cmp"
	"context"
)

// Rename gives the session a title, as its user could. The agent refuses an empty title. opts may
// be nil.
func (s *Session) Rename(ctx context.Context, title string, opts *RenameOptions) error {
	req := renameRequest{Title: title}
	if opts != nil {
		req.RenameOptions = *opts
	}
	req.Source = cmp.Or(req.Source, "host")
	return s.Control(ctx, "rename_session", req, nil)
}

type renameRequest struct {
	Title string `json:"title"`
	RenameOptions
}

// RenameOptions configure [Session.Rename].
type RenameOptions struct {
	// Source names the chooser of the title: "host" for this program, which is the default, or
	// "remote" for another device of the user.
	Source string `json:"source,omitempty"`
	// SessionID makes the agent refuse unless it is the current ID of the session. Empty means no
	// such check.
	SessionID string `json:"session_id,omitempty"`
}

// GenerateTitle asks the model for a title that fits a description, such as the first prompt, and
// gives it to the session. A session that has a title keeps it. GenerateTitle returns the title of
// the session, or "" if the model found none. opts may be nil.
func (s *Session) GenerateTitle(ctx context.Context, description string, opts *TitleOptions) (string, error) {
	persist := opts == nil || !opts.SuggestOnly
	answer, err := call[titleAnswer](ctx, s, "generate_session_title", titleRequest{description, persist})
	if err != nil {
		return "", err
	}
	return answer.Title, nil
}

// TitleOptions configure [Session.GenerateTitle].
type TitleOptions struct {
	// SuggestOnly returns the new title and leaves the session as it is.
	SuggestOnly bool
}

type titleRequest struct {
	Description string `json:"description"`
	Persist     bool   `json:"persist"`
}

type titleAnswer struct {
	Title string `json:"title"`
}

// SetColor sets the color of the session, such as "red", or "default". Claude Code 2.1.325 does not
// support it in a session that a program drives: see [ControlError.Unsupported].
func (s *Session) SetColor(ctx context.Context, color string) error {
	return s.Control(ctx, "set_color", setColorRequest{color}, nil)
}

type setColorRequest struct {
	Color string `json:"color"`
}

// SetHasSubscribers reports to the agent whether anybody watches the messages. It matters only to
// an agent that was started with the variables CLAUDE_CODE_STREAM_EVENT_HOLD_MS and
// CLAUDE_CODE_STREAM_EVENT_NO_SUBSCRIBER_HOLD_MS: while nobody watches, it collects partial
// messages for longer before it sends them. To make this unknown again, send null with
// [Session.Control]:
//
//	err := s.Control(ctx, "set_has_subscribers", map[string]any{"has_subscribers": nil}, nil)
func (s *Session) SetHasSubscribers(ctx context.Context, watched bool) error {
	return s.Control(ctx, "set_has_subscribers", setHasSubscribersRequest{watched}, nil)
}

type setHasSubscribersRequest struct {
	HasSubscribers bool `json:"has_subscribers"`
}

// SetPromptSuggestions turns the suggestions for the next prompt on or off. The session must have
// been started with [Options.PromptSuggestions].
func (s *Session) SetPromptSuggestions(ctx context.Context, enabled bool) error {
	return s.Control(ctx, "set_prompt_suggestions_paused", pauseSuggestionsRequest{!enabled}, nil)
}

type pauseSuggestionsRequest struct {
	Paused bool `json:"paused"`
}

// SideQuestion asks the model something about the conversation and waits for the answer. Question
// and answer do not become part of the conversation: the model uses no tools, and a turn that is
// running continues. earlier are side questions that this one follows up, in their order.
func (s *Session) SideQuestion(ctx context.Context, question string, earlier ...SideExchange) (*SideAnswer, error) {
	return call[SideAnswer](ctx, s, "side_question", sideQuestionRequest{question, earlier})
}

type sideQuestionRequest struct {
	Question string         `json:"question"`
	History  []SideExchange `json:"history,omitempty"`
}

// A SideExchange is a side question and its answer.
type SideExchange struct {
	// Question is the question.
	Question string `json:"question"`
	// Response is the answer, from [SideAnswer.Response].
	Response string `json:"response"`
}

// A SideAnswer is the answer to a side question.
type SideAnswer struct {
	// Response is the answer, or empty if there was none.
	Response string `json:"response"`
	// Synthetic is true if the agent and not the model wrote the response, such as an error.
	Synthetic bool `json:"synthetic"`
	// RefusalFallback is nil unless another model answered because the first one refused.
	RefusalFallback *struct {
		// OriginalModel is the model that refused.
		OriginalModel string `json:"original_model"`
		// FallbackModel is the model that answered.
		FallbackModel string `json:"fallback_model"`
		// Content is a notice for people.
		Content string `json:"content"`
	} `json:"refusal_fallback"`
}

// RewindConversation removes a prompt, given by its UUID, and everything after it from the
// conversation. Files stay as they are: see [Session.RewindFiles].
func (s *Session) RewindConversation(ctx context.Context, promptUUID string) (*ConversationRewind, error) {
	req := rewindConversationRequest{promptUUID}
	rewind, err := call[ConversationRewind](ctx, s, rewindSubtype, req)
	if err == nil && rewind.Rewound {
		s.agent.rememberAlways(rewindSubtype, req)
	}
	return rewind, err
}

type rewindConversationRequest struct {
	TargetMessageUUID string `json:"target_message_uuid"`
}

// A ConversationRewind is the outcome of [Session.RewindConversation].
type ConversationRewind struct {
	// Rewound is false if nothing changed.
	Rewound bool `json:"rewound"`
	// Error explains why nothing changed, for people.
	Error string `json:"error"`
	// Reason is the same as a word, such as target_not_found.
	Reason string `json:"reason"`
	// Prompt is the text of the prompt that was removed, to be edited and sent again.
	Prompt string `json:"prefillText"`
	// PrecedingAssistantUUID is the message that is the last one now, or empty if none is left.
	PrecedingAssistantUUID string `json:"precedingAssistantUuid"`
}

// RateMessage sends the user's rating of a message to the makers of the agent. The agent refuses
// nil, and a rating without Sentiment or Surface. It does not check that the message exists.
func (s *Session) RateMessage(ctx context.Context, rating *MessageRating) error {
	return s.Control(ctx, "message_rated", rating, nil)
}

// A MessageRating is the user's opinion of a message.
type MessageRating struct {
	// MessageUUID is the UUID of the message.
	MessageUUID string `json:"messageUuid"`
	// Sentiment is "positive" or "negative".
	Sentiment string `json:"sentiment"`
	// Surface is the part of the message that is rated: "tool_use" or "assistant_text".
	Surface string `json:"surface"`
	// Cleared withdraws the rating.
	Cleared bool `json:"cleared"`
}
