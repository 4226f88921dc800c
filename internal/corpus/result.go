package corpus

import (
	"fmt"
	"strings"
)

// result closes a turn. Its type stands near the end, as in the CLI's own.
func (g *generator) result() object {
	frame := object{"duration_api_ms", g.between(4000, 900000), "stop_reason", "end_turn", "session_id", g.session,
		"total_cost_usd", g.cost(), "usage", g.resultUsage(), "modelUsage", g.modelUsage(models),
		"permission_denials", g.denials(), "terminal_reason", "completed", "fast_mode_state", "off",
		"fast_mode_disabled_reason", "sdk_opt_in_required", "subagent_stats", g.subagentStats(), "safety_stops", 0,
		"is_error", false, "num_turns", g.between(11, 24)}
	frame = append(frame, "subtype", "success", "api_error_status", nil, "result", g.prose(g.between(300, 2500)),
		"ttft_ms", g.between(200, 4000), "type", "result", "duration_ms", g.between(5000, 990000), "uuid", g.uuid())
	return append(frame, "ttft_stream_ms", g.between(200, 4000), "time_to_request_ms", g.between(20, 200),
		"first_content_frame_ms", g.between(200, 4000), "queued_turn_count", 0, "result_index", g.results,
		"model_usage_since_last_result", g.modelUsage(models[:1]))
}

// cost is an amount of money with at most six decimals.
func (g *generator) cost() float64 { return float64(g.rng.IntN(4e6)) / 1e6 }

func (g *generator) resultUsage() object {
	created := g.rng.IntN(20000)
	return object{"input_tokens", g.rng.IntN(4000), "cache_creation_input_tokens", created,
		"cache_read_input_tokens", g.rng.IntN(900000), "output_tokens", g.rng.IntN(40000),
		"output_tokens_details", object{"thinking_tokens", g.rng.IntN(9000)},
		"server_tool_use", object{"web_search_requests", g.rng.IntN(3), "web_fetch_requests", 0},
		"service_tier", "standard",
		"cache_creation", object{"ephemeral_1h_input_tokens", 0, "ephemeral_5m_input_tokens", created},
		"inference_geo", "", "iterations", []object{}, "speed", "standard", "fallback_credit", nil}
}

func (g *generator) modelUsage(names []string) object {
	var byModel object
	for _, name := range names {
		created := g.rng.IntN(90000)
		byModel = append(byModel, name, object{"inputTokens", g.rng.IntN(9000), "outputTokens", g.rng.IntN(90000),
			"cacheReadInputTokens", g.rng.IntN(2000000), "cacheCreationInputTokens", created, "webSearchRequests", 0,
			"costUSD", g.cost(), "contextWindow", 1000000, "maxOutputTokens", 128000, "thinkingTokens", g.rng.IntN(9000),
			"cacheCreationEphemeral5mInputTokens", created, "cacheCreationEphemeral1hInputTokens", 0,
			"canonicalModel", name, "provider", "firstParty", "costBasis", "list"})
	}
	return byModel
}

func (g *generator) denials() []object {
	list := []object{}
	for range g.rng.IntN(3) {
		name := pick(g, tools)
		list = append(list, object{"tool_name", name, "tool_use_id", g.id("toolu_01"), "tool_input", g.toolInput(name)})
	}
	return list
}

func (g *generator) subagentStats() object {
	n := g.rng.IntN(4)
	return object{"spawned", n, "requested", object{"background", 0, "foreground", 0, "unset", n},
		"started_in_background", n, "max_depth", min(n, 1), "spawned_by_subagents", 0, "completed", n, "failed", 0,
		"killed", object{"parent", 0, "user", 0, "system", 0},
		"refused", object{"depth_limit", 0, "concurrency_limit", 0, "budget", 0},
		"by_type", object{"general-purpose", n}}
}

// resultSize is the size of a tool result in bytes. Most results are small; a few are long enough
// for frames of more than 60 KB.
func (g *generator) resultSize() int {
	switch k := g.rng.IntN(10); {
	case k < 4:
		return g.between(250, 1900)
	case k < 7:
		return g.between(1900, 5700)
	case k < 9:
		return g.between(5700, 14800)
	}
	return g.between(14800, 26000)
}

