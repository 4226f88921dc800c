package corpus

import "strings"

// toolNames are the tools that a session has.
var toolNames = []string{"Agent", "Bash", "Edit", "Glob", "Grep", "Read", "WebFetch", "Write"}

// startProcess writes what an agent writes when it starts or takes up a session.
func (r *recording) startProcess() {
	r.process, r.spent = r.now, nil
	if !r.current {
		r.note("permission-mode", "permissionMode", "default")
		r.attach("hook_success", 0, "hookName", "SessionStart:startup", "toolUseID", r.uuid(), "hookEvent", "SessionStart",
			"content", "", "stdout", "", "stderr", "", "exitCode", 0, "command", "echo", "durationMs", r.between(10, 90))
		r.attach("skill_listing", 0, "content", r.words(2000), "skillCount", 12, "isInitial", true)
		return
	}
	r.attach("environment", 700, "snapshot", object{"workingDirectory", r.cwd, "isWorktree", false, "platform", "linux"})
	r.attach("model", 150, "identity", object{"modelId", r.model, "marketingName", "Model", "knowledgeCutoff",
		"June 2026"})
	r.attach("deferred_tools_delta", 400, "addedNames", []string{"Monitor", "NotebookEdit", "TaskStop", "WebSearch"},
		"removedNames", []string{})
	r.attach("agent_listing_delta", 1200, "addedTypes", []string{"Explore", "general-purpose", "Plan"}, "removedTypes",
		[]string{}, "isInitial", true)
	r.attach("skill_listing", 2000, "content", r.words(2000), "skillCount", 13, "isInitial", true)
	r.note("atis-latch", "atis", "")
	r.attach("session_context", 0, "context", object{})
	r.attach("date", 60, "date", r.now.Format("2006-01-02"))
	r.snapshot()
	r.shape()
}

// endProcess writes what an agent writes at its end.
func (r *recording) endProcess() {
	if !r.current {
		return
	}
	usage := object{}
	for _, model := range models {
		if t, ok := r.spent[model]; ok {
			usage = append(usage, model, object{"inputTokens", t.Input, "outputTokens", t.Output, "cacheReadInputTokens",
				t.CacheRead,
				"cacheCreationInputTokens", t.CacheWrite, "webSearchRequests", 0, "costUSD", float64(t.Total()) / 1e6})
		}
	}
	r.note("cost-state", "totalCostUSD", 1.25, "totalAPIDuration", r.between(1e3, 1e6), "totalDuration",
		int(r.now.Sub(r.process).Milliseconds()),
		"startTime", int(r.process.UnixMilli()), "modelUsage", usage, "hasUnknownModelCost", false)
}

// snapshot writes the prompt that the model was given.
func (r *recording) snapshot() {
	prompt := []string{r.words(1200), r.words(800)}
	r.attach("prompt_snapshot", 0, "systemPrompt", prompt, "reminderFold", false, "contextRendering", "announced")
}

// shape writes what the agent's requests to the API have in common.
func (r *recording) shape() {
	var tools []object
	for _, name := range toolNames {
		properties := object{"input", object{"description", r.words(80), "type", "string"}}
		schema := object{"type", "object", "properties", properties}
		tools = append(tools, object{"name", name, "description", r.words(300), "input_schema", schema})
	}
	r.note("api-request-shape", "shapeHash", r.hex(32), "timestamp", r.stamp(), "version", r.version,
		"shape", object{"system", []object{{"type", "text", "text", r.words(1500)}}, "tools", tools})
}

// ask writes down a request to the API.
func (r *recording) ask() {
	if !r.current {
		return
	}
	var tail []string
	for range r.between(1, 2) {
		hash := r.hex(32) + r.hex(32)
		r.note("api-request-blob", "hash", hash, "message", object{"role", "user", "content",
			[]object{{"type", "text", "text", r.words(200)}}})
		tail = append(tail, hash)
	}
	r.request = r.uuid()
	r.note("api-request", "id", r.request, "timestamp", r.stamp(), "version", r.version, "querySource", "sdk",
		"params", object{"model", r.model, "max_tokens", 128_000}, "keep", r.rng.IntN(9), "tail", tail)
}

// compact replaces what was said by a summary.
func (r *recording) compact() {
	logical := r.parent
	r.parent = nil
	r.entry("system/compact_boundary", object{logical, "type", "system", "subtype", "compact_boundary", "content",
		"Conversation compacted"},
		object{"isMeta", false, "level", "info", "compactMetadata",
			object{"trigger", "auto", "preTokens", r.context, "postTokens", 21_000, "durationMs", 61_000}}, keptEntry{})
	r.wait(200, 900)
	r.user("This session is being continued from a previous conversation that ran out of context. Summary:\n"+
		r.words(6000), "isVisibleInTranscriptOnly", true, "isCompactSummary", true)
	r.context = r.between(21_000, 27_000)
	r.book.change(r.id, func(s *SessionTruth) { s.Compactions++ })
}

// bookkeeping writes the lines that follow a turn.
func (r *recording) bookkeeping(prompt string) {
	prompt = strings.TrimSpace(prompt)
	r.note("last-prompt", "lastPrompt", prompt[:min(len(prompt), 60)], "leafUuid", r.parent)
	r.note("ai-title", "aiTitle", r.title)
	if r.current {
		r.note("atis-latch", "atis", "")
		r.note("tools-used", "tools", r.used)
		return
	}
	r.note("mode", "mode", "normal")
	r.note("permission-mode", "permissionMode", "default")
}
