package wire

// A ControlRequestMessage asks the other side for something: the host asks the
// agent, or the agent its host.
//
//wire:message control_request
type ControlRequestMessage struct {
	raw string

	// RequestID is what the answer and a cancellation refer to.
	RequestID string         `json:"request_id"`
	Request   ControlRequest `json:"request" wire:"lenient"`
}

// A ControlRequest is the body of a [ControlRequestMessage]: its subtype, and
// fields that depend on it, still JSON in [ControlRequest.Raw].
//
//wire:open
type ControlRequest struct {
	raw string

	Subtype string `json:"subtype" wire:"intern"`
}

// A ControlResponseMessage answers a [ControlRequestMessage].
//
//wire:message control_response
type ControlResponseMessage struct {
	raw string

	Response ControlResponse `json:"response" wire:"required"`
}

// A ControlResponse is the body of a [ControlResponseMessage].
type ControlResponse struct {
	raw string

	// Subtype is success or error.
	Subtype   string `json:"subtype" wire:"required,intern"`
	RequestID string `json:"request_id" wire:"required"`
	// Response is the answer; some successes have none.
	Response JSON   `json:"response"`
	Error    string `json:"error"`
	// ErrorCode is unsupported_request for a request that the agent does not know.
	ErrorCode string `json:"error_code" wire:"intern"`

	// The requests of the agent that still wait for an answer, on the answer to
	// initialize.
	PendingPermissionRequests  []ControlRequestMessage `json:"pending_permission_requests"`
	PendingUserDialogRequests  []ControlRequestMessage `json:"pending_user_dialog_requests"`
	PendingElicitationRequests []ControlRequestMessage `json:"pending_elicitation_requests"`
}

// A ControlCancelRequestMessage withdraws a request. There is no answer to it.
//
//wire:message control_cancel_request
type ControlCancelRequestMessage struct {
	raw string

	RequestID string `json:"request_id" wire:"required"`
}