// toolResult is the user frame that answers a tool call: the block for the model, and beside it the
// tool's own structured result, which repeats it.
func (g *generator) toolResult(b block) object {
	out := g.runTool(b)
	result := object{"tool_use_id", b.toolUse, "type", "tool_result", "content", out.content}
	if out.isError != nil {
		result = append(result, "is_error", out.isError)
	}
	frame := object{"type", "user", "message", object{"role", "user", "content", []object{result}},
		"parent_tool_use_id", g.parent()}
	if g.agent.id != "" {
		frame = append(frame, "agent_id", g.agent.id)
	}
	frame = append(frame, "session_id", g.session, "uuid", g.uuid(), "timestamp", g.timestamp())
	if g.agent.id == "" {
		frame = append(frame, "tool_use_result", out.structured)
	}
	frame = append(frame, "tool_result_meta", []object{{"id", b.toolUse, "permission_decision", g.decision()}})
	return append(frame, g.agentNames()...)
}

func (g *generator) decision() object {
	if g.oneIn(3) {
		return object{"decision", "accept", "source", "user_temporary"}
	}
	return object{"decision", "accept", "source", "config", "reason_type", "mode"}
}

// An output is the output of a tool call, for the model and for the host.
type output struct {
	content    any
	structured any
	isError    any // true, false, or nil for a block without the field
}

func (g *generator) runTool(b block) output {
	size := g.resultSize()
	switch {
	case g.oneIn(15):
		text := "Exit code 1\n" + g.log(size)
		return output{content: text, structured: "Error: " + text, isError: true}
	case b.tool == "Bash":
		return shellOutput(g.log(size))
	case b.tool == "Edit":
		return g.editOutput(b, size)
	case b.tool == "Glob" && g.oneIn(3):
		return g.imageOutput(size)
	case b.tool == "Task", b.tool == "WebFetch", strings.HasPrefix(b.tool, "mcp__"):
		return g.listOutput(size)
	}
	return g.fileOutput(size)
}

func shellOutput(text string) output {
	structured := object{"stdout", text, "stderr", "", "interrupted", false, "isImage", false, "noOutputExpected", false}
	return output{content: text, structured: structured, isError: false}
}

func (g *generator) fileOutput(size int) output {
	text := g.code(size)
	lines := strings.Count(text, "\n")
	file := object{"filePath", g.path(), "content", text, "numLines", lines, "startLine", 1, "totalLines", lines}
	return output{content: numbered(text), structured: object{"type", "text", "file", file}}
}

func (g *generator) editOutput(b block, size int) output {
	patch := object{"oldStart", 12, "oldLines", 2, "newStart", 12, "newLines", 3,
		"lines", []string{" " + g.codeLine(), "-" + g.codeLine(), "+" + g.codeLine(), "+" + g.codeLine()}}
	structured := object{"filePath", b.input[1], "oldString", b.input[3], "newString", b.input[5],
		"originalFile", g.code(size), "structuredPatch", []object{patch}, "userModified", false, "replaceAll", false}
	return output{content: "The file has been updated successfully:\n" + numbered(g.code(size/2)), structured: structured}
}

func (g *generator) listOutput(size int) output {
	var list []object
	parts := g.between(1, 3)
	for range parts {
		list = append(list, object{"type", "text", "text", g.code(size / parts)})
	}
	return output{content: list, structured: list}
}

func (g *generator) imageOutput(size int) output {
	data := g.base64(size * 3 / 4)
	source := object{"type", "base64", "media_type", "image/png", "data", data}
	file := object{"base64", data, "type", "image/png", "originalSize", size * 3 / 4}
	return output{
		content:    []object{{"type", "image", "source", source}},
		structured: object{"type", "image", "file", file},
	}
}

func (g *generator) system(subtype string, fields ...any) object {
	frame := append(object{"type", "system", "subtype", subtype}, fields...)
	return append(frame, "uuid", g.uuid(), "session_id", g.session)
}

