package wire_test

import "github.com/clewdev/clew/wire"

// The frames that belong neither to the conversation nor to type system.
var noticeExamples = []example{
	{"tool_progress", new(wire.ToolProgressMessage), `{
		"type": "tool_progress", "tool_use_id": "toolu_1", "tool_name": "Bash", "parent_tool_use_id": "toolu_0",
		"elapsed_time_seconds": 2.5, "task_id": "t1", "heartbeat": true, "subagent_type": "Explore",
		"subagent_retry": {
			"agent_id": "agent-1", "attempt": 1, "max_retries": 2, "retry_delay_ms": 3, "error_status": 500,
			"error_category": "server_error"
		},
		"uuid": "x", "session_id": "s1"
	}`},
	{"tool_use_summary", new(wire.ToolUseSummaryMessage), `{
		"type": "tool_use_summary", "summary": "Read two files.", "preceding_tool_use_ids": ["toolu_1", "toolu_2"],
		"uuid": "x", "session_id": "s1"
	}`},
	{"auth_status", new(wire.AuthStatusMessage), `{
		"type": "auth_status", "isAuthenticating": true, "output": ["Open the page."], "error": "timed out",
		"uuid": "x", "session_id": "s1"
	}`},
	{"rate_limit_event", new(wire.RateLimitMessage), `{
		"type": "rate_limit_event",
		"rate_limit_info": {
			"status": "allowed_warning", "resetsAt": 1763121600, "rateLimitType": "seven_day_opus",
			"utilization": 0.85, "overageStatus": "rejected", "overageResetsAt": 1763125200,
			"overageDisabledReason": "out_of_credits", "isUsingOverage": true, "overageInUse": true,
			"overageEnabled": true, "surpassedThreshold": 0.75, "limitScope": "group_pool",
			"errorCode": "credits_required", "canUserPurchaseCredits": true, "hasChargeableSavedPaymentMethod": true
		},
		"uuid": "x", "session_id": "s1"
	}`},
	{"prompt_suggestion", new(wire.PromptSuggestionMessage), `{
		"type": "prompt_suggestion", "suggestion": "Now the tests.", "uuid": "x", "session_id": "s1"
	}`},
	{"conversation_reset", new(wire.ConversationResetMessage), `{
		"type": "conversation_reset", "new_conversation_id": "s2", "trigger": "clear", "user_message_uuid": "u1",
		"timestamp": "2026-11-14T12:00:00Z", "uuid": "x", "session_id": "s1"
	}`},
	{"active_goal", new(wire.ActiveGoalMessage), `{
		"type": "active_goal",
		"value": {
			"condition": "tests pass", "iterations": 2, "set_at": 1763121600000, "tokens_at_start": 1000,
			"last_reason": "one fails"
		},
		"uuid": "x", "session_id": "s1"
	}`},
	{"transcript_mirror", new(wire.TranscriptMirrorMessage), `{
		"type": "transcript_mirror", "filePath": "/h/projects/-p/s1.jsonl",
		"entries": [{"type": "user", "uuid": "u1"}, {"type": "summary"}, null]
	}`},
	{"command_lifecycle", new(wire.CommandLifecycleMessage), `{
		"type": "command_lifecycle", "command_uuid": "u1", "state": "queued", "uuid": "x", "session_id": "s1"
	}`},
	{"autocompact_state", new(wire.AutocompactStateMessage), `{
		"type": "autocompact_state", "uuid": "x", "session_id": "s1"
	}`},
	{"keep_alive", new(wire.KeepAliveMessage), `{"type": "keep_alive", "startup_mark": "settings_loaded"}`},
}
