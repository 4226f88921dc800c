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

// intoStructs decodes as a careful program does with encoding/json: it finds the kind by a cheap
// scan, then unmarshals once into the struct of that kind. Content, blocks and events have a struct
// per kind and find it in UnmarshalJSON. Tool inputs and tool results stay raw, as they do in
// package wire.
func intoStructs(line []byte) (any, error) {
	kind, subtype := peek(line)
	v := newFrame(kind, subtype)
	if v == nil {
		return nil, fmt.Errorf("no struct for %s %s", kind, subtype)
	}
	return v, json.Unmarshal(line, v)
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

// intoFlatStructs is the fastest use of encoding/json that still names every field: a block is one
// struct with the fields of every kind of block, and so is an event. Each UnmarshalJSON that this
// saves is a scan saved, and the caller pays with values whose kind the compiler does not know.
func intoFlatStructs(line []byte) (any, error) {
	var v any
	switch kind, _ := peek(line); string(kind) {
	case "assistant":
		v = new(flatAssistantFrame)
	case "user":
		v = new(flatUserFrame)
	case "stream_event":
		v = new(flatStreamEventFrame)
	default:
		return intoStructs(line)
	}
	return v, json.Unmarshal(line, v)
}

type flatAssistantFrame struct {
	assistantFrame
	Message flatMessage `json:"message"`
}

type flatUserFrame struct {
	userFrame
	Message struct {
		Role    string      `json:"role"`
		Content flatContent `json:"content"`
	} `json:"message"`
}

type flatStreamEventFrame struct {
	streamEventFrame
	Event flatEvent `json:"event"`
}

type flatMessage struct {
	apiMessage
	Content []flatBlock `json:"content"`
}

// A flatContent is a string or a list: the one union that a struct cannot hold.
type flatContent []flatBlock

func (c *flatContent) UnmarshalJSON(data []byte) error {
	if data[0] != '"' {
		return json.Unmarshal(data, (*[]flatBlock)(c))
	}
	*c = flatContent{{Type: "text"}}
	return json.Unmarshal(data, &(*c)[0].Text)
}

type flatBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Citations json.RawMessage `json:"citations"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   *bool           `json:"is_error"`
	Source    json.RawMessage `json:"source"`
}

type flatEvent struct {
	Type              string          `json:"type"`
	Message           *flatMessage    `json:"message"`
	Index             int             `json:"index"`
	ContentBlock      *flatBlock      `json:"content_block"`
	Delta             *flatDelta      `json:"delta"`
	Usage             *usage          `json:"usage"`
	ContextManagement json.RawMessage `json:"context_management"`
}

type flatDelta struct {
	delta
	StopReason   string          `json:"stop_reason"`
	StopSequence string          `json:"stop_sequence"`
	StopDetails  json.RawMessage `json:"stop_details"`
	Container    json.RawMessage `json:"container"`
}

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

// A systemHead holds the fields of all system frames.
type systemHead struct {
	Type      string `json:"type"`
	Subtype   string `json:"subtype"`
	UUID      string `json:"uuid"`
	SessionID string `json:"session_id"`
}

type initFrame struct {
	systemHead
	CWD                     string            `json:"cwd"`
	OriginalCWD             string            `json:"original_cwd"`
	AdditionalDirectories   []string          `json:"additional_directories"`
	Tools                   []string          `json:"tools"`
	MCPServers              []mcpServer       `json:"mcp_servers"`
	Model                   string            `json:"model"`
	PermissionMode          string            `json:"permissionMode"`
	SlashCommands           []string          `json:"slash_commands"`
	TerminalSlashCommands   []string          `json:"terminal_slash_commands"`
	APIKeySource            string            `json:"apiKeySource"`
	ClaudeCodeVersion       string            `json:"claude_code_version"`
	OutputStyle             string            `json:"output_style"`
	Agents                  []string          `json:"agents"`
	Skills                  []string          `json:"skills"`
	Plugins                 []plugin          `json:"plugins"`
	Capabilities            []string          `json:"capabilities"`
	AnalyticsDisabled       bool              `json:"analytics_disabled"`
	ProductFeedbackDisabled bool              `json:"product_feedback_disabled"`
	MemoryPaths             map[string]string `json:"memory_paths"`
	MessagingSocketPath     string            `json:"messaging_socket_path"`
	FastModeState           string            `json:"fast_mode_state"`
	FastModeDisabledReason  string            `json:"fast_mode_disabled_reason"`
	PerTurnEffortActive     bool              `json:"per_turn_effort_active"`
	UltrathinkAvailable     bool              `json:"ultrathink_available"`
	UltrathinkTypedRaises   bool              `json:"ultrathink_typed_raises"`
	ViewMode                string            `json:"view_mode"`
}

type mcpServer struct {
	Name   string `json:"name"`
	Status string `json:"status"`
	Source string `json:"source"`
}

type plugin struct {
	Name    string `json:"name"`
	Path    string `json:"path"`
	Version string `json:"version"`
	Source  string `json:"source"`
}

type statusFrame struct {
	systemHead
	Status         string `json:"status"`
	PermissionMode string `json:"permissionMode"`
	CompactResult  string `json:"compact_result"`
	CompactError   string `json:"compact_error"`
}

type compactBoundaryFrame struct {
	systemHead
	CompactMetadata struct {
		Trigger                 string  `json:"trigger"`
		PreTokens               int     `json:"pre_tokens"`
		PostTokens              int     `json:"post_tokens"`
		CumulativeDroppedTokens int     `json:"cumulative_dropped_tokens"`
		Duration                float64 `json:"duration_ms"`
	} `json:"compact_metadata"`
	LogicalParentUUID string `json:"logical_parent_uuid"`
}

type thinkingTokensFrame struct {
	systemHead
	EstimatedTokens      int `json:"estimated_tokens"`
	EstimatedTokensDelta int `json:"estimated_tokens_delta"`
}

// A taskHead holds the fields of all task frames.
type taskHead struct {
	systemHead
	TaskID       string `json:"task_id"`
	RunID        string `json:"run_id"`
	ToolUseID    string `json:"tool_use_id"`
	Description  string `json:"description"`
	SubagentType string `json:"subagent_type"`
}

type taskUsage struct {
	TotalTokens int     `json:"total_tokens"`
	ToolUses    int     `json:"tool_uses"`
	Duration    float64 `json:"duration_ms"`
}

type taskStartedFrame struct {
	taskHead
	IsBackgrounded bool   `json:"is_backgrounded"`
	SpawnDepth     int    `json:"spawn_depth"`
	ParentTaskID   string `json:"parent_task_id"`
	TaskType       string `json:"task_type"`
	Prompt         string `json:"prompt"`
}

type taskProgressFrame struct {
	taskHead
	Usage        taskUsage `json:"usage"`
	LastToolName string    `json:"last_tool_name"`
	Summary      string    `json:"summary"`
}

type taskUpdatedFrame struct {
	taskHead
	Patch struct {
		Status  string `json:"status"`
		EndTime int64  `json:"end_time"`
		Error   string `json:"error"`
	} `json:"patch"`
}

type taskNotificationFrame struct {
	taskHead
	Status     string    `json:"status"`
	OutputFile string    `json:"output_file"`
	Summary    string    `json:"summary"`
	Usage      taskUsage `json:"usage"`
}

type backgroundTasksFrame struct {
	systemHead
	Tasks []struct {
		TaskID       string `json:"task_id"`
		RunID        string `json:"run_id"`
		TaskType     string `json:"task_type"`
		SubagentType string `json:"subagent_type"`
		Description  string `json:"description"`
	} `json:"tasks"`
}

// A content is a string or a list of blocks; a string becomes one text block.
type content []block

func (c *content) UnmarshalJSON(data []byte) error {
	if data[0] != '"' {
		return json.Unmarshal(data, (*[]block)(c))
	}
	b := new(textBlock)
	*c = content{{b}}
	return json.Unmarshal(data, &b.Text)
}

// A block holds a pointer to the struct of its kind.
type block struct{ value any }

func (b *block) UnmarshalJSON(data []byte) error {
	switch kind, _ := peek(data); string(kind) {
	case "text":
		b.value = new(textBlock)
	case "thinking":
		b.value = new(thinkingBlock)
	case "redacted_thinking":
		b.value = new(redactedBlock)
	case "tool_use":
		b.value = new(toolUseBlock)
	case "tool_result":
		b.value = new(toolResultBlock)
	case "image":
		b.value = new(imageBlock)
	default:
		b.value = new(json.RawMessage)
	}
	return json.Unmarshal(data, b.value)
}

type textBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Citations json.RawMessage `json:"citations"`
}

type thinkingBlock struct {
	Type      string `json:"type"`
	Thinking  string `json:"thinking"`
	Signature string `json:"signature"`
}

type redactedBlock struct {
	Type string `json:"type"`
	Data string `json:"data"`
}

type toolUseBlock struct {
	Type  string          `json:"type"`
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

type toolResultBlock struct {
	Type      string          `json:"type"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   *bool           `json:"is_error"`
}

