package corpus

import (
	"time"
)

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

// summary returns the message of the CLI to the model after a compaction.
func (g *generator) summary() object {
	text := "This session is being continued from an earlier one.\n\nSummary:\n" + g.prose(g.between(1500, 4000))
	return g.user(g.uuid(), text, "isReplay", false, "isSynthetic", true)
}

// An agent is a subagent. The zero value stands for the main conversation.
type agent struct {
	id          string
	toolUse     string // the tool call that started it
	run         string
	kind        string
	description string
	tools       int
}

func (g *generator) startSession() {
	g.identify()
	if g.oneIn(3) {
		g.put(object{"type", "keep_alive"})
	}
	g.put(g.initializeAnswer())
}

// turn writes one turn: a prompt, many requests to the model with their tool calls, now and then a
// subagent, and the result.
func (g *generator) turn() {
	prompt := g.uuid()
	g.put(g.commandLifecycle(prompt, "queued"))
	g.put(g.commandLifecycle(prompt, "started"))
	g.put(g.init())
	g.put(g.prompt(prompt))
	for range g.between(11, 24) {
		g.request()
		g.incidents()
	}
	g.put(g.result())
	g.put(g.commandLifecycle(prompt, "completed"))
	g.results++
}

// incidents are the frames that come between requests.
func (g *generator) incidents() {
	if g.oneIn(9) {
		g.put(g.rateLimit())
	}
	if g.oneIn(18) {
		g.subagent()
	}
	if g.oneIn(14) {
		g.compact()
	}
	if g.oneIn(30) {
		g.put(object{"type", "keep_alive"})
	}
}

func (g *generator) subagent() {
	g.agent = agent{
		id:          "a" + g.uuid()[:8] + g.uuid()[:8],
		toolUse:     g.id("toolu_01"),
		run:         "0mwh" + g.uuid()[:5] + "-" + g.uuid()[:8],
		kind:        pick(g, []string{"general-purpose", "Explore", "Plan"}),
		description: title(g.word()) + " " + g.word(),
	}
	g.put(g.backgroundTasks())
	g.put(g.taskStarted())
	for range g.between(1, 4) {
		g.request()
		g.put(g.taskProgress())
	}
	g.put(g.taskUpdated())
	g.put(g.taskNotification())
	g.agent = agent{}
	g.put(g.backgroundTasks())
}

func (g *generator) compact() {
	g.put(g.status("compacting"))
	g.put(g.compactBoundary())
	g.put(g.summary())
}

// request writes one exchange with the model: its events, an assistant frame for each finished
// block, then the results of its tool calls.
func (g *generator) request() {
	g.message = g.id("msg_01")
	g.now = g.now.Add(time.Duration(g.between(500, 20000)) * time.Millisecond)
	g.put(g.status("requesting"))
	g.put(g.messageStart())
	blocks := g.blocks()
	for i, b := range blocks {
		g.streamBlock(i, b)
	}
	g.put(g.streamEvent(g.messageDelta()))
	g.put(g.streamEvent(object{"type", "message_stop"}))
	for _, b := range blocks {
		if b.tool != "" {
			g.callTool(b)
		}
	}
}

func (g *generator) callTool(b block) {
	if g.oneIn(14) {
		g.put(g.canUseTool(b))
	}
	if g.oneIn(20) {
		g.put(g.hookCallback(b))
	}
	if g.oneIn(14) {
		g.put(g.toolProgress(b))
	}
	g.agent.tools++
	g.put(g.toolResult(b))
}

func (g *generator) streamBlock(index int, b block) {
	g.put(g.streamEvent(object{"type", "content_block_start", "index", index, "content_block", b.start}))
	g.streamDeltas(index, b)
	g.put(g.assistant(b.whole))
	g.put(g.streamEvent(object{"type", "content_block_stop", "index", index}))
}

func (g *generator) streamDeltas(index int, b block) {
	put := func(delta object) {
		g.put(g.streamEvent(object{"type", "content_block_delta", "index", index, "delta", delta}))
	}
	if b.delta == nil {
		return
	}
	for range g.between(10, 30) {
		put(b.delta(g))
	}
	if b.signature == "" {
		return
	}
	put(object{"type", "signature_delta", "signature", b.signature})
	if g.oneIn(3) {
		g.put(g.thinkingTokens())
	}
}

