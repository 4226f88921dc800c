package corpus

func (g *generator) rateLimit() object {
	info := object{"status", "allowed", "resetsAt", int(g.now.Unix()) + 9000, "rateLimitType", "five_hour",
		"utilization", float64(g.rng.IntN(100)) / 100, "isUsingOverage", false}
	return object{"type", "rate_limit_event", "rate_limit_info", info, "uuid", g.uuid(), "session_id", g.session}
}

func (g *generator) commandLifecycle(command, state string) object {
	return object{"type", "command_lifecycle", "command_uuid", command, "state", state,
		"uuid", g.uuid(), "session_id", g.session}
}

func (g *generator) toolProgress(b block) object {
	return object{"type", "tool_progress", "tool_use_id", b.toolUse, "tool_name", b.tool,
		"parent_tool_use_id", g.parent(), "elapsed_time_seconds", g.between(2, 300), "uuid", g.uuid(), "session_id", g.session}
}

func (g *generator) canUseTool(b block) object {
	suggestion := object{"type", "setMode", "mode", "acceptEdits", "destination", "session"}
	request := object{"subtype", "can_use_tool", "tool_name", b.tool, "display_name", b.tool, "input", b.input,
		"description", g.word(), "permission_suggestions", []object{suggestion}, "server_policy_ask_only", true,
		"tool_use_id", b.toolUse}
	return object{"type", "control_request", "request_id", g.uuid(), "request", request}
}

func (g *generator) hookCallback(b block) object {
	input := object{"session_id", g.session, "transcript_path", "/home/dev/.claude/projects/" + g.session + ".jsonl",
		"cwd", g.cwd, "prompt_id", g.uuid(), "permission_mode", "default", "effort", object{"level", "medium"},
		"hook_event_name", "PreToolUse", "tool_name", b.tool, "tool_input", b.input, "tool_use_id", b.toolUse}
	request := object{"subtype", "hook_callback", "callback_id", "hook_0", "input", input, "tool_use_id", b.toolUse}
	return object{"type", "control_request", "request_id", g.uuid(), "request", request}
}

// initializeAnswer is the control response that opens a session.
func (g *generator) initializeAnswer() object {
	var commands []object
	for _, name := range g.names("", 40) {
		commands = append(commands, object{"name", name, "description", g.prose(80), "argumentHint", "", "builtin", true})
	}
	answer := object{"commands", commands,
		"agents", []object{{"name", "Explore", "description", g.prose(200), "model", "inherit"}},
		"output_style", "default", "available_output_styles", []string{"default", "Concise"},
		"models", []object{{"value", "default", "resolvedModel", g.model, "displayName", "Default (recommended)",
			"description", g.prose(60), "supportsEffort", true}},
		"account", object{"tokenSource", "none", "apiProvider", "firstParty"}, "pid", g.between(1000, 60000),
		"claude_code_version", "2.1.325", "current_permission_mode", "default", "session_state", "idle"}
	return object{"type", "control_response", "response", object{"subtype", "success", "request_id", "req_1",
		"response", answer, "pending_permission_requests", []object{}, "pending_user_dialog_requests", []object{}}}
}