type imageBlock struct {
	Type   string `json:"type"`
	Source struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
	} `json:"source"`
}

type streamEventFrame struct {
	Type            string  `json:"type"`
	Event           event   `json:"event"`
	SessionID       string  `json:"session_id"`
	ParentToolUseID string  `json:"parent_tool_use_id"`
	UUID            string  `json:"uuid"`
	TTFT            float64 `json:"ttft_ms"`
	ThinkingDisplay string  `json:"thinking_display"`
	APIMessageID    string  `json:"api_message_id"`
}

// An event holds a pointer to the struct of its kind.
type event struct{ value any }

func (e *event) UnmarshalJSON(data []byte) error {
	switch kind, _ := peek(data); string(kind) {
	case "message_start":
		e.value = new(messageStart)
	case "content_block_start":
		e.value = new(blockStart)
	case "content_block_delta":
		e.value = new(blockDelta)
	case "content_block_stop":
		e.value = new(blockStop)
	case "message_delta":
		e.value = new(messageDelta)
	case "message_stop":
		e.value = new(messageStop)
	default:
		e.value = new(json.RawMessage)
	}
	return json.Unmarshal(data, e.value)
}

type messageStart struct {
	Type    string     `json:"type"`
	Message apiMessage `json:"message"`
}

type blockStart struct {
	Type         string `json:"type"`
	Index        int    `json:"index"`
	ContentBlock block  `json:"content_block"`
}

type blockDelta struct {
	Type  string `json:"type"`
	Index int    `json:"index"`
	Delta delta  `json:"delta"`
}

// A delta has the fields of every kind: there are few, and one more UnmarshalJSON would cost
// encoding/json one more scan.
type delta struct {
	Type            string          `json:"type"`
	Text            string          `json:"text"`
	Thinking        string          `json:"thinking"`
	Signature       string          `json:"signature"`
	PartialJSON     string          `json:"partial_json"`
	EstimatedTokens *int            `json:"estimated_tokens"`
	Citation        json.RawMessage `json:"citation"`
}

type blockStop struct {
	Type  string `json:"type"`
	Index int    `json:"index"`
}

type messageDelta struct {
	Type  string `json:"type"`
	Delta struct {
		StopReason   string          `json:"stop_reason"`
		StopSequence string          `json:"stop_sequence"`
		StopDetails  json.RawMessage `json:"stop_details"`
		Container    json.RawMessage `json:"container"`
	} `json:"delta"`
	Usage             usage           `json:"usage"`
	ContextManagement json.RawMessage `json:"context_management"`
}

type messageStop struct {
	Type string `json:"type"`
}
