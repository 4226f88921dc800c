package corpus

// parent is the tool call that started the subagent at work, or null.
func (g *generator) parent() any {
	if g.agent.id == "" {
		return nil
	}
	return g.agent.toolUse
}

func (g *generator) timestamp() string { return g.now.Format("2006-01-02T15:04:05.000Z") }

func (g *generator) streamEvent(event object, more ...any) object {
	frame := object{"type", "stream_event", "event", event, "session_id", g.session,
		"parent_tool_use_id", g.parent(), "uuid", g.uuid()}
	frame = append(frame, more...)
	return append(frame, "api_message_id", g.message)
}

func (g *generator) messageStart() object {
	message := object{"id", g.message, "type", "message", "role", "assistant", "model", g.model, "content", []object{},
		"stop_reason", nil, "stop_sequence", nil, "usage", g.usage()}
	return g.streamEvent(object{"type", "message_start", "message", message},
		"ttft_ms", g.between(200, 4000), "thinking_display", "updates")
}

func (g *generator) messageDelta() object {
	delta := object{"stop_reason", pick(g, []string{"tool_use", "end_turn"}), "stop_sequence", nil}
	return object{"type", "message_delta", "delta", delta, "usage", g.usage(), "context_management", nil}
}

func (g *generator) usage() object {
	created := g.rng.IntN(20000)
	return object{
		"input_tokens", g.rng.IntN(4000),
		"cache_creation_input_tokens", created,
		"cache_read_input_tokens", g.rng.IntN(180000),
		"cache_creation", object{"ephemeral_5m_input_tokens", created, "ephemeral_1h_input_tokens", 0},
		"output_tokens", g.rng.IntN(4000),
		"service_tier", "standard",
		"inference_geo", "not_available",
	}
}

// assistant is the frame of one finished block.
func (g *generator) assistant(whole object) object {
	message := object{"id", g.message, "type", "message", "role", "assistant", "model", g.model,
		"content", []object{whole}, "stop_reason", nil, "stop_sequence", nil, "usage", g.usage(),
		"context_management", nil}
	frame := object{"type", "assistant", "message", message, "parent_tool_use_id", g.parent()}
	if g.agent.id != "" {
		frame = append(frame, "agent_id", g.agent.id)
	}
	frame = append(frame, "session_id", g.session, "uuid", g.uuid(), "timestamp", g.timestamp(),
		"request_id", g.id("req_01"))
	return append(frame, g.agentNames()...)
}

// agentNames are the fields that close every frame of a subagent.
func (g *generator) agentNames() object {
	if g.agent.id == "" {
		return nil
	}
	return object{"subagent_type", g.agent.kind, "task_description", g.agent.description}
}

// user is a frame in the user's name that is not a tool result.
func (g *generator) user(id, text string, more ...any) object {
	frame := object{"type", "user", "message", object{"role", "user", "content", text},
		"session_id", g.session, "parent_tool_use_id", nil, "uuid", id, "timestamp", g.timestamp()}
	return append(frame, more...)
}

func (g *generator) prompt(id string) object {
	return g.user(id, g.prose(g.between(50, 1200)), "isReplay", true)
}

// summary is what the CLI says to the model after a compaction.
func (g *generator) summary() object {
	text := "This session is being continued from an earlier one.\n\nSummary:\n" + g.prose(g.between(1500, 4000))
	return g.user(g.uuid(), text, "isReplay", false, "isSynthetic", true)
}
