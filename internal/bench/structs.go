package main

import (
	"encoding/json"
	"fmt"
)

// newFrame makes the struct for a kind of frame, or nil.
func newFrame(kind, subtype []byte) any {
	switch string(kind) {
	case "assistant":
		return new(assistantFrame)
	case "user":
		return new(userFrame)
	case "result":
		return new(resultFrame)
	case "stream_event":
		return new(streamEventFrame)
	case "rate_limit_event":
		return new(rateLimitFrame)
	case "tool_progress":
		return new(toolProgressFrame)
	case "command_lifecycle":
		return new(commandLifecycleFrame)
	case "keep_alive":
		return new(keepAliveFrame)
	case "control_request":
		return new(controlRequestFrame)
	case "control_response":
		return new(controlResponseFrame)
	case "system":
		return newSystemFrame(subtype)
	}
	return nil
}

func newSystemFrame(subtype []byte) any {
	switch string(subtype) {
	case "init":
		return new(initFrame)
	case "status":
		return new(statusFrame)
	case "compact_boundary":
		return new(compactBoundaryFrame)
	case "thinking_tokens":
		return new(thinkingTokensFrame)
	case "task_started":
		return new(taskStartedFrame)
	case "task_progress":
		return new(taskProgressFrame)
	case "task_updated":
		return new(taskUpdatedFrame)
	case "task_notification":
		return new(taskNotificationFrame)
	case "background_tasks_changed":
		return new(backgroundTasksFrame)
	}
	return nil
}

// intoStructs is what a careful program does with encoding/json: find the kind
// by a cheap scan, then unmarshal once into the struct of that kind. Content,
// blocks and events have a struct per kind and find it in UnmarshalJSON. Tool
// inputs and tool results stay raw, as they do in package wire.
func intoStructs(line []byte) (any, error) {
	kind, subtype := peek(line)
	v := newFrame(kind, subtype)
	if v == nil {
		return nil, fmt.Errorf("no struct for %s %s", kind, subtype)
	}
	return v, json.Unmarshal(line, v)
}

// intoStructsWithResults decodes the content of tool results as well.
func intoStructsWithResults(line []byte) (any, error) {
	v, err := intoStructs(line)
	user, ok := v.(*userFrame)
	if err != nil || !ok {
		return v, err
	}
	for _, b := range user.Message.Content {
		result, ok := b.value.(*toolResultBlock)
		if !ok {
			continue
		}
		if err := json.Unmarshal(result.Content, &result.decoded); err != nil {
			return nil, err
		}
	}
	return v, nil
}

type assistantFrame struct {
	Type            string     `json:"type"`
	Message         apiMessage `json:"message"`
	ParentToolUseID string     `json:"parent_tool_use_id"`
	AgentID         string     `json:"agent_id"`
	SessionID       string     `json:"session_id"`
	UUID            string     `json:"uuid"`
	Timestamp       string     `json:"timestamp"`
	RequestID       string     `json:"request_id"`
	SubagentType    string     `json:"subagent_type"`
	TaskDescription string     `json:"task_description"`
	Error           string     `json:"error"`
	Aborted         bool       `json:"aborted"`
}

type apiMessage struct {
	ID                string          `json:"id"`
	Type              string          `json:"type"`
	Role              string          `json:"role"`
	Model             string          `json:"model"`
	Content           content         `json:"content"`
	StopReason        string          `json:"stop_reason"`
	StopSequence      string          `json:"stop_sequence"`
	Usage             usage           `json:"usage"`
	ContextManagement json.RawMessage `json:"context_management"`
}

type usage struct {
	InputTokens              int             `json:"input_tokens"`
	OutputTokens             int             `json:"output_tokens"`
	CacheCreationInputTokens int             `json:"cache_creation_input_tokens"`
	CacheReadInputTokens     int             `json:"cache_read_input_tokens"`
	CacheCreation            *cacheCreation  `json:"cache_creation"`
	OutputTokensDetails      *tokenDetails   `json:"output_tokens_details"`
	ServerToolUse            *serverToolUse  `json:"server_tool_use"`
	ServiceTier              string          `json:"service_tier"`
	InferenceGeo             string          `json:"inference_geo"`
	Speed                    string          `json:"speed"`
	Iterations               json.RawMessage `json:"iterations"`
	FallbackCredit           json.RawMessage `json:"fallback_credit"`
}

type cacheCreation struct {
	Ephemeral5m int `json:"ephemeral_5m_input_tokens"`
	Ephemeral1h int `json:"ephemeral_1h_input_tokens"`
}

type tokenDetails struct {
	ThinkingTokens int `json:"thinking_tokens"`
}

type serverToolUse struct {
	WebSearchRequests int `json:"web_search_requests"`
	WebFetchRequests  int `json:"web_fetch_requests"`
}

type userFrame struct {
	Type            string           `json:"type"`
	Message         userMessage      `json:"message"`
	ParentToolUseID string           `json:"parent_tool_use_id"`
	AgentID         string           `json:"agent_id"`
	SessionID       string           `json:"session_id"`
	UUID            string           `json:"uuid"`
	Timestamp       string           `json:"timestamp"`
	ToolUseResult   json.RawMessage  `json:"tool_use_result"`
	ToolResultMeta  []toolResultMeta `json:"tool_result_meta"`
	IsReplay        bool             `json:"isReplay"`
	IsSynthetic     bool             `json:"isSynthetic"`
	SubagentType    string           `json:"subagent_type"`
	TaskDescription string           `json:"task_description"`
}

type userMessage struct {
	Role    string  `json:"role"`
	Content content `json:"content"`
}

type toolResultMeta struct {
	ID                 string `json:"id"`
	NonExecutionKind   string `json:"non_execution_kind"`
	PermissionDecision struct {
		Decision   string `json:"decision"`
		Source     string `json:"source"`
		ReasonType string `json:"reason_type"`
	} `json:"permission_decision"`
}
