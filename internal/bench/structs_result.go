package main

import "encoding/json"

type resultFrame struct {
	Type                   string                `json:"type"`
	Subtype                string                `json:"subtype"`
	IsError                bool                  `json:"is_error"`
	Result                 string                `json:"result"`
	Errors                 []string              `json:"errors"`
	StopReason             string                `json:"stop_reason"`
	TerminalReason         string                `json:"terminal_reason"`
	Duration               float64               `json:"duration_ms"`
	DurationAPI            float64               `json:"duration_api_ms"`
	NumTurns               int                   `json:"num_turns"`
	TotalCostUSD           float64               `json:"total_cost_usd"`
	Usage                  usage                 `json:"usage"`
	ModelUsage             map[string]modelUsage `json:"modelUsage"`
	ModelUsageSinceLast    map[string]modelUsage `json:"model_usage_since_last_result"`
	PermissionDenials      []permissionDenial    `json:"permission_denials"`
	SubagentStats          subagentStats         `json:"subagent_stats"`
	SafetyStops            int                   `json:"safety_stops"`
	APIErrorStatus         *int                  `json:"api_error_status"`
	StructuredOutput       json.RawMessage       `json:"structured_output"`
	FastModeState          string                `json:"fast_mode_state"`
	FastModeDisabledReason string                `json:"fast_mode_disabled_reason"`
	TTFT                   float64               `json:"ttft_ms"`
	TTFTStream             float64               `json:"ttft_stream_ms"`
	TimeToRequest          float64               `json:"time_to_request_ms"`
	FirstContentFrame      float64               `json:"first_content_frame_ms"`
	QueuedTurnCount        int                   `json:"queued_turn_count"`
	ResultIndex            int                   `json:"result_index"`
	SessionID              string                `json:"session_id"`
	UUID                   string                `json:"uuid"`
}

type modelUsage struct {
	InputTokens              int     `json:"inputTokens"`
	OutputTokens             int     `json:"outputTokens"`
	CacheReadInputTokens     int     `json:"cacheReadInputTokens"`
	CacheCreationInputTokens int     `json:"cacheCreationInputTokens"`
	WebSearchRequests        int     `json:"webSearchRequests"`
	CostUSD                  float64 `json:"costUSD"`
	ContextWindow            int     `json:"contextWindow"`
	MaxOutputTokens          int     `json:"maxOutputTokens"`
	ThinkingTokens           int     `json:"thinkingTokens"`
	CacheCreation5m          int     `json:"cacheCreationEphemeral5mInputTokens"`
	CacheCreation1h          int     `json:"cacheCreationEphemeral1hInputTokens"`
	CanonicalModel           string  `json:"canonicalModel"`
	Provider                 string  `json:"provider"`
	CostBasis                string  `json:"costBasis"`
}

type permissionDenial struct {
	ToolName  string          `json:"tool_name"`
	ToolUseID string          `json:"tool_use_id"`
	ToolInput json.RawMessage `json:"tool_input"`
}

type subagentStats struct {
	Spawned             int            `json:"spawned"`
	Requested           map[string]int `json:"requested"`
	StartedInBackground int            `json:"started_in_background"`
	MaxDepth            int            `json:"max_depth"`
	SpawnedBySubagents  int            `json:"spawned_by_subagents"`
	Completed           int            `json:"completed"`
	Failed              int            `json:"failed"`
	Killed              map[string]int `json:"killed"`
	Refused             map[string]int `json:"refused"`
	ByType              map[string]int `json:"by_type"`
}

type rateLimitFrame struct {
	Type          string `json:"type"`
	RateLimitInfo struct {
		Status         string  `json:"status"`
		ResetsAt       int64   `json:"resetsAt"`
		RateLimitType  string  `json:"rateLimitType"`
		Utilization    float64 `json:"utilization"`
		IsUsingOverage bool    `json:"isUsingOverage"`
	} `json:"rate_limit_info"`
	UUID      string `json:"uuid"`
	SessionID string `json:"session_id"`
}

type toolProgressFrame struct {
	Type               string  `json:"type"`
	ToolUseID          string  `json:"tool_use_id"`
	ToolName           string  `json:"tool_name"`
	ParentToolUseID    string  `json:"parent_tool_use_id"`
	ElapsedTimeSeconds float64 `json:"elapsed_time_seconds"`
	TaskID             string  `json:"task_id"`
	UUID               string  `json:"uuid"`
	SessionID          string  `json:"session_id"`
}

type commandLifecycleFrame struct {
	Type        string `json:"type"`
	CommandUUID string `json:"command_uuid"`
	State       string `json:"state"`
	UUID        string `json:"uuid"`
	SessionID   string `json:"session_id"`
}

type keepAliveFrame struct {
	Type        string `json:"type"`
	StartupMark string `json:"startup_mark"`
}

type controlRequestFrame struct {
	Type      string          `json:"type"`
	RequestID string          `json:"request_id"`
	Request   json.RawMessage `json:"request"`
}

type controlResponseFrame struct {
	Type     string `json:"type"`
	Response struct {
		Subtype                   string          `json:"subtype"`
		RequestID                 string          `json:"request_id"`
		Response                  json.RawMessage `json:"response"`
		Error                     string          `json:"error"`
		PendingPermissionRequests json.RawMessage `json:"pending_permission_requests"`
		PendingUserDialogRequests json.RawMessage `json:"pending_user_dialog_requests"`
	} `json:"response"`
}
