package main

// A systemHead is what all system frames have.
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

// A taskHead is what all task frames have.
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
