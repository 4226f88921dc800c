package clew

// A SubagentStartInput tells that the subagent [HookBase.AgentID] starts.
type SubagentStartInput struct{ HookBase }

// A SubagentStopInput tells that the subagent [HookBase.AgentID] is about to end.
type SubagentStopInput struct {
	HookBase
	// StopHookActive says that the subagent goes on only because a hook at this event made it: don't do so forever.
	StopHookActive       bool                 `json:"stop_hook_active"`
	AgentTranscriptPath  string               `json:"agent_transcript_path"`
	LastAssistantMessage string               `json:"last_assistant_message"`
	BackgroundTasks      []HookBackgroundTask `json:"background_tasks"`
	SessionCrons         []HookCron           `json:"session_crons"`
}

// A TeammateIdleInput tells that a teammate has nothing to do.
type TeammateIdleInput struct {
	HookBase
	TeammateName string `json:"teammate_name"`
	TeamName     string `json:"team_name"`
}

// A TaskCreatedInput tells that a task was put on the list.
type TaskCreatedInput struct {
	HookBase
	HookTask
}

// A TaskCompletedInput tells that a task is done.
type TaskCompletedInput struct {
	HookBase
	HookTask
}

// A HookTask is a task on the agent's list.
type HookTask struct {
	TaskID          string `json:"task_id"`
	TaskSubject     string `json:"task_subject"`
	TaskDescription string `json:"task_description"`
	// TeammateName is who works on it, or empty.
	TeammateName string `json:"teammate_name"`
	TeamName     string `json:"team_name"`
}