// A block is one content block in its two forms: as it streams, and whole.
type block struct {
	start     object
	whole     object
	delta     func(*generator) object // nil for a block that comes at once
	signature string                  // of a thinking block
	tool      string                  // name of the tool that a tool_use block calls
	toolUse   string
	input     object
}

var tools = []string{
	"Task", "Bash", "Read", "Edit", "Write", "Grep", "Glob", "WebFetch", "TodoWrite", "mcp__tracker__search_issues",
}

// blocks makes the content of one answer.
func (g *generator) blocks() []block {
	var list []block
	if g.rng.IntN(100) < 37 {
		list = append(list, g.thinkingBlock())
	}
	if g.rng.IntN(100) < 85 {
		list = append(list, g.textBlock())
	}
	if g.oneIn(40) {
		list = append(list, g.redactedBlock())
	}
	for range g.rng.IntN(4) {
		if g.rng.IntN(100) < 88 {
			list = append(list, g.toolBlock())
		}
	}
	if len(list) == 0 {
		list = append(list, g.textBlock())
	}
	return list
}

func (g *generator) textBlock() block {
	return block{
		start: object{"type", "text", "text", ""},
		whole: object{"type", "text", "text", g.prose(g.between(100, 4300))},
		delta: func(g *generator) object {
			return object{"type", "text_delta", "text", g.prose(g.between(1, 36))}
		},
	}
}

func (g *generator) thinkingBlock() block {
	signature := g.base64(g.between(200, 900))
	return block{
		start: object{"type", "thinking", "thinking", "", "signature", ""},
		whole: object{"type", "thinking", "thinking", g.prose(g.between(200, 4800)), "signature", signature},
		delta: func(g *generator) object {
			return object{"type", "thinking_delta", "thinking", g.prose(g.between(1, 36)), "estimated_tokens", nil}
		},
		signature: signature,
	}
}

func (g *generator) redactedBlock() block {
	data := g.base64(g.between(200, 600))
	whole := object{"type", "redacted_thinking", "data", data}
	return block{start: whole, whole: whole}
}

func (g *generator) toolBlock() block {
	name, id := pick(g, tools), g.id("toolu_01")
	input := g.toolInput(name)
	return block{
		start: object{"type", "tool_use", "id", id, "name", name, "input", object{}},
		whole: object{"type", "tool_use", "id", id, "name", name, "input", input},
		delta: func(g *generator) object {
			return object{"type", "input_json_delta", "partial_json", string(appendString(nil, g.codeLine()))}
		},
		tool:    name,
		toolUse: id,
		input:   input,
	}
}

func (g *generator) toolInput(tool string) object {
	switch tool {
	case "Bash":
		command := "cd " + g.cwd + " && go test ./" + g.word() + "/... 2>&1 | grep -v \"no test files\" | tail -40"
		return object{"command", command, "description", g.prose(30), "timeout", g.between(1, 600) * 1000}
	case "Read":
		return object{"file_path", g.path(), "offset", g.rng.IntN(900), "limit", g.between(50, 2000)}
	case "Edit":
		return object{"file_path", g.path(), "old_string", g.code(g.between(100, 1800)),
			"new_string", g.code(g.between(100, 2400)), "replace_all", false}
	case "Write":
		return object{"file_path", g.path(), "content", g.code(g.between(500, 6000))}
	case "Grep":
		return object{"pattern", `func\s+\(` + g.word() + `\)`, "path", g.cwd, "output_mode", "content", "-n", true}
	case "Glob":
		return object{"pattern", "**/*_" + g.word() + ".go", "path", g.cwd}
	case "WebFetch":
		return object{"url", "https://example.com/" + g.word(), "prompt", g.prose(120)}
	case "TodoWrite":
		return object{"todos", g.todos()}
	case "Task":
		return object{"description", g.prose(30), "prompt", g.prose(g.between(300, 3000)),
			"subagent_type", "general-purpose", "run_in_background", g.oneIn(2)}
	}
	return object{"query", g.prose(60), "limit", g.between(5, 50), "weight", g.rng.Float64(),
		"cursor", nil, "filter", object{"labels", []string{g.word(), g.word()}, "open", true}}
}

func (g *generator) todos() []object {
	var list []object
	for range g.between(3, 9) {
		status := pick(g, []string{"pending", "in_progress", "completed"})
		list = append(list, object{"content", g.prose(50), "status", status, "activeForm", g.prose(50)})
	}
	return list
}
