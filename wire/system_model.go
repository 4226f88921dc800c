package wire

// An APIRetryMessage says that a request to the model has failed and will be
// sent again.
//
//wire:message system api_retry
type APIRetryMessage struct {
	raw string

	Attempt    int    `json:"attempt"`
	MaxRetries int    `json:"max_retries"`
	RetryDelay Millis `json:"retry_delay_ms"`
	// ErrorStatus is the HTTP status, or 0 when the connection failed.
	ErrorStatus int            `json:"error_status"`
	Error       AssistantError `json:"error" wire:"intern"`
	// NoResponse is set when the first byte did not come in time.
	NoResponse *NoResponse `json:"no_response"`
	UUID       string      `json:"uuid"`
	SessionID  string      `json:"session_id" wire:"intern"`
}

// A NoResponse says how long a request stayed without an answer, and how long
// its repetition will be waited for.
type NoResponse struct {
	raw string

	Waited    Millis `json:"waited_ms"`
	RetryWait Millis `json:"retry_wait_ms"`
}

// A ControlRequestProgressMessage says that a control request of the caller is
// being worked on. Only side_question requests are reported so far.
//
//wire:message system control_request_progress
type ControlRequestProgressMessage struct {
	raw string

	// RequestID is the id of the control request.
	RequestID string               `json:"request_id"`
	Status    ControlRequestStatus `json:"status" wire:"intern"`
	// Attempt and the fields below are set with ControlRequestAPIRetry and mean the
	// same as in an APIRetryMessage.
	Attempt     int    `json:"attempt"`
	MaxRetries  int    `json:"max_retries"`
	RetryDelay  Millis `json:"retry_delay_ms"`
	ErrorStatus int    `json:"error_status"`
	UUID        string `json:"uuid"`
	SessionID   string `json:"session_id" wire:"intern"`
}

// A ControlRequestStatus is a step in the handling of a control request.
type ControlRequestStatus string

// The steps that are reported.
const (
	ControlRequestStarted  ControlRequestStatus = "started"
	ControlRequestAPIRetry ControlRequestStatus = "api_retry"
)

// A ModelRefusalFallbackMessage says that the model refused a request and
// another model takes over.
//
//wire:message system model_refusal_fallback
type ModelRefusalFallbackMessage struct {
	raw string

	// Trigger is "refusal".
	Trigger   string            `json:"trigger" wire:"intern"`
	Direction FallbackDirection `json:"direction" wire:"intern"`
	// Scope is how far the change reaches; empty means FallbackScopeSession.
	Scope         FallbackScope `json:"scope" wire:"intern"`
	OriginalModel string        `json:"original_model" wire:"intern"`
	FallbackModel string        `json:"fallback_model" wire:"intern"`
	// RequestID is the API's id of the refused request.
	RequestID          string `json:"request_id"`
	RefusalCategory    string `json:"api_refusal_category" wire:"intern"`
	RefusalExplanation string `json:"api_refusal_explanation"`
	// RetractedMessageUUIDs are earlier messages to remove from the conversation.
	RetractedMessageUUIDs  []string `json:"retracted_message_uuids"`
	RefusedUserMessageUUID string   `json:"refused_user_message_uuid"`
	// Content is the text to show.
	Content   string `json:"content"`
	UUID      string `json:"uuid"`
	SessionID string `json:"session_id" wire:"intern"`
}

// A FallbackDirection says which way the model changes after a refusal.
type FallbackDirection string

// The directions. Of these, agents of today send only FallbackRetry.
const (
	FallbackRetry  FallbackDirection = "retry"
	FallbackRevert FallbackDirection = "revert"
	FallbackSticky FallbackDirection = "sticky"
)

// A FallbackScope says how far a change of model reaches.
type FallbackScope string

// The scopes of a fallback.
const (
	FallbackScopeSession FallbackScope = "session"
	FallbackScopeLocal   FallbackScope = "local"
)

// A ModelRefusalNoFallbackMessage says that the model refused a request and no
// other model takes over.
//
//wire:message system model_refusal_no_fallback
type ModelRefusalNoFallbackMessage struct {
	raw string

	OriginalModel string `json:"original_model" wire:"intern"`
	// RequestID is the API's id of the refused request.
	RequestID              string `json:"request_id"`
	RefusalCategory        string `json:"api_refusal_category" wire:"intern"`
	RefusalExplanation     string `json:"api_refusal_explanation"`
	RefusedUserMessageUUID string `json:"refused_user_message_uuid"`
	// Content is the text to show.
	Content   string `json:"content"`
	UUID      string `json:"uuid"`
	SessionID string `json:"session_id" wire:"intern"`
}

// A ThinkingTokensMessage says how much the model has thought so far, while it
// thinks.
//
//wire:message system thinking_tokens
type ThinkingTokensMessage struct {
	raw string

	// EstimatedTokens is the running total of the thinking block.
	EstimatedTokens int `json:"estimated_tokens"`
	// EstimatedTokensDelta is what came since the message before.
	EstimatedTokensDelta int `json:"estimated_tokens_delta"`
	// UserMessageUUID is the caller's id of the prompt that the turn answers.
	UserMessageUUID string `json:"user_message_uuid" wire:"intern"`
	UUID            string `json:"uuid"`
	SessionID       string `json:"session_id" wire:"intern"`
}
