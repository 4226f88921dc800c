package clew

import "github.com/clewdev/clew/wire"

// A UserPromptSubmitInput tells about a prompt that the agent is about to take up.
type UserPromptSubmitInput struct {
	HookBase
	Prompt string `json:"prompt"`
	// Source is user, sdk, system, loop_wakeup, schedule_wakeup, poll_event, or empty.
	Source       string `json:"source"`
	SessionTitle string `json:"session_title"`
}

// A UserPromptExpansionInput tells about a command and the prompt that it stands for.
type UserPromptExpansionInput struct {
	HookBase
	// ExpansionType is slash_command or mcp_prompt.
	ExpansionType string `json:"expansion_type"`
	CommandName   string `json:"command_name"`
	CommandArgs   string `json:"command_args"`
	CommandSource string `json:"command_source"`
	Prompt        string `json:"prompt"`
}

// A MessageDisplayInput tells about a part of an answer that is about to be shown.
type MessageDisplayInput struct {
	HookBase
	TurnID    string `json:"turn_id"`
	MessageID string `json:"message_id"`
	Index     int    `json:"index"`
	// Final marks the last part.
	Final bool   `json:"final"`
	Delta string `json:"delta"`
}

// A NotificationInput tells about a notification of the agent to the user.
type NotificationInput struct {
	HookBase
	Message          string `json:"message"`
	Title            string `json:"title"`
	NotificationType string `json:"notification_type"`
}

// A StopInput tells that the agent is about to end its turn.
type StopInput struct {
	HookBase
	// StopHookActive says that the agent goes on only because a hook at this event made it: don't do so forever.
	StopHookActive       bool                 `json:"stop_hook_active"`
	LastAssistantMessage string               `json:"last_assistant_message"`
	BackgroundTasks      []HookBackgroundTask `json:"background_tasks"`
	SessionCrons         []HookCron           `json:"session_crons"`
}

// A StopFailureInput tells that an error has ended the turn.
type StopFailureInput struct {
	HookBase
	Error                wire.AssistantError `json:"error"`
	ErrorDetails         string              `json:"error_details"`
	LastAssistantMessage string              `json:"last_assistant_message"`
}

// A HookBackgroundTask is work that goes on when the turn ends. Long texts are cut.
type HookBackgroundTask struct {
	ID          string `json:"id"`
	Type        string `json:"type"`
	Status      string `json:"status"`
	Description string `json:"description"`
	// Which of these are set depends on the type.
	Command   string `json:"command"`
	AgentType string `json:"agent_type"`
	Server    string `json:"server"`
	Tool      string `json:"tool"`
	Name      string `json:"name"`
}

// A HookCron is a prompt that the session will be given at set times. Long texts are cut.
type HookCron struct {
	ID        string `json:"id"`
	Schedule  string `json:"schedule"`
	Recurring bool   `json:"recurring"`
	Prompt    string `json:"prompt"`
}