func (g *generator) init() object {
	plugins := []object{{"name", "cc-plugin-privacy", "path", "builtin", "source", "cc-plugin-privacy@builtin"}}
	servers := []object{{"name", "tracker", "status", "connected", "source", "project"}, {"name", "mail", "status", "failed"}}
	return object{"type", "system", "subtype", "init",
		"cwd", g.cwd, "session_id", g.session, "tools", g.toolNames(), "mcp_servers", servers, "model", g.model,
		"permissionMode", "default", "slash_commands", g.names("", 40),
		"terminal_slash_commands", []string{"doctor", "color", "focus", "reload-plugins"},
		"apiKeySource", "ANTHROPIC_API_KEY", "claude_code_version", "2.1.325", "output_style", "default",
		"agents", []string{"claude", "Explore", "general-purpose", "Plan"}, "skills", g.names("", 16), "plugins", plugins,
		"capabilities", []string{"interrupt_receipt_v1", "msg_lifecycle_v1", "ui_surface_v1", "mcp_read_resource_v1"},
		"analytics_disabled", true, "product_feedback_disabled", true, "uuid", g.uuid(),
		"memory_paths", object{"auto", "/home/dev/.claude/projects/memory/"}, "original_cwd", g.cwd,
		"additional_directories", []string{}, "messaging_socket_path", "/home/dev/tmp/cc.sock", "fast_mode_state", "off",
		"fast_mode_disabled_reason", "sdk_opt_in_required", "per_turn_effort_active", true, "ultrathink_available", false,
		"ultrathink_typed_raises", false, "view_mode", "default"}
}

// toolNames lists 100 tools, most of them from MCP servers.
func (g *generator) toolNames() []string {
	return append(append([]string{}, tools...), g.names("mcp__tracker__", 100-len(tools))...)
}

func (g *generator) names(prefix string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("%s%s-%s-%d", prefix, g.word(), g.word(), i)
	}
	return list
}

func (g *generator) status(status string) object {
	return object{"type", "system", "subtype", "status", "status", status, "session_id", g.session, "uuid", g.uuid()}
}

func (g *generator) compactBoundary() object {
	before := g.between(120000, 190000)
	meta := object{"trigger", "auto", "pre_tokens", before, "post_tokens", before / 20,
		"cumulative_dropped_tokens", before - before/20, "duration_ms", g.between(9000, 60000)}
	return object{"type", "system", "subtype", "compact_boundary", "session_id", g.session, "uuid", g.uuid(),
		"compact_metadata", meta, "logical_parent_uuid", g.uuid()}
}

func (g *generator) thinkingTokens() object {
	tokens := g.between(4, 900)
	return object{"type", "system", "subtype", "thinking_tokens", "estimated_tokens", tokens,
		"estimated_tokens_delta", tokens, "session_id", g.session, "uuid", g.uuid()}
}

func (g *generator) taskStarted() object {
	a := g.agent
	return g.system("task_started", "task_id", a.id, "run_id", a.run, "tool_use_id", a.toolUse,
		"description", a.description, "subagent_type", a.kind, "is_backgrounded", true, "spawn_depth", 1,
		"task_type", "local_agent", "prompt", g.prose(g.between(200, 1500)))
}

func (g *generator) taskProgress() object {
	a := g.agent
	return g.system("task_progress", "task_id", a.id, "run_id", a.run, "tool_use_id", a.toolUse,
		"description", "Running "+a.description, "subagent_type", a.kind, "usage", g.taskUsage(),
		"last_tool_name", pick(g, tools))
}

func (g *generator) taskUpdated() object {
	patch := object{"status", "completed", "end_time", int(g.now.UnixMilli())}
	return g.system("task_updated", "task_id", g.agent.id, "run_id", g.agent.run, "patch", patch)
}

func (g *generator) taskNotification() object {
	a := g.agent
	return g.system("task_notification", "task_id", a.id, "run_id", a.run, "tool_use_id", a.toolUse,
		"status", "completed", "output_file", "/home/dev/tmp/tasks/"+a.id+".output",
		"summary", g.prose(g.between(100, 800)), "usage", g.taskUsage())
}

func (g *generator) taskUsage() object {
	return object{"total_tokens", g.between(400, 90000), "tool_uses", g.agent.tools, "duration_ms", g.between(90, 90000)}
}

// backgroundTasks lists the subagent at work, if there is one.
func (g *generator) backgroundTasks() object {
	list := []object{}
	if a := g.agent; a.id != "" {
		list = append(list, object{"task_id", a.id, "run_id", a.run, "task_type", "local_agent",
			"subagent_type", a.kind, "description", a.description})
	}
	return g.system("background_tasks_changed", "tasks", list)
}

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
