package corpus

import "fmt"

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
