package clew

import (
	"errors"
	"strings"
)

// A PermissionBehavior is what becomes of the use of a tool.
type PermissionBehavior string

// The behaviours that the agent knows.
const (
	PermissionBehaviorAllow PermissionBehavior = "allow"
	PermissionBehaviorDeny  PermissionBehavior = "deny"
	PermissionBehaviorAsk   PermissionBehavior = "ask"
	// PermissionBehaviorDefer ends the turn with the call still open. Only a [PreToolUseOutput] can say so.
	PermissionBehaviorDefer PermissionBehavior = "defer"
)

// A PermissionClassification tells the agent what kind of decision was made, for its records.
type PermissionClassification string

// The classifications that the agent knows.
const (
	PermissionClassificationTemporary PermissionClassification = "user_temporary"
	PermissionClassificationPermanent PermissionClassification = "user_permanent"
	PermissionClassificationReject    PermissionClassification = "user_reject"
)

// A PermissionResult is the answer to a [PermissionRequest]: an [*AllowResult] or a [*DenyResult].
type PermissionResult interface {
	// answer is what the response says; req may be the zero request.
	answer(req *PermissionRequest) (any, error)
}

// An AllowResult lets the tool run.
type AllowResult struct {
	// UpdatedInput is what the tool is called with instead: anything that marshals to a JSON object. Nil leaves the
	// input as it is.
	UpdatedInput any `json:"updatedInput,omitempty"`
	// UpdatedPermissions are changes of the rules, such as suggestions of the request.
	UpdatedPermissions []PermissionUpdate       `json:"updatedPermissions,omitempty"`
	Classification     PermissionClassification `json:"decisionClassification,omitempty"`
}

// Allow lets the tool run with the input that it has.
func Allow() *AllowResult { return new(AllowResult) }

// AllowWith lets the tool run with another input: anything that marshals to a JSON object.
func AllowWith(input any) *AllowResult { return &AllowResult{UpdatedInput: input} }

func (r *AllowResult) answer(req *PermissionRequest) (any, error) {
	result := *r
	input, err := encodeInput(r.UpdatedInput)
	if err != nil {
		return nil, err
	}
	if result.UpdatedInput = input; input == nil && req.Input != "" {
		result.UpdatedInput = req.Input
	}
	return struct {
		Behavior PermissionBehavior `json:"behavior"`
		AllowResult
		ToolUseID string `json:"toolUseID,omitempty"`
	}{PermissionBehaviorAllow, result, req.ToolUseID}, nil
}

// encodeInput writes an input of a tool, which has to be a JSON object. Nil stays nil.
func encodeInput(input any) (any, error) {
	if input == nil {
		return nil, nil
	}
	object, err := encode(input)
	if err == nil && !strings.HasPrefix(string(object), "{") {
		err = errors.New("UpdatedInput is not a JSON object")
	}
	return object, err
}

// A DenyResult keeps the tool from running.
type DenyResult struct {
	// Message tells the model why. Empty means a text that says no more than that.
	Message string `json:"message"`
	// Interrupt ends the turn as well. The model then does not see the message.
	Interrupt      bool                     `json:"interrupt,omitempty"`
	Classification PermissionClassification `json:"decisionClassification,omitempty"`
}

// Deny keeps the tool from running, and tells the model why.
func Deny(message string) *DenyResult { return &DenyResult{Message: message} }

func (r *DenyResult) answer(req *PermissionRequest) (any, error) {
	result := *r
	if result.Message == "" {
		result.Message = "This use of the tool was denied." // the API refuses a failure without a text
	}
	return struct {
		Behavior PermissionBehavior `json:"behavior"`
		DenyResult
		ToolUseID string `json:"toolUseID,omitempty"`
	}{PermissionBehaviorDeny, result, req.ToolUseID}, nil
}
